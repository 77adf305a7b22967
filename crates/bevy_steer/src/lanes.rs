//! Several agents side by side, one in each lane of vector registers.
//!
//! Whatever is computed here has the bits of the same formula for a single agent, where that is a number: nothing is fused or
//! reordered.

use bevy::prelude::*;
use fearless_simd::{Level, Simd, f32x16, mask32x16, prelude::*};

use crate::{agent::SteeringAgent, behavior::check, combine::truncate, plane::SteeringPlane};

/// Agents that are worked on side by side.
pub(crate) const LANES: usize = 16;

/// The instruction set to work with, found at run time.
pub(crate) fn level() -> Level {
    Level::new()
}

/// One number of each agent, to be filled in one by one.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Numbers(pub(crate) [f32; LANES]);

impl Numbers {
    pub(crate) const ZERO: Self = Self([0.0; LANES]);

    #[inline(always)]
    pub(crate) fn load<S: Simd>(&self, simd: S) -> f32x16<S> {
        f32x16::from_slice(simd, &self.0)
    }

    #[inline(always)]
    pub(crate) fn store<S: Simd>(&mut self, numbers: f32x16<S>) {
        numbers.store_slice(&mut self.0);
    }
}

/// One vector of each agent, to be filled in one by one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vectors(pub(crate) [Numbers; 3]);

impl Vectors {
    pub(crate) const ZERO: Self = Self([Numbers::ZERO; 3]);

    #[inline(always)]
    pub(crate) fn set(&mut self, lane: usize, v: Vec3) {
        (self.0[0].0[lane], self.0[1].0[lane], self.0[2].0[lane]) = v.into();
    }

    #[inline(always)]
    pub(crate) fn get(&self, lane: usize) -> Vec3 {
        Vec3::new(self.0[0].0[lane], self.0[1].0[lane], self.0[2].0[lane])
    }

    #[inline(always)]
    pub(crate) fn load<S: Simd>(&self, simd: S) -> Wide<S> {
        Wide([self.0[0].load(simd), self.0[1].load(simd), self.0[2].load(simd)])
    }

    #[inline(always)]
    pub(crate) fn store<S: Simd>(&mut self, vectors: Wide<S>) {
        for axis in 0..3 {
            self.0[axis].store(vectors.0[axis]);
        }
    }
}

/// One vector of each agent, in registers.
#[derive(Clone, Copy)]
pub(crate) struct Wide<S: Simd>(pub(crate) [f32x16<S>; 3]);

#[expect(clippy::needless_range_loop, reason = "closures may not be inlined into the dispatched code")]
impl<S: Simd> Wide<S> {
    #[inline(always)]
    pub(crate) fn zero(simd: S) -> Self {
        Self([f32x16::splat(simd, 0.0); 3])
    }

    /// `self + v · factor`.
    #[inline(always)]
    pub(crate) fn plus(mut self, v: Self, factor: f32x16<S>) -> Self {
        for axis in 0..3 {
            self.0[axis] += v.0[axis] * factor;
        }
        self
    }

    #[inline(always)]
    pub(crate) fn minus(mut self, v: Self) -> Self {
        for axis in 0..3 {
            self.0[axis] -= v.0[axis];
        }
        self
    }

    #[inline(always)]
    pub(crate) fn scaled(mut self, factor: f32x16<S>) -> Self {
        for axis in 0..3 {
            self.0[axis] *= factor;
        }
        self
    }

    #[inline(always)]
    pub(crate) fn over(mut self, divisor: f32x16<S>) -> Self {
        for axis in 0..3 {
            self.0[axis] /= divisor;
        }
        self
    }

    #[inline(always)]
    pub(crate) fn length_squared(&self) -> f32x16<S> {
        let [x, y, z] = self.0;
        x * x + y * y + z * z
    }

    /// `self` where the mask is set, elsewhere `other`.
    #[inline(always)]
    pub(crate) fn or(mut self, mask: mask32x16<S>, other: Self) -> Self {
        for axis in 0..3 {
            self.0[axis] = mask.select(self.0[axis], other.0[axis]);
        }
        self
    }

