//! What the tests share: the headless simulation and one scene with everything in it.

#[path = "../../crates/bevy_steer/src/testing.rs"]
pub mod sim;

pub mod scene;

use std::time::Duration;

use bevy::{app::FixedMain, prelude::*};

/// One fixed tick of any length, also of none.
pub fn tick_by(sim: &mut sim::Sim, step: Duration) {
    let world = sim.app.world_mut();
    world.resource_mut::<Time>().advance_by(step);
    world.run_schedule(FixedMain);
}
