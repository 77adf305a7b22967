//! Flock sums of eight entries side by side.

use fearless_simd::{Simd, f32x8, prelude::*};
use glam::Vec3;

use crate::columns::LANES;
use crate::flock_lanes::Lanes;
use crate::flock_query::FlockSums;

/// The sums of up to eight entries, side by side so that a caller can go on with vector code; the fields are those of
/// [`FlockSums`], coordinate by coordinate. What stands behind the last entry has no meaning.
#[derive(Clone, Debug)]
pub struct FlockBlock {
    /// Number of entries, at least 1.
    pub len: usize,
    /// The entries.
    pub entries: [u32; Self::LANES],
    /// See [`FlockSums::separation`].
    pub separation: [[f32; Self::LANES]; 3],
    /// See [`FlockSums::separation_weight`].
    pub separation_weight: [f32; Self::LANES],
    /// See [`FlockSums::alignment`].
    pub alignment: [[f32; Self::LANES]; 3],
    /// See [`FlockSums::alignment_weight`].
    pub alignment_weight: [f32; Self::LANES],
    /// See [`FlockSums::cohesion`].
    pub cohesion: [[f32; Self::LANES]; 3],
    /// See [`FlockSums::cohesion_velocity`].
    pub cohesion_velocity: [[f32; Self::LANES]; 3],
    /// See [`FlockSums::cohesion_weight`].
    pub cohesion_weight: [f32; Self::LANES],
    /// See [`FlockSums::nearest_squared`].
    pub nearest_squared: [f32; Self::LANES],
    /// A bit for each entry, the first one lowest; see [`FlockSums::coincident`].
    pub coincident: u8,
}

impl FlockBlock {
    /// Places for entries.
    pub const LANES: usize = LANES;

    const EMPTY: Self = Self {
        len: 0,
        entries: [0; LANES],
        separation: [[0.0; LANES]; 3],
        separation_weight: [0.0; LANES],
        alignment: [[0.0; LANES]; 3],
        alignment_weight: [0.0; LANES],
        cohesion: [[0.0; LANES]; 3],
        cohesion_velocity: [[0.0; LANES]; 3],
        cohesion_weight: [0.0; LANES],
        nearest_squared: [0.0; LANES],
        coincident: 0,
    };

    /// The sums of the `n`th entry.
    ///
    /// # Panics
    /// If `n` is not less than [`LANES`](Self::LANES).
    #[inline]
    #[must_use]
    pub fn sums(&self, n: usize) -> FlockSums {
        FlockSums {
            separation: at(&self.separation, n),
            separation_weight: self.separation_weight[n],
            alignment: at(&self.alignment, n),
            alignment_weight: self.alignment_weight[n],
            cohesion: at(&self.cohesion, n),
            cohesion_velocity: at(&self.cohesion_velocity, n),
            cohesion_weight: self.cohesion_weight[n],
            nearest_squared: self.nearest_squared[n],
            coincident: self.coincident >> n & 1 == 1,
        }
    }
}

#[inline]
fn at(columns: &[[f32; LANES]; 3], n: usize) -> Vec3 {
    Vec3::new(columns[0][n], columns[1][n], columns[2][n])
}

/// Entries whose lanes are still to be added up.
pub(crate) struct Pending<S: Simd, const D: usize> {
    lanes: [Lanes<S, D>; LANES],
    entries: [u32; LANES],
    len: usize,
}

impl<S: Simd, const D: usize> Pending<S, D> {
    #[inline(always)]
    pub(crate) fn new(simd: S) -> Self {
        Self { lanes: [Lanes::new(simd); LANES], entries: [0; LANES], len: 0 }
    }

    /// Takes the lanes of an entry.
    #[inline(always)]
    pub(crate) fn take(&mut self, simd: S, entry: usize, lanes: Lanes<S, D>, blocks: &mut Vec<FlockBlock>) {
        (self.lanes[self.len], self.entries[self.len]) = (lanes, entry as u32);
        self.len += 1;
        if self.len == LANES {
            self.finish(simd, blocks);
        }
    }

