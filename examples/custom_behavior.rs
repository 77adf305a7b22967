//! A behaviour of your own, registered like the built-in ones: circling round something.
//!
//! `cargo run --release --example custom_behavior`

mod common;

use bevy::{color::Alpha, prelude::*};
use bevy_steer::{Fault, TargetMemory, Targets, check, prelude::*};
use common::{Canvas, Look, Palette, camera_2d, heading, scatter};

const HELP: &str = "Orbit is not part of bevy_steer: it is written in this example, with 40 lines.\n\
                    It mixes with Separation and ObstacleFeeler without knowing of them. R: turn round";

/// Circles round a target: `desired = (tangent + inward × error / radius) × max_speed`, shortened to `max_speed`.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[reflect(Component, Default)]
#[require(SteeringAgent, TargetMemory<Orbit>)]
struct Orbit {
    /// What to circle round.
    target: SteeringTarget,
    /// Distance to keep, in units.
    #[reflect(@0.5_f32..=15.0_f32)]
    radius: f32,
    /// Whether to go round clockwise.
    clockwise: bool,
    /// Factor on its force.
    #[reflect(@0.0_f32..=5.0_f32)]
    weight: f32,
}

impl Default for Orbit {
    fn default() -> Self {
        Self { target: SteeringTarget::default(), radius: 5.0, clockwise: false, weight: 1.0 }
    }
}

impl SteeringBehavior for Orbit {
    const NAME: &'static str = "Orbit";

    fn fault(&self) -> Option<Fault> {
        check::weight(self.weight)
            .or_else(|| check::positive("radius", self.radius, "must be finite and above 0; ignored"))
    }
}

fn orbit(
    steering: Steering,
    targets: Targets,
    mut agents: Query<(Steerer, &Orbit, &mut TargetMemory<Orbit>)>,
) {
    steering.for_each(&mut agents, |(mut me, orbit, mut memory)| {
        if let Some(view) = steering.view(&me)
            && let Some(target) = targets.resolve(&orbit.target, &mut memory, &me, &view, &steering)
        {
            let inward = target.position - view.position;
            let direction = inward.normalize_or(Vec3::X);
            let tangent = view.plane.left_of(direction) * if orbit.clockwise { 1.0 } else { -1.0 };
            let error = (inward.length() - orbit.radius) / orbit.radius;
            let desired = (tangent + direction * (2.0 * error)).clamp_length_max(1.0) * view.max_speed;
            me.accumulator.desire(Orbit::ID, target.velocity + desired, orbit.weight, SteeringPriority::GOAL);
        }
    });
}

fn main() -> AppExit {
    common::run("custom_behavior", HELP, |app| {
        app.add_steering_behavior::<Orbit, _>(SteeringSystems::Steer, orbit)
            .add_systems(Startup, setup)
            .add_systems(Update, (turn_round, draw));
    })
}

fn setup(
    mut commands: Commands,
    canvas: Res<Canvas>,
    mut look: ResMut<Look>,
    mut materials: ResMut<Assets<ColorMaterial>>,
) {
    camera_2d(&mut commands, &canvas, 30.0);
    let sun = commands
        .spawn((
            SteeringAgent::new(1.2, 4.0).with_radius(1.0),
            PathFollow {
                waypoints: vec![Vec3::new(-7.0, -2.0, 0.0), Vec3::new(7.0, 2.0, 0.0)],
                mode: bevy_steer::PathMode::PingPong,
                ..default()
            },
            Transform::from_xyz(-7.0, -2.0, 0.0),
            look.disc(Palette::GOLD, &mut materials),
        ))
        .id();
    for n in 0..36 {
        let ring = n % 3;
        commands.spawn((
            Orbit { target: sun.into(), radius: [3.5, 6.0, 9.0][ring], clockwise: ring == 1, ..default() },
            SteeringAgent::new([4.0, 5.0, 6.0][ring], 25.0),
            SteeringVelocity(heading(n)),
            Separation::default(),
            ObstacleFeeler::default(),
            FaceVelocity::default(),
            Transform::from_translation(scatter(n, Vec3::new(20.0, 12.0, 0.0))),
            look.arrow(Palette::AGENTS[[0, 1, 3][ring]], &mut materials),
        ));
    }
    commands.spawn((Obstacle::Sphere { radius: 1.2 }, Transform::from_xyz(2.0, 7.5, -1.0)));
    commands.spawn((Obstacle::Sphere { radius: 0.9 }, Transform::from_xyz(-4.0, -8.0, -1.0)));
}

fn turn_round(keys: Res<ButtonInput<KeyCode>>, mut orbits: Query<&mut Orbit>) {
    if keys.just_pressed(KeyCode::KeyR) {
        for mut orbit in &mut orbits {
            orbit.clockwise = !orbit.clockwise;
        }
    }
}

fn draw(mut gizmos: Gizmos, orbits: Query<&Orbit>, transforms: Query<&Transform>) {
    for orbit in &orbits {
        if let SteeringTarget::Entity(target) = orbit.target
            && let Ok(transform) = transforms.get(target)
        {
            gizmos
                .circle_2d(transform.translation.truncate(), orbit.radius, Palette::WHITE.with_alpha(0.008))
                .resolution(96);
        }
    }
}
