//! What is the same for every way past an obstacle.

use bevy::prelude::*;

use super::field::{Field, STILL, look_ahead};
use crate::obstacle::NearObstacle;

/// How an obstacle is passed, whatever the way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage {
    /// The radius to sweep with.
    pub(super) radius: f32,
    /// Units before any way can touch it.
    pub(super) gap: f32,
    /// Units, as seen from it, within which an obstacle that moves matters; those that stand still have no limit here.
    pub(super) length: f32,
    /// Units within which it is touched by every way that touches it; infinite if not known.
    pub(super) depth: f32,
    /// All directions that can touch it are in here; of an obstacle that moves, directions relative to it.
    pub(super) cone: Cone,
}

/// What tells, without a sweep, whether most ways to a given distance are blocked by an obstacle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// All directions that are blocked are in here.
    pub(super) may: Cone,
    /// All directions in here are blocked.
    pub(super) must: Cone,
}

/// The directions within an angle of an axis, a unit vector.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cone {
    axis: Vec3,
    /// Cosine of the angle.
    cos: f32,
}

impl Cone {
    /// Every direction.
    pub(super) const ALL: Self = Self { axis: Vec3::ZERO, cos: -1.0 };
    /// No direction.
    const NONE: Self = Self { axis: Vec3::ZERO, cos: 1.0 };
    /// What a cosine may be wrong by from rounding.
    const MARGIN: f32 = 2e-6;

    /// The directions between two others, which are less than half a turn apart; `None` if they are nearly opposite.
    fn between([a, b]: [Vec3; 2]) -> Option<Self> {
        let (sum, length) = (a + b, (a + b).length());
        // Then the sum says little about the middle.
        if length < 0.1 {
            return None;
        }
        let axis = sum / length;
        Some(Self { axis, cos: axis.dot(a) - Self::MARGIN })
    }

    /// The directions that come within `radius` of what is `offset` away.
    fn round(offset: Vec3, radius: f32) -> Self {
        let distance = offset.length();
        if distance <= 1.001 * radius {
            return Self::ALL;
        }
        let sin = radius / distance;
        Self { axis: offset / distance, cos: (1.0 - sin * sin).sqrt() - Self::MARGIN }
    }

    /// The directions that come within `radius` of what is `offset` away before `far`, but for rounding.
    fn round_within(offset: Vec3, radius: f32, far: f32) -> Option<Self> {
        let distance = offset.length();
        let tangent = (distance - radius) * (distance + radius);
        if tangent <= 0.0 || distance - radius >= far {
            return None;
        }
        // What is within `far` is met on the near side, up to the tangent at most.
        let cos = if tangent <= far * far {
            tangent.sqrt() / distance
        } else {
            (tangent + far * far) / (2.0 * distance * far)
        };
        Some(Self { axis: offset / distance, cos })
    }

    pub(super) fn holds(&self, direction: Vec3) -> bool {
        direction.dot(self.axis) > self.cos
    }
}

impl Block {
    /// What blocks the ways to `far`; `None` if the obstacle blocks none of them.
    pub(super) fn new(field: &Field, obstacle: &NearObstacle, passage: &Passage, far: f32) -> Option<Self> {
        if obstacle.velocity != Vec3::ZERO {
            return Some(Self { may: Cone::ALL, must: Cone::NONE });
        }
        if passage.gap >= far || field.speed <= STILL {
            return None;
        }
        let (shape, offset) = (&obstacle.shape, obstacle.shape.center() - field.view.position);
        let (inner, outer) = (shape.inner_radius(), shape.outer_radius());
        let sure = if passage.depth < far {
            Some(Cone { cos: passage.cone.cos + Cone::MARGIN, ..passage.cone })
        } else {
            Cone::round_within(offset, inner + passage.radius, far)
        };
        let must = sure.map_or(Cone::NONE, |cone| Cone { cos: cone.cos + Cone::MARGIN, ..cone });
        let may = match sure {
            Some(cone) if inner == outer => Cone { cos: cone.cos - Cone::MARGIN, ..cone },
            _ => passage.cone,
        };
        Some(Self { may, must })
    }
}

