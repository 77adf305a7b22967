//! Seek: at full speed towards a target.

use bevy::prelude::*;

use crate::{
    accumulator::BehaviorId,
    agent::{AgentView, SteeringAgent},
    behavior::{DEFAULT_WEIGHT, Fault, GOAL, Steerer, SteererItem, Steering, SteeringBehavior, check},
    priority::SteeringPriority,
    target::{SteeringTarget, TargetMemory, Targets},
};

/// Heads for a target at full speed and passes through it: `desired = direction to target × max_speed`.
///
/// Source: C. Reynolds, *Steering Behaviors for Autonomous Characters*, 1999. To stop at the target use
/// [`Arrive`](crate::Arrive). On top of the target it desires nothing.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(SteeringAgent, TargetMemory<Seek>)]
#[type_path = "bevy_steer"]
pub struct Seek {
    /// What to head for.
    #[entities]
    pub target: SteeringTarget,
    /// Factor on its force; 1 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub weight: f32,
    /// Level; [`GOAL`](SteeringPriority::GOAL) by default.
    pub priority: SteeringPriority,
}

impl Default for Seek {
    fn default() -> Self {
        Self { target: SteeringTarget::default(), weight: DEFAULT_WEIGHT, priority: GOAL }
    }
}

impl Seek {
    /// Heads for a point, an entity or the nearest of a group.
    #[must_use]
    pub fn new(target: impl Into<SteeringTarget>) -> Self {
        Self { target: target.into(), ..default() }
    }

    /// The same with another weight.
    #[must_use]
    pub const fn with_weight(mut self, weight: f32) -> Self {
        self.weight = weight;
        self
    }
}

impl SteeringBehavior for Seek {
    const NAME: &'static str = "Seek";

    fn fault(&self) -> Option<Fault> {
        check::weight(self.weight).or_else(|| self.target.fault())
    }
}

/// The velocity that takes the agent to `target` at full speed; `None` on top of it.
#[inline]
#[must_use]
pub fn seek(view: &AgentView, target: Vec3) -> Option<Vec3> {
    (target - view.position).try_normalize().map(|direction| direction * view.max_speed)
}

pub(crate) fn steer(
    steering: Steering,
    targets: Targets,
    mut agents: Query<(Steerer, &Seek, &mut TargetMemory<Seek>)>,
) {
    const ID: BehaviorId = Seek::ID;
    steering.for_each(&mut agents, |(mut me, behavior, mut memory)| {
        if let Some(view) = steering.view(&me)
            && let Some(target) = targets.resolve(&behavior.target, &mut memory, &me, &view, &steering)
        {
            write(&mut me, behavior, &view, target.position, ID);
        }
    });
}

fn write(me: &mut SteererItem, behavior: &Seek, view: &AgentView, target: Vec3, id: BehaviorId) {
    me.accumulator.set_goal(id, behavior.priority, target, 0.0);
    match seek(view, target) {
        Some(desired) => me.accumulator.desire(id, desired, behavior.weight, behavior.priority),
        // On the target a moving agent brakes, one at rest has nothing to do.
        None if view.velocity != Vec3::ZERO => {
            me.accumulator.desire(id, Vec3::ZERO, behavior.weight, behavior.priority);
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    #[test]
    fn reference_trace() {
        let mut sim = Sim::new(5.0).with_agent_defaults(5.0, 10.0, 1.0);
        let agent = sim.agent(Vec3::ZERO, Seek::new(Vec3::X * 10.0));
        // A second agent that must not matter.
        sim.agent(Vec3::Y * 50.0, Seek::new(Vec3::Y * 50.0));
        sim.follow("seek.csv", agent, |row| (row.vec("px", "py"), Some(row.vec("vx", "vy"))));
    }

    #[test]
    fn case_04_seek_to_own_position_is_finite() {
        let still = test_view(Vec3::X, Vec3::ZERO);
        assert_eq!(seek(&still, Vec3::X), None);
        let mut sim = Sim::new(60.0);
        let here = sim.agent(Vec3::ZERO, Seek::new(Vec3::ZERO));
        let moving = sim.agent(Vec3::X, Seek::new(Vec3::X));
        sim.set_velocity(moving, Vec3::Y * 5.0);
        sim.tick();
        assert_eq!(sim.force(here), Vec3::ZERO);
        assert!(sim.force(moving).is_finite() && sim.force(moving).y < 0.0, "it brakes");
    }
}
