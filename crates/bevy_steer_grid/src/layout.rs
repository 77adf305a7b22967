//! The frame of the grid: which axes count, and which cell a coordinate falls in.

use glam::Vec3;

/// Which axes of a position the grid looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// x and y; z is ignored and stored as 0. A game on another plane maps it onto these two axes first.
    #[default]
    Planar,
    /// x, y and z.
    Spatial,
}

impl Layout {
    /// `v` as the grid stores it: z is 0 in [`Layout::Planar`].
    #[inline]
    #[must_use]
    pub const fn flatten(self, v: Vec3) -> Vec3 {
        match self {
            Layout::Planar => Vec3::new(v.x, v.y, 0.0),
            Layout::Spatial => v,
        }
    }
}

/// The outermost cell coordinate. Everything beyond shares it, so that the difference of two coordinates fits an `i32`.
const CELL_LIMIT: f32 = 1.0e9;

/// Maps coordinates to cell coordinates, monotonically: `a <= b` implies `cell(a) <= cell(b)`. That is all the queries
/// rely on, so rounding in here can move an entry to another cell but never lose it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) layout: Layout,
    pub(crate) cell_size: f32,
    inverse: f32,
}

impl Default for Frame {
    fn default() -> Self {
        Self::new(Layout::default(), 1.0)
    }
}

impl Frame {
    pub(crate) fn new(layout: Layout, cell_size: f32) -> Self {
        // NaN, zero and negative sizes mean nothing; the bounds keep size and inverse clear of overflow and denormals.
        let cell_size = if cell_size > 0.0 { cell_size.clamp(1.0e-18, 1.0e18) } else { 1.0 };
        Self { layout, cell_size, inverse: 1.0 / cell_size }
    }

    /// The cell of a coordinate that is not NaN; infinities fall in the outermost cells.
    #[inline(always)]
    fn axis(self, v: f32) -> i32 {
        let t = (v * self.inverse).clamp(-CELL_LIMIT, CELL_LIMIT);
        let truncated = t as i32;
        // Floor, without a call to the maths library.
        truncated - i32::from(truncated as f32 > t)
    }

    /// The cell (x, y, z) of a flattened position.
    #[inline(always)]
    pub(crate) fn cell(self, p: Vec3) -> [i32; 3] {
        match self.layout {
            Layout::Planar => [self.axis(p.x), self.axis(p.y), 0],
            Layout::Spatial => [self.axis(p.x), self.axis(p.y), self.axis(p.z)],
        }
    }
}

/// A distance that no coordinate difference within `radius` exceeds, whatever was lost to rounding in the squares.
///
/// With `u` = 2⁻²⁴: `fl(dx²) <= fl(r²)` allows `dx` to be r·(1 + 2u), the subtraction adds another u, and squares that
/// underflow to 0 allow about 1e-22. A square that overflows to infinity admits everything.
#[inline]
pub(crate) fn widened(radius: f32) -> f32 {
    if (radius * radius).is_finite() { radius * 1.000_001 + 1.0e-20 } else { f32::INFINITY }
}

/// The cell size for these query radii, in world units: the largest usual radius.
///
/// A query costs least when its radius is about the cell size. A few outsized radii (a building among soldiers) must not
/// make everyone's cells large, so the sizes are put in classes by powers of two, and the answer is the largest radius
/// in the smallest class that covers nine tenths of them. Values that are not finite and positive are ignored; without
/// any other the answer is 1. The order of the radii does not matter.
#[must_use]
pub fn suggest_cell_size(radii: impl IntoIterator<Item = f32>) -> f32 {
    let mut census = RadiusCensus::default();
    radii.into_iter().for_each(|radius| census.count(radius));
    census.suggest_cell_size()
}

/// Counts query radii for [`suggest_cell_size`], in parts where there are many.
#[derive(Clone, Debug)]
pub struct RadiusCensus {
    /// By powers of two from 2⁻³² on; the first and the last class hold what is beyond, too.
    classes: [Class; CLASSES],
    /// The last one, and how often it came since it was entered: agents tend to be alike.
    last: f32,
    repeats: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    count: u32,
    largest: f32,
}

const CLASSES: usize = 64;

impl Class {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.largest = self.largest.max(other.largest);
    }
}

impl Default for RadiusCensus {
    fn default() -> Self {
        Self { classes: [Class::default(); CLASSES], last: 0.0, repeats: 0 }
    }
}

