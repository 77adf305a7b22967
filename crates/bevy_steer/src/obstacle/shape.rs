//! The geometry of one obstacle in one plane: distance, outward normal and tangents.

use bevy::prelude::*;

use crate::{plane::SteeringPlane, rng::mix};

/// An obstacle as agents of one plane see it: a disc or ball, or a turned rectangle or box. Get it from
/// [`Obstacle::shape`](crate::Obstacle::shape).
///
/// Points and directions that are handed in must lie in the plane, as those of [`AgentView`](crate::AgentView) do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObstacleShape {
    pub(super) center: Vec3,
    pub(super) form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Form {
    Ball {
        radius: f32,
    },
    /// In a plane the third axis is the plane's normal and its half extent is infinite: no point is ever beyond it.
    Cuboid {
        axes: [Vec3; 3],
        half: Vec3,
    },
}

/// Where the surface of an obstacle is, seen from a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShapeSurface {
    /// Distance in units to the surface, negative inside.
    pub distance: f32,
    /// Unit vector away from the obstacle: the shortest way out for a point inside. Exactly at the centre of a ball every
    /// way is as long, and the normal is 0.
    pub normal: Vec3,
}

/// Where a disc or ball that moves straight ahead first touches an obstacle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShapeHit {
    /// How far it gets, in units.
    pub distance: f32,
    /// The point of the obstacle that it touches.
    pub point: Vec3,
    /// Unit vector away from the obstacle at that point.
    pub normal: Vec3,
}

impl ObstacleShape {
    pub(crate) const fn ball(center: Vec3, radius: f32) -> Self {
        Self { center, form: Form::Ball { radius } }
    }

    /// A box; in a plane the rectangle round its shadow, turned as the box is. That is the shadow itself unless the box
    /// leans.
    pub(crate) fn cuboid(center: Vec3, rotation: Quat, half: Vec3, plane: SteeringPlane) -> Self {
        let own = [rotation * Vec3::X, rotation * Vec3::Y, rotation * Vec3::Z];
        let (axes, half) = if plane == SteeringPlane::Space {
            (own, half)
        } else {
            let normal = plane.normal();
            // The longest shadow among the axes tells the turn; ties go to the first.
            let longest = own.map(|axis| plane.project(axis)).into_iter().fold(Vec3::ZERO, |best, axis| {
                if axis.length_squared() > best.length_squared() + 1e-4 { axis } else { best }
            });
            let u = longest.normalize_or(Vec3::X);
            let v = plane.left_of(u);
            let reach = |d: Vec3| {
                own[0].dot(d).abs() * half.x + own[1].dot(d).abs() * half.y + own[2].dot(d).abs() * half.z
            };
            ([u, v, normal], Vec3::new(reach(u), reach(v), f32::INFINITY))
        };
        Self { center: plane.project(center), form: Form::Cuboid { axes, half } }
    }

    /// Its centre, in the plane.
    #[must_use]
    pub const fn center(&self) -> Vec3 {
        self.center
    }

    /// Radius in units of the smallest disc or ball round its centre that holds it.
    #[must_use]
    pub fn outer_radius(&self) -> f32 {
        match self.form {
            Form::Ball { radius } => radius,
            Form::Cuboid { half, .. } if half.z.is_finite() => half.length(),
            Form::Cuboid { half, .. } => half.truncate().length(),
        }
    }

    /// Radius in units of the largest disc or ball round its centre that it holds.
    #[must_use]
    pub fn inner_radius(&self) -> f32 {
        match self.form {
            Form::Ball { radius } => radius,
            Form::Cuboid { half, .. } => half.min_element(),
        }
    }

    /// Distance to the surface and the way out, from `point`.
    #[must_use]
    pub fn surface(&self, point: Vec3) -> ShapeSurface {
        let offset = point - self.center;
        match self.form {
            Form::Ball { radius } => {
                let length = offset.length();
                let normal = if length > 0.0 { offset / length } else { Vec3::ZERO };
                ShapeSurface { distance: length - radius, normal }
            }
            Form::Cuboid { axes, half } => {
                let ShapeSurface { distance, normal: n } = box_surface(in_axes(&axes, offset), half);
                ShapeSurface { distance, normal: axes[0] * n.x + axes[1] * n.y + axes[2] * n.z }
            }
        }
    }

