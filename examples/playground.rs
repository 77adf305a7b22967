//! Every behaviour in one scene, with the panel to tune them: click an agent, move its sliders.
//!
//! `cargo run --release --example playground`

mod common;

use bevy::{color::Alpha, prelude::*};
use bevy_steer::{OffsetPursue, PathMode, TurnLimit, prelude::*};
use bevy_steer_debug::{SteeringOverlays, SteeringSelection};
use common::{Canvas, Fence, Look, Palette, Pointer, camera_2d, heading, scatter};

const HELP: &str = "The gold target follows the mouse. T: it hops by itself instead.\n\
                    Click an agent to tune it, its group or all in the panel.";
const HALF: Vec3 = Vec3::new(25.0, 17.5, 0.0);

/// The groups of the scene; their number is the agents' [`SteeringGroup`].
const GROUPS: [(&str, Color); 9] = [
    ("Arrive", Palette::TEAL),
    ("Seek", Palette::CORAL),
    ("Flee", Palette::SKY),
    ("Path", Palette::WHITE),
    ("Wing", Palette::VIOLET),
    ("Pursue", Palette::ROSE),
    ("Evade", Color::srgb(0.75, 0.85, 0.55)),
    ("Wander", Color::srgb(0.85, 0.70, 0.55)),
    ("Flock", Palette::GREEN),
];

#[derive(Component)]
struct Target;

#[derive(Component)]
struct Driver;

#[derive(Resource, Default)]
struct Hops {
    by_itself: bool,
    count: usize,
    wait: f32,
}

fn main() -> AppExit {
    common::run("playground", HELP, |app| {
        app.init_resource::<Hops>()
            .add_systems(Startup, setup)
            .add_systems(FixedUpdate, (lead, drive).before(SteeringSystems::Sense))
            .add_systems(Update, draw_paths);
    })
}

/// Spawns agents of one kind after another.
struct Spawner<'a, 'w, 's> {
    commands: &'a mut Commands<'w, 's>,
    look: &'a mut Look,
    materials: &'a mut Assets<ColorMaterial>,
    spawned: usize,
}

impl Spawner<'_, '_, '_> {
    /// One agent of a group, with what all of them have, at a place of its own.
    fn agent(&mut self, group: usize, scale: f32, behaviors: impl Bundle) -> Entity {
        let (name, color) = GROUPS[group];
        let n = self.spawned;
        self.spawned += 1;
        self.commands
            .spawn((
                Name::new(format!("{name} {n}")),
                SteeringGroup(group as u32),
                SteeringAgent::default().with_radius(0.5 * scale),
                SteeringVelocity(heading(n) * 2.0),
                Fence::new(HALF),
                ObstacleFeeler::default(),
                FaceVelocity::default(),
                Transform::from_translation(scatter(n, 0.9 * HALF)).with_scale(Vec3::splat(scale)),
                self.look.arrow(color, self.materials),
            ))
            .insert(behaviors)
            .id()
    }
}

