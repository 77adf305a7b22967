//! Feeling for obstacles: discs, boxes, walls, and a box that drives across.
//!
//! `cargo run --release --example obstacles`

mod common;

use bevy::{color::Alpha, prelude::*};
use bevy_steer::{FeelerState, SteeringOutput, prelude::*};
use common::{Canvas, Fence, Look, Palette, camera_2d, heading, scatter};

const HELP: &str = "Teal agents roam, gold ones shuttle between the sides; all feel for obstacles.\n\
                    Coral lines are forces, thin lines how far an agent looks.";
const HALF: Vec3 = Vec3::new(25.0, 13.5, 0.0);

#[derive(Component)]
struct Driver;

fn main() -> AppExit {
    common::run("obstacles", HELP, |app| {
        app.add_systems(Startup, setup)
            .add_systems(FixedUpdate, drive.before(SteeringSystems::Sense))
            .add_systems(Update, draw);
    })
}

fn setup(
    mut commands: Commands,
    canvas: Res<Canvas>,
    mut look: ResMut<Look>,
    mut materials: ResMut<Assets<ColorMaterial>>,
) {
    camera_2d(&mut commands, &canvas, 30.0);
    for n in 0..12 {
        let at = scatter(n + 3, 0.72 * HALF).with_z(-1.0);
        let turn = Quat::from_rotation_z(n as f32 * 0.7);
        let obstacle = match n % 3 {
            0 => Obstacle::Sphere { radius: 1.0 + 0.15 * n as f32 },
            1 => Obstacle::Cuboid { half_extents: Vec3::new(1.6, 0.9, 1.0) },
            _ => Obstacle::Wall { half_length: 2.4, half_height: 1.0, thickness: 0.3 },
        };
        commands.spawn((obstacle, Transform::from_translation(at).with_rotation(turn)));
    }
    commands.spawn((
        Driver,
        Obstacle::Cuboid { half_extents: Vec3::new(1.2, 2.0, 1.0) },
        Transform::from_xyz(0.0, 0.0, -1.0),
    ));
    for n in 0..30 {
        let mut agent = commands.spawn((
            SteeringVelocity(heading(n) * 3.0),
            ObstacleFeeler::default(),
            Separation::default(),
            FaceVelocity::default(),
            Transform::from_translation(scatter(n + 50, HALF)),
        ));
        if n % 3 == 0 {
            let y = (n as f32 - 15.0) * 0.7;
            agent.insert((
                PathFollow {
                    waypoints: vec![Vec3::new(-23.0, y, 0.0), Vec3::new(23.0, -y, 0.0)],
                    mode: bevy_steer::PathMode::PingPong,
                    arrival_radius: 1.5,
                    ..default()
                },
                look.arrow(Palette::GOLD, &mut materials),
            ));
        } else {
            agent.insert((Wander::default(), Fence::new(HALF), look.arrow(Palette::TEAL, &mut materials)));
        }
    }
}

fn drive(time: Res<Time>, mut driver: Single<&mut Transform, With<Driver>>) {
    driver.translation.x = 18.0 * bevy::math::ops::sin(time.elapsed_secs() * 0.2);
}

fn draw(mut gizmos: Gizmos, agents: Query<(&Transform, &SteeringVelocity, &SteeringOutput, &FeelerState)>) {
    for (transform, velocity, output, feeler) in &agents {
        let at = transform.translation.truncate();
        let ahead = velocity.truncate().normalize_or_zero() * feeler.look_ahead();
        gizmos.line_2d(at, at + ahead, Palette::WHITE.with_alpha(0.12));
        if feeler.is_engaged() {
            gizmos.line_2d(at, at + output.force.truncate() * 0.12, Palette::CORAL);
        }
    }
}
