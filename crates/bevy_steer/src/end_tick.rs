//! Ends the tick of a batch of agents: most of them side by side, who needs more than usual one by one.

use bevy::prelude::*;
use fearless_simd::{Simd, dispatch, f32x16, prelude::*};

use crate::{
    agent::{AgentView, SteeringVelocity},
    batch::{Batch, Shared},
    behavior::check,
    combine::{SteeringCombine, combine, intention, skips_idle, truncate, wants_rest},
    combine_lanes::{Sheaf, combine_lanes},
    events::Happening,
    facing::{face_velocity, forward_axis},
    integrate::{Integration, SteeringOutput},
    lanes::{self, LANES, Limits, Numbers, Vectors, Views, Wide},
    plane::SteeringPlane,
    stall::StallWatch,
    turn_limit::limit_turn,
};

/// Ends the tick of a batch.
pub(crate) fn end_tick(world: &Integration, shared: &Shared, mut batch: Batch) {
    if shared.turn.is_some() || batch.smoothing.is_some() {
        (0..batch.accumulator.len()).for_each(|n| end_one(world, shared, &mut batch, n));
    } else {
        dispatch!(lanes::level(), simd => end_lots(simd, world, shared, &mut batch));
    }
}

/// Some agents side by side, to be filled in one by one.
struct Lot {
    limits: Limits,
    position: Vectors,
    velocity: Vectors,
    sheaf: Sheaf,
}

/// What comes of a lot.
struct Outcome {
    force: Vectors,
    desired: Vectors,
    velocity: Vectors,
    position: Vectors,
    max_speed: Numbers,
    /// A bit for each agent that moves.
    moved: u64,
    /// A bit for each agent that wants to.
    wants: u64,
    /// A bit for each agent that has to be looked at by itself.
    odd: u64,
}

#[inline(always)]
fn end_lots<S: Simd>(simd: S, world: &Integration, shared: &Shared, batch: &mut Batch) {
    let mut lot =
        Lot { limits: Limits::ZERO, position: Vectors::ZERO, velocity: Vectors::ZERO, sheaf: Sheaf::EMPTY };
    let mut outcome = Outcome {
        force: Vectors::ZERO,
        desired: Vectors::ZERO,
        velocity: Vectors::ZERO,
        position: Vectors::ZERO,
        max_speed: Numbers::ZERO,
        moved: 0,
        wants: 0,
        odd: 0,
    };
    for first in (0..batch.accumulator.len()).step_by(LANES) {
        let count = LANES.min(batch.accumulator.len() - first);
        end_lot(simd, world, shared, batch, first, count, &mut lot, &mut outcome);
    }
}

#[inline(always)]
fn end_lot<S: Simd>(
    simd: S,
    world: &Integration,
    shared: &Shared,
    batch: &mut Batch,
    first: usize,
    count: usize,
    lot: &mut Lot,
    outcome: &mut Outcome,
) {
    let defaults = world.steering.defaults();
    let all = batch.first + first;
    let plane = shared.plane.map_or(defaults.plane, |planes| planes[all]);
    let mode = shared.combine.map_or(defaults.combine, |modes| modes[all]);
    let dt = check::or_zero(world.steering.dt());
    let mut odd = 0;
    lot.sheaf.clear();
    for lane in 0..count {
        let accumulator = &mut batch.accumulator[first + lane];
        let usual = shared.plane.is_none_or(|planes| planes[all + lane] == plane)
            & shared.combine.is_none_or(|modes| modes[all + lane] == mode)
            & !accumulator.has_rejected();
        odd |= u64::from(!(lot.sheaf.set(lane, accumulator.sorted()) & usual)) << lane;
        lot.limits.set(lane, &shared.agent[all + lane]);
        lot.position.set(lane, batch.transform.values[first + lane].translation);
        lot.velocity.set(lane, batch.velocity.values[first + lane].0);
    }
    outcome.odd = odd;
    integrate_lot(simd, mode, plane, dt, lot, outcome);

    for lane in 0..count {
        let n = first + lane;
        if outcome.odd >> lane & 1 == 1 {
            end_one(world, shared, batch, n);
        } else {
            let end = End {
                plane,
                dt,
                force: outcome.force.get(lane),
                desired_velocity: outcome.desired.get(lane),
                before: plane.project(lot.position.get(lane)),
                velocity: outcome.velocity.get(lane),
                position: outcome.position.get(lane),
                moved: outcome.moved >> lane & 1 == 1,
                wants: outcome.wants >> lane & 1 == 1,
                max_speed: outcome.max_speed.0[lane],
            };
            end.write(world, shared, batch, n);
        }
    }
}

