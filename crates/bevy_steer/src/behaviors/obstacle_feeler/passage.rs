//! What is the same for every way past an obstacle.

use bevy::prelude::*;

use super::field::{Field, STILL};
use crate::{obstacle::NearObstacle, plane::SteeringPlane};

/// How an obstacle is passed, whatever the way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage {
    /// The radius to sweep with.
    pub(super) radius: f32,
    /// Units before any way can touch it.
    pub(super) gap: f32,
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

    /// The directions between two others, which are less than half a turn apart.
    fn between([a, b]: [Vec3; 2]) -> Self {
        let (sum, length) = (a + b, (a + b).length());
        // Of nearly opposite ones, the sum says little about the middle.
        if length < 0.1 {
            return Self::ALL;
        }
        let axis = sum / length;
        Self { axis, cos: axis.dot(a) - Self::MARGIN }
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
        let sure = Cone::round_within(offset, inner + passage.radius, far);
        let must = sure.map_or(Cone::NONE, |cone| Cone { cos: cone.cos + Cone::MARGIN, ..cone });
        let may = match sure {
            Some(cone) if inner == outer => Cone { cos: cone.cos - Cone::MARGIN, ..cone },
            _ => passage.cone,
        };
        Some(Self { may, must })
    }
}

impl Passage {
    /// How the agent passes an obstacle, and the directions, left and right, in which it just passes it in a plane; `None`
    /// where there is no way past.
    pub(super) fn new(field: &Field, obstacle: &NearObstacle) -> Option<(Self, Option<[Vec3; 2]>)> {
        let (shape, view) = (&obstacle.shape, field.view);
        let radius = field.radius_for(obstacle)?;
        let tangents = match view.plane {
            SteeringPlane::Space => None,
            SteeringPlane::Xy | SteeringPlane::Xz => shape.tangents(view.plane, view.position, radius),
        };
        let cone = tangents.map_or_else(
            || Cone::round(shape.center() - view.position, shape.outer_radius() + radius),
            Cone::between,
        );
        Some((Self { radius, gap: obstacle.distance - radius, cone }, tangents))
    }
}
