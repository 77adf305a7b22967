//! Milliseconds per tick in worlds that are unkind to a grid, and how the tick grows with the number of agents:
//! `cargo run --release -p bevy_steer --example measure_worlds -- THREADS [worlds|curve]`.
//!
//! Every measured tick begins from the same places, so that an ugly world stays ugly.

#[path = "../benches/common/mod.rs"]
mod common;

use std::{alloc::System, hint::black_box, time::Instant};

use bevy::prelude::*;
use bevy_steer::{
    grid::{FlockKernel, FlockQuery, Grid, Item, Layout},
    prelude::*,
};
use common::{
    REACH, Start,
    brute::{Seen, sums},
    restart, spread, steering_app, tick,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const AGENTS: usize = 10_000;

fn main() {
    let mut args = std::env::args().skip(1);
    let threads = args.next().map_or(Ok(1), |n| n.parse());
    let part = args.next().unwrap_or_default();
    let (Ok(threads @ 1..=1024), "" | "curve" | "worlds") = (threads, part.as_str()) else {
        eprintln!("usage: measure_worlds [THREADS [curve | worlds]], with 1 to 1024 threads");
        std::process::exit(2);
    };
    println!("{threads} compute threads");
    if part != "curve" {
        worlds(threads);
    }
    if part != "worlds" {
        println!("\n|    agents |  ms/tick | ns/agent | heap MB |\n|---:|---:|---:|---:|");
        for agents in [10, 100, 1_000, 10_000, 100_000, 1_000_000] {
            let (ms, mb) = measure(threads, &spread(agents, SteeringPlane::Xy), |_, _| {});
            println!("| {agents:>9} | {ms:>8.3} | {:>8.0} | {mb:>7.1} |", ms * 1e6 / agents as f64);
        }
    }
}

fn worlds(threads: usize) {
    println!("\n| {AGENTS} agents | ms/tick | heap MB |\n|---|---:|---:|");
    let row = |name: &str, starts: &[Start], change: &mut dyn FnMut(&mut World, usize)| {
        let (ms, mb) = measure(threads, starts, change);
        println!("| {name} | {ms:.3} | {mb:.1} |");
        ms
    };
    let even = spread(AGENTS, SteeringPlane::Xy);
    let placed = |place: &dyn Fn(usize, Vec3) -> Vec3| -> Vec<Start> {
        let place = |(n, start): (usize, &Start)| Start { position: place(n, start.position), ..*start };
        even.iter().enumerate().map(place).collect()
    };
    row("spread evenly", &even, &mut |_, _| {});
    let half = even.iter().map(|start| start.position.x).fold(0.0, f32::max);
    // Well inside the first cell.
    let cell = placed(&|_, p| (p / half * 0.49 + Vec3::new(0.5, 0.5, 0.0)) * REACH);
    let ticks = row("in one cell", &cell, &mut |_, _| {});
    let [one_by_one, eight_at_a_time] = every_pair(&cell);
    row("on one point", &placed(&|_, _| Vec3::ONE), &mut |_, _| {});
    let line = |spacing: f32| placed(&|n, _| Vec3::X * (n as f32 * spacing));
    row("on a line, 24 in reach", &line(REACH / 12.0), &mut |_, _| {});
    row("on a line, 2400 in reach", &line(REACH / 1200.0), &mut |_, _| {});
    let far = placed(&|n, p| p + Vec3::X * if n % 2 == 0 { 1e6 } else { 0.0 });
    row("two clusters 1e6 apart", &far, &mut |_, _| {});
    let mut next = 0;
    row("half of them replaced each second", &even, &mut |world, _| replace(world, AGENTS / 120, &mut next));
    row("in 128 tables", &even, &mut |world, n| {
        if n == 0 {
            scatter_over_tables(world);
        }
    });
    println!(
        "\nin one cell, every pair one by one: {one_by_one:.1} ms; the tick takes {:.2} of it",
        ticks / one_by_one
    );
    println!(
        "in one cell, every pair eight at a time: {eight_at_a_time:.1} ms; the tick takes {:.2} of it",
        ticks / eight_at_a_time
    );
}

/// Median milliseconds per tick and megabytes of heap of a flock; `change` is called before each tick with its number.
fn measure(threads: usize, starts: &[Start], mut change: impl FnMut(&mut World, usize)) -> (f64, f64) {
    let region = Region::new(ALLOCATOR);
    let mut app = steering_app(threads);
    for start in starts {
        app.world_mut().spawn((FlockMember::default(), start.bundle()));
    }
    let mut times = Vec::with_capacity(100);
    let begin = Instant::now();
    while times.len() < 7 || (times.len() < 63 && begin.elapsed().as_secs_f32() < 3.0) {
        change(app.world_mut(), times.len());
        restart(&mut app);
        times.push(tick(&mut app).as_secs_f64() * 1e3);
    }
    let heap = region.change();
    let mut times = times.split_off(3);
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], (heap.bytes_allocated as f64 - heap.bytes_deallocated as f64) * 1e-6)
}

