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

    #[inline]
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
    #[inline]
    pub(crate) fn ball_zone(&self, center: Vec3, radius: f32) -> Option<Zone> {
        if radius >= 0.0 && center.is_finite() {
            let reach = Vec3::splat(widened(radius));
            self.box_zone(center - reach, center + reach)
        } else {
            None
        }
    }

    /// The cells between two flattened corners without NaN.
    #[inline]
    pub(crate) fn box_zone(&self, min: Vec3, max: Vec3) -> Option<Zone> {
        self.table.zone(self.frame.cell(min), self.frame.cell(max))
    }
}
