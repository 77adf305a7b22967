//! The first entry that a ray meets.

use std::cmp::Ordering;

use glam::{DVec3, Vec3};

use crate::query::Runs;
use crate::table::Zone;
use crate::{Grid, Layout};

/// The entry that a ray meets first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// The entry.
    pub index: usize,
    /// How far along the ray its disc or ball begins, world units; 0 if the ray starts inside.
    pub distance: f32,
}

/// A segment is looked at as a whole when its surroundings hold no more entries than this, else in halves.
const FEW: usize = 48;

/// A ray in `f64`, so that neither the test nor the walk loses anything at coordinates of 1e6.
pub(crate) struct Ray {
    origin: DVec3,
    direction: DVec3,
    length: f32,
    extra: f64,
}

impl Ray {
    /// None if the ray means nothing.
    pub(crate) fn new(
        layout: Layout,
        origin: Vec3,
        direction: Vec3,
        length: f32,
        extra: f32,
    ) -> Option<Self> {
        let origin = layout.flatten(origin).as_dvec3();
        let direction = layout.flatten(direction).as_dvec3().try_normalize()?;
        let sound = origin.is_finite() && length >= 0.0 && extra >= 0.0 && extra.is_finite();
        sound.then_some(Self { origin, direction, length, extra: f64::from(extra) })
    }

    /// How far along the ray the ball begins, if it meets it.
    #[inline]
    pub(crate) fn distance_to(&self, position: Vec3, radius: f32) -> Option<f32> {
        let offset = position.as_dvec3() - self.origin;
        let radius = f64::from(radius) + self.extra;
        if offset.length_squared() <= radius * radius {
            return Some(0.0);
        }
        let along = offset.dot(self.direction);
        let room = radius * radius - (offset - self.direction * along).length_squared();
        if along < 0.0 || room < 0.0 {
            return None;
        }
        let distance = (along - room.sqrt()).max(0.0) as f32;
        (distance <= self.length).then_some(distance)
    }
}

/// Takes a hit if it is nearer, or as near with a lower id (or index, where ids are not unique).
#[inline]
pub(crate) fn offer(best: &mut Option<RayHit>, hit: RayHit, ids: impl Fn(usize) -> u64) {
    let rank = |hit: &RayHit| (ids(hit.index), hit.index);
    let better = best.is_none_or(|best| match hit.distance.total_cmp(&best.distance) {
        Ordering::Less => true,
        Ordering::Equal => rank(&hit) < rank(&best),
        Ordering::Greater => false,
    });
    if better {
        *best = Some(hit);
    }
}

impl Grid {
    /// The first entry whose disc or ball, of its own radius plus `extra_radius`, the ray meets within `max_length`
    /// (which may be infinite), among those for which `filter(index)` holds; ties by id.
    ///
    /// `direction` need not have length 1. A ray that starts inside an entry meets it at distance 0. Only cells near the
    /// ray are looked at, nearest first; how near depends on the largest radius in the grid, so one giant makes all rays
    /// slower. `filter` may be asked more than once about an entry. A ray with a zero direction, with a value that is not
    /// finite (but `max_length`), or with a negative length or radius meets nothing.
    #[must_use]
    pub fn cast_ray(
        &self,
        origin: Vec3,
        direction: Vec3,
        max_length: f32,
        extra_radius: f32,
        mut filter: impl FnMut(usize) -> bool,
    ) -> Option<RayHit> {
        let ray = Ray::new(self.frame.layout, origin, direction, max_length, extra_radius)?;
        let reach = f64::from(self.max_radius) + ray.extra;
        let (start, end) = self.part_of_ray_in_bounds(&ray, reach)?;

        let mut best = None;
        // Bounded below so that absurd extents neither take for ever nor stop the walk by rounding.
        let shortest = f64::from(self.frame.cell_size)
            .max(reach)
            .max((end - start) / f64::from(1 << 20))
            .max(end * 1.0e-12);
        let (mut from, mut step) = (start, end - start);
        loop {
            let to = (from + step).min(end);
            let zone = self.zone_along(&ray, from, to, reach);
            if step > shortest && self.holds_more(zone, FEW) {
                step *= 0.5;
                continue;
            }
            self.table.for_each_span(zone, None, |span| {
                for index in span {
                    let distance = ray.distance_to(self.position(index), self.columns.radius[index]);
                    if let Some(distance) = distance.filter(|_| filter(index)) {
                        offer(&mut best, RayHit { index, distance }, |index| self.columns.id[index]);
                    }
                }
            });
            // What has not been looked at begins beyond `to`, at the nearest as far as `to` once rounded.
            if to >= end || best.is_some_and(|best| best.distance < to as f32) {
                return best;
            }
            (from, step) = (to, step * 2.0);
        }
    }

