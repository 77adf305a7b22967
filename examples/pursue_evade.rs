//! Hunters that aim ahead of their prey, prey that runs from where the hunters will be, and a homing missile.
//!
//! `cargo run --release --example pursue_evade`

mod common;

use bevy::{color::Alpha, prelude::*};
use bevy_steer::{TurnLimit, prelude::*};
use common::{Canvas, Fence, Look, Palette, camera_2d, heading, scatter};

const HELP: &str = "Coral hunters pursue the nearest prey, teal prey evades the nearest hunter and wanders.\n\
                    The gold missile turns at most 1.6 rad/s and pursues the violet runner. M: another missile";
const HALF: Vec3 = Vec3::new(25.0, 14.0, 0.0);
const PREY: u32 = 1;
const HUNTER: u32 = 2;

#[derive(Component)]
struct Runner;

#[derive(Component)]
struct Missile;

fn main() -> AppExit {
    common::run("pursue_evade", HELP, |app| {
        app.add_systems(Startup, setup)
            .add_systems(FixedUpdate, explode.after(SteeringSystems::Integrate))
            .add_systems(Update, (launch, draw));
    })
}

fn setup(
    mut commands: Commands,
    canvas: Res<Canvas>,
    mut look: ResMut<Look>,
    mut materials: ResMut<Assets<ColorMaterial>>,
) {
    camera_2d(&mut commands, &canvas, 32.0);
    for n in 0..24 {
        commands.spawn((
            SteeringAgent::new(5.0, 20.0),
            SteeringGroup(PREY),
            SteeringVelocity(heading(n) * 3.0),
            Evade {
                target: SteeringTarget::Nearest { group: HUNTER, radius: 9.0 },
                panic_radius: Some(9.0),
                ..default()
            },
            Wander::default(),
            Separation::default(),
            Fence::new(HALF),
            FaceVelocity::default(),
            Transform::from_translation(scatter(n, HALF)),
            look.arrow(Palette::TEAL, &mut materials),
        ));
    }
    for n in 0..3 {
        commands.spawn((
            SteeringAgent::new(5.6, 14.0),
            SteeringGroup(HUNTER),
            Pursue::new(SteeringTarget::Nearest { group: PREY, radius: 60.0 }),
            Separation::new(3.0),
            Fence::new(HALF),
            FaceVelocity::default(),
            Transform::from_translation(scatter(n + 40, HALF)).with_scale(Vec3::splat(1.3)),
            look.arrow(Palette::CORAL, &mut materials),
        ));
    }
    let waypoints = (0..6).map(|n| heading(n * 5) * Vec3::new(20.0, 10.0, 0.0)).collect();
    commands.spawn((
        Runner,
        SteeringAgent::new(6.0, 20.0),
        SteeringVelocity(Vec3::X),
        PathFollow { waypoints, mode: bevy_steer::PathMode::Loop, arrival_radius: 2.0, ..default() },
        FaceVelocity::default(),
        Transform::from_xyz(-10.0, 0.0, 1.0).with_scale(Vec3::splat(1.2)),
        look.arrow(Palette::VIOLET, &mut materials),
    ));
    commands.queue(spawn_missile);
}

fn spawn_missile(world: &mut World) {
    let Ok(runner) = world.query_filtered::<Entity, With<Runner>>().single(world) else { return };
    let bundle = world.resource_scope(|world, mut look: Mut<Look>| {
        look.arrow(Palette::GOLD, &mut world.resource_mut::<Assets<ColorMaterial>>())
    });
    world.spawn((
        Missile,
        SteeringAgent::new(9.0, 60.0).with_radius(0.3),
        SteeringVelocity(Vec3::Y * 4.0),
        Pursue::new(runner),
        TurnLimit { max_turn_rate: 1.6, min_speed: 4.0 },
        FaceVelocity::default(),
        Transform::from_xyz(20.0, -14.0, 2.0).with_scale(Vec3::splat(0.7)),
        bundle,
    ));
}

fn launch(keys: Res<ButtonInput<KeyCode>>, mut commands: Commands) {
    if keys.just_pressed(KeyCode::KeyM) {
        commands.queue(spawn_missile);
    }
}

/// A missile that hits is spent, and the next one starts.
fn explode(
    runner: Single<&Transform, With<Runner>>,
    missiles: Query<(Entity, &Transform), With<Missile>>,
    mut commands: Commands,
) {
    for (missile, transform) in &missiles {
        if transform.translation.truncate().distance(runner.translation.truncate()) < 0.8 {
            commands.entity(missile).despawn();
            commands.queue(spawn_missile);
        }
    }
}

fn draw(mut gizmos: Gizmos, agents: Query<(&Transform, &SteeringVelocity, Has<Pursue>)>) {
    for (transform, velocity, pursues) in &agents {
        let at = transform.translation.truncate();
        let color = if pursues { Palette::CORAL } else { Palette::TEAL };
        gizmos.line_2d(at, at + velocity.truncate() * 0.4, color.with_alpha(0.5));
    }
}
