//! The build: bounds, kind of table, sort, columns.

use std::sync::atomic::AtomicU32;

use glam::Vec3;

use crate::layout::Frame;
use crate::parts::{Part, Parts};
use crate::runner::{Runner, Serial};
use crate::table::TableKind;
use crate::{Grid, Item, Layout};

/// Fewer items than this are not worth dividing.
const MIN_PARALLEL: usize = 4096;
/// Each part of a parallel sort counts all cells.
const MAX_PARTS: usize = 8;

/// Where items lie: for a caller who looks at all of them anyway, see [`Grid::build_within`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    low: Vec3,
    high: Vec3,
    max_radius: f32,
    count: usize,
}

impl Default for Extent {
    fn default() -> Self {
        Self { low: Vec3::MAX, high: Vec3::MIN, max_radius: 0.0, count: 0 }
    }
}

impl Extent {
    /// Takes in an item, to be built in this layout.
    #[inline]
    pub fn include(&mut self, item: &Item, layout: Layout) {
        let position = layout.flatten(item.position);
        if position.is_finite() {
            self.low = self.low.min(position);
            self.high = self.high.max(position);
            self.max_radius = self.max_radius.max(item.stored(layout).radius);
            self.count += 1;
        }
    }

    /// The extent of both.
    #[must_use]
    pub fn join(self, other: &Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            max_radius: self.max_radius.max(other.max_radius),
            count: self.count + other.count,
        }
    }
}

impl Grid {
    /// Replaces the contents by `items`, in cells of `cell_size` world units, and returns how many items were left out
    /// because their position is not finite.
    ///
    /// The cost is O(items) however they lie, but for a sort by id within each cell. The cell size only changes speed,
    /// best near the usual query radius (see [`suggest_cell_size`](crate::suggest_cell_size)), and the order of entries;
    /// one that is not positive counts as 1.
    ///
    /// # Panics
    /// With more than `i32::MAX` items.
    pub fn build(&mut self, layout: Layout, cell_size: f32, items: &[Item]) -> usize {
        self.build_on(&Serial, layout, cell_size, items)
    }

    /// As [`build`](Self::build), to the bit, with the work divided by `runner`.
    ///
    /// # Panics
    /// With more than `i32::MAX` items.
    pub fn build_on(
        &mut self,
        runner: &impl Runner,
        layout: Layout,
        cell_size: f32,
        items: &[Item],
    ) -> usize {
        let stretch = items.len().div_ceil(parts(runner, items)).max(1);
        let extents = &mut self.scratch.extents;
        extents.clear();
        extents.resize(parts(runner, items), Extent::default());
        runner.run(items.chunks(stretch).zip(&mut *extents), |(items, extent)| {
            items.iter().for_each(|item| extent.include(item, layout));
        });
        let extent = extents.iter().fold(Extent::default(), |sum, extent| sum.join(extent));
        self.build_within(runner, layout, cell_size, items, &extent)
    }

