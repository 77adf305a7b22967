//! How contributions become one force, for several agents side by side; see [`combine`](crate::combine()).

use fearless_simd::{Simd, f32x16, mask32x16, prelude::*, u32x16};

use crate::{
    accumulator::{Contribution, ContributionKind},
    combine::{SILENT_SQUARED, SteeringCombine},
    lanes::{LANES, Numbers, Vectors, Views, Wide},
    plane::SteeringPlane,
    priority::SteeringPriority,
};

/// Contributions of an agent that there is room for.
const LAYERS: usize = 4;

/// The sorted contributions of several agents, to be filled in one by one.
pub(crate) struct Sheaf {
    /// The nth contribution of each agent.
    layers: [Layer; LAYERS],
    /// Contributions of each agent.
    counts: [u32; LANES],
    deepest: usize,
}

#[derive(Clone, Copy)]
struct Layer {
    keys: [u32; LANES],
    values: Vectors,
    weights: Numbers,
}

impl Sheaf {
    pub(crate) const EMPTY: Self = Self {
        layers: [Layer { keys: [0; LANES], values: Vectors::ZERO, weights: Numbers::ZERO }; LAYERS],
        counts: [0; LANES],
        deepest: 0,
    };

    /// Empties the sheaf.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.counts = [0; LANES];
        self.deepest = 0;
    }

    /// Enters an agent; false if it has more contributions than there is room for, or wants to rest.
    #[inline(always)]
    pub(crate) fn set(&mut self, lane: usize, contributions: &[Contribution]) -> bool {
        if contributions.len() > LAYERS {
            return false;
        }
        let mut rests = false;
        for (layer, c) in self.layers.iter_mut().zip(contributions) {
            layer.keys[lane] = c.key();
            layer.values.set(lane, c.value());
            layer.weights.0[lane] = c.weight();
            rests |= c.kind() == ContributionKind::Rest;
        }
        self.counts[lane] = contributions.len() as u32;
        self.deepest = self.deepest.max(contributions.len());
        !rests
    }
}

/// The force on each agent, as [`combine`](crate::combine()) has it, to the bit.
#[inline(always)]
pub(crate) fn combine_lanes<S: Simd>(
    simd: S,
    mode: SteeringCombine,
    sheaf: &Sheaf,
    plane: SteeringPlane,
    views: &Views<S>,
) -> Wide<S> {
    let softness = f32x16::splat(simd, 1.0) / views.relaxation;
    let mut levels = Levels::new(simd, mode, plane, views.max_force);
    let counts = u32x16::from_slice(simd, &sheaf.counts);
    let none = mask32x16::splat(simd, false);

    let mut slows = none;
    for (n, layer) in sheaf.layers[..sheaf.deepest].iter().enumerate() {
        let kind = u32x16::from_slice(simd, &layer.keys) & u32x16::splat(simd, Contribution::KIND);
        slows |= counts.simd_gt(u32x16::splat(simd, n as u32)) & kind.simd_ge(u32x16::splat(simd, 2));
    }
    for (n, layer) in sheaf.layers[..sheaf.deepest].iter().enumerate() {
        let keys = u32x16::from_slice(simd, &layer.keys);
        let kind = keys & u32x16::splat(simd, Contribution::KIND);
        let level = keys >> Contribution::LEVEL_SHIFT;
        let idle = slows & level.simd_ge(u32x16::splat(simd, u32::from(SteeringPriority::IDLE.0)));
        let here = counts.simd_gt(u32x16::splat(simd, n as u32)) & !idle;
        levels.begin(level, here, n == 0);

        let value = layer.values.load(simd);
        let wish = value.minus(views.velocity).scaled(softness);
        let pushes = kind.simd_eq(u32x16::splat(simd, ContributionKind::Push as u32));
        levels.add(value.or(pushes, wish), layer.weights.load(simd), here);
    }
    levels.finish()
}

/// Levels of priority, summed one after the other.
struct Levels<S: Simd> {
    simd: S,
    mode: SteeringCombine,
    plane: SteeringPlane,
    max_force: f32x16<S>,
    /// The level that is being summed.
    level: u32x16<S>,
    sum: Wide<S>,
    total: Wide<S>,
    spent: f32x16<S>,
    /// Who takes no more levels.
    done: mask32x16<S>,
}

impl<S: Simd> Levels<S> {
    #[inline(always)]
    fn new(simd: S, mode: SteeringCombine, plane: SteeringPlane, max_force: f32x16<S>) -> Self {
        Self {
            simd,
            mode,
            plane,
            max_force,
            level: u32x16::splat(simd, 0),
            sum: Wide::zero(simd),
            total: Wide::zero(simd),
            spent: f32x16::splat(simd, 0.0),
            done: mask32x16::splat(simd, false),
        }
    }

    /// Ends the level of those who come to another.
    #[inline(always)]
    fn begin(&mut self, level: u32x16<S>, here: mask32x16<S>, first: bool) {
        let next = here & level.simd_ne(self.level);
        self.level = here.select(level, self.level);
        if !first && next.any_true() {
            self.end(next);
            self.sum = Wide::zero(self.simd).or(next, self.sum);
        }
    }

    #[inline(always)]
    fn add(&mut self, force: Wide<S>, weight: f32x16<S>, here: mask32x16<S>) {
        self.sum = self.sum.plus(force, weight).or(here, self.sum);
    }

