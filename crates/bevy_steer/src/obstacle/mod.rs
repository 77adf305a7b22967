//! Obstacles: what agents must go round.

use bevy::prelude::*;

use crate::{
    behavior::{Fault, check},
    plane::SteeringPlane,
    schedule::{SteeringSchedule, SteeringSystems},
};

mod index;
mod motion;
mod shape;
mod sweep;

pub(crate) use index::Reach;
pub use index::{NearObstacle, ObstacleHit, ObstacleIndex};
pub use motion::ObstacleMotion;
pub use shape::{ObstacleShape, ShapeHit, ShapeSurface};

/// Something solid that agents with an [`ObstacleFeeler`](crate::ObstacleFeeler) go round.
///
/// It stands at the `translation` of its `Transform`, turned by its `rotation` and sized by its `scale`. An agent in a
/// plane sees its shadow: a sphere is a circle, a cuboid the rectangle of its outline, whatever its height. Obstacles may
/// move: their velocity is their [`SteeringVelocity`](crate::SteeringVelocity), or is measured from their motion.
///
/// Sizes are in units; one that is negative or not finite leaves the obstacle out, with one warning.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_steer::prelude::*;
///
/// fn build(mut commands: Commands) {
///     commands.spawn((Obstacle::Sphere { radius: 1.0 }, Transform::from_xyz(10.0, 0.0, 0.0)));
///     commands.spawn(Obstacle::wall_between(Vec3::ZERO, Vec3::new(4.0, 4.0, 0.0), 0.2));
/// }
/// # let _ = IntoSystem::into_system(build);
/// ```
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(Transform, ObstacleMotion)]
#[type_path = "bevy_steer"]
pub enum Obstacle {
    /// A ball; in a plane a disc. Of an uneven scale the largest factor in the plane counts.
    Sphere {
        /// Its radius in units.
        #[reflect(@0.0_f32..=20.0_f32)]
        radius: f32,
    },
    /// A box.
    Cuboid {
        /// Half its size along its own x, y and z, in units.
        half_extents: Vec3,
    },
    /// A straight wall along its own x. For agents in [`Xy`](SteeringPlane::Xy) its thickness is along its own y; in
    /// [`Xz`](SteeringPlane::Xz) and [`Space`](SteeringPlane::Space) it stands up along its own y, and its thickness is
    /// along its own z.
    Wall {
        /// Half its length in units.
        #[reflect(@0.0_f32..=50.0_f32)]
        half_length: f32,
        /// Half its height in units; only agents in [`Space`](SteeringPlane::Space) see it.
        #[reflect(@0.0_f32..=20.0_f32)]
        half_height: f32,
        /// Its whole thickness in units; 0 is a wall without any.
        #[reflect(@0.0_f32..=5.0_f32)]
        thickness: f32,
    },
}

impl Default for Obstacle {
    fn default() -> Self {
        Self::Sphere { radius: 1.0 }
    }
}

impl Obstacle {
    /// A wall from one point to another, 2 high, with the `Transform` that puts it there: spawn both.
    #[must_use]
    pub fn wall_between(from: Vec3, to: Vec3, thickness: f32) -> (Self, Transform) {
        let along = to - from;
        // Either way along is the same wall; this one needs less than a quarter turn, so its axis is never in doubt.
        let direction = (if along.x < 0.0 { -along } else { along }).normalize_or(Vec3::X);
        let wall = Self::Wall { half_length: along.length() * 0.5, half_height: 1.0, thickness };
        let rotation = Quat::from_rotation_arc(Vec3::X, direction);
        (wall, Transform::from_translation(from + along * 0.5).with_rotation(rotation))
    }

    /// What is wrong with the values, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        const LEFT_OUT: &str = "must be finite and not negative; the obstacle is left out";
        match *self {
            Self::Sphere { radius } => check::not_negative("radius", radius, LEFT_OUT),
            Self::Cuboid { half_extents } => {
                half_extents.to_array().iter().find_map(|&x| check::not_negative("half_extents", x, LEFT_OUT))
            }
            Self::Wall { half_length, half_height, thickness } => {
                check::not_negative("half_length", half_length, LEFT_OUT)
                    .or_else(|| check::not_negative("half_height", half_height, LEFT_OUT))
                    .or_else(|| check::not_negative("thickness", thickness, LEFT_OUT))
            }
        }
    }

    /// Its outline for agents in `plane`; `None` where a value makes no sense.
    #[must_use]
    pub fn shape(&self, transform: &Transform, plane: SteeringPlane) -> Option<ObstacleShape> {
        let scale = transform.scale.abs();
        let sane = self.fault().is_none()
            && transform.translation.is_finite()
            && transform.rotation.is_finite()
            && scale.is_finite();
        let cuboid = |half| ObstacleShape::cuboid(transform.translation, transform.rotation, half, plane);
        sane.then(|| match *self {
            Self::Sphere { radius } => {
                let factor = plane.project(scale).max_element();
                ObstacleShape::ball(plane.project(transform.translation), radius * factor)
            }
            Self::Cuboid { half_extents } => cuboid(half_extents * scale),
            Self::Wall { half_length, half_height, thickness } => cuboid(
                scale
                    * match plane {
                        SteeringPlane::Xy => Vec3::new(half_length, thickness * 0.5, half_height),
                        SteeringPlane::Xz | SteeringPlane::Space => {
                            Vec3::new(half_length, half_height, thickness * 0.5)
                        }
                    },
            ),
        })
    }
}

/// Keeps [`ObstacleIndex`] up to date.
#[derive(Debug, Clone, Copy, Default)]
pub struct ObstaclePlugin;

impl Plugin for ObstaclePlugin {
    fn build(&self, app: &mut App) {
        let schedule = app.world().resource::<SteeringSchedule>().0;
        app.register_type::<Obstacle>()
            .register_type::<ObstacleMotion>()
            .init_resource::<ObstacleIndex>()
            .add_systems(schedule, index::update_index.in_set(SteeringSystems::Sense));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senseless_sizes_are_named() {
        let faults = [
            (Obstacle::Sphere { radius: f32::NAN }, "radius"),
            (Obstacle::Cuboid { half_extents: Vec3::new(1.0, -1.0, 1.0) }, "half_extents"),
            (Obstacle::Wall { half_length: 1.0, half_height: 1.0, thickness: f32::INFINITY }, "thickness"),
        ];
        for (obstacle, field) in faults {
            assert_eq!(obstacle.fault().map(|f| f.field), Some(field));
            assert_eq!(obstacle.shape(&Transform::IDENTITY, SteeringPlane::Xy), None);
        }
        assert_eq!(Obstacle::default().fault(), None);
    }

    #[test]
    fn a_wall_between_two_points_lies_between_them_in_every_plane() {
        for plane in SteeringPlane::ALL {
            for corner in [Vec3::new(3.0, 4.0, 4.0), Vec3::new(-3.0, 0.1, -2.0), Vec3::new(0.0, 4.0, 4.0)] {
                let (from, to) = (Vec3::ZERO, plane.project(corner));
                let (wall, transform) = Obstacle::wall_between(from, to, 0.2);
                let shape = wall.shape(&transform, plane).expect("a sane wall");
                let direction = to.normalize();
                for (along, expected) in [(0.5, -0.1), (-1.0, 1.0)] {
                    let got = shape.surface(from + direction * along).distance;
                    assert!((got - expected).abs() < 1e-5, "{plane:?} {to} at {along}: {got}");
                }
            }
        }
    }
}