    /// Distance in units from `point` to the surface, negative inside.
    pub(crate) fn distance(&self, point: Vec3) -> f32 {
        let offset = point - self.center;
        match self.form {
            Form::Ball { radius } => offset.length() - radius,
            Form::Cuboid { axes, half } => {
                let beyond = in_axes(&axes, offset).abs() - half;
                let outside = beyond.max(Vec3::ZERO).length();
                if outside > 0.0 { outside } else { beyond.max_element() }
            }
        }
    }

    /// The directions, left and right, in which a disc of `radius` at `point` just passes the shape, and how far it is then
    /// to where it passes; `None` where it already touches. Only in a plane: in space there are more than two.
    pub(crate) fn tangent_ways(
        &self,
        plane: SteeringPlane,
        point: Vec3,
        radius: f32,
    ) -> Option<[(Vec3, f32); 2]> {
        if plane == SteeringPlane::Space || self.distance(point) <= radius {
            return None;
        }
        let mut widest: Option<[(Vec3, f32); 2]> = None;
        let mut see = |corner: Vec3, radius: f32| {
            let (offset, distance) = (corner - point, corner.distance(point));
            let sin = (radius / distance).min(1.0);
            let (along, cos) = (offset / distance, (1.0 - sin * sin).sqrt());
            let across = plane.left_of(along);
            let length = distance * cos;
            let seen = [(along * cos + across * sin, length), (along * cos - across * sin, length)];
            // From outside, all of a convex shape lies within half a turn: one direction is left of another or right of it.
            widest = Some(widest.map_or(seen, |[left, right]| {
                let is_left = |a: (Vec3, f32), b: (Vec3, f32)| a.0.dot(plane.left_of(b.0)) > 0.0;
                [
                    if is_left(seen[0], left) { seen[0] } else { left },
                    if is_left(right, seen[1]) { seen[1] } else { right },
                ]
            }));
        };
        match self.form {
            Form::Ball { radius: own } => see(self.center, own + radius),
            Form::Cuboid { axes, half } => {
                for (a, b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                    see(self.center + axes[0] * (a * half.x) + axes[1] * (b * half.y), radius);
                }
            }
        }
        widest
    }

    /// The directions alone.
    #[cfg(test)]
    fn tangents(&self, plane: SteeringPlane, point: Vec3, radius: f32) -> Option<[Vec3; 2]> {
        Some(self.tangent_ways(plane, point, radius)?.map(|(direction, _)| direction))
    }

    /// Numbers that order shapes by what they are alone.
    pub(crate) fn bits(&self) -> [u32; 7] {
        let (half, axes) = match self.form {
            Form::Ball { radius } => (Vec3::splat(radius), [Vec3::ZERO; 2]),
            Form::Cuboid { axes, half } => (half, [axes[0], axes[1]]),
        };
        let turn = axes.iter().flat_map(|axis| axis.to_array());
        let turn = turn.fold(0, |hash: u64, f| mix(hash ^ u64::from(f.to_bits()))) as u32;
        let [x, y, z] = self.center.to_array().map(f32::to_bits);
        [x, y, z, half.x.to_bits(), half.y.to_bits(), half.z.to_bits(), turn]
    }
}

/// A vector in the axes of a box.
pub(super) fn in_axes(axes: &[Vec3; 3], vector: Vec3) -> Vec3 {
    Vec3::new(vector.dot(axes[0]), vector.dot(axes[1]), vector.dot(axes[2]))
}

