//! Turns an agent's `Transform` along its velocity.

use bevy::{math::ops, prelude::*};

use crate::{
    behavior::{Fault, check},
    plane::SteeringPlane,
    turn_limit::rotate_towards,
};

/// How [`FaceVelocity`] shows the heading.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Debug, Clone, PartialEq, Default)]
#[type_path = "bevy_steer"]
pub enum FaceMode {
    /// Rotate the axis that is forward in the agent's plane: +X in `Xy`, −Z in `Xz` and `Space`.
    #[default]
    Forward,
    /// Rotate this local axis, a unit vector, into the heading.
    Axis(Vec3),
    /// Side-view sprites: look along +X, turned half round about Y when moving to −X.
    FlipX,
}

/// Turns the agent along its velocity, the short way round and without rolling over when it flies straight up.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct FaceVelocity {
    /// What to turn.
    pub mode: FaceMode,
    /// Time constant in seconds with which the facing follows the velocity; 0.1 by default, 0 follows at once.
    #[reflect(@0.0_f32..=1.0_f32)]
    pub smoothing: f32,
    /// Speed in units/s below which the facing stays; 0.1 by default.
    #[reflect(@0.0_f32..=2.0_f32)]
    pub min_speed: f32,
}

impl Default for FaceVelocity {
    fn default() -> Self {
        Self { mode: FaceMode::Forward, smoothing: 0.1, min_speed: 0.1 }
    }
}

impl FaceVelocity {
    /// Turns this local axis, a unit vector, into the heading.
    #[must_use]
    pub const fn axis(axis: Vec3) -> Self {
        Self { mode: FaceMode::Axis(axis), smoothing: 0.1, min_speed: 0.1 }
    }

    /// What is wrong with the values, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        let axis = match self.mode {
            FaceMode::Axis(axis) => axis.length(),
            FaceMode::Forward | FaceMode::FlipX => 1.0,
        };
        check::positive("mode", axis, "the axis must be finite and not zero; the agent keeps its rotation")
            .or_else(|| {
                check::not_negative(
                    "smoothing",
                    self.smoothing,
                    "must be finite and not negative; taken as 0",
                )
            })
            .or_else(|| {
                check::not_negative(
                    "min_speed",
                    self.min_speed,
                    "must be finite and not negative; taken as 0",
                )
            })
    }
}

/// The local axis that is forward in `plane`.
#[must_use]
pub const fn forward_axis(plane: SteeringPlane) -> Vec3 {
    match plane {
        SteeringPlane::Xy => Vec3::X,
        SteeringPlane::Xz | SteeringPlane::Space => Vec3::NEG_Z,
    }
}

/// The rotation after `dt` seconds of turning from `rotation` along `velocity`.
#[must_use]
pub fn face_velocity(
    face: &FaceVelocity,
    rotation: Quat,
    velocity: Vec3,
    plane: SteeringPlane,
    dt: f32,
) -> Quat {
    let speed = velocity.length();
    if speed.is_nan() || speed <= check::or_zero(face.min_speed).max(1e-6) {
        return rotation;
    }
    let axis = match face.mode {
        FaceMode::FlipX => {
            return if velocity.x.abs() <= check::or_zero(face.min_speed).max(1e-6) {
                rotation
            } else if velocity.x > 0.0 {
                Quat::IDENTITY
            } else {
                Quat::from_xyzw(0.0, 1.0, 0.0, 0.0)
            };
        }
        FaceMode::Forward => forward_axis(plane),
        FaceMode::Axis(axis) => match plane.project(axis).try_normalize() {
            Some(axis) => axis,
            None => return rotation,
        },
    };
    let wanted = velocity / speed;
    let smoothing = check::or_zero(face.smoothing);
    let facing = plane.project(rotation * axis).try_normalize().unwrap_or(axis);
    let heading = if smoothing == 0.0 {
        wanted
    } else {
        let share = 1.0 - ops::exp(-dt / smoothing);
        let blend = facing.lerp(wanted, share);
        // Half round, a blend has no direction: start with a turn to the left.
        blend
            .try_normalize()
            .filter(|_| facing.dot(wanted) > -0.999)
            .unwrap_or_else(|| rotate_towards(facing, wanted, share * core::f32::consts::FRAC_PI_2, plane))
    };
    match plane {
        SteeringPlane::Xy | SteeringPlane::Xz => turn_about(plane.normal(), axis, heading),
        SteeringPlane::Space => level(Quat::from_rotation_arc(facing, heading) * rotation, heading, axis, dt),
    }
}

