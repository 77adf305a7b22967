//! A flock in free flight, with a predator and spheres in its way. All cones share one mesh and one material for each
//! kind, so the renderer draws them as instances.
//!
//! `cargo run --release --example flock_3d`

mod common;

use bevy::prelude::*;
use bevy_steer::prelude::*;
use common::{Canvas, Fence, Palette, camera_3d, cone_mesh, heading, scatter};

const HELP: &str = "400 cones in free flight; the flock parts round the spheres and flees the coral predator.\n\
                    The camera circles by itself. Left and right arrows: circle faster or back";
const HALF: Vec3 = Vec3::new(20.0, 10.0, 20.0);
const PREDATOR: u32 = 1;

#[derive(Resource)]
struct Orbit {
    angle: f32,
    speed: f32,
}

fn main() -> AppExit {
    common::run("flock_3d", HELP, |app| {
        app.insert_resource(SteeringDefaults { plane: SteeringPlane::Space, ..default() })
            .insert_resource(Orbit { angle: 0.6, speed: 0.06 })
            .add_systems(Startup, setup)
            .add_systems(Update, orbit);
    })
}

fn setup(
    mut commands: Commands,
    canvas: Res<Canvas>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    camera_3d(&mut commands, &canvas, Vec3::new(0.0, 14.0, 46.0), Vec3::ZERO);
    let mut paint = |color: Color| {
        MeshMaterial3d(materials.add(StandardMaterial {
            base_color: color,
            perceptual_roughness: 0.8,
            ..default()
        }))
    };
    let cone = Mesh3d(meshes.add(cone_mesh(0.3, 1.0)));
    let colors = [paint(Palette::TEAL), paint(Palette::SKY), paint(Palette::GOLD)];
    for n in 0..400 {
        let direction = heading(n);
        commands.spawn((
            FlockMember::default(),
            SteeringAgent::default().with_radius(0.4),
            SteeringVelocity(Vec3::new(direction.x, 0.3 * scatter(n, Vec3::ONE).y, direction.y) * 4.0),
            Flee {
                target: SteeringTarget::Nearest { group: PREDATOR, radius: 8.0 },
                panic_radius: Some(8.0),
                weight: 2.0,
                ..default()
            },
            ObstacleFeeler::default(),
            Fence::new(HALF),
            FaceVelocity::default(),
            Transform::from_translation(scatter(n, HALF)),
            cone.clone(),
            colors[n % 3].clone(),
        ));
    }
    commands.spawn((
        SteeringAgent::new(5.5, 12.0),
        SteeringGroup(PREDATOR),
        SteeringVelocity(Vec3::X),
        Pursue::new(SteeringTarget::Nearest { group: 0, radius: 100.0 }),
        ObstacleFeeler::default(),
        Fence::new(HALF),
        FaceVelocity::default(),
        Transform::from_scale(Vec3::splat(2.2)),
        cone,
        paint(Palette::CORAL),
    ));
    for (at, radius) in [
        (Vec3::new(-9.0, 1.0, 4.0), 3.5),
        (Vec3::new(8.0, -3.0, -6.0), 3.0),
        (Vec3::new(4.0, 5.0, 10.0), 2.2),
    ] {
        commands.spawn((
            Obstacle::Sphere { radius },
            Transform::from_translation(at),
            Mesh3d(meshes.add(Sphere::new(radius))),
            paint(Color::srgb(0.35, 0.41, 0.5)),
        ));
    }
}

fn orbit(
    time: Res<Time>,
    keys: Res<ButtonInput<KeyCode>>,
    mut orbit: ResMut<Orbit>,
    mut camera: Single<&mut Transform, With<Camera3d>>,
) {
    let turn = f32::from(keys.pressed(KeyCode::ArrowRight)) - f32::from(keys.pressed(KeyCode::ArrowLeft));
    orbit.angle += (orbit.speed + turn) * time.delta_secs();
    let (sin, cos) = bevy::math::ops::sin_cos(orbit.angle);
    **camera = Transform::from_xyz(46.0 * sin, 16.0, 46.0 * cos).looking_at(Vec3::ZERO, Vec3::Y);
}