fn setup(
    mut commands: Commands,
    canvas: Res<Canvas>,
    mut look: ResMut<Look>,
    mut materials: ResMut<Assets<ColorMaterial>>,
    mut selection: ResMut<SteeringSelection>,
    mut overlays: ResMut<SteeringOverlays>,
) {
    // The scene lies left of the panel.
    let camera = camera_2d(&mut commands, &canvas, 38.0);
    commands.entity(camera).insert(Transform::from_xyz(7.5, 0.0, 0.0));
    let target = commands
        .spawn((
            Target,
            Name::new("Target"),
            Transform::from_xyz(-4.0, 6.0, -2.0).with_scale(Vec3::splat(0.45)),
            look.disc(Palette::GOLD, &mut materials),
        ))
        .id();
    let mut spawner =
        Spawner { commands: &mut commands, look: &mut look, materials: &mut materials, spawned: 0 };
    let first = spawner.agent(0, 1.0, (Arrive::new(target), Separation::default()));
    for _ in 0..7 {
        spawner.agent(0, 1.0, (Arrive::new(target), Separation::default()));
    }
    for _ in 0..2 {
        spawner.agent(1, 1.0, (Seek::new(target), Separation::default()));
    }
    for _ in 0..4 {
        spawner.agent(
            2,
            1.0,
            (Flee { panic_radius: Some(8.0), ..Flee::new(target) }, Brake { weight: 0.2, ..default() }),
        );
    }
    let corners = [(-20.0, -12.0), (2.0, -14.5), (20.0, -11.0), (22.0, 10.0), (0.0, 14.5), (-22.0, 11.0)];
    let waypoints = corners.map(|(x, y)| Vec3::new(x, y, 0.0)).to_vec();
    let leader = spawner.agent(
        3,
        1.3,
        (
            PathFollow { waypoints, mode: PathMode::Loop, arrival_radius: 1.5, ..default() },
            TurnLimit::new(1.5),
        ),
    );
    for (x, y) in [(-2.0, 2.0), (-2.0, -2.0), (-4.0, 4.0), (-4.0, -4.0)] {
        spawner.agent(4, 0.9, OffsetPursue::new(leader, Vec3::new(x, y, 0.0)));
    }
    for _ in 0..2 {
        spawner.agent(
            5,
            1.0,
            (Pursue::new(SteeringTarget::Nearest { group: 6, radius: 60.0 }), Separation::default()),
        );
    }
    for _ in 0..6 {
        let threat = SteeringTarget::Nearest { group: 5, radius: 8.0 };
        spawner.agent(
            6,
            0.9,
            (
                Evade { target: threat, panic_radius: Some(8.0), ..default() },
                Wander::default(),
                Separation::default(),
            ),
        );
    }
    for _ in 0..6 {
        spawner.agent(7, 1.0, (Wander::default(), Separation::default()));
    }
    for _ in 0..70 {
        spawner.agent(8, 0.8, FlockMember::default());
    }
    spawn_obstacles(&mut commands);
    // Something to look at before the first click.
    selection.entity = Some(first);
    *overlays = SteeringOverlays {
        velocity: true,
        contributions: true,
        feelers: true,
        radii: true,
        targets: true,
        ..default()
    };
}

fn spawn_obstacles(commands: &mut Commands) {
    let at = |x: f32, y: f32, turn: f32| {
        Transform::from_xyz(x, y, -3.0).with_rotation(Quat::from_rotation_z(turn))
    };
    for (x, y, radius) in [(-13.0, 3.0, 2.0), (10.0, 5.0, 1.5), (-6.0, -8.0, 1.2), (14.0, -4.0, 1.0)] {
        commands.spawn((Obstacle::Sphere { radius }, at(x, y, 0.0)));
    }
    commands.spawn((Obstacle::Cuboid { half_extents: Vec3::new(2.0, 1.0, 1.0) }, at(3.0, -5.0, 0.5)));
    commands
        .spawn((Obstacle::Wall { half_length: 3.0, half_height: 1.0, thickness: 0.3 }, at(-16.0, -6.0, 1.1)));
    commands.spawn((Driver, Obstacle::Cuboid { half_extents: Vec3::new(0.8, 1.6, 1.0) }, at(0.0, 10.5, 0.0)));
}

/// The target follows the mouse, or hops.
fn lead(
    time: Res<Time>,
    pointer: Res<Pointer>,
    keys: Res<ButtonInput<KeyCode>>,
    mut hops: ResMut<Hops>,
    mut target: Single<&mut Transform, With<Target>>,
) {
    if keys.just_pressed(KeyCode::KeyT) {
        hops.by_itself = !hops.by_itself;
    }
    let z = target.translation.z;
    match pointer.world {
        Some(mouse) if !hops.by_itself => {
            target.translation = mouse.extend(0.0).clamp(-HALF, HALF).with_z(z);
        }
        _ => {
            hops.wait += time.delta_secs();
            if hops.wait >= 6.0 {
                hops.wait = 0.0;
                hops.count += 1;
                target.translation = scatter(hops.count, 0.6 * HALF).with_z(z);
            }
        }
    }
}

fn drive(time: Res<Time>, mut driver: Single<&mut Transform, With<Driver>>) {
    driver.translation.x = 9.0 * bevy::math::ops::sin(time.elapsed_secs() * 0.35);
}

fn draw_paths(mut gizmos: Gizmos, paths: Query<&PathFollow>) {
    for path in &paths {
        let first = path.waypoints.first().copied();
        gizmos.linestrip_2d(
            path.waypoints.iter().copied().chain(first).map(Vec3::truncate),
            Palette::WHITE.with_alpha(0.08),
        );
    }
}