    /// As [`build_on`](Self::build_on), where the extent of the items is known.
    ///
    /// # Panics
    /// With more than `i32::MAX` items; and perhaps if the extent is not that of the items.
    pub fn build_within(
        &mut self,
        runner: &impl Runner,
        layout: Layout,
        cell_size: f32,
        items: &[Item],
        extent: &Extent,
    ) -> usize {
        // Vector code counts lanes with a sign.
        assert!(items.len() < i32::MAX as usize, "the grid indexes its entries with 31 bits");
        self.frame = Frame::new(layout, cell_size);
        let parts = parts(runner, items);
        let stretch = items.len().div_ceil(parts).max(1);
        let kept = extent.count;
        (self.bounds, self.max_radius) = ((extent.low, extent.high), extent.max_radius);
        self.columns.resize(kept);
        self.scratch.order.resize_with(kept, AtomicU32::default);
        if kept == 0 {
            self.scratch.places.clear();
            self.table.reset(TableKind::Sparse, [0; 3], [0; 3]);
            return items.len();
        }

        // Cells are monotone in the coordinates, so the extreme coordinates give the extreme cells.
        let (lo, hi) = (self.frame.cell(extent.low), self.frame.cell(extent.high));
        let dims = std::array::from_fn(|axis| (hi[axis] - lo[axis]) as u32 + 1);
        let kind = self.choose_table(dims, kept);
        self.table.reset(kind, lo, dims);
        match kind {
            TableKind::Dense if parts > 1 => self.sort_dense_on(runner, items, stretch),
            TableKind::Dense => self.sort_dense(items),
            TableKind::Sparse => self.sort_sparse(items),
        }
        let all = Part {
            columns: self.columns.as_mut(),
            order: &mut self.scratch.order,
            starts: &self.table.starts,
            items,
            places: &self.scratch.places,
            layout,
        };
        // More than there are threads, for cells are not equally full.
        runner.run(Parts::new(all, if parts == 1 { 1 } else { 4 * parts }), Part::fill);
        items.len() - kept
    }

    fn choose_table(&self, dims: [u32; 3], items: usize) -> TableKind {
        let cells = dims.iter().map(|&dim| u128::from(dim)).product::<u128>();
        let most = match self.forced {
            Some(TableKind::Dense) => 1 << 24,
            Some(TableKind::Sparse) => 0,
            // A dense table is fast enough while clearing it costs no more than the sort.
            None => 4 * items as u128 + 1024,
        };
        if cells <= most { TableKind::Dense } else { TableKind::Sparse }
    }
}

