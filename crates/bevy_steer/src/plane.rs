//! The plane that agents move in.

use bevy::prelude::*;

/// The space that an agent moves in. The app's default is in [`SteeringDefaults`](crate::SteeringDefaults); as a
/// component it overrides that for one agent.
///
/// In a plane the third coordinate is never written, and nothing depends on it as long as it is finite: it belongs to the
/// game (draw order in 2D, ground height in 3D). An agent sees everything else as its shadow on the agent's own plane.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub enum SteeringPlane {
    /// 2D games: X right, Y up, Z is draw order.
    #[default]
    Xy,
    /// 3D games on the ground: Y is height.
    Xz,
    /// Free flight in three dimensions.
    Space,
}

impl SteeringPlane {
    /// The part of `v` that lies in the plane; the third coordinate becomes 0.
    #[inline]
    #[must_use]
    pub const fn project(self, v: Vec3) -> Vec3 {
        match self {
            Self::Xy => Vec3::new(v.x, v.y, 0.0),
            Self::Xz => Vec3::new(v.x, 0.0, v.z),
            Self::Space => v,
        }
    }

    /// Puts the in-plane part of `moved` into `target` and leaves the third coordinate's bits alone.
    #[inline]
    pub const fn write(self, target: &mut Vec3, moved: Vec3) {
        match self {
            Self::Xy => {
                target.x = moved.x;
                target.y = moved.y;
            }
            Self::Xz => {
                target.x = moved.x;
                target.z = moved.z;
            }
            Self::Space => *target = moved,
        }
    }

    /// Axis that planar agents turn about; `Space` answers world up.
    #[inline]
    #[must_use]
    pub const fn normal(self) -> Vec3 {
        match self {
            Self::Xy => Vec3::Z,
            Self::Xz | Self::Space => Vec3::Y,
        }
    }

    /// A unit vector at a right angle to the unit vector `direction`, to its left as seen against [`normal`](Self::normal).
    ///
    /// In `Space`, where there are many, it is level; straight up or down it is +X.
    #[must_use]
    pub fn left_of(self, direction: Vec3) -> Vec3 {
        match self {
            Self::Xy => Vec3::new(-direction.y, direction.x, 0.0),
            Self::Xz => Vec3::new(direction.z, 0.0, -direction.x),
            Self::Space => Vec3::Y.cross(direction).try_normalize().unwrap_or(Vec3::X),
        }
    }

    /// Coordinates in the frame of the neighbour grid: planar worlds use x and y alone.
    #[inline]
    #[must_use]
    pub const fn to_grid(self, v: Vec3) -> Vec3 {
        match self {
            Self::Xy => Vec3::new(v.x, v.y, 0.0),
            Self::Xz => Vec3::new(v.x, v.z, 0.0),
            Self::Space => v,
        }
    }

    /// The inverse of [`to_grid`](Self::to_grid).
    #[inline]
    #[must_use]
    pub const fn from_grid(self, v: Vec3) -> Vec3 {
        match self {
            Self::Xy => Vec3::new(v.x, v.y, 0.0),
            Self::Xz => Vec3::new(v.x, 0.0, v.y),
            Self::Space => v,
        }
    }

    /// All three, in the order of [`index`](Self::index).
    pub const ALL: [Self; 3] = [Self::Xy, Self::Xz, Self::Space];

    /// Position in [`ALL`](Self::ALL).
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_leaves_the_third_coordinate_alone() {
        let height = f32::from_bits(0x3eaa_aaab);
        for (plane, read) in [(SteeringPlane::Xy, 2_usize), (SteeringPlane::Xz, 1), (SteeringPlane::Space, 3)]
        {
            let mut p = Vec3::splat(height);
            plane.write(&mut p, Vec3::new(1.0, 2.0, 3.0));
            if read < 3 {
                assert_eq!(p[read].to_bits(), height.to_bits(), "{plane:?}");
            } else {
                assert_eq!(p, Vec3::new(1.0, 2.0, 3.0));
            }
        }
    }

    #[test]
    fn the_grid_frame_keeps_distances_and_comes_back() {
        let v = Vec3::new(1.0, -2.0, 5.0);
        for plane in SteeringPlane::ALL {
            assert_eq!(plane.from_grid(plane.to_grid(v)), plane.project(v), "{plane:?}");
            assert_eq!(plane.to_grid(v).length(), plane.project(v).length(), "{plane:?}");
        }
    }

    #[test]
    fn left_is_a_right_angle_and_finite_even_straight_up() {
        for plane in SteeringPlane::ALL {
            let forward = plane.project(Vec3::new(3.0, 4.0, 5.0)).normalize();
            let left = plane.left_of(forward);
            assert!(left.dot(forward).abs() < 1e-6 && (left.length() - 1.0).abs() < 1e-6, "{plane:?}");
        }
        assert_eq!(SteeringPlane::Space.left_of(Vec3::Y), Vec3::X);
    }
}