    /// Who differs in any coordinate.
    #[inline(always)]
    pub(crate) fn differs(&self, other: &Self) -> mask32x16<S> {
        self.0[0].simd_ne(other.0[0]) | self.0[1].simd_ne(other.0[1]) | self.0[2].simd_ne(other.0[2])
    }

    /// Whose coordinates are all finite.
    #[inline(always)]
    pub(crate) fn is_finite(&self) -> mask32x16<S> {
        self.0[0].is_finite() & self.0[1].is_finite() & self.0[2].is_finite()
    }

    /// The part in the plane.
    #[inline(always)]
    pub(crate) fn projected(mut self, simd: S, plane: SteeringPlane) -> Self {
        let zero = f32x16::splat(simd, 0.0);
        match plane {
            SteeringPlane::Xy => self.0[2] = zero,
            SteeringPlane::Xz => self.0[1] = zero,
            SteeringPlane::Space => {}
        }
        self
    }

    /// As [`truncate`].
    #[inline(always)]
    pub(crate) fn truncated(self, max: f32x16<S>) -> Self {
        let squared = self.length_squared();
        let short = squared.simd_le(max * max);
        let cut = self.or(short, self.scaled(max / squared.sqrt()));
        // The square overflowed, or there is no square root of what it should be shortened to.
        let huge = !squared.is_finite();
        if huge.any_true() { cut.truncated_one_by_one(self, max) } else { cut }
    }

    #[cold]
    #[inline(never)]
    fn truncated_one_by_one(mut self, full: Self, max: f32x16<S>) -> Self {
        for lane in 0..LANES {
            let v = Vec3::new(full.0[0][lane], full.0[1][lane], full.0[2][lane]);
            let short = truncate(v, max[lane]).to_array();
            for axis in 0..3 {
                self.0[axis][lane] = short[axis];
            }
        }
        self
    }
}

/// The limits of agents, to be filled in one by one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    max_speed: Numbers,
    max_force: Numbers,
    mass: Numbers,
    reaction_time: Numbers,
}

impl Limits {
    pub(crate) const ZERO: Self = Self {
        max_speed: Numbers::ZERO,
        max_force: Numbers::ZERO,
        mass: Numbers::ZERO,
        reaction_time: Numbers::ZERO,
    };

    #[inline(always)]
    pub(crate) fn set(&mut self, lane: usize, agent: &SteeringAgent) {
        self.max_speed.0[lane] = agent.max_speed;
        self.max_force.0[lane] = agent.max_force;
        self.mass.0[lane] = agent.mass;
        self.reaction_time.0[lane] = agent.reaction_time;
    }
}

/// Agents in one plane with every value made safe, as in [`AgentView`](crate::AgentView).
#[derive(Clone, Copy)]
pub(crate) struct Views<S: Simd> {
    pub(crate) velocity: Wide<S>,
    pub(crate) max_speed: f32x16<S>,
    pub(crate) max_force: f32x16<S>,
    pub(crate) mass: f32x16<S>,
    /// `max(reaction_time, dt / mass)`.
    pub(crate) relaxation: f32x16<S>,
}

impl<S: Simd> Views<S> {
    #[inline(always)]
    pub(crate) fn new(simd: S, limits: &Limits, velocity: &Vectors, plane: SteeringPlane, dt: f32) -> Self {
        let zero = f32x16::splat(simd, 0.0);
        let mass = safe(simd, &limits.mass, f32x16::splat(simd, f32::INFINITY));
        let dt = f32x16::splat(simd, check::or_zero(dt));
        let velocity = velocity.load(simd).projected(simd, plane);
        let least = f32x16::splat(simd, f32::MIN_POSITIVE);
        Self {
            velocity: velocity.or(velocity.is_finite(), Wide::zero(simd)),
            max_speed: safe(simd, &limits.max_speed, zero),
            max_force: safe(simd, &limits.max_force, zero),
            mass,
            relaxation: safe(simd, &limits.reaction_time, zero).max(dt / mass).max(least),
        }
    }
}

