//! The second half of a build, in independent parts: order within the cells, and the columns.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::columns::ColumnsMut;
use crate::{Item, Layout};

/// Entries that are ordered and copied in one go: few enough for their items to stay in the cache.
const BLOCK: u32 = 256;

/// The parts of a build that may run at the same time.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    rest: Part<'a>,
    /// Entries for each part, but for the last.
    len: u32,
}

/// Some cells of the grid, to be filled.
#[derive(Debug)]
#[must_use = "cells that are not filled hold stale entries"]
pub(crate) struct Part<'a> {
    pub(crate) columns: ColumnsMut<'a>,
    /// The items of these cells in cell order.
    pub(crate) order: &'a mut [AtomicU32],
    /// Where these cells start, and the end, counted from the grid's first entry.
    pub(crate) starts: &'a [u32],
    pub(crate) items: &'a [Item],
    /// The entry that each item becomes.
    pub(crate) places: &'a [AtomicU32],
    pub(crate) layout: Layout,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(all: Part<'a>, parts: usize) -> Self {
        let len = all.order.len().div_ceil(parts.max(1)) as u32;
        Self { rest: all, len: len.max(1) }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        if self.rest.order.is_empty() {
            return None;
        }
        // Whole cells until the length is reached.
        let [first, ends @ ..] = self.rest.starts else {
            return None;
        };
        let cells = (ends.partition_point(|&end| end - first < self.len) + 1).min(ends.len());
        Some(self.rest.split_off(cells))
    }
}

impl<'a> Part<'a> {
    /// Cuts off the first `cells` cells.
    fn split_off(&mut self, cells: usize) -> Part<'a> {
        let starts = &self.starts[..=cells];
        let len = (starts[cells] - starts[0]) as usize;
        self.starts = &self.starts[cells..];
        Part {
            columns: self.columns.split_off(len),
            order: self.order.split_off_mut(..len).expect("as long as the columns"),
            starts,
            ..*self
        }
    }

    /// Orders the entries of each cell by id and copies their items to the columns, block by block so that an item is
    /// fetched once.
    pub(crate) fn fill(mut self) {
        while let [first, ends @ ..] = self.starts
            && !ends.is_empty()
        {
            // As many whole cells as fit, but at least one.
            let cells = ends.partition_point(|&end| end - first <= BLOCK).max(1);
            self.split_off(cells).fill_block();
        }
    }

    fn fill_block(self) {
        let Self { columns, order, starts, items, places, layout } = self;
        // The ids come first, in a loop without branches, so that the fetches of the items overlap.
        let ids = columns.id;
        let item = |at: &AtomicU32| &items[at.load(Ordering::Relaxed) as usize];
        for (id, at) in ids.iter_mut().zip(&*order) {
            *id = item(at).id;
        }
        for cell in starts.windows(2) {
            let first = cell[0];
            let cell = (cell[0] - starts[0]) as usize..(cell[1] - starts[0]) as usize;
            // The scatter was stable: where the caller's order is that of the ids, nothing is left to sort.
            if !ids[cell.clone()].is_sorted_by(|a, b| a < b) {
                let order = &mut order[cell.clone()];
                order.sort_unstable_by(|a, b| item(a).order(item(b), layout));
                for ((id, at), place) in ids[cell].iter_mut().zip(&*order).zip(first..) {
                    *id = item(at).id;
                    places[at.load(Ordering::Relaxed) as usize].store(place, Ordering::Relaxed);
                }
            }
        }
        columns.rest.write(order, items, layout);
    }
}