    /// Where the ray enters and leaves the space that entries reach.
    fn part_of_ray_in_bounds(&self, ray: &Ray, reach: f64) -> Option<(f64, f64)> {
        let (low, high) = self.bounds()?;
        let reach = DVec3::splat(reach + self.slack(ray, reach));
        let (low, high) = (low.as_dvec3() - reach, high.as_dvec3() + reach);
        let (mut start, mut end) = (0.0_f64, f64::from(ray.length));
        for axis in 0..3 {
            let (o, d) = (ray.origin[axis], ray.direction[axis]);
            if d == 0.0 {
                if o < low[axis] || o > high[axis] {
                    return None;
                }
            } else {
                let (a, b) = ((low[axis] - o) / d, (high[axis] - o) / d);
                start = start.max(a.min(b));
                end = end.min(a.max(b));
            }
        }
        (start <= end).then_some((start, end))
    }

    /// More than the rounding in `f64` can amount to.
    fn slack(&self, ray: &Ray, reach: f64) -> f64 {
        let (low, high) = (self.bounds.0.as_dvec3(), self.bounds.1.as_dvec3());
        let largest = low.abs().max(high.abs()).max(ray.origin.abs()).max_element();
        (largest + reach) * 1.0e-9 + 1.0e-30
    }

    /// The cells that may hold an entry met between two distances along the ray.
    fn zone_along(&self, ray: &Ray, from: f64, to: f64, reach: f64) -> Option<Zone> {
        let (a, b) = (ray.origin + ray.direction * from, ray.origin + ray.direction * to);
        let reach = DVec3::splat(reach + self.slack(ray, reach));
        let layout = self.frame.layout;
        self.box_zone(
            layout.flatten((a.min(b) - reach).as_vec3()),
            layout.flatten((a.max(b) + reach).as_vec3()),
        )
    }

