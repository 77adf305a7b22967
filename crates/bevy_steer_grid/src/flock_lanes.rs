//! Eight flockmates side by side: who of them is seen, and what they add to the sums.
#![expect(
    clippy::needless_range_loop,
    reason = "iterators' closures may not be inlined into the dispatched code"
)]

use fearless_simd::{Simd, f32x8, mask32x8, prelude::*, u32x8};
use glam::Vec3;

use crate::Grid;
use crate::columns::LANES;
use crate::flock::Plan;
use crate::flock_query::{FlockQuery, usable};
use crate::vicinity::Vicinity;

// Only what is inlined here gets the instructions that were dispatched for: closures that go through library functions
// such as `array::map` do not, hence the plain loops.

/// Eight entries of the columns.
#[inline(always)]
fn load<S: Simd>(simd: S, column: &[f32], at: usize) -> f32x8<S> {
    f32x8::from_slice(simd, &column[at..at + LANES])
}

#[inline(always)]
pub(crate) fn load_all<S: Simd, const D: usize>(
    simd: S,
    columns: &[Vec<f32>; 3],
    at: usize,
) -> [f32x8<S>; D] {
    let mut lanes = [f32x8::splat(simd, 0.0); D];
    for axis in 0..D {
        lanes[axis] = load(simd, &columns[axis], at);
    }
    lanes
}

#[inline(always)]
fn splat_all<S: Simd, const D: usize>(simd: S, v: Vec3) -> [f32x8<S>; D] {
    let mut lanes = [f32x8::splat(simd, 0.0); D];
    for axis in 0..D {
        lanes[axis] = f32x8::splat(simd, v[axis]);
    }
    lanes
}

/// Who is seen in eight entries.
pub(crate) struct Seen<S: Simd, const D: usize> {
    offset: [f32x8<S>; D],
    /// Infinite for who is not seen.
    pub(crate) distance_squared: f32x8<S>,
    pub(crate) mates: mask32x8<S>,
}

/// The one who looks.
pub(crate) struct Sight<S: Simd, const D: usize> {
    center: Vec3,
    position: [f32x8<S>; D],
    heading: [f32x8<S>; D],
    key: u32x8<S>,
    entry: u32x8<S>,
    reach_squared: f32x8<S>,
    cos_half_view: f32x8<S>,
    nobody: f32x8<S>,
}

impl<S: Simd, const D: usize> Sight<S, D> {
    #[inline(always)]
    pub(crate) fn new(simd: S, grid: &Grid, entry: usize, plan: &Plan<S>) -> Self {
        Self {
            center: grid.position(entry),
            position: splat_all(simd, grid.position(entry)),
            heading: splat_all(simd, heading(grid.velocity(entry))),
            key: u32x8::splat(simd, grid.columns.key[entry]),
            entry: u32x8::splat(simd, entry as u32),
            reach_squared: plan.reach_squared,
            cos_half_view: plan.cos_half_view,
            nobody: f32x8::splat(simd, f32::INFINITY),
        }
    }

    /// Looks at the eight entries from `at` on.
    #[inline(always)]
    pub(crate) fn look<const VIEW: bool>(&self, simd: S, vicinity: &Vicinity, at: usize) -> Seen<S, D> {
        let offset = self.offset(load_all(simd, &vicinity.position, at));
        let squared = squared(offset);
        let key = u32x8::from_slice(simd, &vicinity.key[at..at + LANES]);
        let index = u32x8::from_slice(simd, &vicinity.index[at..at + LANES]);
        let mut mates =
            key.simd_eq(self.key) & !index.simd_eq(self.entry) & squared.simd_le(self.reach_squared);
        if VIEW {
            let mut ahead = offset[0] * self.heading[0];
            for axis in 1..D {
                ahead += offset[axis] * self.heading[axis];
            }
            mates &= ahead.simd_ge(self.cos_half_view * squared.sqrt());
        }
        Seen { offset, distance_squared: mates.select(squared, self.nobody), mates }
    }

    #[inline(always)]
    fn offset(&self, mut position: [f32x8<S>; D]) -> [f32x8<S>; D] {
        for axis in 0..D {
            position[axis] -= self.position[axis];
        }
        position
    }
}

/// Evaluated from left to right, as everywhere in the grid.
#[inline(always)]
fn squared<S: Simd, const D: usize>(v: [f32x8<S>; D]) -> f32x8<S> {
    let mut sum = v[0] * v[0];
    for axis in 1..D {
        sum += v[axis] * v[axis];
    }
    sum
}

/// Direction of travel; +x below a tiny speed.
#[inline]
fn heading(velocity: Vec3) -> Vec3 {
    if velocity.length_squared() > 1e-8 { velocity.normalize() } else { Vec3::X }
}

/// The sums in eight lanes.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<S: Simd, const D: usize> {
    pub(crate) separation: [f32x8<S>; D],
    pub(crate) separation_weight: f32x8<S>,
    pub(crate) alignment: [f32x8<S>; D],
    pub(crate) alignment_weight: f32x8<S>,
    pub(crate) cohesion: [f32x8<S>; D],
    pub(crate) cohesion_velocity: [f32x8<S>; D],
    pub(crate) cohesion_weight: f32x8<S>,
    pub(crate) nearest_squared: f32x8<S>,
    pub(crate) coincident: mask32x8<S>,
}

