//! Colours and shapes.

use bevy::{asset::RenderAssetUsages, mesh::Indices, prelude::*, render::render_resource::PrimitiveTopology};
use bevy_steer::prelude::*;

/// The colours of all examples.
pub struct Palette;

impl Palette {
    pub const BACKGROUND: Color = Color::srgb(0.055, 0.067, 0.09);
    pub const TEAL: Color = Color::srgb(0.31, 0.82, 0.77);
    pub const CORAL: Color = Color::srgb(0.96, 0.50, 0.36);
    pub const GOLD: Color = Color::srgb(0.96, 0.77, 0.33);
    pub const VIOLET: Color = Color::srgb(0.66, 0.55, 0.98);
    pub const SKY: Color = Color::srgb(0.42, 0.66, 0.98);
    pub const GREEN: Color = Color::srgb(0.53, 0.83, 0.42);
    pub const ROSE: Color = Color::srgb(0.95, 0.45, 0.62);
    pub const SLATE: Color = Color::srgb(0.22, 0.27, 0.34);
    pub const WHITE: Color = Color::srgb(0.92, 0.94, 0.97);
    /// One for each kind of agent.
    pub const AGENTS: [Color; 7] =
        [Self::TEAL, Self::CORAL, Self::GOLD, Self::VIOLET, Self::SKY, Self::GREEN, Self::ROSE];
}

/// Shared meshes and materials: agents of one colour are drawn in one call.
#[derive(Resource)]
pub struct Look {
    arrow: Handle<Mesh>,
    disc: Handle<Mesh>,
    square: Handle<Mesh>,
    materials: Vec<(Color, Handle<ColorMaterial>)>,
}

pub fn plugin(app: &mut App) {
    let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
    let look = Look {
        arrow: meshes.add(arrow_mesh()),
        disc: meshes.add(Circle::new(1.0).mesh().resolution(48)),
        square: meshes.add(Rectangle::new(1.0, 1.0)),
        materials: Vec::new(),
    };
    app.insert_resource(look).add_systems(Update, draw_obstacles);
}

/// Gives every new obstacle a picture of its exact size.
fn draw_obstacles(
    mut commands: Commands,
    new: Query<(Entity, &Obstacle), (Added<Obstacle>, Without<Mesh2d>, Without<Mesh3d>)>,
    mut look: ResMut<Look>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<ColorMaterial>>,
) {
    for (entity, obstacle) in &new {
        let mesh = match *obstacle {
            Obstacle::Sphere { radius } => Circle::new(radius).mesh().resolution(64).build(),
            Obstacle::Cuboid { half_extents } => Rectangle::from_size(2.0 * half_extents.truncate()).into(),
            Obstacle::Wall { half_length, thickness, .. } => {
                Rectangle::new(2.0 * half_length, thickness.max(0.1)).into()
            }
        };
        let material = look.material(Palette::SLATE, &mut materials);
        commands.entity(entity).insert((Mesh2d(meshes.add(mesh)), material));
    }
}

impl Look {
    fn material(
        &mut self,
        color: Color,
        materials: &mut Assets<ColorMaterial>,
    ) -> MeshMaterial2d<ColorMaterial> {
        let known = self.materials.iter().find(|(c, _)| *c == color);
        let handle = match known {
            Some((_, handle)) => handle.clone(),
            None => {
                let handle = materials.add(color);
                self.materials.push((color, handle.clone()));
                handle
            }
        };
        MeshMaterial2d(handle)
    }

    /// An arrowhead that points along +X and fits an agent of radius 0.5.
    pub fn arrow(&mut self, color: Color, materials: &mut Assets<ColorMaterial>) -> impl Bundle + use<> {
        (Mesh2d(self.arrow.clone()), self.material(color, materials))
    }

    /// A disc of radius 1; scale it with the `Transform`.
    pub fn disc(&mut self, color: Color, materials: &mut Assets<ColorMaterial>) -> impl Bundle + use<> {
        (Mesh2d(self.disc.clone()), self.material(color, materials))
    }

    /// A square with sides of 1; scale it with the `Transform`.
    pub fn square(&mut self, color: Color, materials: &mut Assets<ColorMaterial>) -> impl Bundle + use<> {
        (Mesh2d(self.square.clone()), self.material(color, materials))
    }
}

fn arrow_mesh() -> Mesh {
    let points = vec![[0.55, 0.0, 0.0], [-0.42, 0.36, 0.0], [-0.2, 0.0, 0.0], [-0.42, -0.36, 0.0]];
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default())
        .with_inserted_attribute(Mesh::ATTRIBUTE_NORMAL, vec![[0.0, 0.0, 1.0]; 4])
        .with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, vec![[0.0, 0.0]; 4])
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, points)
        .with_inserted_indices(Indices::U32(vec![0, 1, 2, 0, 2, 3]))
}

/// A cone that points along −Z, Bevy's forward.
pub fn cone_mesh(radius: f32, length: f32) -> Mesh {
    Cone { radius, height: length }
        .mesh()
        .resolution(12)
        .build()
        .rotated_by(Quat::from_rotation_x(-core::f32::consts::FRAC_PI_2))
}
