//! Agents chase a target that hops: arrive slows down in time, seek overshoots.
//!
//! `cargo run --release --example seek_arrive`

mod common;

use bevy::{color::Alpha, prelude::*};
use bevy_steer::prelude::*;
use common::{Canvas, Look, Palette, camera_2d, heading, scatter};

const HELP: &str = "The target hops every 5 seconds. The ring is where Arrive begins to slow down.\n\
                    1: arrive   2: seek (see it overshoot)   S: separation on or off (see them pile up)";
const HALF: Vec3 = Vec3::new(20.0, 11.0, 0.0);

#[derive(Component)]
struct Target;

fn main() -> AppExit {
    common::run("seek_arrive", HELP, |app| {
        app.add_systems(Startup, setup)
            .add_systems(FixedUpdate, hop.before(SteeringSystems::Sense))
            .add_systems(Update, (switch, draw));
    })
}

fn setup(
    mut commands: Commands,
    canvas: Res<Canvas>,
    mut look: ResMut<Look>,
    mut materials: ResMut<Assets<ColorMaterial>>,
) {
    camera_2d(&mut commands, &canvas, 30.0);
    let target = commands
        .spawn((
            Target,
            Transform::from_xyz(8.0, 3.0, -1.0).with_scale(Vec3::splat(0.35)),
            look.disc(Palette::GOLD, &mut materials),
        ))
        .id();
    for n in 0..14 {
        commands.spawn((
            Arrive::new(target),
            Separation::default(),
            FaceVelocity::default(),
            Transform::from_translation(scatter(n, HALF)),
            look.arrow(Palette::TEAL, &mut materials),
        ));
    }
}

fn hop(
    time: Res<Time>,
    mut wait: Local<f32>,
    mut hops: Local<usize>,
    mut target: Single<&mut Transform, With<Target>>,
) {
    *wait += time.delta_secs();
    if *wait >= 5.0 {
        *wait = 0.0;
        *hops += 1;
        let z = target.translation.z;
        target.translation = (scatter(*hops, 0.8 * HALF) + heading(*hops)).with_z(z);
    }
}

fn switch(
    keys: Res<ButtonInput<KeyCode>>,
    target: Single<Entity, With<Target>>,
    agents: Query<Entity, With<SteeringAgent>>,
    mut separations: Query<&mut Separation>,
    mut commands: Commands,
) {
    for agent in &agents {
        if keys.just_pressed(KeyCode::Digit1) {
            commands.entity(agent).remove::<Seek>().insert(Arrive::new(*target));
        }
        if keys.just_pressed(KeyCode::Digit2) {
            commands.entity(agent).remove::<Arrive>().insert(Seek::new(*target));
        }
    }
    if keys.just_pressed(KeyCode::KeyS) {
        for mut separation in &mut separations {
            separation.weight = if separation.weight > 0.0 { 0.0 } else { Separation::default().weight };
        }
    }
}

fn draw(
    mut gizmos: Gizmos,
    target: Single<&Transform, With<Target>>,
    agents: Query<(&SteeringAgent, &Transform, &SteeringVelocity, Has<Arrive>)>,
) {
    for (agent, transform, velocity, arrives) in &agents {
        let at = transform.translation.truncate();
        gizmos.line_2d(at, at + velocity.truncate() * 0.4, Palette::TEAL.with_alpha(0.6));
        if arrives {
            let view = bevy_steer::AgentView::new(
                agent,
                Vec3::ZERO,
                Vec3::ZERO,
                SteeringPlane::Xy,
                1.0 / common::HZ as f32,
            );
            let radius = bevy_steer::auto_slowing_radius(&view);
            gizmos
                .circle_2d(target.translation.truncate(), radius, Palette::GOLD.with_alpha(0.03))
                .resolution(64);
        }
    }
}
