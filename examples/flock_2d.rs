//! Two flocks and a predator in the plane: they part round obstacles and find together again.
//!
//! `cargo run --release --example flock_2d`

mod common;

use bevy::prelude::*;
use bevy_steer::prelude::*;
use common::{Canvas, Fence, Look, Palette, camera_2d, heading, scatter};

const HELP: &str = "Two flocks of 180, each its own group; the coral predator pursues the nearest teal one.\n\
                    1: smooth law   2: classic law (see it twitch)";
const HALF: Vec3 = Vec3::new(33.0, 18.0, 0.0);
const TEAL: u32 = 0;
const GOLD: u32 = 1;
const PREDATOR: u32 = 2;

fn main() -> AppExit {
    common::run("flock_2d", HELP, |app| {
        app.add_systems(Startup, setup).add_systems(Update, switch);
    })
}

fn setup(
    mut commands: Commands,
    canvas: Res<Canvas>,
    mut look: ResMut<Look>,
    mut materials: ResMut<Assets<ColorMaterial>>,
) {
    camera_2d(&mut commands, &canvas, 40.0);
    for n in 0..360 {
        let group = if n % 2 == 0 { TEAL } else { GOLD };
        commands.spawn((
            FlockMember::default(),
            SteeringGroup(group),
            SteeringAgent::default().with_radius(0.4),
            SteeringVelocity(heading(n) * 4.0),
            Flee {
                target: SteeringTarget::Nearest { group: PREDATOR, radius: 7.0 },
                panic_radius: Some(7.0),
                weight: 2.0,
                ..default()
            },
            ObstacleFeeler::default(),
            Fence::new(HALF),
            FaceVelocity::default(),
            Transform::from_translation(scatter(n, HALF)).with_scale(Vec3::splat(0.9)),
            look.arrow([Palette::TEAL, Palette::GOLD][group as usize], &mut materials),
        ));
    }
    commands.spawn((
        SteeringAgent::new(5.5, 12.0).with_radius(0.8),
        SteeringGroup(PREDATOR),
        SteeringVelocity(Vec3::X),
        Pursue::new(SteeringTarget::Nearest { group: TEAL, radius: 100.0 }),
        ObstacleFeeler::default(),
        Fence::new(HALF),
        FaceVelocity::default(),
        Transform::from_xyz(0.0, 0.0, 1.0).with_scale(Vec3::splat(1.8)),
        look.arrow(Palette::CORAL, &mut materials),
    ));
    for (x, y, radius) in [(-12.0, 5.0, 3.0), (10.0, -6.0, 2.4), (16.0, 9.0, 1.8), (-20.0, -9.0, 2.0)] {
        commands.spawn((Obstacle::Sphere { radius }, Transform::from_xyz(x, y, -1.0)));
    }
}

fn switch(keys: Res<ButtonInput<KeyCode>>, mut members: Query<&mut FlockMember>) {
    let law = if keys.just_pressed(KeyCode::Digit1) {
        bevy_steer::FlockLaw::Smooth
    } else if keys.just_pressed(KeyCode::Digit2) {
        bevy_steer::FlockLaw::Classic
    } else {
        return;
    };
    for mut member in &mut members {
        member.law = law;
    }
}
