//! How contributions become one force.

use bevy::prelude::*;

use crate::{
    accumulator::{Contribution, ContributionKind},
    agent::AgentView,
    priority::SteeringPriority,
};

/// How the contributions of one agent become one force. The app's default is in
/// [`SteeringDefaults`](crate::SteeringDefaults); as a component it overrides that for one agent.
///
/// Within a level, contributions are weighted and summed in order of behaviour id. In every mode the result is at most
/// `max_force` long, and independent to the bit of the order in which systems ran.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub enum SteeringCombine {
    /// Σ weight × force over all levels, truncated to `max_force`.
    WeightedSum,
    /// The first level whose sum has length² > 1e-4 is used alone. A fading push still wins over a strong goal.
    FirstNonZero,
    /// Level by level until the lengths applied add up to `max_force`; the level that overflows is scaled to what is left.
    #[default]
    Budget,
}

/// Below this squared length a level counts as silent for [`SteeringCombine::FirstNonZero`].
pub(crate) const SILENT_SQUARED: f32 = 1e-4;

/// `v` shortened to at most `max`; finite for any finite `v`.
#[inline]
#[must_use]
pub fn truncate(v: Vec3, max: f32) -> Vec3 {
    let squared = v.length_squared();
    if squared <= max * max && squared.is_finite() {
        v
    } else if squared.is_finite() {
        v * (max / squared.sqrt())
    } else {
        truncate_huge(v, max)
    }
}

/// The square overflowed; brings the vector into range first.
#[cold]
fn truncate_huge(v: Vec3, max: f32) -> Vec3 {
    let largest = v.abs().max_element();
    let scaled = v / largest;
    if scaled.length() <= max / largest { v } else { scaled.normalize_or_zero() * max }
}

/// Share of `max_force` that does not move an agent that wants to rest: static friction, without which a settled crowd
/// would creep for ever.
const STICTION: f32 = 0.02;

/// Whether a goal wants the agent to stand still and nothing but idle behaviours wants otherwise. Pushes that together
/// are at most 2 % of `max_force` do not count.
#[must_use]
pub fn wants_rest(contributions: &[Contribution], view: &AgentView) -> bool {
    let (mut rests, mut pushes, mut wants_to_move) = (false, Vec3::ZERO, false);
    for c in contributions.iter().filter(|c| c.priority() < SteeringPriority::IDLE) {
        match c.kind() {
            ContributionKind::Rest => rests = true,
            ContributionKind::Push => pushes += view.plane.project(c.value()) * c.weight(),
            ContributionKind::Desired | ContributionKind::Approach => {
                wants_to_move |= view.plane.project(c.value()) != Vec3::ZERO;
            }
        }
    }
    rests && !wants_to_move && pushes.length() <= STICTION * view.max_force
}

pub(crate) fn skips_idle(contributions: &[Contribution]) -> bool {
    contributions.iter().any(|c| matches!(c.kind(), ContributionKind::Rest | ContributionKind::Approach))
}

/// The force of one contribution, before its weight.
fn force_of(c: &Contribution, view: &AgentView) -> Vec3 {
    view.plane.project(match c.kind() {
        ContributionKind::Push => c.value(),
        ContributionKind::Desired | ContributionKind::Approach | ContributionKind::Rest => {
            view.force_towards(c.value())
        }
    })
}

/// The velocity that all contributions together are after, before any limit: their weighted mean, and what the pushes
/// add in one reaction time.
#[must_use]
pub fn intention(contributions: &[Contribution], view: &AgentView) -> Vec3 {
    let (mut force, mut weight) = (Vec3::ZERO, 0.0);
    for c in contributions {
        force += force_of(c, view) * c.weight();
        weight += if c.kind() == ContributionKind::Push { 0.0 } else { c.weight() };
    }
    let wanted = view.velocity + force * (view.relaxation() / weight.max(1.0));
    if wanted.is_finite() { wanted } else { view.velocity }
}

