//! The end of a tick: contributions become force, force becomes velocity, velocity becomes position.

use bevy::{
    ecs::{query::QueryData, system::SystemParam},
    prelude::*,
};
use bevy_steer_grid::Runner;

use crate::{
    accumulator::{BehaviorId, SteeringAccumulator},
    agent::{AgentView, SteeringAgent, SteeringVelocity},
    batch::{Batch, Shared, Table},
    behavior::{Steering, SteeringBehaviors},
    combine::{SteeringCombine, combine, intention, skips_idle, truncate, wants_rest},
    events::Happening,
    facing::{FaceVelocity, face_velocity, forward_axis},
    lanes::{LANES, Vectors},
    plane::SteeringPlane,
    rng::SteeringId,
    sensing::SteerEvery,
    smoothing::SteeringSmoothing,
    stall::StallWatch,
    turn_limit::{TurnLimit, limit_turn},
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
    steering: Steering<'w>,
    behaviors: Res<'w, SteeringBehaviors>,
}

pub(crate) fn integrate(world: Integration, mut agents: Query<Moving>) {
    let pool = world.steering.pool();
    for table in agents.contiguous_iter_mut().into_iter().flatten() {
        let mut table = Table::new(table);
        let (shared, batches) = table.batches();
        pool.run(batches, |mut batch| {
            for first in (0..batch.accumulator.len()).step_by(LANES) {
                let count = LANES.min(batch.accumulator.len() - first);
                end_tick(&world, shared, &mut batch, first, count);
            }
        });
    }
}

/// What was decided for one agent.
#[derive(Debug, Clone, Copy)]
struct Decided {
    view: AgentView,
    /// It comes to rest exactly.
    stop: bool,
    /// What vehicles need to know beside the force.
    intention: Vec3,
    goal: Option<Vec3>,
    slows_to_rest: bool,
}

/// Ends the tick of some agents of a batch. Step by step for all of them, so that the arithmetic of several agents runs side
/// by side.
#[inline]
fn end_tick(world: &Integration, shared: &Shared, batch: &mut Batch, first: usize, count: usize) {
    let mut decided = [None; LANES];
    let (mut forces, mut velocities, mut positions) = (Vectors::ZERO, Vectors::ZERO, Vectors::ZERO);
    let (mut max_speed, mut mass, mut relaxation) = ([0.0; LANES], [1.0; LANES], [0.0; LANES]);
    for (lane, decided) in decided[..count].iter_mut().enumerate() {
        let agent = decide(world, shared, batch, first + lane);
        if let Some((force, Decided { view, .. })) = &agent {
            forces.set(lane, *force);
            velocities.set(lane, view.velocity);
            positions.set(lane, view.position);
            (max_speed[lane], mass[lane], relaxation[lane]) = (view.max_speed, view.mass, view.relaxation());
        }
        *decided = agent.map(|(_, decided)| decided);
    }

    let dt = [world.steering.dt(); LANES];
    let desired = velocities.plus(&forces, &relaxation).truncated(&max_speed);
    let velocities = velocities.plus(&forces.over(&mass), &dt).truncated(&max_speed);
    let positions = positions.plus(&velocities, &dt);

    for (lane, agent) in decided.iter().enumerate() {
        let n = first + lane;
        let Some(agent) = agent else { continue };
        let (force, velocity, position) = (forces.get(lane), velocities.get(lane), positions.get(lane));
        let desired_velocity = if agent.stop { Vec3::ZERO } else { desired.get(lane) };
        batch.output.set_if_neq(n, SteeringOutput { force, desired_velocity });
        if !shared.custom {
            move_agent(shared, batch, n, agent, velocity, position);
        }
        let (view, id) = (&agent.view, shared.id[batch.first + n]);
        let hold = batch.every.as_mut().is_some_and(|every| every[n].end_tick(view.dt, id));
        batch.accumulator[n].end_tick(hold);
        let stall = &mut batch.stall[n];
        if stall.end_tick(view.position, desired_velocity, view.max_speed, view.radius, view.dt) {
            world.steering.tell(shared.entity[batch.first + n], id, 0, Happening::Stalled);
        }
    }
}

