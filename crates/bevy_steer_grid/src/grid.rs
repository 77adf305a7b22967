//! The grid itself: columns in cell order, and their accessors.

use glam::Vec3;

use crate::build::Scratch;
use crate::layout::Frame;
use crate::table::{Table, TableKind};
use crate::{Item, Layout};

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

/// The entries, one vector per field, all of one length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    pub(crate) x: Vec<f32>,
    pub(crate) y: Vec<f32>,
    pub(crate) z: Vec<f32>,
    pub(crate) vx: Vec<f32>,
    pub(crate) vy: Vec<f32>,
    pub(crate) vz: Vec<f32>,
    pub(crate) id: Vec<u64>,
    pub(crate) key: Vec<u32>,
    pub(crate) radius: Vec<f32>,
    pub(crate) tag: Vec<u32>,
}

impl Columns {
    /// Makes room for exactly `len` entries; what they hold is stale until written.
    pub(crate) fn resize(&mut self, len: usize) {
        let Self { x, y, z, vx, vy, vz, id, key, radius, tag } = self;
        for column in [x, y, z, vx, vy, vz, radius] {
            column.resize(len, 0.0);
        }
        id.resize(len, 0);
        key.resize(len, 0);
        tag.resize(len, 0);
    }

    /// Writes `items[order[n]]` to entry `first + n`.
    pub(crate) fn write(&mut self, first: usize, order: &[u32], items: &[Item], layout: Layout) {
        // Equal lengths in sight of the optimiser: one bounds check per item instead of eleven.
        let all = first..first + order.len();
        let (x, y, z) = (&mut self.x[all.clone()], &mut self.y[all.clone()], &mut self.z[all.clone()]);
        let (vx, vy, vz) = (&mut self.vx[all.clone()], &mut self.vy[all.clone()], &mut self.vz[all.clone()]);
        let (id, key) = (&mut self.id[all.clone()], &mut self.key[all.clone()]);
        let (radius, tag) = (&mut self.radius[all.clone()], &mut self.tag[all]);
        for (n, &at) in order.iter().enumerate() {
            let item = items[at as usize].stored(layout);
            (x[n], y[n], z[n]) = item.position.into();
            (vx[n], vy[n], vz[n]) = item.velocity.into();
            (id[n], key[n]) = (item.id, item.key);
            (radius[n], tag[n]) = (item.radius, item.tag);
        }
    }

    fn memory_bytes(&self) -> usize {
        let floats = [&self.x, &self.y, &self.z, &self.vx, &self.vy, &self.vz, &self.radius];
        let words = [&self.key, &self.tag];
        4 * floats.map(Vec::capacity).iter().sum::<usize>()
            + 4 * words.map(Vec::capacity).iter().sum::<usize>()
            + 8 * self.id.capacity()
    }
}

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $field:ident, $kind:ty;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[must_use]
        pub fn $name(&self) -> &[$kind] {
            &self.columns.$field
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
    }

    /// Number of entries.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.x.len()
    }

    /// Whether there are no entries.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns.x.is_empty()
    }

    /// The position of an entry, flattened to the layout.
    ///
    /// # Panics
    /// If `index` is not less than [`len`](Self::len).
    #[inline]
    #[must_use]
    pub fn position(&self, index: usize) -> Vec3 {
        Vec3::new(self.columns.x[index], self.columns.y[index], self.columns.z[index])
    }

    /// The velocity of an entry, flattened to the layout.
    ///
    /// # Panics
    /// If `index` is not less than [`len`](Self::len).
    #[inline]
    #[must_use]
    pub fn velocity(&self, index: usize) -> Vec3 {
        Vec3::new(self.columns.vx[index], self.columns.vy[index], self.columns.vz[index])
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
