//! What the benchmarks share: worlds without a window whose ticks are driven by hand.

#![allow(dead_code)]

pub mod brute;

use std::time::{Duration, Instant};

use bevy::{
    app::{FixedMain, FixedMainScheduleOrder},
    ecs::schedule::SingleThreadedExecutor,
    prelude::*,
};
use bevy_steer::{AgentRng, SteeringId, SteeringSeed, prelude::*};

/// How far a member of a flock looks.
pub const REACH: f32 = 6.0;
/// Mean number of flockmates within [`REACH`].
pub const FLOCKMATES: f32 = 24.0;

/// An app with so many compute threads; the pool is made once in a process.
pub fn app(threads: usize) -> App {
    let mut app = App::new();
    let mut pools = TaskPoolOptions::default();
    (pools.io.max_threads, pools.async_compute.max_threads) = (1, 1);
    (pools.compute.min_threads, pools.compute.max_threads) = (threads, threads);
    app.add_plugins((TaskPoolPlugin { task_pool_options: pools }, bevy::time::TimePlugin, TransformPlugin));
    app
}

/// The same with steering in it.
pub fn steering_app(threads: usize) -> App {
    let mut app = app(threads);
    app.add_plugins(SteeringPlugins::default());
    ready(&mut app);
    app
}

/// Ends the building of an app.
pub fn ready(app: &mut App) {
    app.finish();
    app.cleanup();
    app.update();
}

/// Runs the systems of the tick one after the other, without the tasks of Bevy's usual executor.
pub fn one_by_one(mut app: App) -> App {
    for label in FixedMainScheduleOrder::default().labels {
        app.edit_schedule(label, |schedule| {
            schedule.set_executor(SingleThreadedExecutor::new());
        });
    }
    app
}

/// One fixed tick; how long it took.
pub fn tick(app: &mut App) -> Duration {
    let world = app.world_mut();
    let dt = world.resource::<Time<Fixed>>().timestep();
    world.resource_mut::<Time<Fixed>>().advance_by(dt);
    *world.resource_mut::<Time>() = world.resource::<Time<Fixed>>().as_generic();
    let start = Instant::now();
    world.run_schedule(FixedMain);
    let time = start.elapsed();
    // As after each frame of an app.
    world.clear_trackers();
    time
}

/// Random numbers, the same each time.
pub fn random() -> impl FnMut() -> f32 {
    let mut rng = AgentRng::seeded(SteeringSeed(1), SteeringId(1), 1);
    move || rng.signed()
}

/// Where an agent was in the beginning.
#[derive(Component, Clone, Copy)]
pub struct Start {
    /// Its place.
    pub position: Vec3,
    /// Its velocity.
    pub velocity: Vec3,
}

impl Start {
    /// What makes an entity stand there and move so.
    pub fn bundle(self) -> impl Bundle {
        (self, Transform::from_translation(self.position), SteeringVelocity(self.velocity))
    }
}

/// Starts spread evenly, [`FLOCKMATES`] others within [`REACH`] of each, in a square or a cube.
pub fn spread(agents: usize, plane: SteeringPlane) -> Vec<Start> {
    use core::f32::consts::PI;
    let count = agents as f32 / FLOCKMATES;
    let edge = match plane {
        SteeringPlane::Space => bevy::math::ops::cbrt(count * 4.0 / 3.0 * PI * REACH * REACH * REACH),
        SteeringPlane::Xy | SteeringPlane::Xz => (count * PI * REACH * REACH).sqrt(),
    };
    let mut random = random();
    let mut point = || plane.project(Vec3::new(random(), random(), random()));
    (0..agents).map(|_| Start { position: point() * (0.5 * edge), velocity: point() * 3.0 }).collect()
}

/// Puts everybody back to the start, so that each measured tick is the same tick.
pub fn restart(app: &mut App) {
    let world = app.world_mut();
    let mut agents = world.query::<(&Start, &mut Transform, &mut SteeringVelocity)>();
    for (start, mut transform, mut velocity) in agents.iter_mut(world) {
        transform.translation = start.position;
        velocity.0 = start.velocity;
    }
}

/// The time of so many ticks, each from the start.
pub fn time_ticks(app: &mut App, ticks: u64) -> Duration {
    (0..ticks)
        .map(|_| {
            restart(app);
            tick(app)
        })
        .sum()
}

/// Where everybody is, in the order of spawning.
pub fn positions(app: &mut App) -> Vec<Vec3> {
    let world = app.world_mut();
    let mut agents: Vec<_> = world
        .query_filtered::<(Entity, &Transform), With<Start>>()
        .iter(world)
        .map(|(e, t)| (e, t.translation))
        .collect();
    agents.sort_by_key(|&(entity, _)| entity.index_u32());
    agents.into_iter().map(|(_, position)| position).collect()
}
