//! Where behaviours write: contributions, and the accumulator that gathers them.

use core::cmp::Ordering;

use bevy::{
    prelude::*,
    reflect::{ReflectDeserialize, ReflectSerialize},
};
use smallvec::SmallVec;

use crate::priority::SteeringPriority;

mod saved;
mod store;

pub use store::INLINE_CONTRIBUTIONS;
use store::Store;

/// Names a behaviour: the hash of its name, the same in every build and on every machine.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Debug, Clone, PartialEq, Default)]
#[type_path = "bevy_steer"]
pub struct BehaviorId(u32);

impl BehaviorId {
    const BITS: u32 = 22;

    /// The id of the behaviour called `name`: FNV-1a, folded to 22 bits. Registering two behaviours whose ids collide
    /// is refused with an error that names both.
    #[must_use]
    pub const fn new(name: &str) -> Self {
        let bytes = name.as_bytes();
        let mut hash: u32 = 0x811c_9dc5;
        let mut i = 0;
        while i < bytes.len() {
            hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
            i += 1;
        }
        Self((hash >> Self::BITS) ^ (hash & ((1 << Self::BITS) - 1)))
    }

    /// The id as a number below 2²².
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// What a contribution's vector means.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq)]
#[type_path = "bevy_steer"]
pub enum ContributionKind {
    /// A velocity that the behaviour wants, in units/s. It counts as the force
    /// `(desired − velocity) / max(reaction_time, dt / mass)`.
    Desired,
    /// A plain force, in units/s² at mass 1.
    Push,
    /// The goal is reached: velocity 0 is desired, and unless something else pulls, the agent stands exactly still.
    Rest,
    /// A desired velocity on the way to rest: levels from [`IDLE`](SteeringPriority::IDLE) on are skipped.
    Approach,
}

/// One behaviour's wish for this tick.
#[derive(Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[type_path = "bevy_steer"]
pub struct Contribution {
    value: Vec3,
    weight: f32,
    /// Priority, behaviour and kind in one number, so that sorting by it is sorting by level, then behaviour.
    key: u32,
}

impl Contribution {
    const NOTHING: Self = Self { value: Vec3::ZERO, weight: 0.0, key: 0 };

    #[inline]
    pub(crate) const fn new(
        kind: ContributionKind,
        id: BehaviorId,
        value: Vec3,
        weight: f32,
        priority: SteeringPriority,
    ) -> Self {
        Self { value, weight, key: ((priority.0 as u32) << Self::LEVEL_SHIFT) | (id.0 << 2) | kind as u32 }
    }

    /// The desired velocity or the force, by [`kind`](Self::kind).
    #[must_use]
    pub const fn value(&self) -> Vec3 {
        self.value
    }

    /// The factor that its force is multiplied by.
    #[must_use]
    pub const fn weight(&self) -> f32 {
        self.weight
    }

    /// What [`value`](Self::value) means.
    #[must_use]
    pub const fn kind(&self) -> ContributionKind {
        match self.key & Self::KIND {
            0 => ContributionKind::Desired,
            1 => ContributionKind::Push,
            2 => ContributionKind::Rest,
            _ => ContributionKind::Approach,
        }
    }

    /// Priority, behaviour and kind in one number.
    #[inline]
    pub(crate) const fn key(&self) -> u32 {
        self.key
    }

    /// The bits of the key that hold the kind.
    pub(crate) const KIND: u32 = 3;
    /// Where the level begins in the key.
    pub(crate) const LEVEL_SHIFT: u32 = 24;

    /// The behaviour that wrote it.
    #[must_use]
    pub const fn behavior(&self) -> BehaviorId {
        BehaviorId((self.key >> 2) & ((1 << BehaviorId::BITS) - 1))
    }

    /// Its level.
    #[must_use]
    pub const fn priority(&self) -> SteeringPriority {
        SteeringPriority((self.key >> Self::LEVEL_SHIFT) as u8)
    }

    /// A total order, so that a sum over sorted contributions has the same bits whoever wrote first. Sizes come before
    /// signs, so that agents set up as mirror images sum in the same order and stay mirror images.
    #[inline]
    fn order(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key).then_with(|| self.order_of_values(other))
    }

    #[cold]
    fn order_of_values(&self, other: &Self) -> Ordering {
        let key = |c: &Self| {
            let v = c.value;
            let sizes = [v.x, v.y, v.z, c.weight].map(|x| x.abs().to_bits());
            (sizes, [v.x, v.y, v.z].map(f32::is_sign_negative))
        };
        key(self).cmp(&key(other))
    }
}

/// Where the agent wants to be, for those that must not get in its way: feelers look no further than the goal.
#[derive(Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[type_path = "bevy_steer"]
pub struct SteeringGoal {
    /// The point that the agent steers to.
    pub position: Vec3,
    /// Distance from it in units that is near enough.
    pub tolerance: f32,
    key: u32,
}