/// The force of sorted `contributions` on the agent seen in `view`, in its plane and at most `max_force` long.
#[inline]
#[must_use]
pub fn combine(mode: SteeringCombine, contributions: &[Contribution], view: &AgentView) -> Vec3 {
    let skip_idle = skips_idle(contributions);
    let softness = 1.0 / view.relaxation();
    let mut total = Vec3::ZERO;
    let mut spent = 0.0;
    let mut rest = contributions;
    while let Some(first) = rest.first() {
        let level = first.priority();
        if skip_idle && level >= SteeringPriority::IDLE {
            break;
        }
        let mut sum = Vec3::ZERO;
        while let Some((c, others)) = rest.split_first()
            && c.priority() == level
        {
            let force = match c.kind() {
                ContributionKind::Push => c.value(),
                ContributionKind::Desired | ContributionKind::Approach | ContributionKind::Rest => {
                    (c.value() - view.velocity) * softness
                }
            };
            sum += force * c.weight();
            rest = others;
        }
        let sum = view.plane.project(sum);
        // A sum that overflowed says nothing about its direction.
        let sum = if sum.is_finite() { sum } else { Vec3::ZERO };
        match mode {
            SteeringCombine::WeightedSum => total += sum,
            SteeringCombine::FirstNonZero => {
                if sum.length_squared() > SILENT_SQUARED {
                    return truncate(sum, view.max_force);
                }
            }
            SteeringCombine::Budget => {
                let left = (view.max_force - spent).max(0.0);
                let applied = truncate(sum, left);
                total += applied;
                // The last level may leave what it likes.
                if !rest.is_empty() {
                    spent += applied.length();
                    if spent >= view.max_force {
                        break;
                    }
                }
            }
        }
    }
    truncate(if total.is_finite() { total } else { Vec3::ZERO }, view.max_force)
}

/// The push on the first level that makes the combined force `wanted` (at most `max_force` long) when the later levels
/// hold the force `others`: how avoidance gets its way and no more.
///
/// With `Budget` the others get what the push leaves of `max_force`: `wanted = push + λ·others`, and
/// `|push| + λ·|others| = max_force` unless all of it fits (λ = 1). The squares of λ cancel, so it has one solution.
#[must_use]
pub(crate) fn push_for(mode: SteeringCombine, wanted: Vec3, others: Vec3, max_force: f32) -> Vec3 {
    match mode {
        SteeringCombine::FirstNonZero => wanted,
        SteeringCombine::WeightedSum => wanted - others,
        SteeringCombine::Budget => {
            let length = others.length();
            let spare = max_force * max_force - wanted.length_squared();
            let cross = 2.0 * (max_force * length - wanted.dot(others));
            let share = if spare < cross { (spare / cross).max(0.0) } else { 1.0 };
            // Where both point the same way with all the force there is, nothing needs to be changed.
            let share = if cross > 0.0 { share } else { (max_force / length.max(max_force)).min(1.0) };
            truncate(wanted - others * share, max_force)
        }
    }
}

#[cfg(test)]
mod tests {
    use bevy::prelude::*;

    use super::*;
    use crate::{
        accumulator::{BehaviorId, SteeringAccumulator},
        agent::SteeringAgent,
        plane::SteeringPlane,
    };

    fn view(max_force: f32) -> AgentView {
        let agent = SteeringAgent::new(10.0, max_force).with_reaction_time(1.0);
        AgentView::new(&agent, Vec3::ZERO, Vec3::ZERO, SteeringPlane::Xy, 0.1)
    }

    fn pushes(list: &[(Vec3, f32, u8)]) -> SteeringAccumulator {
        let mut accumulator = SteeringAccumulator::default();
        for (i, &(v, weight, level)) in list.iter().enumerate() {
            let id = BehaviorId::new(["A", "B", "C", "D"][i]);
            accumulator.push(id, v, weight, SteeringPriority(level));
        }
        accumulator
    }

    #[test]
    fn weighted_sum_is_truncated() {
        let mut acc = pushes(&[(Vec3::new(4.0, 2.0, 0.0), 1.0, 128), (Vec3::new(-3.0, 6.0, 0.0), 2.0, 128)]);
        let force = combine(SteeringCombine::WeightedSum, acc.sorted(), &view(10.0));
        assert!(force.distance(Vec3::new(-1.414, 9.899, 0.0)) < 1e-3, "{force}");
    }