    fn holds_more(&self, zone: Option<Zone>, limit: usize) -> bool {
        let mut count = 0;
        Runs(self.table.rows(zone)).any(|run| {
            count += run.len();
            count > limit
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Item;

    fn grid(layout: Layout, cell_size: f32, balls: &[(Vec3, f32)]) -> Grid {
        let item = |(at, &(position, radius))| Item { position, radius, id: at as u64, ..Item::default() };
        let items: Vec<_> = balls.iter().enumerate().map(item).collect();
        let mut grid = Grid::default();
        grid.build(layout, cell_size, &items);
        grid
    }

    fn hit(grid: &Grid, origin: Vec3, direction: Vec3, length: f32, extra: f32) -> Option<(u64, f32)> {
        let hit = grid.cast_ray(origin, direction, length, extra, |_| true)?;
        Some((grid.ids()[hit.index], hit.distance))
    }

    #[test]
    fn meets_the_first_at_its_edge() {
        let grid = grid(
            Layout::Planar,
            1.0,
            &[(Vec3::X * 9.0, 1.0), (Vec3::X * 5.0, 0.5), (Vec3::new(3.0, 2.0, 0.0), 1.0)],
        );
        assert_eq!(hit(&grid, Vec3::ZERO, Vec3::X * 3.0, 100.0, 0.0), Some((1, 4.5)));
        assert_eq!(hit(&grid, Vec3::ZERO, Vec3::X, 4.5, 0.0), Some((1, 4.5)), "the end counts");
        assert_eq!(hit(&grid, Vec3::ZERO, Vec3::X, 4.4, 0.0), None);
        assert_eq!(hit(&grid, Vec3::ZERO, Vec3::X, 100.0, 1.0), Some((2, 3.0)), "grazed by the wider ray");
        assert_eq!(hit(&grid, Vec3::ZERO, Vec3::NEG_X, f32::INFINITY, 0.0), None);
        assert_eq!(hit(&grid, Vec3::X * 5.2, Vec3::X, 10.0, 0.0), Some((1, 0.0)), "from inside");
        let others = |index: usize| grid.ids()[index] != 1;
        assert_eq!(grid.cast_ray(Vec3::ZERO, Vec3::X, 100.0, 0.0, others).map(|hit| hit.distance), Some(8.0));
    }

    #[test]
    fn ties_go_to_the_lowest_id() {
        let side = Vec3::Y * 0.5;
        let grid = grid(Layout::Spatial, 0.5, &[(Vec3::X * 4.0 + side, 1.0), (Vec3::X * 4.0 - side, 1.0)]);
        assert_eq!(hit(&grid, Vec3::ZERO, Vec3::X, 10.0, 0.0).map(|(id, _)| id), Some(0));
    }

    #[test]
    fn a_giant_is_met_far_from_its_centre() {
        let grid =
            grid(Layout::Planar, 1.0, &[(Vec3::new(500.0, 300.0, 0.0), 300.0), (Vec3::X * 600.0, 0.5)]);
        assert_eq!(hit(&grid, Vec3::ZERO, Vec3::X, 1.0e4, 0.0), Some((0, 500.0)));
    }

    #[test]
    fn precise_and_quick_a_million_units_away() {
        let mut balls = vec![(Vec3::new(1.0e6, 0.0, 0.0), 0.5)];
        balls.extend((0..1000).map(|n| (Vec3::new(n as f32 * 0.1, 50.0, 0.0), 0.5)));
        let grid = grid(Layout::Planar, 0.1, &balls);
        let mut asked = 0;
        let found = grid.cast_ray(Vec3::ZERO, Vec3::X, f32::INFINITY, 0.0, |_| {
            asked += 1;
            true
        });
        assert_eq!(found.map(|hit| hit.distance), Some(999_999.5));
        assert_eq!(asked, 1);
        assert_eq!(hit(&grid, Vec3::Y * 0.6, Vec3::X, f32::INFINITY, 0.0), None);
    }

    #[test]
    fn senseless_rays_meet_nothing() {
        let grid = grid(Layout::Planar, 1.0, &[(Vec3::X, 0.5)]);
        let (o, d) = (Vec3::ZERO, Vec3::X);
        assert_eq!(hit(&grid, o, Vec3::Z, 9.0, 0.0), None, "no direction is left in the plane");
        assert_eq!(hit(&grid, o, Vec3::ZERO, 9.0, 0.0), None);
        assert_eq!(hit(&grid, o, Vec3::NAN, 9.0, 0.0), None);
        assert_eq!(hit(&grid, o, d * f32::INFINITY, 9.0, 0.0), None);
        assert_eq!(hit(&grid, Vec3::NAN, d, 9.0, 0.0), None);
        assert_eq!(hit(&grid, o, d, -1.0, 0.0), None);
        assert_eq!(hit(&grid, o, d, f32::NAN, 0.0), None);
        assert_eq!(hit(&grid, o, d, 9.0, -0.1), None);
        assert_eq!(hit(&grid, o, d, 9.0, f32::INFINITY), None);
        assert_eq!(hit(&Grid::default(), o, d, f32::INFINITY, 0.0), None);
        assert_eq!(
            hit(&grid, o, Vec3::X * f32::MAX, 9.0, 0.0),
            Some((0, 0.5)),
            "any finite length of direction"
        );
    }
}
