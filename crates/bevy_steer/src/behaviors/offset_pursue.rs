//! Offset pursuit: keep a place beside a target that moves.

use bevy::prelude::*;

use crate::{
    accumulator::BehaviorId,
    agent::{AgentView, SteeringAgent},
    behavior::{DEFAULT_WEIGHT, Fault, GOAL, Steerer, SteererItem, Steering, SteeringBehavior, check},
    behaviors::arrive::{SlowingRadius, TOLERANCE, arrive, can_rest, safe_tolerance},
    priority::SteeringPriority,
    sensing::SteerEvery,
    target::{SteeringTarget, TargetMemory, TargetView, Targets},
};

/// Keeps a place that is fixed in the target's frame, as wingmen and companions do: [`Arrive`](crate::Arrive) at
/// `target + rotation × offset`, with the velocity of that point added, so that there is no lag at constant speed.
///
/// `desired = target velocity + velocity of the turning offset + arrive term`. A target that turns makes the agent
/// trail by about `4 · reaction_time² ·` the acceleration of the place. Beside a target that stands it comes to rest
/// exactly, within 0.05. The offset of a point is in world axes.
///
/// Source: C. Reynolds, *Steering Behaviors for Autonomous Characters*, 1999 (offset pursuit).
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(SteeringAgent, OffsetPursueState, TargetMemory<OffsetPursue>)]
#[type_path = "bevy_steer"]
pub struct OffsetPursue {
    /// Whom to accompany.
    #[entities]
    pub target: SteeringTarget,
    /// The place in the target's own frame (its `Transform` rotation), in units; the target's own place by default.
    #[reflect(@-10.0_f32..=10.0_f32)]
    pub offset: Vec3,
    /// Where to begin to slow down.
    pub slowing_radius: SlowingRadius,
    /// Factor on its force; 1 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub weight: f32,
    /// Level; [`GOAL`](SteeringPriority::GOAL) by default.
    pub priority: SteeringPriority,
}

impl Default for OffsetPursue {
    fn default() -> Self {
        Self {
            target: SteeringTarget::default(),
            offset: Vec3::ZERO,
            slowing_radius: SlowingRadius::Auto,
            weight: DEFAULT_WEIGHT,
            priority: GOAL,
        }
    }
}

impl OffsetPursue {
    /// Keeps at `offset` in the frame of `target`.
    #[must_use]
    pub fn new(target: impl Into<SteeringTarget>, offset: Vec3) -> Self {
        Self { target: target.into(), offset, ..default() }
    }

    /// The same with a fixed slowing radius in units.
    #[must_use]
    pub const fn with_slowing_radius(mut self, radius: f32) -> Self {
        self.slowing_radius = SlowingRadius::Fixed(radius);
        self
    }

    /// The same with another weight.
    #[must_use]
    pub const fn with_weight(mut self, weight: f32) -> Self {
        self.weight = weight;
        self
    }
}

impl SteeringBehavior for OffsetPursue {
    const NAME: &'static str = "OffsetPursue";

    fn fault(&self) -> Option<Fault> {
        let offset = self.offset.x + self.offset.y + self.offset.z;
        check::weight(self.weight)
            .or_else(|| self.target.fault())
            .or_else(|| {
                (!self.offset.is_finite()).then_some(Fault {
                    field: "offset",
                    value: offset,
                    consequence: "not finite; the behaviour is ignored",
                })
            })
            .or_else(|| self.slowing_radius.fault())
    }
}

/// Where the offset pointed in world axes when it was last seen: enough to measure how fast it turns.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct OffsetPursueState {
    #[entities]
    entity: Option<Entity>,
    arm: Vec3,
    seen: bool,
}

impl OffsetPursueState {
    /// How fast the end of `arm` moves because the target turns, `elapsed` seconds after the last look; 0 for an arm seen
    /// for the first time. At most `max_speed`: a sprite that is flipped turns half round in one tick.
    fn spin(&mut self, entity: Option<Entity>, arm: Vec3, view: &AgentView, elapsed: f32) -> Vec3 {
        let known = self.seen && entity.is_some() && self.entity == entity && elapsed > 0.0;
        let spin = if known { (arm - self.arm) / elapsed } else { Vec3::ZERO };
        *self = Self { entity, arm, seen: true };
        spin.clamp_length_max(view.max_speed)
    }
}

pub(crate) fn steer(
    steering: Steering,
    targets: Targets,
    mut agents: Query<(Steerer, &OffsetPursue, &mut OffsetPursueState, &mut TargetMemory<OffsetPursue>)>,
) {
    steering.for_each(&mut agents, |(mut me, behavior, mut state, mut memory)| {
        if behavior.offset.is_finite()
            && let Some(view) = steering.view(&me)
            && let Some(target) = targets.resolve(&behavior.target, &mut memory, &me, &view, &steering)
        {
            let arm = view.plane.project(target.rotation * behavior.offset);
            let elapsed = me.every.map_or(view.dt, SteerEvery::since_look);
            let spin = state.spin(target.entity, arm, &view, elapsed);
            let place =
                TargetView { position: target.position + arm, velocity: target.velocity + spin, ..target };
            write(&mut me, behavior, &view, &place);
        }
    });
}