    #[test]
    fn budget_serves_levels_until_the_force_is_spent() {
        let mut acc =
            pushes(&[(Vec3::X * 10.0, 1.0, 0), (Vec3::X * -10.0, 1.0, 1), (Vec3::Y * 10.0, 1.0, 2)]);
        let force = combine(SteeringCombine::Budget, acc.sorted(), &view(15.0));
        assert!(force.distance(Vec3::X * 5.0) < 1e-5, "{force}");
    }

    #[test]
    fn first_non_zero_skips_silent_levels_only() {
        let mut acc = pushes(&[(Vec3::X * 0.009, 1.0, 0), (Vec3::Y * 0.02, 1.0, 1), (Vec3::X * 9.0, 1.0, 2)]);
        let force = combine(SteeringCombine::FirstNonZero, acc.sorted(), &view(15.0));
        assert_eq!(force, Vec3::Y * 0.02, "a faint push still wins over a strong goal");
    }

    #[test]
    fn a_resting_goal_silences_idle_levels_alone() {
        let id = BehaviorId::new("A");
        let mut acc = pushes(&[(Vec3::X, 1.0, SteeringPriority::IDLE.0)]);
        acc.rest(id, 1.0, SteeringPriority::GOAL);
        assert!(wants_rest(acc.sorted(), &view(15.0)));
        assert_eq!(combine(SteeringCombine::WeightedSum, acc.sorted(), &view(15.0)), Vec3::ZERO);
        acc.push(id, Vec3::Y, 1.0, SteeringPriority::SPACING);
        assert!(!wants_rest(acc.sorted(), &view(15.0)), "spacing still moves a resting agent");
    }

    #[test]
    fn forces_stay_in_the_plane_and_finite() {
        let mut acc = pushes(&[(Vec3::new(3e38, 0.0, 9.0), 3.0, 0), (Vec3::new(0.0, 3.0, 9.0), 1.0, 1)]);
        for mode in [SteeringCombine::WeightedSum, SteeringCombine::FirstNonZero, SteeringCombine::Budget] {
            let force = combine(mode, acc.sorted(), &view(15.0));
            assert!(force.is_finite() && force.z == 0.0, "{mode:?} {force}");
        }
        assert!(truncate(Vec3::splat(3e38), 2.0).length() <= 2.0 + 1e-6);
        let huge = truncate(Vec3::X * 1e30, 1e25);
        assert!((huge.x / 1e25 - 1.0).abs() < 1e-5, "also where both squares overflow: {huge}");
        assert_eq!(truncate(Vec3::X * 1e24, 1e25), Vec3::X * 1e24);
    }

    #[test]
    fn a_push_gets_the_force_that_it_wants() {
        for mode in [SteeringCombine::WeightedSum, SteeringCombine::FirstNonZero, SteeringCombine::Budget] {
            for wanted in [Vec3::ZERO, Vec3::X * 15.0, Vec3::new(-3.0, 7.0, 0.0), Vec3::Y * -14.9] {
                for goal in [Vec3::X * 40.0, Vec3::X * 9.0, Vec3::new(-1.0, -2.0, 0.0), Vec3::ZERO] {
                    let mut acc = SteeringAccumulator::default();
                    let push = push_for(mode, wanted, goal, 15.0);
                    acc.push(BehaviorId::new("A"), push, 1.0, SteeringPriority::SAFETY);
                    acc.push(BehaviorId::new("B"), goal, 1.0, SteeringPriority::GOAL);
                    let force = combine(mode, acc.sorted(), &view(15.0));
                    // A push of nothing cannot silence the levels behind it.
                    let silent = mode == SteeringCombine::FirstNonZero && wanted == Vec3::ZERO;
                    assert!(silent || force.distance(wanted) < 1e-3, "{mode:?} {wanted} {goal}: {force}");
                }
            }
        }
    }
}