/// Gathers what behaviours want of one agent in one tick. Behaviours add contributions; integration reads, combines and
/// clears them.
///
/// Any system in [`SteeringSystems::Steer`](crate::SteeringSystems::Steer) or `Avoid` may write here, the game's own like
/// the built-in ones. The order of writing does not matter: the result is the same to the bit. Up to 3 contributions, or 2
/// and a goal, need no heap; an accumulator that has held more keeps its memory.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_steer::prelude::*;
///
/// const WIND: BehaviorId = BehaviorId::new("Wind");
///
/// fn wind(mut agents: Query<&mut SteeringAccumulator>) {
///     for mut accumulator in &mut agents {
///         accumulator.push(WIND, Vec3::X * 2.0, 1.0, SteeringPriority::GOAL);
///     }
/// }
/// # let _ = IntoSystem::into_system(wind);
/// ```
#[derive(Component, Reflect, Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(from = "saved::Saved", into = "saved::Saved")]
#[reflect(opaque)]
#[reflect(Component, Default, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[type_path = "bevy_steer"]
pub struct SteeringAccumulator(Store);

/// Desires that can be looked at together without heap memory.
const MOST_DESIRES: usize = 16;

impl SteeringAccumulator {
    /// Adds a desired velocity in units/s.
    ///
    /// A vector that is not finite, or a weight that is negative or not finite, drops the contribution; integration warns
    /// once about it. Weight 0 adds nothing.
    #[inline]
    pub fn desire(&mut self, id: BehaviorId, velocity: Vec3, weight: f32, priority: SteeringPriority) {
        self.add(ContributionKind::Desired, id, velocity, weight, priority);
    }

    /// Adds a force in units/s² at mass 1. Bad values as in [`desire`](Self::desire).
    #[inline]
    pub fn push(&mut self, id: BehaviorId, force: Vec3, weight: f32, priority: SteeringPriority) {
        self.add(ContributionKind::Push, id, force, weight, priority);
    }

    /// Adds a desired velocity of a goal that slows down to rest: like [`desire`](Self::desire), and levels from
    /// [`IDLE`](SteeringPriority::IDLE) on are skipped so that they do not keep the agent from arriving.
    #[inline]
    pub fn approach(&mut self, id: BehaviorId, velocity: Vec3, weight: f32, priority: SteeringPriority) {
        self.add(ContributionKind::Approach, id, velocity, weight, priority);
    }

    /// Says that this behaviour's goal is reached: it desires velocity 0, levels from
    /// [`IDLE`](SteeringPriority::IDLE) on are skipped, and if nothing else pulls and one tick can shed the speed, the
    /// agent stops exactly and its position keeps its bits.
    #[inline]
    pub fn rest(&mut self, id: BehaviorId, weight: f32, priority: SteeringPriority) {
        self.add(ContributionKind::Rest, id, Vec3::ZERO, weight, priority);
    }

    #[inline]
    fn add(
        &mut self,
        kind: ContributionKind,
        id: BehaviorId,
        value: Vec3,
        weight: f32,
        priority: SteeringPriority,
    ) {
        if self.is_held() || weight == 0.0 {
            return;
        }
        if value.is_finite() && weight.is_finite() && weight > 0.0 {
            self.0.push(Contribution::new(kind, id, value, weight, priority));
        } else if self.0.rejected().is_none_or(|first| id < first) {
            self.0.set_rejected(Some(id));
        }
    }

    /// Adds two contributions that are known to be finite and to have weights above 0.
    #[inline]
    pub(crate) fn add_sound(&mut self, contributions: [Contribution; 2]) {
        if !self.is_held() {
            self.0.push_both(contributions);
        }
    }

    /// Tells where the agent is heading. With several goals the one of the first level counts, within a level the one of
    /// the lowest behaviour id.
    #[inline]
    pub fn set_goal(&mut self, id: BehaviorId, priority: SteeringPriority, position: Vec3, tolerance: f32) {
        let key = Contribution::new(ContributionKind::Desired, id, position, 1.0, priority).key;
        if !self.is_held() && position.is_finite() && self.goal().is_none_or(|goal| key < goal.key) {
            self.0.set_goal(Some(SteeringGoal { position, tolerance, key }));
        }
    }

    /// Where the agent is heading this tick, as far as a behaviour has said so.
    #[must_use]
    pub fn goal(&self) -> Option<SteeringGoal> {
        self.0.goal()
    }

    /// What has been written so far, in the order of writing.
    #[inline]
    #[must_use]
    pub fn contributions(&self) -> &[Contribution] {
        self.0.contributions()
    }

    /// The weighted mean of the velocities desired so far; `None` where nothing desires one.
    #[must_use]
    pub fn desired_velocity(&self) -> Option<Vec3> {
        let desires = self.sorted_desires(SteeringPriority(0));
        let weight: f32 = desires.iter().map(Contribution::weight).sum();
        (weight > 0.0).then(|| desires.iter().fold(Vec3::ZERO, |sum, c| sum + c.value * (c.weight / weight)))
    }

