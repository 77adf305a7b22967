//! On several threads Bevy allocates its tasks, and nothing is allocated for agents: ten times as many change nothing.
//!
//! A binary of its own, because the pool is made once in a process.

#![cfg(feature = "multi_threaded")]

mod everything;

use std::alloc::System;

use everything::{everything, warm_up};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations and reallocations per tick in the world with so many agents.
fn allocations_per_tick(agents: usize) -> f64 {
    let mut sim = everything(agents, 2);
    // The threshold has its own effect.
    sim.app.world_mut().resource_mut::<bevy_steer::SteeringDefaults>().parallel_from = 0;
    warm_up(&mut sim);
    let region = Region::new(ALLOCATOR);
    sim.ticks(100);
    let change = region.change();
    (change.allocations + change.reallocations) as f64 / 100.0
}

#[test]
fn allocations_do_not_depend_on_the_number_of_agents() {
    let [few, many] = [2_000, 20_000].map(allocations_per_tick);
    println!("allocations per tick on 2 threads: {few} with 2,000 agents, {many} with 20,000");
    assert!(few > 0.0, "the counter counts");
    // A tenth of an allocation for each agent more would be 1,800.
    assert!(many < 1.25 * few, "{few} with 2,000 agents, {many} with 20,000");
}
