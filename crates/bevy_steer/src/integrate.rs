//! The end of a tick: contributions become force, force becomes velocity, velocity becomes position.

use bevy::{
    ecs::{query::QueryData, system::SystemParam},
    prelude::*,
};
use bevy_steer_grid::Runner;

use crate::{
    accumulator::{BehaviorId, SteeringAccumulator},
    agent::{AgentView, SteeringAgent, SteeringVelocity},
    batch::Table,
    behavior::{Steering, SteeringBehaviors},
    combine::{SteeringCombine, truncate},
    end_tick::end_tick,
    facing::FaceVelocity,
    plane::SteeringPlane,
    rng::SteeringId,
    sensing::SteerEvery,
    smoothing::SteeringSmoothing,
    stall::StallWatch,
    turn_limit::TurnLimit,
    warnings::CONTRIBUTION,
};

/// What steering decided in the last tick.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct SteeringOutput {
    /// The clamped (and smoothed) force in units/s² at mass 1.
    pub force: Vec3,
    /// The velocity that the force is after, at most `max_speed`: `velocity + force · max(reaction_time, dt / mass)`.
    pub desired_velocity: Vec3,
}

/// Leaves the agent's movement to the game or a physics engine: steering writes [`SteeringOutput`] and touches neither
/// `Transform` nor [`SteeringVelocity`]. Whoever moves the agent writes its velocity back to `SteeringVelocity`.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct CustomIntegration;

/// One step of semi-implicit Euler: `(velocity, position)` after `dt` seconds.
///
/// `force = truncate(force, max_force)`, `velocity = truncate(velocity + force / mass · dt, max_speed)`, then
/// `position + velocity · dt`.
#[inline]
#[must_use]
pub fn step(view: &AgentView, force: Vec3) -> (Vec3, Vec3) {
    let force = truncate(force, view.max_force);
    let velocity = truncate(view.velocity + force / view.mass * view.dt, view.max_speed);
    (velocity, view.position + velocity * view.dt)
}

/// What integration reads and writes.
#[derive(QueryData)]
#[query_data(mutable, contiguous(mutable))]
pub(crate) struct Moving {
    pub(crate) entity: Entity,
    pub(crate) id: &'static SteeringId,
    pub(crate) agent: &'static SteeringAgent,
    pub(crate) transform: &'static mut Transform,
    pub(crate) velocity: &'static mut SteeringVelocity,
    pub(crate) accumulator: &'static mut SteeringAccumulator,
    pub(crate) output: &'static mut SteeringOutput,
    pub(crate) stall: &'static mut StallWatch,
    pub(crate) plane: Option<&'static SteeringPlane>,
    pub(crate) combine: Option<&'static SteeringCombine>,
    pub(crate) smoothing: Option<&'static mut SteeringSmoothing>,
    pub(crate) every: Option<&'static mut SteerEvery>,
    pub(crate) turn: Option<&'static TurnLimit>,
    pub(crate) face: Option<&'static FaceVelocity>,
    pub(crate) custom: Has<CustomIntegration>,
}

/// What integration reads of the world.
#[derive(SystemParam)]
pub(crate) struct Integration<'w> {
    pub(crate) steering: Steering<'w>,
    behaviors: Res<'w, SteeringBehaviors>,
}

pub(crate) fn integrate(world: Integration, mut agents: Query<Moving>) {
    let pool = world.steering.pool();
    for table in agents.contiguous_iter_mut().into_iter().flatten() {
        let mut table = Table::new(table);
        let (shared, batches) = table.batches();
        pool.run(batches, |batch| end_tick(&world, shared, batch));
    }
}

impl Integration<'_> {
    #[cold]
    pub(crate) fn tell_rejected(&self, entity: Entity, id: BehaviorId) {
        let name = self.behaviors.name(id).unwrap_or("an unregistered behaviour");
        let what = "value or weight not finite, or weight negative; the contribution is dropped";
        self.steering.warnings().warn(entity, name, CONTRIBUTION, &id, what);
    }

    #[cold]
    pub(crate) fn tell_not_finite(
        &self,
        entity: Entity,
        component: &'static str,
        field: &'static str,
        value: Vec3,
    ) {
        let what = if component == "Transform" {
            "not finite; the agent is left out until it is"
        } else {
            "not finite; taken as 0"
        };
        self.steering.warnings().warn(entity, component, field, &value, what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AgentRng, SteeringSeed, testing::*};

    #[test]
    fn reference_trace_of_a_constant_force() {
        let agent = SteeringAgent::new(10.0, 10.0);
        let (mut velocity, mut position) = (Vec3::ZERO, Vec3::ZERO);
        for line in include_str!("../tests/reference/constant_force.csv").lines().skip(1) {
            let v: Vec<f32> = line.split(',').map(|x| x.parse().expect("a number")).collect();
            assert!(velocity.distance(Vec3::new(v[1], v[2], 0.0)) < 1e-3, "{line}: {velocity}");
            assert!(position.distance(Vec3::new(v[3], v[4], 0.0)) < 1e-3, "{line}: {position}");
            let view = AgentView::new(&agent, position, velocity, SteeringPlane::Xy, 0.5);
            (velocity, position) = step(&view, Vec3::X * 2.0);
        }
    }

    #[test]
    fn the_system_moves_every_agent_as_the_function_says_to_the_bit() {
        const WIND: BehaviorId = BehaviorId::new("Wind");
        let mut sim = Sim::new(60.0);
        let mut rng = AgentRng::seeded(SteeringSeed(5), SteeringId(5), 5);
        // More than fit side by side, and not a multiple of them.
        let agents: Vec<_> = (0..53)
            .map(|n| {
                let agent = SteeringAgent::new(1.0 + (n % 5) as f32, 0.5 * (n % 7) as f32)
                    .with_mass(0.3 + (n % 3) as f32);
                let mut vector = |size: f32| Vec3::new(rng.signed(), rng.signed(), 0.0) * size;
                let (position, velocity, wind) = (vector(50.0), vector(4.0), vector(9.0));
                let entity = sim.moving(position, velocity, agent);
                let mut accumulator = SteeringAccumulator::default();
                accumulator.push(WIND, wind, 1.0, crate::SteeringPriority::GOAL);
                sim.app.world_mut().entity_mut(entity).insert(accumulator);
                let view = AgentView::new(&agent, position, velocity, SteeringPlane::Xy, 1.0 / 60.0);
                (entity, view, wind)
            })
            .collect();
        sim.tick();
        let dt = sim.app.world().resource::<crate::SteeringStep>().dt;
        let mut moved = 0;
        for (entity, view, wind) in agents {
            let expected = step(&AgentView { dt, ..view }, truncate(wind, view.max_force));
            assert_eq!((sim.velocity(entity), sim.position(entity)), expected);
            moved += usize::from(expected.1 != view.position);
        }
        assert_eq!(moved, 53);
    }

    #[test]
    fn force_and_speed_are_clamped_and_mass_counts() {
        let agent = SteeringAgent::new(3.0, 10.0).with_mass(2.0);
        let view = AgentView::new(&agent, Vec3::ZERO, Vec3::X * 2.5, SteeringPlane::Xy, 0.1);
        assert_eq!(step(&view, Vec3::Y * 100.0).0, truncate(Vec3::new(2.5, 0.5, 0.0), 3.0));
        assert!((step(&view, Vec3::X * 100.0).0.length() - 3.0).abs() < 1e-6);
    }
}
