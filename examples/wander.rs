//! Roaming: calm or nervous, and the way that each has come.
//!
//! `cargo run --release --example wander`

mod common;

use bevy::{color::Alpha, prelude::*};
use bevy_steer::prelude::*;
use common::{Canvas, Fence, Look, Palette, camera_2d, heading, scatter};

const HELP: &str = "Four kinds of wanderers, from calm to nervous (jitter 0.15, 0.65, 1.5, 4).\n\
                    The lines are the last five seconds. C: show the wander circles";
const HALF: Vec3 = Vec3::new(24.0, 13.0, 0.0);
const JITTER: [f32; 4] = [0.15, 0.645_5, 1.5, 4.0];

/// Where an agent has been.
#[derive(Component, Default)]
struct Trail(std::collections::VecDeque<Vec2>);

fn main() -> AppExit {
    common::run("wander", HELP, |app| {
        app.add_systems(Startup, setup).add_systems(FixedUpdate, remember).add_systems(Update, draw);
    })
}

fn setup(
    mut commands: Commands,
    canvas: Res<Canvas>,
    mut look: ResMut<Look>,
    mut materials: ResMut<Assets<ColorMaterial>>,
) {
    camera_2d(&mut commands, &canvas, 30.0);
    for n in 0..28 {
        let kind = n % 4;
        commands.spawn((
            Wander { jitter: JITTER[kind], ..default() },
            SteeringVelocity(heading(n)),
            Fence::new(HALF),
            Separation::default(),
            FaceVelocity::default(),
            Trail::default(),
            Transform::from_translation(scatter(n, HALF)),
            look.arrow(Palette::AGENTS[kind], &mut materials),
        ));
    }
}

fn remember(mut agents: Query<(&Transform, &mut Trail)>) {
    for (transform, mut trail) in &mut agents {
        trail.0.push_back(transform.translation.truncate());
        if trail.0.len() > 5 * common::HZ as usize {
            trail.0.pop_front();
        }
    }
}

fn draw(
    mut gizmos: Gizmos,
    keys: Res<ButtonInput<KeyCode>>,
    mut circles: Local<bool>,
    agents: Query<(&Trail, &Wander, &bevy_steer::WanderState, &Transform, &SteeringVelocity)>,
) {
    *circles ^= keys.just_pressed(KeyCode::KeyC);
    for (trail, wander, state, transform, velocity) in &agents {
        let kind = JITTER.iter().position(|&j| j == wander.jitter).unwrap_or(0);
        let color = Palette::AGENTS[kind];
        let n = trail.0.len().max(1) as f32;
        gizmos.linestrip_gradient_2d(
            trail.0.iter().enumerate().map(|(i, &p)| (p, color.with_alpha(0.45 * i as f32 / n))),
        );
        if *circles {
            let at = transform.translation.truncate();
            let center = at + velocity.truncate().normalize_or_zero() * wander.distance;
            gizmos.circle_2d(center, wander.radius, color.with_alpha(0.3));
            gizmos.line_2d(at, center + state.direction().truncate() * wander.radius, color);
        }
    }
}