    /// Adds up what is there, each entry's lanes in the same order.
    #[inline(always)]
    pub(crate) fn finish(&mut self, simd: S, blocks: &mut Vec<FlockBlock>) {
        if self.len == 0 {
            return;
        }
        blocks.push(FlockBlock::EMPTY);
        let Some(block) = blocks.last_mut() else { return };
        block.len = std::mem::take(&mut self.len);
        block.entries = self.entries;
        let all = &self.lanes;
        for axis in 0..D {
            let [mut s, mut a, mut c, mut v] = [[f32x8::splat(simd, 0.0); LANES]; 4];
            for n in 0..LANES {
                (s[n], a[n]) = (all[n].separation[axis], all[n].alignment[axis]);
                (c[n], v[n]) = (all[n].cohesion[axis], all[n].cohesion_velocity[axis]);
            }
            add_up(simd, s).store_slice(&mut block.separation[axis]);
            add_up(simd, a).store_slice(&mut block.alignment[axis]);
            add_up(simd, c).store_slice(&mut block.cohesion[axis]);
            add_up(simd, v).store_slice(&mut block.cohesion_velocity[axis]);
        }
        let [mut near, mut middle, mut far, mut nearest] = [[f32x8::splat(simd, 0.0); LANES]; 4];
        for n in 0..LANES {
            (near[n], middle[n]) = (all[n].separation_weight, all[n].alignment_weight);
            (far[n], nearest[n]) = (all[n].cohesion_weight, all[n].nearest_squared);
            block.coincident |= u8::from(n < block.len && all[n].coincident.any_true()) << n;
        }
        add_up(simd, near).store_slice(&mut block.separation_weight);
        add_up(simd, middle).store_slice(&mut block.alignment_weight);
        add_up(simd, far).store_slice(&mut block.cohesion_weight);
        least(simd, nearest).store_slice(&mut block.nearest_squared);
    }
}

/// The sum over the lanes of each of eight vectors: ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)).
#[inline(always)]
fn add_up<S: Simd>(simd: S, v: [f32x8<S>; LANES]) -> f32x8<S> {
    let (low, high) = fold_pairs(simd, v[0], v[4]);
    let a = low + high;
    let (low, high) = fold_pairs(simd, v[2], v[6]);
    let b = low + high;
    let (low, high) = fold_pairs(simd, v[1], v[5]);
    let c = low + high;
    let (low, high) = fold_pairs(simd, v[3], v[7]);
    let d = low + high;
    let (low, high) = fold_pairs(simd, a, b);
    let a = low + high;
    let (low, high) = fold_pairs(simd, c, d);
    let c = low + high;
    let (low, high) = fold_pairs(simd, a, c);
    low + high
}

/// The least of the lanes of each of eight vectors.
#[inline(always)]
fn least<S: Simd>(simd: S, v: [f32x8<S>; LANES]) -> f32x8<S> {
    let (low, high) = fold_pairs(simd, v[0], v[4]);
    let a = low.min(high);
    let (low, high) = fold_pairs(simd, v[2], v[6]);
    let b = low.min(high);
    let (low, high) = fold_pairs(simd, v[1], v[5]);
    let c = low.min(high);
    let (low, high) = fold_pairs(simd, v[3], v[7]);
    let d = low.min(high);
    let (low, high) = fold_pairs(simd, a, b);
    let a = low.min(high);
    let (low, high) = fold_pairs(simd, c, d);
    let c = low.min(high);
    let (low, high) = fold_pairs(simd, a, c);
    low.min(high)
}

/// The lower and the upper halves of two vectors, each interleaved, so that lanes four apart stand above each other.
#[inline(always)]
fn fold_pairs<S: Simd>(simd: S, a: f32x8<S>, b: f32x8<S>) -> (f32x8<S>, f32x8<S>) {
    simd.interleave_f32x8(a, b)
}
