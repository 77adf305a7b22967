//! Milliseconds per tick of a flock: `cargo run --release --example measure_tick`.
//!
//! Agents are spread so that each has about 24 flockmates in reach. Prints the median of 60 ticks after 20 to warm up.

use std::time::Instant;

use bevy::{app::FixedMain, prelude::*};
use bevy_steer::{AgentRng, SteeringSeed, prelude::*};

fn main() {
    let threads = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2);
    println!("{threads} compute threads");
    println!("{:>9} {:>10} {:>12}", "agents", "ms/tick", "ns/agent");
    for agents in [100, 1_000, 10_000, 100_000] {
        let ms = median_tick(agents, threads);
        println!("{agents:>9} {ms:>10.3} {:>12.0}", ms * 1e6 / agents as f64);
    }
}

fn median_tick(agents: usize, threads: usize) -> f64 {
    let mut app = App::new();
    let mut pools = TaskPoolOptions::default();
    (pools.io.max_threads, pools.async_compute.max_threads) = (1, 1);
    (pools.compute.min_threads, pools.compute.max_threads) = (threads, threads);
    app.add_plugins((
        TaskPoolPlugin { task_pool_options: pools },
        bevy::time::TimePlugin,
        TransformPlugin,
        SteeringPlugins::default(),
    ));
    app.finish();
    app.cleanup();
    app.update();
    // 24 others in a disc of radius 6.
    let side = (agents as f32 * core::f32::consts::PI * 36.0 / 24.0).sqrt();
    let mut rng = AgentRng::seeded(SteeringSeed(1), bevy_steer::SteeringId(1), 1);
    for _ in 0..agents {
        let mut point = || Vec3::new(rng.signed(), rng.signed(), 0.0);
        let (position, velocity) = (point() * 0.5 * side, point() * 5.0);
        app.world_mut().spawn((
            FlockMember::default(),
            SteeringVelocity(velocity),
            Transform::from_translation(position),
        ));
    }
    let mut times: Vec<f64> = (0..80).map(|_| tick(&mut app)).skip(20).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn tick(app: &mut App) -> f64 {
    let world = app.world_mut();
    let dt = world.resource::<Time<Fixed>>().timestep();
    world.resource_mut::<Time<Fixed>>().advance_by(dt);
    *world.resource_mut::<Time>() = world.resource::<Time<Fixed>>().as_generic();
    let start = Instant::now();
    world.run_schedule(FixedMain);
    start.elapsed().as_secs_f64() * 1e3
}
