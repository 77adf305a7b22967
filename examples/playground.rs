//! A scene to try the panel on.
//!
//! `cargo run --release --example playground`

mod common;

use bevy::prelude::*;
use bevy_steer::prelude::*;
use bevy_steer_debug::{SteeringOverlayPlugin, SteeringPanelPlugin, SteeringTimePlugin};
use common::{Canvas, Fence, Look, Palette, camera_2d, heading, scatter};

const HALF: Vec3 = Vec3::new(26.0, 16.0, 0.0);

fn main() -> AppExit {
    common::run("playground", "Click an agent.", |app| {
        app.add_plugins((SteeringOverlayPlugin, SteeringTimePlugin, SteeringPanelPlugin))
            .add_systems(Startup, setup);
    })
}

fn setup(
    mut commands: Commands,
    canvas: Res<Canvas>,
    mut time: ResMut<Time<Virtual>>,
    mut look: ResMut<Look>,
    mut materials: ResMut<Assets<ColorMaterial>>,
) {
    camera_2d(&mut commands, &canvas, 40.0);
    if std::env::var_os("PLAYGROUND_PAUSED").is_some() {
        time.pause();
    }
    for n in 0..5 {
        let at = scatter(n + 900, HALF * 0.8);
        commands.spawn((
            Obstacle::Sphere { radius: 1.0 },
            Transform::from_translation(at).with_scale(Vec3::splat(2.0)),
            look.disc(Palette::SLATE, &mut materials),
        ));
    }
    for n in 0..60 {
        let group = n % 2;
        commands.spawn((
            FlockMember::default(),
            ObstacleFeeler::default(),
            bevy_steer::SteeringGroup(group as u32),
            SteeringAgent::default().with_radius(0.5),
            SteeringVelocity(heading(n) * 4.0),
            Fence::new(HALF),
            FaceVelocity::default(),
            Transform::from_translation(scatter(n, HALF)),
            look.arrow([Palette::TEAL, Palette::GOLD][group], &mut materials),
        ));
    }
    for n in 0..4 {
        commands.spawn((
            Name::new(format!("Courier {n}")),
            PathFollow::new(vec![
                Vec3::new(-20.0, -10.0, 0.0),
                Vec3::new(8.0, -10.0, 0.0),
                Vec3::new(8.0, 12.0, 0.0),
                Vec3::new(-20.0, 12.0, 0.0),
            ])
            .with_mode(bevy_steer::PathMode::Loop),
            Separation::default(),
            ObstacleFeeler::default(),
            FaceVelocity::default(),
            Transform::from_xyz(-20.0 + 3.0 * n as f32, -10.0, 0.0),
            look.arrow(Palette::ROSE, &mut materials),
        ));
    }
}
