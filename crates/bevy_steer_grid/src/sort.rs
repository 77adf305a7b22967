//! Which cell each item is in: a counting sort, or in a wide world a radix sort; both stable and O(items).

use std::sync::atomic::{AtomicU32, Ordering};

use crate::build::Extent;
use crate::layout::Frame;
use crate::runner::Runner;
use crate::table::row_key;
use crate::{Grid, Item};

/// What a build works with, kept so that the next one allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Dense: the cell of each item; afterwards, in both tables, the entry that it has become, [`NO_ENTRY`] if none.
    pub(crate) places: Vec<AtomicU32>,
    /// Indices of the items in cell order. Atomic because the parts of a parallel sort write in each other's midst; each
    /// place is written once, so relaxed access is enough, and as fast as any.
    pub(crate) order: Vec<AtomicU32>,
    /// Where the items of each part lie.
    pub(crate) extents: Vec<Extent>,
    /// Dense, in parallel: for each part the items in each cell, then where the next one goes.
    counts: Vec<Vec<u32>>,
    /// Sparse: the cells of the items, and the target of a sorting pass.
    cells: [Vec<CellOfItem>; 2],
}

/// The cell of an item in a world too wide for one number.
#[derive(Clone, Copy, Debug, Default)]
struct CellOfItem {
    /// As [`row_key`].
    row: u64,
    x: u32,
    item: u32,
}

/// In place of the cell, or the entry, of an item that is left out.
pub(crate) const NO_ENTRY: u32 = u32::MAX;

impl Clone for Scratch {
    /// All that outlasts the build.
    fn clone(&self) -> Self {
        let places = self.places.iter().map(|place| AtomicU32::new(place.load(Ordering::Relaxed)));
        Self { places: places.collect(), ..Self::default() }
    }
}

impl Scratch {
    pub(crate) fn memory_bytes(&self) -> usize {
        4 * (self.places.capacity() + self.order.capacity())
            + 4 * self.counts.iter().map(Vec::capacity).sum::<usize>()
            + size_of::<Extent>() * self.extents.capacity()
            + size_of::<CellOfItem>() * (self.cells[0].capacity() + self.cells[1].capacity())
    }
}

/// Numbers the cells of a dense table.
#[derive(Clone, Copy)]
struct Numbering {
    frame: Frame,
    origin: [i32; 3],
    dims: [usize; 3],
}

impl Numbering {
    fn of(grid: &Grid) -> Self {
        Self { frame: grid.frame, origin: grid.table.origin, dims: grid.table.dims.map(|dim| dim as usize) }
    }

    fn cells(self) -> usize {
        self.dims.iter().product()
    }

    #[inline]
    fn cell(self, item: &Item) -> u32 {
        let position = self.frame.layout.flatten(item.position);
        if !position.is_finite() {
            return NO_ENTRY;
        }
        let [x, y, z] = self.frame.cell(position);
        let [x, y, z] = [x - self.origin[0], y - self.origin[1], z - self.origin[2]].map(|v| v as usize);
        ((z * self.dims[1] + y) * self.dims[0] + x) as u32
    }
}

impl Grid {
    /// Histogram, prefix sum, scatter.
    pub(crate) fn sort_dense(&mut self, items: &[Item]) {
        let numbering = Numbering::of(self);
        let Self { table, scratch, .. } = self;
        let cells = numbering.cells();
        // Counts stand two places late: the prefix sum moves them to one, the scatter, which counts up, to their own.
        table.starts.resize(cells + 2, 0);
        scratch.places.clear();
        scratch.places.extend(items.iter().map(|item| {
            let cell = numbering.cell(item);
            if cell != NO_ENTRY {
                table.starts[cell as usize + 2] += 1;
            }
            AtomicU32::new(cell)
        }));
        let mut sum = 0;
        for start in &mut table.starts {
            sum += *start;
            *start = sum;
        }
        for (item, place) in scratch.places.iter_mut().enumerate() {
            let place = place.get_mut();
            if *place != NO_ENTRY {
                let next = &mut table.starts[*place as usize + 1];
                *scratch.order[*next as usize].get_mut() = item as u32;
                *place = *next;
                *next += 1;
            }
        }
        table.starts.truncate(cells + 1);
    }

