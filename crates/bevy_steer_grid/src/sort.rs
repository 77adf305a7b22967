//! Which cell each item is in: a counting sort, or in a wide world a radix sort; both stable and O(items).

use crate::table::row_key;
use crate::{Grid, Item};

/// What a build works with, kept so that the next one allocates nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// Dense: the cell of each item.
    keys: Vec<u32>,
    /// Indices of the items in cell order.
    pub(crate) order: Vec<u32>,
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

impl Scratch {
    pub(crate) fn memory_bytes(&self) -> usize {
        4 * (self.keys.capacity() + self.order.capacity())
            + size_of::<CellOfItem>() * (self.cells[0].capacity() + self.cells[1].capacity())
    }
}

impl Grid {
    /// Histogram, prefix sum, scatter.
    pub(crate) fn sort_dense(&mut self, items: &[Item]) {
        let Self { frame, table, scratch, .. } = self;
        let (frame, origin) = (*frame, table.origin);
        let [width, height, depth] = table.dims.map(|dim| dim as usize);
        let cells = width * height * depth;
        // Counts stand two places late: the prefix sum moves them to one, the scatter, which counts up, to their own.
        table.starts.resize(cells + 2, 0);
        scratch.keys.clear();
        scratch.keys.extend(items.iter().map(|item| {
            let position = frame.layout.flatten(item.position);
            if !position.is_finite() {
                return u32::MAX;
            }
            let [x, y, z] = frame.cell(position);
            let [x, y, z] = [x - origin[0], y - origin[1], z - origin[2]].map(|v| v as usize);
            let key = (z * height + y) * width + x;
            table.starts[key + 2] += 1;
            key as u32
        }));
        let mut sum = 0;
        for start in &mut table.starts {
            sum += *start;
            *start = sum;
        }
        for (item, &key) in scratch.keys.iter().enumerate() {
            if key != u32::MAX {
                let next = &mut table.starts[key as usize + 1];
                scratch.order[*next as usize] = item as u32;
                *next += 1;
            }
        }
        table.starts.truncate(cells + 1);
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

        let mut last = None;
        for (at, cell) in from.iter().enumerate() {
            scratch.order[at] = cell.item;
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