/// The surface of a box, seen from a point in its axes; the normal is in them too.
pub(super) fn box_surface(local: Vec3, half: Vec3) -> ShapeSurface {
    let beyond = local.abs() - half;
    let outside = beyond.max(Vec3::ZERO);
    let distance = outside.length();
    if distance > 0.0 {
        return ShapeSurface { distance, normal: outside / distance * local.signum() };
    }
    // The nearest face; ties go to the first axis.
    let face = (1..3).fold(0, |best, i| if beyond[i] > beyond[best] { i } else { best });
    let mut normal = Vec3::ZERO;
    normal[face] = if local[face] < 0.0 { -1.0 } else { 1.0 };
    ShapeSurface { distance: beyond[face], normal }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::obstacle::Obstacle;

    fn vector(range: f32) -> impl Strategy<Value = Vec3> {
        (-range..range, -range..range, -range..range).prop_map(|(x, y, z)| Vec3::new(x, y, z))
    }

    fn any_shape() -> impl Strategy<Value = (SteeringPlane, ObstacleShape)> {
        let obstacle = prop_oneof![
            (0.0_f32..4.0).prop_map(|radius| Obstacle::Sphere { radius }),
            vector(4.0).prop_map(|v| Obstacle::Cuboid { half_extents: v.abs() }),
            (0.0_f32..9.0, 0.0_f32..4.0, 0.0_f32..0.5).prop_map(|(half_length, half_height, thickness)| {
                Obstacle::Wall { half_length, half_height, thickness }
            }),
        ];
        (0_usize..3, obstacle, vector(5.0), vector(1.0), -4.0_f32..4.0, any::<bool>()).prop_map(
            |(plane, obstacle, center, axis, angle, upright)| {
                let plane = SteeringPlane::ALL[plane];
                let axis = if upright { plane.normal() } else { axis.normalize_or(Vec3::X) };
                let transform = Transform::from_translation(center)
                    .with_rotation(Quat::from_axis_angle(axis, angle))
                    .with_scale(Vec3::new(1.0, 1.5, 0.5));
                (plane, obstacle.shape(&transform, plane).expect("a sane obstacle"))
            },
        )
    }

    #[test]
    fn a_turned_box_keeps_its_sides() {
        for plane in SteeringPlane::ALL {
            let quarter = Quat::from_axis_angle(plane.normal(), core::f32::consts::FRAC_PI_2);
            let transform = Transform::from_rotation(quarter);
            let half_extents = Vec3::new(3.0, 2.0, 1.0);
            let shape = Obstacle::Cuboid { half_extents }.shape(&transform, plane).expect("a sane box");
            // Turned by a quarter, the second in-plane axis holds what was the first.
            let (second, distance) = match plane {
                SteeringPlane::Xy => (Vec3::Y, 2.0),
                SteeringPlane::Xz | SteeringPlane::Space => (Vec3::Z, 2.0),
            };
            let seen = shape.surface(second * 5.0);
            assert!(
                (seen.distance - distance).abs() < 1e-5 && seen.normal.distance(second) < 1e-5,
                "{plane:?}"
            );
        }
    }

    #[test]
    fn inside_the_nearest_face_is_the_way_out() {
        let half_extents = Vec3::splat(2.0);
        let shape = Obstacle::Cuboid { half_extents }
            .shape(&Transform::IDENTITY, SteeringPlane::Xy)
            .expect("a sane box");
        assert_eq!(shape.surface(Vec3::X * 0.5), ShapeSurface { distance: -1.5, normal: Vec3::X });
        assert_eq!(shape.surface(Vec3::Y * -0.5), ShapeSurface { distance: -1.5, normal: Vec3::NEG_Y });
        assert!(shape.surface(Vec3::ZERO).normal.is_normalized(), "the centre has a way out too");
        assert_eq!(ObstacleShape::ball(Vec3::ONE, 1.0).surface(Vec3::ONE).normal, Vec3::ZERO);
    }

    #[test]
    fn a_wall_without_thickness_far_out_is_hit_from_far_away() {
        let wall = Obstacle::Wall { half_length: 2.0, half_height: 1.0, thickness: 0.0 };
        let turned = Quat::from_rotation_z(core::f32::consts::FRAC_PI_2);
        let transform = Transform::from_xyz(1e5, 0.0, 0.0).with_rotation(turned);
        let shape = wall.shape(&transform, SteeringPlane::Xy).expect("a sane wall");
        let hit = shape.sweep(Vec3::ZERO, Vec3::X, 2e5, 0.0).expect("never skipped");
        assert!((hit.distance - 1e5).abs() < 0.1 && hit.normal.distance(Vec3::NEG_X) < 1e-4, "{hit:?}");
        assert_eq!(shape.sweep(Vec3::Y * 3.0, Vec3::X, 2e5, 0.5), None);
    }

    #[test]
    fn what_is_left_behind_or_slid_along_is_no_hit() {
        let shape = ObstacleShape::ball(Vec3::ZERO, 1.0);
        assert_eq!(shape.sweep(Vec3::X * 1.2, Vec3::X, 9.0, 0.5), None);
        assert_eq!(shape.sweep(Vec3::X * 1.2, Vec3::Y, 9.0, 0.5), None);
        let hit = shape.sweep(Vec3::X * 1.2, Vec3::NEG_X, 9.0, 0.5);
        assert_eq!(hit.map(|h| h.distance), Some(0.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

        /// The distance changes by no more than the way gone, and walking it along the normal ends on the surface.
        #[test]
        fn distance_and_normal_agree((plane, shape) in any_shape(), p in vector(12.0), q in vector(12.0)) {
            let (p, q) = (plane.project(p), plane.project(q));
            let (at_p, at_q) = (shape.surface(p), shape.surface(q));
            prop_assert!((at_p.distance - at_q.distance).abs() <= p.distance(q) + 1e-4);
            if at_p.distance.abs() > 1e-3 {
                prop_assert!((at_p.normal.length() - 1.0).abs() < 1e-4);
                prop_assert!(plane.project(at_p.normal) == at_p.normal, "the normal lies in the plane");
                let on_it = shape.surface(p - at_p.normal * at_p.distance);
                prop_assert!(on_it.distance.abs() < 1e-3, "{on_it:?} from {at_p:?}");
            }
            prop_assert!(at_p.distance >= p.distance(shape.center()) - shape.outer_radius() - 1e-3);
            prop_assert!(at_p.distance <= p.distance(shape.center()) - shape.inner_radius() + 1e-3);
        }

        /// A hair outside the tangents the disc passes, a hair inside it does not.
        #[test]
        fn tangents_just_pass((plane, shape) in any_shape(), origin in vector(12.0), radius in 0.0_f32..1.5) {
            let origin = plane.project(origin);
            prop_assume!(shape.surface(origin).distance > radius + 0.05 && shape.outer_radius() > 0.2);
            if let Some(tangents) = shape.tangents(plane, origin, radius) {
                for (tangent, hand) in tangents.into_iter().zip([1.0, -1.0]) {
                    let out = plane.left_of(tangent) * hand;
                    let hit = |turn: f32| {
                        shape.sweep(origin, (tangent + out * turn).normalize(), 60.0, radius).is_some()
                    };
                    prop_assert!(!hit(3e-3), "outside the tangent {tangent}");
                    prop_assert!(hit(-3e-3), "inside the tangent {tangent}");
                }
            }
        }

        /// A sweep against looking at the distance in 4,000 places.
        #[test]
        fn sweeps_find_the_first_contact(
            (plane, shape) in any_shape(),
            origin in vector(12.0),
            direction in vector(1.0),
            radius in 0.0_f32..1.5,
        ) {
            let (origin, length) = (plane.project(origin), 25.0);
            let direction = plane.project(direction).normalize_or(Vec3::X);
            let gap = |along: f32| shape.surface(origin + direction * along).distance - radius;
            prop_assume!(gap(0.0) > 1e-3);
            let steps = 4000;
            let first = (0..=steps).map(|i| length * i as f32 / steps as f32).find(|&along| gap(along) < -1e-4);
            match (shape.sweep(origin, direction, length, radius), first) {
                (Some(hit), Some(first)) => {
                    prop_assert!(hit.distance <= first, "not beyond the first contact: {hit:?} {first}");
                    prop_assert!(gap(hit.distance).abs() < 1e-3, "touches there: {hit:?} {}", gap(hit.distance));
                    prop_assert!(shape.surface(hit.point).distance.abs() < 1e-3);
                }
                // Grazing contacts that the samples miss are fine, if they are contacts.
                (Some(hit), None) => prop_assert!(gap(hit.distance) < 1e-3, "{hit:?}"),
                (None, found) => prop_assert!(found.is_none(), "missed a contact at {found:?}"),
            }
        }
    }
}
