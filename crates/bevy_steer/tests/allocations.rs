//! A tick on one thread takes no memory from the heap, whatever agents do.
//!
//! The counter counts for the whole process, so the tests take turns.

mod everything;

use std::{
    alloc::System,
    hint::black_box,
    sync::{Mutex, PoisonError},
};

use bevy::prelude::*;
use bevy_steer::*;
use everything::{BEHAVIORS, Heard, Tally, everything, sim::Sim, warm_up};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;
static TURN: Mutex<()> = Mutex::new(());

/// Allocations and reallocations in so many ticks.
fn allocations(sim: &mut Sim, ticks: usize) -> usize {
    let region = Region::new(ALLOCATOR);
    sim.ticks(ticks);
    let change = region.change();
    change.allocations + change.reallocations
}

#[test]
fn no_heap_in_the_tick_once_buffers_have_grown() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut sim = everything(3000, 1);
    warm_up(&mut sim);
    let seen = |sim: &Sim| {
        let world = sim.app.world();
        (world.resource::<Tally>().0, world.resource::<Heard>().0)
    };
    let (wrote, heard) = seen(&sim);
    let count = allocations(&mut sim, 100);
    let (wrote_then, heard_then) = seen(&sim);
    for (n, id) in BEHAVIORS.into_iter().enumerate() {
        assert!(wrote_then[n] - wrote[n] > 1000, "{id:?} takes part: {}", wrote_then[n] - wrote[n]);
    }
    assert!(heard_then - heard > 10, "events are sent: {}", heard_then - heard);
    assert_eq!(count, 0, "allocations in 100 ticks");

    // The counter sees what a system in the tick does.
    sim.app.add_systems(FixedUpdate, || drop(black_box(Box::new(1_u8))));
    sim.tick();
    assert!(allocations(&mut sim, 10) >= 10);
}

#[test]
fn a_feeler_among_many_goals_needs_no_heap() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut sim = everything(1000, 1);
    for i in 0..20 {
        let goals = (Seek::new(Vec3::ZERO), Flee::new(Vec3::X), Arrive::new(Vec3::Y), Brake::new());
        sim.agent(Vec3::X * i as f32, (goals, Wander::new(), ObstacleFeeler::default()));
    }
    warm_up(&mut sim);
    assert_eq!(allocations(&mut sim, 100), 0, "allocations in 100 ticks");
}