/// Combines one agent's contributions to a force. `None` for an agent that is left out.
#[inline]
fn decide(world: &Integration, shared: &Shared, batch: &mut Batch, n: usize) -> Option<(Vec3, Decided)> {
    let at = batch.first + n;
    let defaults = world.steering.defaults();
    let accumulator = &mut batch.accumulator[n];
    if let Some(id) = accumulator.take_rejected() {
        world.tell_rejected(shared.entity[at], id);
    }
    let position = batch.transform.values[n].translation;
    if !position.is_finite() {
        world.tell_not_finite(shared.entity[at], "Transform", "translation", position);
        accumulator.end_tick(false);
        return None;
    }
    let velocity = batch.velocity.values[n].0;
    if !velocity.is_finite() {
        world.tell_not_finite(shared.entity[at], "SteeringVelocity", "0", velocity);
    }
    let plane = shared.plane.map_or(defaults.plane, |planes| planes[at]);
    let view = AgentView::new(&shared.agent[at], position, velocity, plane, world.steering.dt());
    let mode = shared.combine.map_or(defaults.combine, |modes| modes[at]);
    let goal = match shared.turn {
        Some(_) => accumulator.goal().map(|goal| plane.project(goal.position) - view.position),
        None => None,
    };
    let contributions = accumulator.sorted();
    let slows_to_rest = skips_idle(contributions);
    let rest = slows_to_rest && wants_rest(contributions, &view);
    let stop = rest && view.velocity.length() <= view.speed_per_tick() * (1.0 + 1e-5);
    let intention = if shared.turn.is_some() { intention(contributions, &view) } else { Vec3::ZERO };
    let mut force = combine(mode, contributions, &view);
    let smoothing = batch.smoothing.as_mut().map(|smoothing| &mut smoothing[n]);
    if stop {
        // Exactly what sheds the speed in this tick; a smoothed force would drag on.
        force = if view.dt > 0.0 {
            truncate(view.velocity * (-view.mass / view.dt), view.max_force)
        } else {
            Vec3::ZERO
        };
        if let Some(smoothing) = smoothing {
            smoothing.reset();
        }
    } else if let Some(smoothing) = smoothing {
        // The limit or the plane may have changed since the forces that are remembered.
        force = truncate(plane.project(smoothing.apply(force, view.dt)), view.max_force);
    }
    Some((force, Decided { view, stop, intention, goal, slows_to_rest }))
}

/// Moves and turns one agent, to where its force brings it unless it rests or is a vehicle.
#[inline]
fn move_agent(
    shared: &Shared,
    me: &mut Batch,
    n: usize,
    agent: &Decided,
    mut velocity: Vec3,
    mut position: Vec3,
) {
    let Decided { view, stop, .. } = agent;
    let moves = !stop && view.mass.is_finite();
    if !moves {
        (velocity, position) = (Vec3::ZERO, view.position);
    }
    let mut transform = me.transform.values[n];
    if let Some(turn) = shared.turn.map(|limits| &limits[me.first + n])
        && moves
        && view.dt > 0.0
    {
        let heading = if view.velocity.length_squared() > 1e-8 {
            view.velocity.normalize()
        } else {
            let forward = transform.rotation * forward_axis(view.plane);
            view.plane.project(forward).try_normalize().unwrap_or(Vec3::X)
        };
        let Decided { intention, goal, slows_to_rest, .. } = *agent;
        velocity = limit_turn(turn, view, heading, velocity, intention, goal, slows_to_rest);
        position = view.position + velocity * view.dt;
    }
    // Overflow at the edge of the number range ends at the last finite place.
    if !position.is_finite() {
        (velocity, position) = (Vec3::ZERO, view.position);
    }
    me.velocity.set_if_neq(n, SteeringVelocity(velocity));
    let turned = shared.face.map(|faces| {
        let face = &faces[me.first + n];
        face_velocity(face, transform.rotation, velocity, view.plane, view.dt)
    });
    let turned = turned.filter(|&rotation| rotation.is_finite() && rotation != transform.rotation);
    if position != view.position || turned.is_some() {
        if position != view.position {
            view.plane.write(&mut transform.translation, position);
        }
        transform.rotation = turned.unwrap_or(transform.rotation);
        me.transform.set(n, transform);
    }
}

impl Integration<'_> {
    #[cold]
    fn tell_rejected(&self, entity: Entity, id: BehaviorId) {
        let name = self.behaviors.name(id).unwrap_or("an unregistered behaviour");
        let what = "value or weight not finite, or weight negative; the contribution is dropped";
        self.steering.warnings().warn(entity, name, CONTRIBUTION, &id, what);
    }

    #[cold]
    fn tell_not_finite(&self, entity: Entity, component: &'static str, field: &'static str, value: Vec3) {
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
