//! A whole tick of a flock in which each agent has about 24 flockmates, and of the same flock without a grid.
//!
//! `cargo bench -p bevy_steer --bench tick`; one compute thread. Each measured tick is the first one of the same world.

use std::time::Duration;

use bevy::prelude::*;
use bevy_steer::prelude::*;
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};

mod common;

use common::{brute::brute_app, one_by_one, positions, spread, steering_app, tick, time_ticks};

fn flock(agents: usize, plane: SteeringPlane) -> App {
    let mut app = steering_app(1);
    app.world_mut().resource_mut::<SteeringDefaults>().plane = plane;
    for start in spread(agents, plane) {
        app.world_mut().spawn((FlockMember::default(), start.bundle()));
    }
    app
}

fn brute(agents: usize) -> App {
    let mut brute = brute_app(&spread(agents, SteeringPlane::Xy));
    let mut grid = flock(agents, SteeringPlane::Xy);
    tick(&mut brute);
    tick(&mut grid);
    let (brute_at, grid_at) = (positions(&mut brute), positions(&mut grid));
    assert_eq!((brute_at.len(), grid_at.len()), (agents, agents));
    let mut moved = 0;
    for ((start, a), b) in spread(agents, SteeringPlane::Xy).iter().zip(&brute_at).zip(&grid_at) {
        assert!(a.distance(*b) < 1e-4, "both ways lead to the same place: {a} {b}");
        moved += usize::from(a.distance(start.position) > 1e-3);
    }
    assert!(moved > agents * 9 / 10, "they move at all: {moved}");
    brute
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tick");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    let mut time = |name: &str, agents: usize, mut app: App| {
        group.throughput(Throughput::Elements(agents as u64));
        group.bench_function(BenchmarkId::new(name, agents), |bencher| {
            bencher.iter_custom(|ticks| time_ticks(&mut app, ticks));
        });
    };
    for agents in [100, 1_000, 10_000, 100_000] {
        time("plane", agents, flock(agents, SteeringPlane::Xy));
    }
    time("space", 10_000, flock(10_000, SteeringPlane::Space));
    for agents in [10, 100, 1_000] {
        time("every pair", agents, brute(agents));
    }
    // Small flocks cost what Bevy's executors cost.
    time("plane", 10, flock(10, SteeringPlane::Xy));
    for agents in [10, 100, 1_000] {
        time("plane, one system at a time", agents, one_by_one(flock(agents, SteeringPlane::Xy)));
        time("every pair, one system at a time", agents, one_by_one(brute(agents)));
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    bench(&mut criterion);
    criterion.final_summary();
}