fn write(me: &mut SteererItem, behavior: &OffsetPursue, view: &AgentView, place: &TargetView) {
    const ID: BehaviorId = OffsetPursue::ID;
    let (weight, priority) = (behavior.weight, behavior.priority);
    let offset = place.position - view.position;
    let distance = offset.length();
    let tolerance = safe_tolerance(TOLERANCE, view.position, place.position);
    let stands = place.velocity.length() <= tolerance;
    if stands && can_rest(view, distance, tolerance) {
        me.accumulator.rest(ID, weight, priority);
        return;
    }
    let slowing_radius = behavior.slowing_radius.get(view);
    let desired = arrive(view, offset, place.velocity, slowing_radius);
    me.accumulator.set_goal(ID, priority, place.position, tolerance);
    if stands && distance <= slowing_radius {
        me.accumulator.approach(ID, desired, weight, priority);
    } else {
        me.accumulator.desire(ID, desired, weight, priority);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{events::TargetLost, plane::SteeringPlane, testing::*};

    #[test]
    fn wingmen_have_no_lag_at_constant_speed() {
        for plane in SteeringPlane::ALL {
            let mut sim = Sim::new(60.0).with_plane(plane);
            let velocity = plane.project(Vec3::new(2.0, 1.0, -1.5));
            let leader = sim.moving(Vec3::ZERO, velocity, ());
            let turned = Quat::from_axis_angle(plane.normal(), 1.0);
            sim.get_mut::<Transform>(leader).rotation = turned;
            let wingmen = [Vec3::new(-2.0, 1.0, 1.0), Vec3::new(-2.0, -1.0, -1.0)]
                .map(|offset| (offset, sim.agent(Vec3::X * -2.0, OffsetPursue::new(leader, offset))));
            sim.seconds(10.0);
            for (offset, wingman) in wingmen {
                let place = sim.position(leader) + plane.project(turned * offset);
                let lag = sim.position(wingman).distance(place);
                assert!(lag < 0.02, "{plane:?}: {lag}");
                assert!(sim.velocity(wingman).distance(velocity) < 0.02, "{plane:?}");
            }
        }
    }

    #[test]
    fn behind_a_turning_leader_the_lag_is_bounded() {
        let mut sim = Sim::new(60.0);
        // Two units/s on a circle of radius 4; the leader's rotation follows its heading.
        let leader = sim.thing(Vec3::ZERO, ());
        let offset = Vec3::new(0.0, 2.0, 0.0);
        let wingman = sim.agent(Vec3::ZERO, OffsetPursue::new(leader, offset));
        let second = sim.agent(Vec3::ZERO, OffsetPursue::new(leader, -offset));
        for i in 0..1800 {
            let rotation = Quat::from_rotation_z(i as f32 / 120.0);
            let position = rotation * Vec3::X * 4.0;
            *sim.get_mut::<Transform>(leader) = Transform::from_translation(position).with_rotation(rotation);
            sim.tick();
            if i > 600 {
                for (agent, offset) in [(wingman, offset), (second, -offset)] {
                    let place = position + rotation * offset;
                    let lag = sim.position(agent).distance(place);
                    // The place turns at 0.5 rad/s, √20 from the centre: acceleration 1.1.
                    assert!(lag < 4.0 * 0.25 * 0.25 * 1.12 * 1.2 + 0.05, "tick {i}: {lag}");
                }
            }
        }
    }

    #[test]
    fn beside_a_leader_that_stands_it_rests_exactly() {
        let mut sim = Sim::new(60.0);
        let leader = sim.thing(Vec3::X * 5.0, ());
        let agent = sim.agent(Vec3::ZERO, OffsetPursue::new(leader, Vec3::Y * 2.0));
        let point = sim.agent(Vec3::ZERO, OffsetPursue::new(Vec3::X * -5.0, Vec3::Y));
        sim.seconds(12.0);
        for (agent, place) in [(agent, Vec3::new(5.0, 2.0, 0.0)), (point, Vec3::new(-5.0, 1.0, 0.0))] {
            let before = sim.position(agent);
            assert!(before.distance(place) <= 0.05, "{before}");
            assert_eq!(sim.velocity(agent), Vec3::ZERO);
            sim.ticks(100);
            assert_eq!(sim.position(agent), before, "the position keeps its bits");
        }
    }

    #[test]
    fn lost_leaders_and_bad_offsets_are_told_and_harmless() {
        let mut sim = Sim::new(60.0);
        sim.count_events::<TargetLost>();
        let leader = sim.thing(Vec3::X * 5.0, ());
        let bad = sim.agent(Vec3::ZERO, OffsetPursue::new(leader, Vec3::NAN));
        let good = sim.agent(Vec3::ZERO, OffsetPursue::new(leader, Vec3::Y));
        sim.ticks(10);
        assert_eq!(sim.position(bad), Vec3::ZERO);
        assert!(sim.velocity(good).length() > 1.0);
        assert_eq!(sim.warnings(), ["OffsetPursue.offset"]);
        sim.app.world_mut().despawn(leader);
        sim.ticks(10);
        assert_eq!(sim.force(good), Vec3::ZERO);
        assert_eq!(sim.count::<TargetLost>(good), 1);
    }
}