    /// The same with a histogram for each `stretch` of the items: counted and scattered at the same time, and as stable.
    pub(crate) fn sort_dense_on(&mut self, runner: &impl Runner, items: &[Item], stretch: usize) {
        let numbering = Numbering::of(self);
        let Self { table, scratch, .. } = self;
        let Scratch { places, order, counts, .. } = scratch;
        let cells = numbering.cells();
        let parts = items.len().div_ceil(stretch);
        places.resize_with(items.len(), AtomicU32::default);
        if counts.len() < parts {
            counts.resize(parts, Vec::new());
        }
        let counts = &mut counts[..parts];

        let jobs = items.chunks(stretch).zip(places.chunks_mut(stretch)).zip(&mut *counts);
        runner.run(jobs, |((items, places), counts)| {
            counts.clear();
            counts.resize(cells, 0);
            for (item, place) in items.iter().zip(places) {
                let cell = numbering.cell(item);
                *place.get_mut() = cell;
                if cell != NO_ENTRY {
                    counts[cell as usize] += 1;
                }
            }
        });

        let mut sum = 0;
        table.starts.extend((0..cells).map(|cell| {
            let start = sum;
            for counts in &mut *counts {
                sum += std::mem::replace(&mut counts[cell], sum);
            }
            start
        }));
        table.starts.push(sum);

        let order = &order[..];
        let jobs = places.chunks_mut(stretch).zip(counts).enumerate();
        runner.run(jobs, |(part, (places, next))| {
            for (item, place) in (part * stretch..).zip(places) {
                let place = place.get_mut();
                if *place != NO_ENTRY {
                    let next = &mut next[*place as usize];
                    order[*next as usize].store(item as u32, Ordering::Relaxed);
                    *place = *next;
                    *next += 1;
                }
            }
        });
    }

    /// Radix sort by (z, y, x), then a list of the occupied rows and cells.
    pub(crate) fn sort_sparse(&mut self, items: &[Item]) {
        let Self { frame, table, scratch, .. } = self;
        let (frame, origin) = (*frame, table.origin);
        let [from, to] = &mut scratch.cells;
        from.clear();
        for (at, item) in items.iter().enumerate() {
            let position = frame.layout.flatten(item.position);
            if position.is_finite() {
                let [x, y, z] = frame.cell(position);
                let [x, y, z] = [x - origin[0], y - origin[1], z - origin[2]].map(|v| v as u32);
                from.push(CellOfItem { row: row_key(z, y), x, item: at as u32 });
            }
        }
        to.clear();
        to.resize(from.len(), CellOfItem::default());
        let used = |dim: u32, shift: u32| {
            (0..4).map(move |n| shift + 8 * n).take_while(move |s| (dim - 1) >> (s - shift) > 0)
        };
        for shift in used(table.dims[0], 0) {
            radix_pass(from, to, |cell| (cell.x >> shift) as u8);
        }
        for shift in used(table.dims[1], 0).chain(used(table.dims[2], 32)) {
            radix_pass(from, to, |cell| (cell.row >> shift) as u8);
        }

        scratch.places.clear();
        scratch.places.resize_with(items.len(), || AtomicU32::new(NO_ENTRY));
        let mut last = None;
        for (at, cell) in from.iter().enumerate() {
            *scratch.order[at].get_mut() = cell.item;
            *scratch.places[cell.item as usize].get_mut() = at as u32;
            if table.rows.last() != Some(&cell.row) {
                table.rows.push(cell.row);
                table.row_cells.push(table.cell_x.len() as u32);
                last = None;
            }
            if last != Some(cell.x) {
                last = Some(cell.x);
                table.cell_x.push(cell.x);
                table.starts.push(at as u32);
            }
        }
        table.row_cells.push(table.cell_x.len() as u32);
        table.starts.push(from.len() as u32);
    }
}

/// One stable pass over a digit; the result is in `from` afterwards.
fn radix_pass(from: &mut Vec<CellOfItem>, to: &mut Vec<CellOfItem>, digit: impl Fn(&CellOfItem) -> u8) {
    let mut next = [0_u32; 256];
    for cell in from.iter() {
        next[usize::from(digit(cell))] += 1;
    }
    let mut sum = 0;
    for slot in &mut next {
        sum += std::mem::replace(slot, sum);
    }
    for cell in from.iter() {
        let slot = &mut next[usize::from(digit(cell))];
        to[*slot as usize] = *cell;
        *slot += 1;
    }
    std::mem::swap(from, to);
}
