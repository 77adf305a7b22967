//! A flock in the plane: separation, alignment and cohesion, and a fence of the game's own.
//!
//! `cargo run --release --example flock_2d`

mod common;

use bevy::prelude::*;
use bevy_steer::prelude::*;
use common::{Canvas, Fence, Look, Palette, camera_2d, heading, scatter};

const HALF: Vec3 = Vec3::new(34.0, 18.0, 0.0);

fn main() -> AppExit {
    common::run("flock_2d", "Two flocks of 150, each with its own group.", |app| {
        app.add_systems(Startup, setup);
    })
}

fn setup(
    mut commands: Commands,
    canvas: Res<Canvas>,
    mut look: ResMut<Look>,
    mut materials: ResMut<Assets<ColorMaterial>>,
) {
    camera_2d(&mut commands, &canvas, 40.0);
    for n in 0..300 {
        let group = n % 2;
        commands.spawn((
            FlockMember::default(),
            bevy_steer::SteeringGroup(group as u32),
            SteeringAgent::default().with_radius(0.4),
            SteeringVelocity(heading(n) * 4.0),
            Fence::new(HALF),
            FaceVelocity::default(),
            Transform::from_translation(scatter(n, HALF)).with_scale(Vec3::splat(0.9)),
            look.arrow([Palette::TEAL, Palette::GOLD][group], &mut materials),
        ));
    }
}