/// Values that are finite and above 0, elsewhere `instead`.
#[inline(always)]
fn safe<S: Simd>(simd: S, values: &Numbers, instead: f32x16<S>) -> f32x16<S> {
    let values = values.load(simd);
    (values.simd_gt(f32x16::splat(simd, 0.0)) & values.is_finite()).select(values, instead)
}

/// Runs a test with every instruction set that this machine has.
#[cfg(test)]
macro_rules! at_every_level {
    ($simd:ident => $test:expr) => {
        let best = $crate::lanes::level();
        let all = [
            Some(fearless_simd::Level::fallback()),
            Some(fearless_simd::Level::baseline()),
            #[cfg(target_arch = "x86_64")]
            best.as_sse4_2().map(fearless_simd::Simd::level),
            #[cfg(target_arch = "x86_64")]
            best.as_avx2().map(fearless_simd::Simd::level),
            Some(best),
        ];
        for level in all.into_iter().flatten() {
            fearless_simd::dispatch!(level, $simd => $test);
        }
    };
}
#[cfg(test)]
pub(crate) use at_every_level;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AgentView;

    #[test]
    fn lanes_are_truncated_like_single_vectors() {
        let samples = [
            (Vec3::ZERO, 1.0),
            (Vec3::ZERO, 0.0),
            (Vec3::X, 0.0),
            (Vec3::new(3.0, -4.0, 0.0), 5.0),
            (Vec3::new(3.0, -4.0, 1e-3), 5.0),
            (Vec3::splat(0.3), 0.2),
            (Vec3::splat(1e-30), 1e-32),
            (Vec3::X * 1e30, 1e25),
            (Vec3::splat(3e38), 2.0),
        ];
        for skip in 0..samples.len() {
            let (mut vectors, mut max) = (Vectors::ZERO, Numbers([1.0; LANES]));
            for (lane, &(v, limit)) in samples.iter().enumerate().skip(skip).take(4) {
                vectors.set(lane, v);
                max.0[lane] = limit;
            }
            let mut short = Vectors::ZERO;
            at_every_level!(simd => {
                short.store(vectors.load(simd).truncated(max.load(simd)));
                for (lane, &max) in max.0.iter().enumerate() {
                    let expected = truncate(vectors.get(lane), max);
                    assert_eq!(bits(short.get(lane)), bits(expected));
                }
            });
        }
    }

    fn bits(v: Vec3) -> [u32; 3] {
        v.to_array().map(f32::to_bits)
    }

    #[test]
    fn lanes_see_agents_as_a_view_does() {
        let odd = [0.0, -0.0, -1.0, 2.5, 1e-40, 3e38, f32::INFINITY, f32::NAN, 0.25];
        let agents: [SteeringAgent; LANES] = core::array::from_fn(|n| SteeringAgent {
            max_speed: odd[n % 9],
            max_force: odd[(n + 3) % 9],
            mass: odd[(n * 2 + 1) % 9],
            reaction_time: odd[(n * 4 + 2) % 9],
            radius: 0.5,
        });
        let velocity = |n: usize| Vec3::new(odd[(n + 5) % 9], 1.0, odd[(n + 1) % 9]);
        let (mut limits, mut velocities) = (Limits::ZERO, Vectors::ZERO);
        for (lane, agent) in agents.iter().enumerate() {
            limits.set(lane, agent);
            velocities.set(lane, velocity(lane));
        }
        for plane in SteeringPlane::ALL {
            for dt in [0.0, 0.1, f32::NAN] {
                at_every_level!(simd => {
                    let views = Views::new(simd, &limits, &velocities, plane, dt);
                    let mut seen = Vectors::ZERO;
                    seen.store(views.velocity);
                    for (lane, agent) in agents.iter().enumerate() {
                        let view = AgentView::new(agent, Vec3::ZERO, velocity(lane), plane, dt);
                        assert_eq!(bits(seen.get(lane)), bits(view.velocity));
                        let lanes = [views.max_speed, views.max_force, views.mass, views.relaxation];
                        let single = [view.max_speed, view.max_force, view.mass, view.relaxation()];
                        assert_eq!(lanes.map(|numbers| numbers[lane].to_bits()), single.map(f32::to_bits));
                    }
                });
            }
        }
    }
}