    /// What desires a velocity, from level `from` on, sorted. Pushes are left out: avoidance of equal rank may or may not
    /// have written its own yet.
    pub(crate) fn sorted_desires(&self, from: SteeringPriority) -> SmallVec<[Contribution; MOST_DESIRES]> {
        let wanted = |c: &&Contribution| c.kind() != ContributionKind::Push && c.priority() >= from;
        let mut desires: SmallVec<_> = self.contributions().iter().filter(wanted).copied().collect();
        desires.sort_unstable_by(Contribution::order);
        desires
    }

    /// Whether the contributions of an earlier tick still serve, because of [`SteerEvery`](crate::SteerEvery). Then
    /// writing does nothing, and a costly behaviour can skip the agent.
    #[inline]
    #[must_use]
    pub const fn is_held(&self) -> bool {
        self.0.is_held()
    }

    /// Removes what `id` has written, also from contributions that are held.
    pub fn forget(&mut self, id: BehaviorId) {
        self.0.retain(|c| c.behavior() != id);
        if self.goal().is_some_and(|goal| (goal.key >> 2) & ((1 << BehaviorId::BITS) - 1) == id.0) {
            self.0.set_goal(None);
        }
    }

    /// Sorts the contributions and hands them out; for the one system that reads them.
    #[inline]
    pub(crate) fn sorted(&mut self) -> &[Contribution] {
        let all = self.0.contributions_mut();
        match all {
            [] | [_] => {}
            [a, b] => {
                if a.order(b).is_gt() {
                    core::mem::swap(a, b);
                }
            }
            _ => all.sort_unstable_by(Contribution::order),
        }
        all
    }

    #[inline]
    pub(crate) fn has_rejected(&self) -> bool {
        self.0.rejected().is_some()
    }

    pub(crate) fn take_rejected(&mut self) -> Option<BehaviorId> {
        let rejected = self.0.rejected();
        self.0.set_rejected(None);
        rejected
    }

    /// Ends the tick: holds the contributions for the next one, or drops them.
    #[inline]
    pub(crate) fn end_tick(&mut self, hold: bool) {
        self.0.end_tick(hold);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: BehaviorId = BehaviorId::new("A");
    const B: BehaviorId = BehaviorId::new("B");
    const GOAL: SteeringPriority = SteeringPriority::GOAL;

    #[test]
    fn the_order_of_writing_leaves_no_trace() {
        let (mut one, mut two) = (SteeringAccumulator::default(), SteeringAccumulator::default());
        one.desire(A, Vec3::X, 1.0, GOAL);
        one.push(B, Vec3::Y, 2.0, SteeringPriority::SAFETY);
        one.push(B, Vec3::X, 2.0, SteeringPriority::SAFETY);
        two.push(B, Vec3::X, 2.0, SteeringPriority::SAFETY);
        two.push(B, Vec3::Y, 2.0, SteeringPriority::SAFETY);
        two.desire(A, Vec3::X, 1.0, GOAL);
        assert_eq!(one.sorted(), two.sorted());
        assert_eq!(one.sorted()[0].priority(), SteeringPriority::SAFETY, "level 0 comes first");
        assert_eq!((one.sorted()[2].behavior(), one.sorted()[2].kind()), (A, ContributionKind::Desired));
    }

    #[test]
    fn bad_contributions_are_dropped_and_remembered() {
        let mut accumulator = SteeringAccumulator::default();
        accumulator.desire(A, Vec3::NAN, 1.0, GOAL);
        accumulator.push(A, Vec3::X, -1.0, GOAL);
        accumulator.push(A, Vec3::X, f32::INFINITY, GOAL);
        accumulator.push(B, Vec3::X, 0.0, GOAL);
        assert!(accumulator.contributions().is_empty());
        assert_eq!(accumulator.take_rejected(), Some(A));
        assert_eq!(accumulator.take_rejected(), None);
    }

    #[test]
    fn held_contributions_stay_and_refuse_more_until_let_go() {
        let mut accumulator = SteeringAccumulator::default();
        accumulator.desire(A, Vec3::X, 1.0, GOAL);
        accumulator.end_tick(true);
        accumulator.desire(B, Vec3::Y, 1.0, GOAL);
        assert_eq!(accumulator.contributions().len(), 1);
        accumulator.forget(A);
        assert!(
            accumulator.contributions().is_empty(),
            "a removed behaviour leaves held contributions at once"
        );
        accumulator.end_tick(false);
        accumulator.desire(B, Vec3::Y, 1.0, GOAL);
        assert_eq!(accumulator.contributions().len(), 1);
    }

    #[test]
    fn the_goal_of_the_first_level_counts_whoever_speaks_first() {
        let mut accumulator = SteeringAccumulator::default();
        accumulator.set_goal(A, SteeringPriority::IDLE, Vec3::X, 0.1);
        accumulator.set_goal(B, GOAL, Vec3::Y, 0.2);
        accumulator.set_goal(A, SteeringPriority::IDLE, Vec3::Z, 0.1);
        assert_eq!(accumulator.goal().map(|g| g.position), Some(Vec3::Y));
    }
}