/// Combines and integrates, like [`end_one`] to the bit.
#[inline(always)]
fn integrate_lot<S: Simd>(
    simd: S,
    mode: SteeringCombine,
    plane: SteeringPlane,
    dt: f32,
    lot: &Lot,
    outcome: &mut Outcome,
) {
    let (raw_position, raw_velocity) = (lot.position.load(simd), lot.velocity.load(simd));
    let sound = raw_position.is_finite() & raw_velocity.is_finite();
    outcome.odd |= (!sound).to_bitmask();

    let views = Views::new(simd, &lot.limits, &lot.velocity, plane, dt);
    let before = raw_position.projected(simd, plane);
    let force = combine_lanes(simd, mode, &lot.sheaf, plane, &views);
    let dt = f32x16::splat(simd, dt);
    let desired = views.velocity.plus(force, views.relaxation).truncated(views.max_speed);
    let velocity = views.velocity.plus(force.over(views.mass), dt).truncated(views.max_speed);
    let position = before.plus(velocity, dt);
    // Overflow at the edge of the number range ends at the last finite place.
    let moves = views.mass.is_finite() & position.is_finite();
    let position = position.or(moves, before);

    outcome.force.store(force);
    outcome.desired.store(desired);
    outcome.velocity.store(velocity.or(moves, Wide::zero(simd)));
    outcome.position.store(position);
    outcome.max_speed.store(views.max_speed);
    outcome.moved = position.differs(&before).to_bitmask();
    let idle = views.max_speed * f32x16::splat(simd, StallWatch::IDLE);
    outcome.wants = desired.length_squared().simd_gt(idle * idle).to_bitmask();
}

/// How the tick ends for one agent.
struct End {
    plane: SteeringPlane,
    dt: f32,
    force: Vec3,
    desired_velocity: Vec3,
    /// In its plane, like the position after.
    before: Vec3,
    velocity: Vec3,
    position: Vec3,
    moved: bool,
    wants: bool,
    max_speed: f32,
}

impl End {
    #[inline(always)]
    fn write(self, world: &Integration, shared: &Shared, batch: &mut Batch, n: usize) {
        let at = batch.first + n;
        let Self { plane, dt, force, desired_velocity, before, velocity, position, moved, wants, max_speed } =
            self;
        batch.output.set_if_neq(n, SteeringOutput { force, desired_velocity });
        if !shared.custom {
            batch.velocity.set_if_neq(n, SteeringVelocity(velocity));
            let rotation = batch.transform.values[n].rotation;
            let turned = shared.face.map(|faces| face_velocity(&faces[at], rotation, velocity, plane, dt));
            let turned = turned.filter(|&turned| turned.is_finite() && turned != rotation);
            if moved || turned.is_some() {
                let transform = batch.transform.change(n);
                if moved {
                    plane.write(&mut transform.translation, position);
                }
                if let Some(turned) = turned {
                    transform.rotation = turned;
                }
            }
        }
        let hold = batch.every.as_mut().is_some_and(|every| every[n].end_tick(dt, shared.id[at]));
        batch.accumulator[n].end_tick(hold);
        let radius = check::or_zero(shared.agent[at].radius);
        if batch.stall[n].end_tick(before, wants, max_speed, radius, dt) {
            world.steering.tell(shared.entity[at], shared.id[at], 0, Happening::Stalled);
        }
    }
}

/// Ends the tick of one agent.
fn end_one(world: &Integration, shared: &Shared, batch: &mut Batch, n: usize) {
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
        return;
    }
    let velocity = batch.velocity.values[n].0;
    if !velocity.is_finite() {
        world.tell_not_finite(shared.entity[at], "SteeringVelocity", "0", velocity);
    }
    let plane = shared.plane.map_or(defaults.plane, |planes| planes[at]);
    let view = AgentView::new(&shared.agent[at], position, velocity, plane, world.steering.dt());
    let mode = shared.combine.map_or(defaults.combine, |modes| modes[at]);

    let contributions = accumulator.sorted();
    let rest = wants_rest(contributions, &view);
    let stop = rest && view.velocity.length() <= view.speed_per_tick() * (1.0 + 1e-5);
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

    let desired = truncate(view.velocity + force * view.relaxation(), view.max_speed);
    let mut velocity = truncate(view.velocity + force / view.mass * view.dt, view.max_speed);
    let mut position = view.position + velocity * view.dt;
    if stop || !view.mass.is_finite() {
        (velocity, position) = (Vec3::ZERO, view.position);
    } else if let Some(limits) = shared.turn
        && view.dt > 0.0
    {
        let heading = if view.velocity.length_squared() > 1e-8 {
            view.velocity.normalize()
        } else {
            let forward = batch.transform.values[n].rotation * forward_axis(plane);
            plane.project(forward).try_normalize().unwrap_or(Vec3::X)
        };
        let goal = accumulator.goal().map(|goal| plane.project(goal.position) - view.position);
        let contributions = accumulator.contributions();
        let (intention, slows) = (intention(contributions, &view), skips_idle(contributions));
        velocity = limit_turn(&limits[at], &view, heading, velocity, intention, goal, slows);
        position = view.position + velocity * view.dt;
    }
    // Overflow at the edge of the number range ends at the last finite place.
    if !position.is_finite() {
        (velocity, position) = (Vec3::ZERO, view.position);
    }
    let desired_velocity = if stop { Vec3::ZERO } else { desired };
    let idle = StallWatch::IDLE * view.max_speed;
    let end = End {
        plane,
        dt: view.dt,
        force,
        desired_velocity,
        before: view.position,
        velocity,
        position,
        moved: position != view.position,
        wants: desired_velocity.length_squared() > idle * idle,
        max_speed: view.max_speed,
    };
    end.write(world, shared, batch, n);
}
