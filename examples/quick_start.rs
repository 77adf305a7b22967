//! The quick start of the README.

use bevy::prelude::*;
use bevy_steer::prelude::*;

fn main() {
    App::new().add_plugins((DefaultPlugins, SteeringPlugins::default())).add_systems(Startup, setup).run();
}

fn setup(mut commands: Commands) {
    commands.spawn(Camera2d);
    let target = commands.spawn(Transform::from_xyz(300.0, 100.0, 0.0)).id();
    let agent = SteeringAgent::new(200.0, 600.0).with_radius(10.0);
    commands.spawn((agent, Arrive::new(target), Sprite::from_color(Color::WHITE, Vec2::splat(20.0))));
}