/// The parts that a build is divided into.
fn parts(runner: &impl Runner, items: &[Item]) -> usize {
    if items.len() < MIN_PARALLEL { 1 } else { runner.parts().clamp(1, MAX_PARTS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` items at pseudorandom places within `extent` of the origin.
    fn crowd(count: u32, extent: f32) -> Vec<Item> {
        let mut state = 1_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 8) as f32 / (1 << 23) as f32 - 1.0) * extent
        };
        let item = |n| Item {
            position: Vec3::new(random(), random(), random()),
            id: n,
            tag: n as u32,
            ..Item::default()
        };
        (0..u64::from(count)).map(item).collect()
    }

    #[test]
    fn positions_that_are_not_finite_are_left_out_and_counted() {
        let mut items = crowd(10, 5.0);
        items[3].position.x = f32::NAN;
        items[7].position.y = f32::NEG_INFINITY;
        items[9].position.z = f32::NAN;
        let mut grid = Grid::default();
        for kind in [TableKind::Dense, TableKind::Sparse] {
            grid.force_table(Some(kind));
            assert_eq!(grid.build(Layout::Planar, 1.0, &items), 2, "z does not count in a plane");
            assert_eq!(grid.len(), 8);
            assert_eq!(grid.build(Layout::Spatial, 1.0, &items), 3);
            assert!(!grid.tags().contains(&9));
        }
        assert_eq!(grid.build(Layout::Planar, 1.0, &items[3..4]), 1);
        assert!(grid.is_empty() && grid.bounds().is_none());
        assert_eq!(grid.build(Layout::Planar, 1.0, &[]), 0);
    }

    #[test]
    fn case_38_none_of_5000_in_one_cell_is_lost() {
        for layout in [Layout::Planar, Layout::Spatial] {
            let mut items = crowd(5000, 0.49);
            items.iter_mut().for_each(|item| item.position += 0.5);
            items.reverse();
            let mut grid = Grid::default();
            grid.build(layout, 1.0, &items);
            assert!(grid.runs(Vec3::splat(0.5), 0.1).eq(std::iter::once(0..5000)));
            assert!(grid.ids().iter().copied().eq(0..5000), "one cell, so by id");
        }
    }

    #[test]
    fn two_clusters_far_apart_take_the_memory_of_one() {
        let near = crowd(2000, 20.0);
        let mut far = near.clone();
        far[1000..].iter_mut().for_each(|item| item.position += 1.0e6);
        let memory = |items: &[Item]| {
            let mut grid = Grid::default();
            grid.build(Layout::Spatial, 2.0, items);
            grid.memory_bytes() / items.len()
        };
        assert!(
            memory(&far) < 200 && memory(&near) < 200,
            "{} and {} bytes per item",
            memory(&far),
            memory(&near)
        );
    }

    #[test]
    fn steady_state_keeps_its_buffers() {
        let mut grid = Grid::default();
        let worlds = [crowd(3000, 20.0), crowd(3000, 4.0), crowd(3000, 2.0e5), crowd(1500, 20.0)];
        let mut build_all = || {
            worlds.iter().for_each(|items| _ = grid.build(Layout::Spatial, 2.0, items));
            grid.memory_bytes()
        };
        let warm = build_all();
        for _ in 0..5 {
            assert_eq!(build_all(), warm);
        }
    }

    /// As many threads, each taking jobs as it comes to them.
    struct Threads(usize);

    impl Runner for Threads {
        fn parts(&self) -> usize {
            self.0
        }

        fn run<J: Send>(&self, jobs: impl Iterator<Item = J> + Send, job: impl Fn(J) + Sync) {
            let jobs = std::sync::Mutex::new(jobs);
            let work = || {
                loop {
                    let next = jobs.lock().expect("no job panics").next();
                    let Some(next) = next else { break };
                    job(next);
                }
            };
            std::thread::scope(|scope| (0..self.0).for_each(|_| _ = scope.spawn(work)));
        }
    }

    #[test]
    fn threads_give_the_same_grid() {
        let mut items = crowd(6000, 20.0);
        // Some out of order, so that cells need sorting.
        items.chunks_mut(100).for_each(|some| some.swap(0, 50));
        for (tag, item) in items.iter_mut().enumerate() {
            item.tag = tag as u32;
        }
        items[5].position.x = f32::NAN;
        let (mut whole, mut threaded) = (Grid::default(), Grid::default());
        for (cell_size, layout) in
            [(0.5, Layout::Planar), (2.0, Layout::Spatial), (100.0, Layout::Spatial), (0.01, Layout::Spatial)]
        {
            whole.build(layout, cell_size, &items);
            for threads in [1, 2, 7, 50] {
                threaded.build_on(&Threads(threads), layout, cell_size, &items);
                assert_eq!((whole.tags(), whole.xs()), (threaded.tags(), threaded.xs()));
                assert_eq!(whole.table.starts, threaded.table.starts);
                for item in 0..items.len() {
                    let entry = threaded.entry_of(item);
                    assert_eq!(entry, whole.entry_of(item));
                    assert_eq!(entry.map(|entry| whole.tags()[entry] as usize), (item != 5).then_some(item));
                }
                assert_eq!((whole.bounds, whole.max_radius), (threaded.bounds, threaded.max_radius));
            }
        }
    }

    #[test]
    fn the_table_follows_the_world() {
        let mut grid = Grid::default();
        grid.build(Layout::Planar, 1.0, &crowd(1000, 20.0));
        assert_eq!(grid.table_kind(), TableKind::Dense);
        grid.build(Layout::Planar, 1.0, &crowd(1000, 1.0e6));
        assert_eq!(grid.table_kind(), TableKind::Sparse);
    }

    #[test]
    fn equal_ids_are_stored_in_one_order_too() {
        let items: Vec<_> =
            (0..40).map(|n| Item { position: Vec3::splat(n as f32 / 100.0), ..Item::default() }).collect();
        let (mut grid, mut reversed) = (Grid::default(), Grid::default());
        grid.build(Layout::Planar, 1.0, &items);
        reversed.build(Layout::Planar, 1.0, &items.into_iter().rev().collect::<Vec<_>>());
        assert_eq!(grid.xs(), reversed.xs());
    }
}
