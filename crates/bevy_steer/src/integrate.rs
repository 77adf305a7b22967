//! The end of a tick: contributions become force, force becomes velocity, velocity becomes position.

use bevy::{ecs::query::QueryData, prelude::*};

use crate::{
    accumulator::SteeringAccumulator,
    agent::{AgentView, SteeringAgent, SteeringDefaults, SteeringVelocity},
    behavior::{SteeringBehaviors, for_each_agent},
    combine::{SteeringCombine, combine, intention, skips_idle, truncate, wants_rest},
    events::{EventQueue, Happening},
    facing::{FaceVelocity, face_velocity, forward_axis},
    neighbors::NeighborGrid,
    plane::SteeringPlane,
    rng::SteeringId,
    schedule::SteeringStep,
    sensing::SteerEvery,
    smoothing::SteeringSmoothing,
    stall::StallWatch,
    turn_limit::{TurnLimit, limit_turn},
    warnings::{CONTRIBUTION, SteeringWarnings},
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

#[derive(QueryData)]
#[query_data(mutable)]
pub(crate) struct Moving {
    entity: Entity,
    id: &'static SteeringId,
    agent: &'static SteeringAgent,
    transform: &'static mut Transform,
    velocity: &'static mut SteeringVelocity,
    accumulator: &'static mut SteeringAccumulator,
    output: &'static mut SteeringOutput,
    stall: &'static mut StallWatch,
    plane: Option<&'static SteeringPlane>,
    combine: Option<&'static SteeringCombine>,
    smoothing: Option<&'static mut SteeringSmoothing>,
    every: Option<&'static mut SteerEvery>,
    turn: Option<&'static TurnLimit>,
    face: Option<&'static FaceVelocity>,
    custom: Has<CustomIntegration>,
}

pub(crate) fn integrate(
    step: Res<SteeringStep>,
    defaults: Res<SteeringDefaults>,
    behaviors: Res<SteeringBehaviors>,
    grid: Res<NeighborGrid>,
    events: Res<EventQueue>,
    warnings: Res<SteeringWarnings>,
    mut agents: Query<Moving>,
) {
    let (step, defaults) = (*step, *defaults);
    for_each_agent(&mut agents, grid.agent_count() >= defaults.parallel_from, |mut me: MovingItem| {
        if let Some(id) = me.accumulator.take_rejected() {
            let name = behaviors.name(id).unwrap_or("an unregistered behaviour");
            let what = "value or weight not finite, or weight negative; the contribution is dropped";
            warnings.warn(me.entity, name, CONTRIBUTION, &id, what);
        }
        if !me.transform.translation.is_finite() {
            let what = "not finite; the agent is left out until it is";
            warnings.warn(me.entity, "Transform", "translation", &me.transform.translation, what);
            me.accumulator.end_tick(false);
        } else {
            if !me.velocity.is_finite() {
                warnings.warn(me.entity, "SteeringVelocity", "0", &me.velocity.0, "not finite; taken as 0");
            }
            let plane = me.plane.copied().unwrap_or(defaults.plane);
            let view = AgentView::new(me.agent, me.transform.translation, me.velocity.0, plane, step.dt);
            move_agent(&mut me, &view, &defaults);
            let id = *me.id;
            let hold = me.every.as_mut().is_some_and(|every| every.end_tick(step.dt, id));
            me.accumulator.end_tick(hold);
            let wanted = me.output.desired_velocity.length();
            if me.stall.end_tick(view.position, wanted, view.max_speed, view.radius, view.dt) {
                events.send(me.entity, id, 0, Happening::Stalled);
            }
        }
    });
}

/// Combines one agent's contributions and, unless something else does, moves it.
fn move_agent(me: &mut MovingItem, view: &AgentView, defaults: &SteeringDefaults) {
    let mode = me.combine.copied().unwrap_or(defaults.combine);
    let goal = me.accumulator.goal().map(|goal| view.plane.project(goal.position) - view.position);
    let contributions = me.accumulator.sorted();
    let rest = wants_rest(contributions, view);
    let slows_to_rest = skips_idle(contributions);
    let stop = rest && view.velocity.length() <= view.speed_per_tick() * (1.0 + 1e-5);
    let intention = if me.turn.is_some() { intention(contributions, view) } else { Vec3::ZERO };
    let mut force = combine(mode, contributions, view);
    if stop {
        // Exactly what sheds the speed in this tick; a smoothed force would drag on.
        force = if view.dt > 0.0 {
            truncate(view.velocity * (-view.mass / view.dt), view.max_force)
        } else {
            Vec3::ZERO
        };
        if let Some(smoothing) = &mut me.smoothing {
            smoothing.reset();
        }
    } else if let Some(smoothing) = &mut me.smoothing {
        // The limit or the plane may have changed since the forces that are remembered.
        force = truncate(view.plane.project(smoothing.apply(force, view.dt)), view.max_force);
    }
    let desired_velocity = truncate(view.velocity + force * view.relaxation(), view.max_speed);
    *me.output = SteeringOutput { force, desired_velocity: if stop { Vec3::ZERO } else { desired_velocity } };
    if me.custom {
        return;
    }

    let (mut velocity, mut position) = if stop || !view.mass.is_finite() {
        (Vec3::ZERO, view.position)
    } else {
        crate::integrate::step(view, force)
    };
    if let Some(turn) = me.turn
        && !stop
        && view.mass.is_finite()
        && view.dt > 0.0
    {
        let heading = if view.velocity.length_squared() > 1e-8 {
            view.velocity.normalize()
        } else {
            let forward = me.transform.rotation * forward_axis(view.plane);
            view.plane.project(forward).try_normalize().unwrap_or(Vec3::X)
        };
        velocity = limit_turn(turn, view, heading, velocity, intention, goal, slows_to_rest);
        position = view.position + velocity * view.dt;
    }
    // Overflow at the edge of the number range ends at the last finite place.
    if !position.is_finite() {
        (velocity, position) = (Vec3::ZERO, view.position);
    }
    // Written only where something changes, so that change detection stays quiet for agents that stand still.
    me.velocity.set_if_neq(SteeringVelocity(velocity));
    if position != view.position {
        view.plane.write(&mut me.transform.translation, position);
    }
    if let Some(face) = me.face {
        let rotation = face_velocity(face, me.transform.rotation, velocity, view.plane, view.dt);
        if rotation != me.transform.rotation && rotation.is_finite() {
            me.transform.rotation = rotation;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn force_and_speed_are_clamped_and_mass_counts() {
        let agent = SteeringAgent::new(3.0, 10.0).with_mass(2.0);
        let view = AgentView::new(&agent, Vec3::ZERO, Vec3::X * 2.5, SteeringPlane::Xy, 0.1);
        assert_eq!(step(&view, Vec3::Y * 100.0).0, truncate(Vec3::new(2.5, 0.5, 0.0), 3.0));
        assert!((step(&view, Vec3::X * 100.0).0.length() - 3.0).abs() < 1e-6);
    }
}
