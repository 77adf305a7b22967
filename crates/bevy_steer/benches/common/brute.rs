//! The default flock in the XY plane without a grid: every agent looks at every other, one by one.

use bevy::prelude::*;
use bevy_steer::prelude::*;

use super::{Start, app, ready};

/// An app whose only system is the plain flock.
pub fn brute_app(starts: &[Start]) -> App {
    let mut app = app(1);
    app.add_systems(FixedUpdate, flock);
    ready(&mut app);
    for start in starts {
        app.world_mut().spawn(start.bundle());
    }
    app
}

/// What an agent sees of another.
#[derive(Clone, Copy)]
pub struct Seen {
    /// Its place.
    pub position: Vec2,
    /// Its velocity.
    pub velocity: Vec2,
}

fn flock(
    time: Res<Time>,
    mut seen: Local<Vec<Seen>>,
    mut agents: Query<(&mut Transform, &mut SteeringVelocity)>,
) {
    seen.clear();
    seen.extend(
        agents.iter().map(|(t, v)| Seen { position: t.translation.truncate(), velocity: v.truncate() }),
    );
    for (me, (mut transform, mut velocity)) in agents.iter_mut().enumerate() {
        let (position, next) = step(me, &seen, time.delta_secs());
        transform.translation = position.extend(transform.translation.z);
        velocity.0 = next.extend(0.0);
    }
}

/// What the rules add up.
#[derive(Default)]
pub struct Sums {
    /// Away from the others.
    pub separation: Vec2,
    alignment: Vec2,
    alignment_weight: f32,
    cohesion: Vec2,
    cohesion_velocity: Vec2,
    cohesion_weight: f32,
    nearest: f32,
}

/// 1 inside, falling smoothly to 0 over the outer 30 % of the radius.
fn fade(distance: f32, radius: f32) -> f32 {
    let x = ((radius - distance) / (0.3 * radius)).clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// The sums of one agent over all others.
pub fn sums(me: usize, all: &[Seen], member: &FlockMember) -> Sums {
    let mut sums = Sums { nearest: f32::INFINITY, ..Sums::default() };
    let reach = member.reach();
    for (n, other) in all.iter().enumerate() {
        let offset = other.position - all[me].position;
        let squared = offset.length_squared();
        if n == me || squared > reach * reach || squared == 0.0 {
            continue;
        }
        let distance = squared.sqrt();
        sums.nearest = sums.nearest.min(distance);
        sums.separation -= offset * (fade(distance, member.separation_radius) / squared);
        let alignment = fade(distance, member.alignment_radius);
        sums.alignment += other.velocity * alignment;
        sums.alignment_weight += alignment;
        let cohesion = fade(distance, member.cohesion_radius);
        sums.cohesion += offset * cohesion;
        sums.cohesion_velocity += other.velocity * cohesion;
        sums.cohesion_weight += cohesion;
    }
    sums
}

/// Position and velocity after one tick of a default member that is a default agent.
fn step(me: usize, all: &[Seen], dt: f32) -> (Vec2, Vec2) {
    let (agent, member) = (SteeringAgent::default(), FlockMember::default());
    let Seen { position, velocity } = all[me];
    let sums = sums(me, all, &member);
    let mut desired = velocity.normalize_or(Vec2::X) * (0.8 * member.cruise_weight * agent.max_speed);
    let mut weight = member.cruise_weight;
    if sums.alignment_weight > 0.0 {
        let share = member.alignment_weight * fade(sums.nearest, member.alignment_radius);
        desired += sums.alignment * (share / sums.alignment_weight);
        weight += share;
    }
    if sums.cohesion_weight > 0.0 {
        let share = member.cohesion_weight * fade(sums.nearest, member.cohesion_radius);
        let towards = sums.cohesion * (agent.max_speed / member.cohesion_radius);
        desired += (sums.cohesion_velocity + towards) * (share / sums.cohesion_weight);
        weight += share;
    }
    let push = (sums.separation / agent.reaction_time).clamp_length_max(agent.max_force);
    let force = push * member.separation_weight + (desired - velocity * weight) / agent.reaction_time;
    let force = force.clamp_length_max(agent.max_force);
    let velocity = (velocity + force / agent.mass * dt).clamp_length_max(agent.max_speed);
    (position + velocity * dt, velocity)
}
