//! The build: bounds, kind of table, sort, columns.

use std::sync::atomic::AtomicUsize;

use glam::Vec3;

use crate::layout::Frame;
use crate::parts::{Part, Parts};
use crate::table::TableKind;
use crate::{Grid, Item, Layout};

impl Grid {
    /// Replaces the contents by `items`, in cells of `cell_size` world units, and returns how many items were left out
    /// because their position is not finite.
    ///
    /// The cost is O(items) however they lie, but for a sort by id within each cell. The cell size only changes speed,
    /// best near the usual query radius (see [`suggest_cell_size`](crate::suggest_cell_size)), and the order of entries;
    /// one that is not positive counts as 1.
    ///
    /// # Panics
    /// With more than `u32::MAX - 1` items.
    pub fn build(&mut self, layout: Layout, cell_size: f32, items: &[Item]) -> usize {
        self.build_in_parts(layout, cell_size, items, 1, |parts| parts.for_each(Part::fill))
    }

    /// As [`build`](Self::build), to the bit, but leaves the costly half to `run`, in about as many parts as asked for,
    /// which it may fill in any order and at the same time:
    ///
    /// ```
    /// # use bevy_steer_grid::{Grid, Item, Layout};
    /// # let items = vec![Item::default(); 100];
    /// let mut grid = Grid::default();
    /// grid.build_in_parts(Layout::Planar, 6.0, &items, 2, |parts| {
    ///     std::thread::scope(|scope| {
    ///         for part in parts {
    ///             scope.spawn(move || part.fill());
    ///         }
    ///     });
    /// });
    /// ```
    ///
    /// # Panics
    /// With more than `u32::MAX - 1` items, or if `run` returns before all parts are filled.
    pub fn build_in_parts(
        &mut self,
        layout: Layout,
        cell_size: f32,
        items: &[Item],
        parts: usize,
        run: impl FnOnce(Parts<'_>),
    ) -> usize {
        assert!(items.len() < u32::MAX as usize, "the grid indexes its entries with 32 bits");
        self.frame = Frame::new(layout, cell_size);
        self.max_radius = 0.0;
        let (mut low, mut high, mut kept) = (Vec3::MAX, Vec3::MIN, 0);
        for item in items {
            let position = layout.flatten(item.position);
            if position.is_finite() {
                low = low.min(position);
                high = high.max(position);
                self.max_radius = self.max_radius.max(item.stored(layout).radius);
                kept += 1;
            }
        }
        self.bounds = (low, high);
        self.columns.resize(kept);
        self.scratch.order.clear();
        self.scratch.order.resize(kept, 0);
        if kept == 0 {
            self.table.reset(TableKind::Sparse, [0; 3], [0; 3]);
            return items.len();
        }

        // Cells are monotone in the coordinates, so the extreme coordinates give the extreme cells.
        let (lo, hi) = (self.frame.cell(low), self.frame.cell(high));
        let dims = std::array::from_fn(|axis| (hi[axis] - lo[axis]) as u32 + 1);
        let kind = self.choose_table(dims, kept);
        self.table.reset(kind, lo, dims);
        match kind {
            TableKind::Dense => self.sort_dense(items),
            TableKind::Sparse => self.sort_sparse(items),
        }
        let filled = AtomicUsize::new(0);
        let all = Part {
            columns: self.columns.as_mut(),
            order: &mut self.scratch.order,
            starts: &self.table.starts,
            items,
            layout,
            filled: &filled,
        };
        run(Parts::new(all, parts));
        assert_eq!(filled.into_inner(), kept, "all parts of a build must be filled");
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

    #[test]
    fn parts_give_the_same_grid() {
        let items = crowd(3000, 20.0);
        let (mut whole, mut threaded) = (Grid::default(), Grid::default());
        for cell_size in [0.5, 2.0, 100.0] {
            whole.build(Layout::Spatial, cell_size, &items);
            for parts in [0, 1, 2, 7, 500] {
                threaded.build_in_parts(Layout::Spatial, cell_size, &items, parts, |parts| {
                    std::thread::scope(|scope| {
                        let parts: Vec<_> = parts.collect();
                        for part in parts.into_iter().rev() {
                            assert!(part.len() > 0);
                            scope.spawn(|| part.fill());
                        }
                    });
                });
                assert_eq!((whole.tags(), whole.xs()), (threaded.tags(), threaded.xs()));
            }
        }
    }

    #[test]
    #[should_panic = "all parts of a build must be filled"]
    fn a_forgotten_part_is_noticed() {
        Grid::default().build_in_parts(Layout::Planar, 1.0, &crowd(100, 9.0), 3, |parts| {
            parts.skip(1).for_each(Part::fill)
        });
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
