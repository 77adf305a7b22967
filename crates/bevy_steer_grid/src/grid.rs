//! The grid itself and its accessors.

use std::sync::atomic::Ordering;

use glam::Vec3;

#[cfg(doc)]
use crate::Item;
use crate::Layout;
use crate::columns::Columns;
use crate::layout::Frame;
use crate::sort::{NO_ENTRY, Scratch};
use crate::table::{Table, TableKind};

/// All agents of one tick, in cells, as structure of arrays in cell order.
///
/// Entry `i` of every column belongs to the same agent. Entries are ordered by (cell z, cell y, cell x,
/// [`Item::id`]); an index is valid until the next [`build`](Self::build). An empty grid answers every query with
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    pub(crate) frame: Frame,
    pub(crate) table: Table,
    pub(crate) columns: Columns,
    /// The lowest and highest coordinates; meaningless without entries.
    pub(crate) bounds: (Vec3, Vec3),
    pub(crate) max_radius: f32,
    pub(crate) forced: Option<TableKind>,
    pub(crate) scratch: Scratch,
}

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $field:ident, $kind:ty;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[must_use]
        pub fn $name(&self) -> &[$kind] {
            &self.columns.$field[..self.columns.len()]
        }
    )*};
}

impl Grid {
    columns! {
        /// x of the positions in cell order, world units.
        xs: x, f32;
        /// y of the positions in cell order, world units.
        ys: y, f32;
        /// z of the positions in cell order, world units; 0 in [`Layout::Planar`].
        zs: z, f32;
        /// x of the velocities in cell order, units/s.
        vxs: vx, f32;
        /// y of the velocities in cell order, units/s.
        vys: vy, f32;
        /// z of the velocities in cell order, units/s; 0 in [`Layout::Planar`].
        vzs: vz, f32;
        /// [`Item::id`] in cell order.
        ids: id, u64;
        /// [`Item::key`] in cell order.
        keys: key, u32;
        /// [`Item::radius`] in cell order, world units; finite and not negative.
        radii: radius, f32;
        /// [`Item::tag`] in cell order.
        tags: tag, u32;
        /// [`Item::mark`] in cell order.
        marks: mark, u32;
    }

    /// The entry that the `item`th item of the last build has become; `None` if it was left out, or there was none.
    #[inline]
    #[must_use]
    pub fn entry_of(&self, item: usize) -> Option<usize> {
        let place = self.scratch.places.get(item)?.load(Ordering::Relaxed);
        (place != NO_ENTRY).then_some(place as usize)
    }

    /// Number of entries.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there are no entries.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns.len() == 0
    }

    /// The position of an entry, flattened to the layout.
    ///
    /// # Panics
    /// If `index` is not less than [`len`](Self::len).
    #[inline]
    #[must_use]
    pub fn position(&self, index: usize) -> Vec3 {
        Vec3::new(self.xs()[index], self.ys()[index], self.zs()[index])
    }

    /// The velocity of an entry, flattened to the layout.
    ///
    /// # Panics
    /// If `index` is not less than [`len`](Self::len).
    #[inline]
    #[must_use]
    pub fn velocity(&self, index: usize) -> Vec3 {
        Vec3::new(self.vxs()[index], self.vys()[index], self.vzs()[index])
    }

    /// The layout of the last build.
    #[inline]
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.frame.layout
    }

    /// The edge of a cell in world units, as the last build took it.
    #[inline]
    #[must_use]
    pub fn cell_size(&self) -> f32 {
        self.frame.cell_size
    }

    /// The lowest and the highest coordinates in use, if there are entries.
    #[must_use]
    pub fn bounds(&self) -> Option<(Vec3, Vec3)> {
        (!self.is_empty()).then_some(self.bounds)
    }

    /// The largest [`Item::radius`] in the grid, 0 without entries.
    #[inline]
    #[must_use]
    pub fn max_radius(&self) -> f32 {
        self.max_radius
    }

    /// How the last build keeps its cells. Of interest to profilers only: results are the same to the bit.
    #[must_use]
    pub fn table_kind(&self) -> TableKind {
        self.table.kind
    }

    /// Heap memory held, in bytes: columns, table and what a build works with.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.columns.memory_bytes() + self.table.memory_bytes() + self.scratch.memory_bytes()
    }

    /// Makes the next builds use one kind of table where it fits in memory: for tests and benchmarks.
    #[doc(hidden)]
    pub fn force_table(&mut self, kind: Option<TableKind>) {
        self.forced = kind;
    }
}