impl RadiusCensus {
    /// Counts a radius.
    #[inline]
    pub fn count(&mut self, radius: f32) {
        if radius == self.last {
            self.repeats += 1;
        } else {
            self.enter();
            (self.last, self.repeats) = (radius, 1);
        }
    }

    /// What has not been entered yet, and the class that it belongs to.
    fn open(&self) -> Option<(usize, Class)> {
        // 2⁻³² has the exponent 127 − 32.
        let class = ((self.last.to_bits() >> 23) as usize).clamp(95, 94 + CLASSES) - 95;
        let counts = self.last > 0.0 && self.last.is_finite() && self.repeats > 0;
        counts.then_some((class, Class { count: self.repeats, largest: self.last }))
    }

    fn enter(&mut self) {
        if let Some((class, open)) = self.open() {
            self.classes[class].add(open);
        }
        self.repeats = 0;
    }

    /// Counts what another census has counted.
    pub fn add(&mut self, other: &Self) {
        for (class, counted) in self.classes.iter_mut().zip(&other.classes) {
            class.add(*counted);
        }
        if let Some((class, open)) = other.open() {
            self.classes[class].add(open);
        }
    }

    /// Whether no radius that is finite and positive has been counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open().is_none() && self.classes.iter().all(|class| class.count == 0)
    }

    /// The cell size for the radii so far.
    #[must_use]
    pub fn suggest_cell_size(&self) -> f32 {
        let open = self.open();
        let classes = self.classes.iter().enumerate().map(|(n, class)| {
            let mut all = *class;
            open.iter().filter(|&&(open, _)| open == n).for_each(|&(_, open)| all.add(open));
            all
        });
        let total: u64 = classes.clone().map(|class| u64::from(class.count)).sum();
        let mut covered = 0;
        for Class { count, largest } in classes {
            covered += u64::from(count);
            if count > 0 && covered * 10 >= total * 9 {
                return largest;
            }
        }
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_half_open_also_below_zero() {
        let frame = Frame::new(Layout::Spatial, 2.0);
        assert_eq!(frame.cell(Vec3::new(-0.01, 0.01, -2.0)), [-1, 0, -1]);
        assert_eq!(frame.cell(Vec3::new(-2.1, 2.0, 1.999)), [-2, 1, 0]);
        assert_eq!(Frame::new(Layout::Planar, 2.0).cell(Vec3::splat(9.0)), [4, 4, 0]);
    }

    #[test]
    fn cells_saturate_in_order() {
        let frame = Frame::new(Layout::Planar, 0.1);
        let ascending = [f32::NEG_INFINITY, f32::MIN, -1.0e6, -0.1, 0.0, 0.1, 1.0e6, f32::MAX, f32::INFINITY];
        let cells = ascending.map(|x| frame.cell(Vec3::new(x, 0.0, 0.0))[0]);
        assert!(cells.is_sorted());
        assert_eq!((cells[0], cells[8]), (-1_000_000_000, 1_000_000_000));
    }

    #[test]
    fn a_senseless_cell_size_becomes_one() {
        for size in [0.0, -3.0, f32::NAN] {
            assert_eq!(Frame::new(Layout::Planar, size).cell_size, 1.0);
        }
        assert!(Frame::new(Layout::Planar, f32::INFINITY).cell_size.is_finite());
        assert!(Frame::new(Layout::Planar, 1.0e-44).inverse.is_finite());
    }

    #[test]
    fn suggested_size_ignores_a_few_giants() {
        assert_eq!(suggest_cell_size([]), 1.0);
        assert_eq!(suggest_cell_size([f32::NAN, -1.0, 0.0, f32::INFINITY]), 1.0);
        assert_eq!(suggest_cell_size([2.0, 5.0, 6.0]), 6.0);
        assert_eq!(suggest_cell_size([1e-30, 1e-40]), 1e-30, "smaller than the smallest class");
        assert_eq!(suggest_cell_size([1e30, 2e30, 3e20]), 2e30, "larger than the largest one");
        let crowd = (0..100).map(|n| if n == 50 { 1000.0 } else { 5.0 + (n % 3) as f32 });
        assert_eq!(suggest_cell_size(crowd.clone()), 7.0);
        let mut parts = RadiusCensus::default();
        assert!(parts.is_empty());
        for part in crowd.collect::<Vec<_>>().chunks(7) {
            let mut census = RadiusCensus::default();
            part.iter().for_each(|&radius| census.count(radius));
            parts.add(&census);
        }
        assert!(!parts.is_empty());
        assert_eq!(parts.suggest_cell_size(), 7.0, "counted in parts");
    }
}
