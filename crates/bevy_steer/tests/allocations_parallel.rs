//! On several threads Bevy allocates its tasks: for each system, and for each table of agents that is worth dividing. Nothing
//! is allocated for an agent.
//!
//! A binary of its own, because the pool is made once in a process.

#![cfg(feature = "multi_threaded")]

mod everything;

use std::alloc::System;

use bevy::prelude::*;
use bevy_steer::*;
use everything::{everything, sim::Sim, warm_up};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations and reallocations per tick.
fn allocations_per_tick(sim: &mut Sim) -> f64 {
    let region = Region::new(ALLOCATOR);
    sim.ticks(100);
    let change = region.change();
    (change.allocations + change.reallocations) as f64 / 100.0
}

/// A flock in one table, large enough to be divided.
fn flock(agents: usize) -> Sim {
    let mut sim = Sim::new(60.0);
    let side = (agents as f32).sqrt() as usize + 1;
    for n in 0..agents {
        let place = Vec3::new((n % side) as f32, (n / side) as f32, 0.0) * 2.0;
        sim.moving(place, Vec3::X, FlockMember::default());
    }
    sim.ticks(30);
    sim
}

#[test]
fn nothing_is_allocated_for_an_agent() {
    // Makes the pool, and is a world of many tables. The threshold would have its own effect.
    let [few, many] = [2_000, 20_000].map(|agents| {
        let mut sim = everything(agents, 2);
        sim.app.world_mut().resource_mut::<SteeringDefaults>().parallel_from = 0;
        warm_up(&mut sim);
        allocations_per_tick(&mut sim)
    });
    println!("many tables: {few} allocations per tick with 2,000 agents, {many} with 20,000");
    assert!(few > 0.0, "the counter counts");
    // Tables become worth dividing, each once for all. An allocation for one agent in a hundred would be 180 more.
    assert!(many - few < 180.0, "{few} with 2,000 agents, {many} with 20,000");

    let [few, many] = [5_000, 50_000].map(|agents| allocations_per_tick(&mut flock(agents)));
    println!("one table: {few} allocations per tick with 5,000 agents, {many} with 50,000");
    assert!((many - few).abs() < 0.1 * few, "{few} with 5,000 agents, {many} with 50,000");
}
