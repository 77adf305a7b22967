//! The entries as structure of arrays.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Item, Layout};

/// Entries that vector code looks at in one step.
pub(crate) const LANES: usize = 8;

/// The entries, one vector per field, all of one length; behind the last there is room for a step of vector code.
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
    pub(crate) mark: Vec<u32>,
    len: usize,
}

impl Columns {
    /// Makes room for exactly `len` entries; what they hold is stale until written.
    pub(crate) fn resize(&mut self, len: usize) {
        let Self { x, y, z, vx, vy, vz, id, key, radius, tag, mark, len: old } = self;
        *old = len;
        let len = len + LANES;
        for column in [x, y, z, vx, vy, vz, radius] {
            column.resize(len, 0.0);
        }
        id.resize(len, 0);
        key.resize(len, 0);
        tag.resize(len, 0);
        mark.resize(len, 0);
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The coordinates of the positions, with the room behind.
    #[inline(always)]
    pub(crate) fn position(&self) -> [&[f32]; 3] {
        [&self.x, &self.y, &self.z]
    }

    /// The coordinates of the velocities, with the room behind.
    #[inline(always)]
    pub(crate) fn velocity(&self) -> [&[f32]; 3] {
        [&self.vx, &self.vy, &self.vz]
    }

    pub(crate) fn as_mut(&mut self) -> ColumnsMut<'_> {
        let Self { x, y, z, vx, vy, vz, id, key, radius, tag, mark, len } = self;
        let floats = [x, y, z, vx, vy, vz, radius].map(|column| &mut column[..*len]);
        ColumnsMut {
            id: &mut id[..*len],
            rest: RestMut { floats, words: [&mut key[..*len], &mut tag[..*len], &mut mark[..*len]] },
        }
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        let floats = [&self.x, &self.y, &self.z, &self.vx, &self.vy, &self.vz, &self.radius];
        let words = [&self.key, &self.tag, &self.mark];
        4 * floats.map(Vec::capacity).iter().sum::<usize>()
            + 4 * words.map(Vec::capacity).iter().sum::<usize>()
            + 8 * self.id.capacity()
    }
}

/// A stretch of all columns.
#[derive(Debug)]
pub(crate) struct ColumnsMut<'a> {
    pub(crate) id: &'a mut [u64],
    pub(crate) rest: RestMut<'a>,
}

/// A stretch of all columns but the ids.
#[derive(Debug)]
pub(crate) struct RestMut<'a> {
    /// x, y, z, vx, vy, vz, radius.
    floats: [&'a mut [f32]; 7],
    /// key, tag, mark.
    words: [&'a mut [u32]; 3],
}

impl ColumnsMut<'_> {
    /// Cuts off the first `len` entries.
    pub(crate) fn split_off(&mut self, len: usize) -> Self {
        fn cut<'a, T>(slice: &mut &'a mut [T], len: usize) -> &'a mut [T] {
            slice.split_off_mut(..len).expect("no longer than the stretch")
        }
        let rest = RestMut {
            floats: self.rest.floats.each_mut().map(|column| cut(column, len)),
            words: self.rest.words.each_mut().map(|column| cut(column, len)),
        };
        Self { id: cut(&mut self.id, len), rest }
    }
}

impl RestMut<'_> {
    /// Writes `items[order[n]]` to entry `n`.
    pub(crate) fn write(self, order: &[AtomicU32], items: &[Item], layout: Layout) {
        // Equal lengths in sight of the optimiser: one bounds check per item instead of ten.
        let [x, y, z, vx, vy, vz, radius] = self.floats.map(|column| &mut column[..order.len()]);
        let [key, tag, mark] = self.words.map(|column| &mut column[..order.len()]);
        for (n, at) in order.iter().enumerate() {
            let item = items[at.load(Ordering::Relaxed) as usize].stored(layout);
            (x[n], y[n], z[n]) = item.position.into();
            (vx[n], vy[n], vz[n]) = item.velocity.into();
            (radius[n], key[n], tag[n], mark[n]) = (item.radius, item.key, item.tag, item.mark);
        }
    }
}
