//! The nearest entries, by boxes that grow round the centre.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use glam::Vec3;

use crate::Grid;

/// An entry found near a point. Ordered nearest first, ties by id (and by index where ids are not unique).
#[derive(Clone, Copy, Debug)]
pub struct Neighbor {
    /// The entry.
    pub index: usize,
    /// Its [`Item::id`](crate::Item::id).
    pub id: u64,
    /// Entry − centre, world units.
    pub offset: Vec3,
    /// The square of the distance.
    pub distance_squared: f32,
}

impl Ord for Neighbor {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance_squared
            .total_cmp(&other.distance_squared)
            .then(self.id.cmp(&other.id))
            .then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Neighbor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Neighbor {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Neighbor {}

/// Keeps the best of what it is offered.
pub(crate) trait Best {
    /// The worst one kept, once there is no more room.
    fn worst(&self) -> Option<&Neighbor>;
    /// Takes a neighbour in, in place of the worst one where there is no room.
    fn take(&mut self, neighbor: Neighbor);
}

impl Best for Option<Neighbor> {
    fn worst(&self) -> Option<&Neighbor> {
        self.as_ref()
    }

    fn take(&mut self, neighbor: Neighbor) {
        *self = Some(neighbor);
    }
}

/// The `k` nearest, the worst on top.
pub(crate) struct Nearest {
    pub(crate) k: usize,
    pub(crate) heap: BinaryHeap<Neighbor>,
}

impl Best for Nearest {
    fn worst(&self) -> Option<&Neighbor> {
        if self.heap.len() < self.k { None } else { self.heap.peek() }
    }

    fn take(&mut self, neighbor: Neighbor) {
        if self.heap.len() < self.k {
            self.heap.push(neighbor);
        } else if let Some(mut worst) = self.heap.peek_mut() {
            *worst = neighbor;
        }
    }
}

/// Offers a neighbour to `best` if it is near enough, better than the worst, and wanted.
#[inline]
pub(crate) fn offer(
    best: &mut impl Best,
    limit: f32,
    neighbor: Neighbor,
    filter: &mut impl FnMut(usize) -> bool,
) {
    let better = neighbor.distance_squared <= limit && best.worst().is_none_or(|worst| neighbor < *worst);
    if better && filter(neighbor.index) {
        best.take(neighbor);
    }
}

impl Grid {
    /// Fills `out` with the `k` entries nearest to `center` among those within `max_radius` (which may be infinite) for
    /// which `filter(index)` holds: nearest first, ties by id. What `out` held is discarded.
    ///
    /// Looks at cells outward from the centre and stops when nothing nearer can follow. `filter` is asked only about
    /// entries that would be taken, in no particular order. A centre that is not finite, or a radius that is negative or
    /// NaN, finds nothing.
    pub fn k_nearest(
        &self,
        center: Vec3,
        k: usize,
        max_radius: f32,
        filter: impl FnMut(usize) -> bool,
        out: &mut Vec<Neighbor>,
    ) {
        out.clear();
        if k > 0 {
            let mut best = Nearest { k, heap: BinaryHeap::from(std::mem::take(out)) };
            self.expand(center, max_radius, filter, &mut best);
            *out = best.heap.into_sorted_vec();
        }
    }

    /// The entry nearest to `center` within `max_radius` for which `filter(index)` holds, ties by id; as
    /// [`k_nearest`](Self::k_nearest).
    #[must_use]
    pub fn nearest(
        &self,
        center: Vec3,
        max_radius: f32,
        filter: impl FnMut(usize) -> bool,
    ) -> Option<Neighbor> {
        let mut best = None;
        self.expand(center, max_radius, filter, &mut best);
        best
    }

    /// Offers entries in boxes round the centre until no other can be among the best.
    fn expand(
        &self,
        center: Vec3,
        max_radius: f32,
        mut filter: impl FnMut(usize) -> bool,
        best: &mut impl Best,
    ) {
        let center = self.frame.layout.flatten(center);
        if self.is_empty() || !center.is_finite() || max_radius.is_nan() {
            return;
        }
        let limit = max_radius * max_radius;
        let mut radius = (0.5 * self.frame.cell_size).min(max_radius);
        let mut done = None;
        loop {
            let zone = self.ball_zone(center, radius);
            self.table.for_each_span(zone, done, |span| {
                self.for_each_offset(span, center, |index, offset, distance_squared| {
                    let neighbor = Neighbor { index, id: self.columns.id[index], offset, distance_squared };
                    offer(best, limit, neighbor, &mut filter);
                });
            });
            if radius >= max_radius || zone.is_some_and(|zone| self.table.is_all(&zone)) {
                return;
            }
            radius = match best.worst() {
                // The box held everything within `radius`, so the rest is farther than the worst one kept.
                Some(worst) if worst.distance_squared <= radius * radius => return,
                // One more box, just large enough for the worst one kept.
                Some(worst) => (worst.distance_squared.sqrt() * 1.000_001).max(radius * 1.25),
                None => radius * 2.0,
            }
            .min(max_radius);
            done = zone;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Item, Layout};

    fn grid(cell_size: f32, positions: impl IntoIterator<Item = Vec3>) -> Grid {
        let item = |(at, position)| Item { position, id: at as u64, tag: at as u32, ..Item::default() };
        let items: Vec<_> = positions.into_iter().enumerate().map(item).collect();
        let mut grid = Grid::default();
        grid.build(Layout::Planar, cell_size, &items);
        grid
    }

    #[test]
    fn case_34_the_nearest_of_60_stored_last_is_used() {
        let ring = (0..59).map(|n| Vec3::new(1.0 + n as f32 * 0.05, 0.5, 0.0));
        for cell_size in [0.1, 1.0, 10.0] {
            let grid = grid(cell_size, ring.clone().chain([Vec3::X * 0.3]));
            let mut found = Vec::new();
            grid.k_nearest(Vec3::ZERO, 6, 5.0, |_| true, &mut found);
            let tags: Vec<_> = found.iter().map(|neighbor| grid.tags()[neighbor.index]).collect();
            assert_eq!(tags, [59, 0, 1, 2, 3, 4]);
            assert_eq!(found[0].offset, Vec3::X * 0.3);
        }
    }

    #[test]
    fn ties_go_to_the_lowest_id() {
        let around = [Vec3::Y, Vec3::NEG_X, Vec3::X, Vec3::NEG_Y];
        let grid = grid(0.3, around);
        let mut found = Vec::new();
        grid.k_nearest(Vec3::ZERO, 3, f32::INFINITY, |_| true, &mut found);
        assert_eq!(found.iter().map(|neighbor| neighbor.id).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(
            grid.nearest(Vec3::ZERO, 1.0, |index| grid.ids()[index] != 0).map(|neighbor| neighbor.id),
            Some(1)
        );
        assert!(grid.nearest(Vec3::ZERO, 0.99, |_| true).is_none());
    }

    #[test]
    fn a_nearer_one_just_outside_the_first_box_is_used() {
        // The first box reaches 0.5 from the centre, to just below x = 1.
        let center = Vec3::new(0.499, 0.499, 0.0);
        let grid = grid(1.0, [center - Vec3::Y * 0.51, center + Vec3::X * 0.505]);
        assert_eq!(grid.nearest(center, f32::INFINITY, |_| true).map(|neighbor| neighbor.id), Some(1));
    }

    #[test]
    fn an_empty_expanse_is_crossed() {
        let grid = grid(0.1, [Vec3::new(1.0e6, -1.0e6, 0.0), Vec3::new(-1.0e7, 1.0e7, 0.0)]);
        assert_eq!(grid.nearest(Vec3::ZERO, f32::INFINITY, |_| true).map(|neighbor| neighbor.id), Some(0));
        assert_eq!(
            grid.nearest(Vec3::ZERO, f32::INFINITY, |index| index != 0).map(|neighbor| neighbor.id),
            Some(1)
        );
        assert!(grid.nearest(Vec3::ZERO, 1.0e5, |_| true).is_none());
        assert!(grid.nearest(Vec3::ZERO, f32::INFINITY, |_| false).is_none());
    }

    #[test]
    fn senseless_questions_find_nothing() {
        let grid = grid(1.0, [Vec3::ZERO]);
        let mut found = vec![grid.nearest(Vec3::ZERO, 0.0, |_| true).expect("radius 0 includes its centre")];
        for (center, k, radius) in
            [(Vec3::ZERO, 0, 1.0), (Vec3::NAN, 3, 1.0), (Vec3::ZERO, 3, f32::NAN), (Vec3::ZERO, 3, -1.0)]
        {
            grid.k_nearest(center, k, radius, |_| true, &mut found);
            assert!(found.is_empty());
        }
        assert!(Grid::default().nearest(Vec3::ZERO, f32::INFINITY, |_| true).is_none());
    }

    #[test]
    fn the_output_vector_is_reused() {
        let grid = grid(1.0, (0..100).map(|n| Vec3::X * n as f32));
        let mut found = Vec::new();
        grid.k_nearest(Vec3::ZERO, 8, f32::INFINITY, |_| true, &mut found);
        let (buffer, capacity) = (found.as_ptr(), found.capacity());
        grid.k_nearest(Vec3::X * 50.0, 8, f32::INFINITY, |_| true, &mut found);
        assert_eq!((found.as_ptr(), found.capacity()), (buffer, capacity));
    }
}