impl Passage {
    /// The same for a single look, without a cone; `None` where there is no way past.
    pub(super) fn any(field: &Field, obstacle: &NearObstacle) -> Option<Self> {
        let radius = field.radius_for(obstacle)?;
        let length = if obstacle.velocity == Vec3::ZERO {
            f32::INFINITY
        } else {
            look_ahead(field.view, (field.view.velocity - obstacle.velocity).length())
        };
        Some(Self { radius, gap: obstacle.distance - radius, length, depth: f32::INFINITY, cone: Cone::ALL })
    }

    /// How the agent passes an obstacle, and the directions, left and right, in which it just passes it in a plane; `None`
    /// where there is no way past.
    pub(super) fn new(field: &Field, obstacle: &NearObstacle) -> Option<(Self, Option<[Vec3; 2]>)> {
        let (shape, view) = (&obstacle.shape, field.view);
        let passage = Self::any(field, obstacle)?;
        let radius = passage.radius;
        let Some([left, right]) = shape.tangent_ways(view.plane, view.position, radius) else {
            let cone = Cone::round(shape.center() - view.position, shape.outer_radius() + radius);
            return Some((Self { cone, ..passage }, None));
        };
        // Between the tangents the near side bulges towards the agent: no point of it is farther than both ends.
        let tangents = [left.0, right.0];
        let (cone, depth) =
            Cone::between(tangents).map_or((Cone::ALL, f32::INFINITY), |cone| (cone, left.1.max(right.1)));
        Some((Self { cone, depth, ..passage }, Some(tangents)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{AgentView, Obstacle, SteeringAgent, SteeringPlane};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4096) })]

        /// What the cones say about a way is what a sweep says.
        #[test]
        fn cones_agree_with_sweeps(
            plane in 0_usize..3,
            (kind, a, b) in (0_u8..3, 0.01_f32..4.0, 0.01_f32..2.0),
            (x, y, z, turn) in (-9.0_f32..9.0, -9.0_f32..9.0, -9.0_f32..9.0, -3.0_f32..3.0),
            (u, v, w) in (-0.5_f32..0.5, -0.5_f32..0.5, -0.5_f32..0.5),
            far in 0.1_f32..15.0,
        ) {
            let plane = SteeringPlane::ALL[plane];
            let obstacle = match kind {
                0 => Obstacle::Sphere { radius: a },
                1 => Obstacle::Cuboid { half_extents: Vec3::new(a, b, a) },
                _ => Obstacle::Wall { half_length: 3.0 * a, half_height: b, thickness: 0.1 * b },
            };
            let rotation = Quat::from_axis_angle(plane.normal(), turn);
            let transform = Transform::from_xyz(x, y, z).with_rotation(rotation);
            let shape = obstacle.shape(&transform, plane).expect("a sane obstacle");
            let view = AgentView::new(&SteeringAgent::default(), Vec3::ZERO, Vec3::X, plane, 0.1);
            let distance = shape.surface(Vec3::ZERO).distance;
            let near =
                NearObstacle { entity: Entity::PLACEHOLDER, shape, velocity: Vec3::ZERO, distance };
            let field =
                Field { view: &view, near: &[near], radius: 0.525, speed: 5.0, look_ahead: 20.0 };
            let towards = shape.center().normalize_or(Vec3::X);
            let direction = plane.project(towards + Vec3::new(u, v, w) * 3.0).normalize_or(Vec3::X);
            if let Some((passage, _)) = Passage::new(&field, &near) {
                let block = Block::new(&field, &near, &passage, far);
                let [may, must] =
                    [block.map(|b| b.may), block.map(|b| b.must)].map(|c| c.is_some_and(|c| c.holds(direction)));
                // Rounding decides nothing here.
                let hit = |by: f32| {
                    shape.contact(Vec3::ZERO, direction, far + by, passage.radius + by).is_some()
                };
                prop_assert!(may || !hit(-1e-3), "no cone holds a way that is blocked: {block:?}");
                prop_assert!(!must || hit(1e-3), "a cone holds a way that is clear: {block:?}");
                prop_assert!(may || !must);
                prop_assert!(!hit(-1e-3) || passage.cone.holds(direction));
            }
        }
    }
}
