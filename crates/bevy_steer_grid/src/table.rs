//! Where each cell starts: a dense table over the bounding box, or a sparse one over the occupied cells.

use std::ops::Range;

/// How the grid finds a cell. Chosen at each build; never visible in a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TableKind {
    /// A start for every cell of the bounding box of the occupied cells: the usual crowd.
    #[default]
    Dense,
    /// Only the occupied cells, found by binary search: a wide world that is mostly empty.
    Sparse,
}

/// A box of cells, inclusive, relative to the table's origin and clipped to it; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    pub(crate) lo: [u32; 3],
    pub(crate) hi: [u32; 3],
}

impl Zone {
    fn has_row(&self, row: Row) -> bool {
        (self.lo[1]..=self.hi[1]).contains(&row.y) && (self.lo[2]..=self.hi[2]).contains(&row.z)
    }
}

/// A row of cells that may be occupied: its coordinates and where the table keeps it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    y: u32,
    z: u32,
    at: usize,
}

/// Where each cell starts. Entries lie in the order of (z, y, x), so that neighbouring cells of a row are one range.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) kind: TableKind,
    /// The lowest occupied cell on each axis.
    pub(crate) origin: [i32; 3],
    /// Number of cells on each axis of the bounding box; 0 without entries.
    pub(crate) dims: [u32; 3],
    /// Dense: the first entry of each cell of the box. Sparse: of each occupied cell. In both the end follows.
    pub(crate) starts: Vec<u32>,
    /// Sparse: (z, y) of the occupied rows, z in the upper half, ascending.
    pub(crate) rows: Vec<u64>,
    /// Sparse: the first occupied cell of each row, and the end.
    pub(crate) row_cells: Vec<u32>,
    /// Sparse: x of the occupied cells, ascending within a row.
    pub(crate) cell_x: Vec<u32>,
}

/// The key of a row in [`Table::rows`].
#[inline]
pub(crate) fn row_key(z: u32, y: u32) -> u64 {
    u64::from(z) << 32 | u64::from(y)
}

impl Table {
    /// Empties the table and lays it over the cells from `lo` to `hi`.
    pub(crate) fn reset(&mut self, kind: TableKind, lo: [i32; 3], dims: [u32; 3]) {
        self.kind = kind;
        self.origin = lo;
        self.dims = dims;
        self.starts.clear();
        self.rows.clear();
        self.row_cells.clear();
        self.cell_x.clear();
    }

    /// The cells from `lo` to `hi` that are inside the bounding box, if any.
    #[inline(always)]
    pub(crate) fn zone(&self, lo: [i32; 3], hi: [i32; 3]) -> Option<Zone> {
        let mut zone = Zone { lo: [0; 3], hi: [0; 3] };
        for axis in 0..3 {
            let low = (lo[axis] - self.origin[axis]).max(0);
            let high = i64::from(hi[axis] - self.origin[axis]).min(i64::from(self.dims[axis]) - 1);
            if i64::from(low) > high {
                return None;
            }
            zone.lo[axis] = low as u32;
            zone.hi[axis] = high as u32;
        }
        Some(zone)
    }

    /// Whether the zone is the whole bounding box.
    pub(crate) fn is_all(&self, zone: &Zone) -> bool {
        zone.lo == [0; 3] && (0..3).all(|axis| zone.hi[axis] + 1 == self.dims[axis])
    }

    /// The rows of a zone in order; in a sparse table only the occupied ones.
    #[inline]
    pub(crate) fn rows(&self, zone: Option<Zone>) -> Rows<'_> {
        // Without a zone the walk starts behind its end.
        let (zone, z) = match zone {
            Some(zone) => (zone, zone.lo[2]),
            None => (Zone { lo: [0; 3], hi: [0; 3] }, 1),
        };
        let at = match self.kind {
            TableKind::Dense => 0,
            TableKind::Sparse => self.rows.partition_point(|&row| row < row_key(z, zone.lo[1])),
        };
        Rows { table: self, zone, y: zone.lo[1], z, at }
    }

    /// The entries of the cells `x_lo..=x_hi` of a row.
    #[inline]
    pub(crate) fn span(&self, row: Row, x_lo: u32, x_hi: u32) -> Range<usize> {
        match self.kind {
            TableKind::Dense => {
                let start = self.starts[row.at + x_lo as usize];
                let end = self.starts[row.at + x_hi as usize + 1];
                start as usize..end as usize
            }
            TableKind::Sparse => {
                let first = self.row_cells[row.at] as usize;
                let cells = &self.cell_x[first..self.row_cells[row.at + 1] as usize];
                let from = first + cells.partition_point(|&x| x < x_lo);
                let to = first + cells.partition_point(|&x| x <= x_hi);
                self.starts[from] as usize..self.starts[to] as usize
            }
        }
    }

    /// Calls `visit` with the ranges of a zone in order, leaving out those of an earlier zone inside it.
    pub(crate) fn for_each_span(
        &self,
        zone: Option<Zone>,
        done: Option<Zone>,
        mut visit: impl FnMut(Range<usize>),
    ) {
        let Some(zone) = zone else { return };
        for row in self.rows(Some(zone)) {
            match done {
                Some(done) if done.has_row(row) => {
                    if zone.lo[0] < done.lo[0] {
                        visit(self.span(row, zone.lo[0], done.lo[0] - 1));
                    }
                    if zone.hi[0] > done.hi[0] {
                        visit(self.span(row, done.hi[0] + 1, zone.hi[0]));
                    }
                }
                _ => visit(self.span(row, zone.lo[0], zone.hi[0])),
            }
        }
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        4 * (self.starts.capacity() + self.row_cells.capacity() + self.cell_x.capacity())
            + 8 * self.rows.capacity()
    }
}

/// Walks the rows of a zone.
#[derive(Clone, Debug)]
pub(crate) struct Rows<'g> {
    pub(crate) table: &'g Table,
    pub(crate) zone: Zone,
    y: u32,
    z: u32,
    at: usize,
}

impl Rows<'_> {
    /// The next occupied row, jumping over gaps so that the cost does not depend on how wide they are.
    fn next_sparse(&mut self) -> Option<Row> {
        let rows = &self.table.rows;
        while let Some(&key) = rows.get(self.at) {
            let (z, y) = ((key >> 32) as u32, key as u32);
            if z > self.zone.hi[2] {
                break;
            }
            let target = if y < self.zone.lo[1] {
                row_key(z, self.zone.lo[1])
            } else if y > self.zone.hi[1] {
                row_key(z + 1, self.zone.lo[1])
            } else {
                self.at += 1;
                return Some(Row { y, z, at: self.at - 1 });
            };
            self.at += rows[self.at..].partition_point(|&row| row < target);
        }
        None
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    #[inline(always)]
    fn next(&mut self) -> Option<Row> {
        if self.table.kind == TableKind::Sparse {
            return self.next_sparse();
        }
        if self.y > self.zone.hi[1] {
            self.y = self.zone.lo[1];
            self.z += 1;
        }
        if self.z > self.zone.hi[2] {
            return None;
        }
        let [width, height, _] = self.table.dims.map(|dim| dim as usize);
        let row = Row { y: self.y, z: self.z, at: (self.z as usize * height + self.y as usize) * width };
        self.y += 1;
        Some(row)
    }
}