    #[inline(always)]
    fn end(&mut self, who: mask32x16<S>) {
        let who = who & !self.done;
        let nothing = Wide::zero(self.simd);
        let sum = self.sum.projected(self.simd, self.plane);
        // A sum that overflowed says nothing about its direction.
        let sum = sum.or(sum.is_finite(), nothing);
        let one = f32x16::splat(self.simd, 1.0);
        match self.mode {
            SteeringCombine::WeightedSum => self.total = self.total.plus(sum, one).or(who, self.total),
            SteeringCombine::FirstNonZero => {
                let speaks = who & sum.length_squared().simd_gt(f32x16::splat(self.simd, SILENT_SQUARED));
                self.total = sum.truncated(self.max_force).or(speaks, self.total);
                self.done |= speaks;
            }
            SteeringCombine::Budget => {
                let left = (self.max_force - self.spent).max(f32x16::splat(self.simd, 0.0));
                let applied = sum.truncated(left);
                self.total = self.total.plus(applied, one).or(who, self.total);
                self.spent = who.select(self.spent + applied.length_squared().sqrt(), self.spent);
                self.done |= who & self.spent.simd_ge(self.max_force);
            }
        }
    }

    #[inline(always)]
    fn finish(mut self) -> Wide<S> {
        let all = mask32x16::splat(self.simd, true);
        self.end(all);
        let total = self.total.or(self.total.is_finite(), Wide::zero(self.simd));
        match self.mode {
            // Shortened already.
            SteeringCombine::FirstNonZero => self.total,
            SteeringCombine::WeightedSum | SteeringCombine::Budget => total.truncated(self.max_force),
        }
    }
}

#[cfg(test)]
mod tests {
    use bevy::prelude::*;

    use super::*;
    use crate::{
        accumulator::{BehaviorId, SteeringAccumulator},
        agent::{AgentView, SteeringAgent},
        combine::combine,
        lanes::{Limits, at_every_level},
        rng::{AgentRng, SteeringId, SteeringSeed},
    };

    /// Contributions of every kind on few levels, some huge.
    fn contributions(rng: &mut AgentRng) -> SteeringAccumulator {
        let mut accumulator = SteeringAccumulator::default();
        let mut number = |below: f32| (rng.signed().abs() * below) as usize;
        for _ in 0..number(5.0) {
            let id = BehaviorId::new(["A", "B", "C"][number(3.0) % 3]);
            let priority =
                [SteeringPriority::SAFETY, SteeringPriority::GOAL, SteeringPriority::IDLE][number(3.0) % 3];
            let size = [1.0, 20.0, 1e-3, 3e38][number(4.0) % 4];
            let value = Vec3::new(number(9.0) as f32 - 4.0, number(9.0) as f32 - 4.0, number(5.0) as f32)
                * 0.1
                * size;
            let weight = number(4.0) as f32 * 0.7;
            match number(8.0) {
                0..4 => accumulator.push(id, value, weight, priority),
                4..7 => accumulator.desire(id, value, weight, priority),
                _ => accumulator.approach(id, value, weight, priority),
            }
        }
        accumulator
    }

    #[test]
    fn lanes_combine_like_single_agents_to_the_bit() {
        let mut rng = AgentRng::seeded(SteeringSeed(3), SteeringId(3), 3);
        let mut forces = 0;
        for round in 0..500 {
            let plane = SteeringPlane::ALL[round % 3];
            let agents: [SteeringAgent; LANES] = core::array::from_fn(|n| {
                SteeringAgent::new(5.0, [15.0, 0.0, 2.0][n % 3]).with_reaction_time([0.25, 0.0, 1.0][n % 3])
            });
            let mut wishes: [SteeringAccumulator; LANES] = core::array::from_fn(|_| contributions(&mut rng));
            let velocities: [Vec3; LANES] = core::array::from_fn(|_| Vec3::splat(rng.signed() * 4.0));
            let (mut sheaf, mut limits, mut velocity) = (Sheaf::EMPTY, Limits::ZERO, Vectors::ZERO);
            for lane in 0..LANES {
                assert!(sheaf.set(lane, wishes[lane].sorted()));
                limits.set(lane, &agents[lane]);
                velocity.set(lane, velocities[lane]);
            }
            for mode in [SteeringCombine::WeightedSum, SteeringCombine::FirstNonZero, SteeringCombine::Budget]
            {
                at_every_level!(simd => {
                    let views = Views::new(simd, &limits, &velocity, plane, 0.1);
                    let mut force = Vectors::ZERO;
                    force.store(combine_lanes(simd, mode, &sheaf, plane, &views));
                    for lane in 0..LANES {
                        let view = AgentView::new(&agents[lane], Vec3::ZERO, velocities[lane], plane, 0.1);
                        let expected = combine(mode, wishes[lane].sorted(), &view);
                        forces += usize::from(expected != Vec3::ZERO);
                        let bits = |v: Vec3| v.to_array().map(f32::to_bits);
                        assert_eq!(bits(force.get(lane)), bits(expected), "{mode:?} {:?}", wishes[lane]);
                    }
                });
            }
        }
        assert!(forces > 10_000, "{forces} of them are forces");
    }

    #[test]
    fn who_rests_or_has_too_many_wishes_is_told() {
        let (a, goal) = (BehaviorId::new("A"), SteeringPriority::GOAL);
        let (mut many, mut rest) = (SteeringAccumulator::default(), SteeringAccumulator::default());
        (0..=LAYERS).for_each(|_| many.push(a, Vec3::X, 1.0, goal));
        rest.rest(a, 1.0, goal);
        let mut sheaf = Sheaf::EMPTY;
        assert!(!sheaf.set(0, many.sorted()) && !sheaf.set(1, rest.sorted()) && sheaf.set(2, &[]));
    }
}
