//! Ranges of entries near a point, and what can be read off them directly: within a radius, in a box.

use std::iter::FusedIterator;
use std::ops::Range;

use glam::Vec3;

use crate::Grid;
use crate::layout::widened;
use crate::table::{Rows, Zone};

/// The contiguous ranges of entries that [`Grid::runs`] visits, in ascending order, none of them empty.
#[derive(Clone, Debug)]
pub struct Runs<'g>(pub(crate) Rows<'g>);

impl Iterator for Runs<'_> {
    type Item = Range<usize>;

    #[inline(always)]
    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let row = self.0.next()?;
            let span = self.0.table.span(row, self.0.zone.lo[0], self.0.zone.hi[0]);
            if !span.is_empty() {
                return Some(span);
            }
        }
    }
}

impl FusedIterator for Runs<'_> {}

impl Grid {
    /// The entries of all cells that the ball (in a plane, the disc) touches, as a few contiguous ranges: one for each
    /// row of cells, in order, none empty.
    ///
    /// A cover, not an answer: no entry within the radius is missing, but others are there too. It is what the exact
    /// queries walk, and where a vectorised loop over the columns starts. A centre that is not finite, or a radius that
    /// is negative or NaN, gives nothing; an infinite radius everything.
    #[inline]
    #[must_use]
    pub fn runs(&self, center: Vec3, radius: f32) -> Runs<'_> {
        Runs(self.table.rows(self.ball_zone(self.frame.layout.flatten(center), radius)))
    }

    /// Calls `visit(index, offset, distance_squared)` in ascending order for every entry within `radius` of `center`,
    /// the ones exactly on it included; `offset` is entry − center.
    ///
    /// A centre that is not finite, or a radius that is negative or NaN, finds nothing.
    #[inline]
    pub fn for_each_within(&self, center: Vec3, radius: f32, mut visit: impl FnMut(usize, Vec3, f32)) {
        let center = self.frame.layout.flatten(center);
        let limit = radius * radius;
        for run in Runs(self.table.rows(self.ball_zone(center, radius))) {
            self.for_each_offset(run, center, |index, offset, distance_squared| {
                if distance_squared <= limit {
                    visit(index, offset, distance_squared);
                }
            });
        }
    }

    /// Calls `visit(index)` in ascending order for every entry with `min <= position <= max` on each axis that counts.
    ///
    /// Infinite bounds are fine; a box with a NaN or with `min > max` is empty.
    #[inline]
    pub fn for_each_in_box(&self, min: Vec3, max: Vec3, mut visit: impl FnMut(usize)) {
        self.in_box(min, max).for_each(&mut visit);
    }

    /// The first entry, in the order of the grid, with `min <= position <= max` on each axis that counts and for which
    /// `filter(index)` holds.
    ///
    /// Infinite bounds are fine; a box with a NaN or with `min > max` is empty.
    #[inline]
    #[must_use]
    pub fn first_in_box(&self, min: Vec3, max: Vec3, mut filter: impl FnMut(usize) -> bool) -> Option<usize> {
        self.in_box(min, max).find(|&index| filter(index))
    }

    #[inline]
    fn in_box(&self, min: Vec3, max: Vec3) -> impl Iterator<Item = usize> {
        let (min, max) = (self.frame.layout.flatten(min), self.frame.layout.flatten(max));
        let zone = if min.is_nan() || max.is_nan() { None } else { self.box_zone(min, max) };
        Runs(self.table.rows(zone)).flatten().filter(move |&index| {
            let p = self.position(index);
            p.cmpge(min).all() && p.cmple(max).all()
        })
    }

    /// Calls `visit(index, offset, distance_squared)` for each entry of a range. The one place, beside the oracle, where
    /// distances are computed.
    #[inline]
    pub(crate) fn for_each_offset(
        &self,
        run: Range<usize>,
        center: Vec3,
        mut visit: impl FnMut(usize, Vec3, f32),
    ) {
        let (xs, ys, zs) =
            (&self.columns.x[run.clone()], &self.columns.y[run.clone()], &self.columns.z[run.clone()]);
        for (index, ((&x, &y), &z)) in run.zip(xs.iter().zip(ys).zip(zs)) {
            let (dx, dy, dz) = (x - center.x, y - center.y, z - center.z);
            // In a plane dz is 0 and adding its square changes no bit.
            visit(index, Vec3::new(dx, dy, dz), dx * dx + dy * dy + dz * dz);
        }
    }

    /// The cells that may hold an entry within `radius` of a flattened centre.
    #[inline(always)]
    pub(crate) fn ball_zone(&self, center: Vec3, radius: f32) -> Option<Zone> {
        if radius >= 0.0 && center.is_finite() {
            let reach = Vec3::splat(widened(radius));
            self.box_zone(center - reach, center + reach)
        } else {
            None
        }
    }

    /// The cells between two flattened corners without NaN.
    #[inline(always)]
    pub(crate) fn box_zone(&self, min: Vec3, max: Vec3) -> Option<Zone> {
        self.table.zone(self.frame.cell(min), self.frame.cell(max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Item, Layout};

    fn grid(layout: Layout, cell_size: f32, positions: impl IntoIterator<Item = Vec3>) -> Grid {
        let item = |(at, position)| Item { position, id: at as u64, tag: at as u32, ..Item::default() };
        let items: Vec<_> = positions.into_iter().enumerate().map(item).collect();
        let mut grid = Grid::default();
        grid.build(layout, cell_size, &items);
        grid
    }

    fn tags_within(grid: &Grid, center: Vec3, radius: f32) -> Vec<u32> {
        let mut tags = Vec::new();
        grid.for_each_within(center, radius, |index, _, _| tags.push(grid.tags()[index]));
        tags.sort();
        tags
    }

    #[test]
    fn case_37_the_cell_size_changes_no_answer() {
        let positions: Vec<_> = (0..900)
            .map(|n| Vec3::new((n % 30) as f32 * 0.4 - 6.0, (n / 30) as f32 * 0.3 - 4.0, 0.0))
            .collect();
        for radius in [1.0, 25.0, 1.0e5] {
            let expected: Vec<u32> =
                (0..900).filter(|&n| (positions[n as usize] - positions[0]).length() <= radius).collect();
            for cell_size in [0.1, 1.0, 10.0, 1000.0] {
                let grid = grid(Layout::Planar, cell_size, positions.iter().copied());
                assert_eq!(
                    tags_within(&grid, positions[0], radius),
                    expected,
                    "cell size {cell_size}, radius {radius}"
                );
            }
        }
    }

    #[test]
    fn case_38_neighbours_across_the_origin_and_at_exactly_the_radius() {
        let grid = grid(Layout::Planar, 1.0, [Vec3::X * -0.01, Vec3::X * 0.01, Vec3::new(0.01, 3.0, 0.0)]);
        assert_eq!(tags_within(&grid, Vec3::X * 0.01, 0.5), [0, 1]);
        assert_eq!(tags_within(&grid, Vec3::X * -0.01, 0.5), [0, 1]);
        assert_eq!(tags_within(&grid, Vec3::X * 0.01, 3.0), [0, 1, 2], "at exactly the radius");
        assert_eq!(tags_within(&grid, Vec3::new(0.01, 3.0, 0.0), 3.0), [1, 2], "and the other way round");
    }

    #[test]
    fn a_plane_ignores_z() {
        let planar = grid(Layout::Planar, 1.0, [Vec3::Z * 50.0, Vec3::new(0.5, 0.0, f32::NAN)]);
        assert_eq!(tags_within(&planar, Vec3::new(0.0, 0.0, f32::NAN), 1.0), [0, 1]);
        assert_eq!(planar.first_in_box(Vec3::ZERO, Vec3::new(0.1, 0.1, -9.0), |_| true), Some(0));
        let spatial = grid(Layout::Spatial, 1.0, [Vec3::Z * 50.0, Vec3::X * 0.5]);
        assert_eq!(tags_within(&spatial, Vec3::ZERO, 1.0), [1]);
    }

    #[test]
    fn senseless_questions_find_nothing() {
        let grid = grid(Layout::Spatial, 1.0, [Vec3::ZERO, Vec3::X]);
        for radius in [-1.0, f32::NAN, f32::NEG_INFINITY] {
            assert_eq!(grid.runs(Vec3::ZERO, radius).count(), 0);
            assert!(tags_within(&grid, Vec3::ZERO, radius).is_empty());
        }
        assert!(tags_within(&grid, Vec3::X * f32::INFINITY, f32::INFINITY).is_empty());
        assert!(tags_within(&grid, Vec3::Y * f32::NAN, 1.0).is_empty());
        assert_eq!(grid.first_in_box(Vec3::ONE, Vec3::ZERO, |_| true), None);
        assert_eq!(grid.first_in_box(Vec3::NAN, Vec3::ONE, |_| true), None);
        assert_eq!(Grid::default().runs(Vec3::ZERO, f32::INFINITY).count(), 0);
    }

    #[test]
    fn radius_zero_and_infinite() {
        let grid = grid(Layout::Spatial, 1.0, [Vec3::ZERO, Vec3::X, Vec3::X, Vec3::splat(1.0e6)]);
        assert_eq!(tags_within(&grid, Vec3::X, 0.0), [1, 2]);
        assert_eq!(tags_within(&grid, Vec3::X, f32::INFINITY), [0, 1, 2, 3]);
    }

    #[test]
    fn squares_that_underflow_count_as_the_formula_says() {
        let grid = grid(Layout::Planar, 1.0, [Vec3::X * -1.0e-23, Vec3::X * 1.0e-23]);
        assert_eq!(tags_within(&grid, Vec3::X * 1.0e-23, 0.0), [0, 1]);
    }

    #[test]
    fn a_row_is_one_run_and_empty_rows_are_none() {
        // A column of 3 rows, 2 of them occupied, and a far agent that must not cost a walk over empty cells.
        let row = |y: f32| (0..5).map(move |x| Vec3::new(x as f32, y, 0.0));
        let positions = row(0.5).chain(row(2.5)).chain([Vec3::splat(1.0e9)]);
        let grid = grid(Layout::Planar, 1.0, positions);
        assert_eq!(grid.runs(Vec3::new(2.0, 1.5, 0.0), 1.6).collect::<Vec<_>>(), [0..4, 5..9]);
        assert_eq!(grid.runs(Vec3::ZERO, 2.0e9).collect::<Vec<_>>(), [0..5, 5..10, 10..11]);
    }
}