/// How much a neighbour counts for one rule.
#[derive(Clone, Copy)]
pub(crate) struct Rule<S: Simd> {
    radius: f32x8<S>,
    /// 1 / (share of the radius in which neighbours fade in).
    steepness: f32x8<S>,
    radius_squared: f32x8<S>,
}

impl<S: Simd> Rule<S> {
    #[inline(always)]
    pub(crate) fn new(simd: S, radius: f32) -> Self {
        // A rule without a radius sees nobody; −1 keeps infinities and zeros from meeting.
        let radius = usable(radius);
        let (radius, steepness, squared) = if radius > 0.0 {
            (radius, 1.0 / (FlockQuery::FADE * radius), radius * radius)
        } else {
            (-1.0, 1.0, -1.0)
        };
        Self {
            radius: f32x8::splat(simd, radius),
            steepness: f32x8::splat(simd, steepness),
            radius_squared: f32x8::splat(simd, squared),
        }
    }

    #[inline(always)]
    fn fade<const SMOOTH: bool>(&self, simd: S, distance: f32x8<S>, squared: f32x8<S>) -> f32x8<S> {
        let (zero, one) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0));
        if SMOOTH {
            let x = ((self.radius - distance) * self.steepness).max(zero).min(one);
            (x * x) * (f32x8::splat(simd, 3.0) - (x + x))
        } else {
            squared.simd_le(self.radius_squared).select(one, zero)
        }
    }
}

impl<S: Simd, const D: usize> Lanes<S, D> {
    #[inline(always)]
    pub(crate) fn new(simd: S) -> Self {
        let zero = f32x8::splat(simd, 0.0);
        Self {
            separation: [zero; D],
            separation_weight: zero,
            alignment: [zero; D],
            alignment_weight: zero,
            cohesion: [zero; D],
            cohesion_velocity: [zero; D],
            cohesion_weight: zero,
            nearest_squared: f32x8::splat(simd, f32::INFINITY),
            coincident: mask32x8::splat(simd, false),
        }
    }

    /// Adds eight entries, of whom those not seen count nothing.
    #[inline(always)]
    pub(crate) fn add<const SMOOTH: bool>(
        &mut self,
        simd: S,
        plan: &Plan<S>,
        seen: Seen<S, D>,
        velocity: [f32x8<S>; D],
    ) {
        let zero = f32x8::splat(simd, 0.0);
        let squared = seen.distance_squared;
        let distance = if SMOOTH { squared.sqrt() } else { squared };
        self.nearest_squared = self.nearest_squared.min(squared);

        let fade = plan.near.fade::<SMOOTH>(simd, distance, squared);
        let coincident = squared.simd_le(plan.coincident_squared);
        self.coincident |= coincident;
        // Direction × 1/d, so offset / d²; the division does not wait for the fade.
        let push = coincident.select(zero, f32x8::splat(simd, 1.0) / squared) * fade;
        self.separation_weight += fade;
        let middle = plan.middle.fade::<SMOOTH>(simd, distance, squared);
        self.alignment_weight += middle;
        let far = plan.far.fade::<SMOOTH>(simd, distance, squared);
        self.cohesion_weight += far;
        for axis in 0..D {
            // Coordinates at both ends of the number range are infinitely far apart, and not seen.
            let offset = seen.mates.select(seen.offset[axis], zero);
            self.separation[axis] -= offset * push;
            self.alignment[axis] += velocity[axis] * middle;
            self.cohesion[axis] += offset * far;
            self.cohesion_velocity[axis] += velocity[axis] * far;
        }
    }

    /// Adds up to eight chosen ones.
    #[inline(always)]
    pub(crate) fn add_chosen<const SMOOTH: bool>(
        &mut self,
        simd: S,
        plan: &Plan<S>,
        vicinity: &Vicinity,
        sight: &Sight<S, D>,
        chosen: &[u64],
    ) {
        let (mut offset, mut velocity) = ([[0.0; LANES]; D], [[0.0; LANES]; D]);
        let mut distance_squared = [f32::INFINITY; LANES];
        for (lane, &candidate) in chosen.iter().enumerate() {
            let place = candidate as u32 as usize;
            for axis in 0..D {
                offset[axis][lane] = vicinity.position[axis][place] - sight.center[axis];
                velocity[axis][lane] = vicinity.velocity[axis][place];
            }
            distance_squared[lane] = f32::from_bits((candidate >> 32) as u32);
        }
        let distance_squared = f32x8::from_slice(simd, &distance_squared);
        let mut seen = Seen {
            offset: [f32x8::splat(simd, 0.0); D],
            distance_squared,
            mates: distance_squared.simd_lt(f32x8::splat(simd, f32::INFINITY)),
        };
        let mut speeds = seen.offset;
        for axis in 0..D {
            seen.offset[axis] = load(simd, &offset[axis], 0);
            speeds[axis] = load(simd, &velocity[axis], 0);
        }
        self.add::<SMOOTH>(simd, plan, seen, speeds);
    }
}
