//! The entries round a point, copied side by side.

use fearless_simd::{Simd, f32x8, prelude::*, u32x8};
use glam::Vec3;

use crate::columns::LANES;
use crate::query::Runs;
use crate::table::Zone;
use crate::{Grid, Layout};

/// What vector code looks at for one point: the entries of all cells that its ball touches, in grid order, without the gaps
/// between rows. Kept from one point to the next, for points of one cell mostly share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vicinity {
    zone: Option<Zone>,
    /// Number of entries; behind them is room for a step, whose coordinates are infinite.
    len: usize,
    pub(crate) position: [Vec<f32>; 3],
    pub(crate) velocity: [Vec<f32>; 3],
    pub(crate) key: Vec<u32>,
    /// The entries.
    pub(crate) index: Vec<u32>,
}

impl Vicinity {
    /// Makes it forget which grid it was copied from.
    pub(crate) fn forget(&mut self) {
        self.zone = None;
    }

    /// Number of steps.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> usize {
        self.len.div_ceil(LANES)
    }

    /// Moves to a point of the grid that is finite.
    #[inline(always)]
    pub(crate) fn move_to<S: Simd>(&mut self, simd: S, grid: &Grid, center: Vec3, radius: f32) {
        let zone = grid.ball_zone(center, radius);
        if zone != self.zone || zone.is_none() {
            self.zone = zone;
            match grid.layout() {
                Layout::Planar => self.copy::<S, 2>(simd, grid),
                Layout::Spatial => self.copy::<S, 3>(simd, grid),
            }
        }
    }

    #[inline(always)]
    fn copy<S: Simd, const D: usize>(&mut self, simd: S, grid: &Grid) {
        self.len = 0;
        let columns = &grid.columns;
        for range in Runs(grid.table.rows(self.zone)) {
            let end = self.len + range.len();
            self.reserve::<D>(end);
            // In whole steps: what is copied too much is written over by the next range.
            let (mut from, mut to) = (range.start, self.len);
            while to < end {
                for axis in 0..D {
                    copy(simd, columns.position()[axis], from, &mut self.position[axis], to);
                    copy(simd, columns.velocity()[axis], from, &mut self.velocity[axis], to);
                }
                let key = u32x8::from_slice(simd, &columns.key[from..from + LANES]);
                key.store_slice(&mut self.key[to..to + LANES]);
                let index =
                    u32x8::splat(simd, from as u32) + u32x8::from_slice(simd, &[0, 1, 2, 3, 4, 5, 6, 7]);
                index.store_slice(&mut self.index[to..to + LANES]);
                (from, to) = (from + LANES, to + LANES);
            }
            self.len = end;
        }
        self.reserve::<D>(self.len);
        // Behind the last one nobody is within any distance.
        let nowhere = f32x8::splat(simd, f32::INFINITY);
        for axis in 0..D {
            nowhere.store_slice(&mut self.position[axis][self.len..self.len + LANES]);
            let still = f32x8::splat(simd, 0.0);
            still.store_slice(&mut self.velocity[axis][self.len..self.len + LANES]);
        }
    }

    /// Room for `len` entries and a step.
    #[inline(always)]
    fn reserve<const D: usize>(&mut self, len: usize) {
        if self.key.len() < len + LANES {
            self.grow::<D>(len);
        }
    }

    #[cold]
    fn grow<const D: usize>(&mut self, len: usize) {
        // Room for most worlds at once, so that a cell that fills up seldom asks for more.
        let len = (2 * len).max(1024).next_multiple_of(LANES) + 2 * LANES;
        for column in self.position.iter_mut().chain(&mut self.velocity) {
            column.resize(len, 0.0);
        }
        self.key.resize(len, 0);
        self.index.resize(len, 0);
    }
}

/// Copies a step.
#[inline(always)]
fn copy<S: Simd>(simd: S, from: &[f32], at: usize, to: &mut [f32], place: usize) {
    f32x8::from_slice(simd, &from[at..at + LANES]).store_slice(&mut to[place..place + LANES]);
}
