//! Everything at once.
//!
//! `cargo run --release --example playground`

mod common;

use bevy::prelude::*;
use common::{Canvas, camera_2d};

fn main() -> AppExit {
    common::run("playground", "Every behaviour.", |app| {
        app.add_systems(Startup, setup);
    })
}

fn setup(mut commands: Commands, canvas: Res<Canvas>) {
    camera_2d(&mut commands, &canvas, 40.0);
}