/// Milliseconds for the sums of every agent over all others: one pair after the other, and with the grid's instructions.
fn every_pair(starts: &[Start]) -> [f64; 2] {
    let member = FlockMember::default();
    let seen: Vec<Seen> = starts
        .iter()
        .map(|start| Seen { position: start.position.truncate(), velocity: start.velocity.truncate() })
        .collect();
    let start = Instant::now();
    (0..seen.len()).for_each(|me| _ = black_box(sums(me, &seen, &member)));
    let one_by_one = start.elapsed().as_secs_f64() * 1e3;

    let item = |(n, start): (usize, &Start)| Item {
        position: start.position,
        velocity: start.velocity,
        id: n as u64,
        tag: n as u32,
        ..Item::default()
    };
    let items: Vec<Item> = starts.iter().enumerate().map(item).collect();
    let (mut grid, mut kernel, query) = (Grid::default(), FlockKernel::default(), FlockQuery::default());
    grid.build(Layout::Planar, 1e6, &items);
    let start = Instant::now();
    grid.for_each_flock_sums(0..grid.len(), &mut kernel, |_| Some(&query), |_, sums| _ = black_box(sums));
    [one_by_one, start.elapsed().as_secs_f64() * 1e3]
}

/// Despawns the next few agents and spawns others in their places.
fn replace(world: &mut World, count: usize, next: &mut usize) {
    let mut agents = world.query::<(Entity, &Start)>();
    let mut all: Vec<(Entity, Start)> = agents.iter(world).map(|(entity, start)| (entity, *start)).collect();
    all.sort_by_key(|&(entity, _)| entity.index_u32());
    for n in 0..count {
        let (entity, start) = all[(*next + n) % all.len()];
        world.despawn(entity);
        world.spawn((FlockMember::default(), start.bundle()));
    }
    *next += count;
}

#[derive(Component)]
struct Mark<const N: usize>;

/// Gives the agents 128 different sets of components.
fn scatter_over_tables(world: &mut World) {
    let mut agents = world.query_filtered::<Entity, With<Start>>();
    let all: Vec<Entity> = agents.iter(world).collect();
    for (n, entity) in all.into_iter().enumerate() {
        let mut agent = world.entity_mut(entity);
        let mut mark = |bit: usize, insert: fn(&mut EntityWorldMut)| {
            if n >> bit & 1 == 1 {
                insert(&mut agent);
            }
        };
        mark(0, |agent| _ = agent.insert(Mark::<0>));
        mark(1, |agent| _ = agent.insert(Mark::<1>));
        mark(2, |agent| _ = agent.insert(Mark::<2>));
        mark(3, |agent| _ = agent.insert(Mark::<3>));
        mark(4, |agent| _ = agent.insert(Mark::<4>));
        mark(5, |agent| _ = agent.insert(Mark::<5>));
        mark(6, |agent| _ = agent.insert(Mark::<6>));
    }
}