/// The rotation about `normal` that takes the unit vector `from` to the unit vector `to`, by half-angle formulas.
fn turn_about(normal: Vec3, from: Vec3, to: Vec3) -> Quat {
    let cos = from.dot(to).clamp(-1.0, 1.0);
    let sin = normal.dot(from.cross(to));
    let half_cos = ((1.0 + cos) * 0.5).sqrt();
    let half_sin = ((1.0 - cos) * 0.5).sqrt().copysign(sin);
    Quat::from_vec4((normal * half_sin).extend(half_cos)).normalize()
}

/// Rolls gently about `heading` until the local up is level with the world's; not at all when flying straight up or down,
/// where there is no such thing, so that passing the vertical does not flip the agent.
fn level(rotation: Quat, heading: Vec3, axis: Vec3, dt: f32) -> Quat {
    let local_up = if axis.y.abs() < 0.9 { Vec3::Y } else { Vec3::Z };
    let up = (rotation * local_up).reject_from_normalized(heading);
    let world_up = Vec3::Y.reject_from_normalized(heading);
    let flatness = world_up.length();
    let (Some(up), Some(world_up)) = (up.try_normalize(), world_up.try_normalize()) else {
        return rotation.normalize();
    };
    // Half a second when level, ever slower the steeper the flight.
    let share = 1.0 - ops::exp(-2.0 * flatness * flatness * dt);
    let Some(target) = up.lerp(world_up, share).try_normalize() else { return rotation.normalize() };
    (Quat::from_rotation_arc(up, target) * rotation).normalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNAP: FaceVelocity = FaceVelocity { mode: FaceMode::Forward, smoothing: 0.0, min_speed: 0.1 };

    #[test]
    fn forward_points_along_the_velocity_in_every_plane() {
        for plane in SteeringPlane::ALL {
            for raw in [Vec3::new(1.0, 2.0, 3.0), Vec3::new(-4.0, -0.1, 0.2), Vec3::NEG_X, Vec3::Z + Vec3::Y]
            {
                let v = plane.project(raw);
                let forward = face_velocity(&SNAP, Quat::IDENTITY, v, plane, 0.1) * forward_axis(plane);
                assert!(forward.distance(v.normalize()) < 1e-5, "{plane:?} {v}: {forward}");
            }
        }
    }

    #[test]
    fn a_slow_agent_keeps_its_facing() {
        let rotation = Quat::from_rotation_z(1.0);
        assert_eq!(face_velocity(&SNAP, rotation, Vec3::X * 0.09, SteeringPlane::Xy, 0.1), rotation);
        assert_eq!(face_velocity(&SNAP, rotation, Vec3::ZERO, SteeringPlane::Xy, 0.1), rotation);
    }

    #[test]
    fn straight_up_is_finite_and_does_not_flip() {
        let mut rotation = Quat::IDENTITY;
        let mut last_right = rotation * Vec3::X;
        for i in 0..200 {
            // A loop that passes through the vertical.
            let (sin, cos) = ops::sin_cos(i as f32 * 0.02);
            let v = Vec3::new(0.0, sin, -cos) * 5.0;
            rotation = face_velocity(&SNAP, rotation, v, SteeringPlane::Space, 1.0 / 60.0);
            let right = rotation * Vec3::X;
            assert!(rotation.is_finite() && right.dot(last_right) > 0.9, "flip at {i}");
            last_right = right;
        }
        assert!(face_velocity(&SNAP, Quat::IDENTITY, Vec3::Y, SteeringPlane::Space, 0.1).is_finite());
    }

    #[test]
    fn smoothing_comes_round_from_straight_behind() {
        let face = FaceVelocity::default();
        let mut rotation = Quat::IDENTITY;
        for _ in 0..120 {
            rotation = face_velocity(&face, rotation, Vec3::NEG_X, SteeringPlane::Xy, 1.0 / 60.0);
        }
        assert!((rotation * Vec3::X).distance(Vec3::NEG_X) < 1e-2, "{}", rotation * Vec3::X);
    }

    #[test]
    fn side_view_sprites_look_left_or_right() {
        let face = FaceVelocity { mode: FaceMode::FlipX, ..default() };
        let left = face_velocity(&face, Quat::IDENTITY, Vec3::new(-1.0, 3.0, 0.0), SteeringPlane::Xy, 0.1);
        assert!((left * Vec3::X).distance(Vec3::NEG_X) < 1e-6);
        assert_eq!(
            face_velocity(&face, left, Vec3::Y, SteeringPlane::Xy, 0.1),
            left,
            "straight up keeps the side"
        );
    }
}
