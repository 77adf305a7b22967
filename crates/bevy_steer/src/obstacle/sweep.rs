//! The sweep of a disc or ball past one obstacle.

use bevy::prelude::*;

use super::shape::{Form, ObstacleShape, ShapeHit, box_surface, in_axes};

/// Most steps that a sweep past a box takes; a clear hit needs two to four, a grazing one about twenty.
const SWEEP_STEPS: usize = 64;

impl ObstacleShape {
    /// Where a disc or ball of `radius` at `origin` first touches the obstacle when it moves at most `length` units along
    /// the unit vector `direction`; `None` if it does not. What it overlaps already counts as touched at 0 unless it moves
    /// away from it or along it. However thin and far, nothing is skipped.
    #[must_use]
    pub fn sweep(&self, origin: Vec3, direction: Vec3, length: f32, radius: f32) -> Option<ShapeHit> {
        let distance = self.contact(origin, direction, length, radius)?;
        let at = origin + direction * distance;
        let surface = self.surface(at);
        Some(ShapeHit { distance, point: at - surface.normal * surface.distance, normal: surface.normal })
    }

    /// The distance alone that [`sweep`](Self::sweep) finds.
    pub(crate) fn contact(&self, origin: Vec3, direction: Vec3, length: f32, radius: f32) -> Option<f32> {
        let scale = origin.abs().max(self.center.abs()).max_element() + radius;
        // What rounding cannot tell from a touch.
        let touch = 2.0 * f32::EPSILON * scale;
        match self.form {
            Form::Ball { radius: own } => past_ball(self.center - origin, direction, own + radius, touch)
                .filter(|&along| along <= length),
            Form::Cuboid { axes, half } => {
                let grown = half + radius + touch;
                let (from, along) = (in_axes(&axes, origin - self.center), in_axes(&axes, direction));
                // All that is within the radius of the box lies in a box that much larger.
                if !enters_box(from, along, grown, length) {
                    return None;
                }
                let gap = |at: f32| {
                    let surface = box_surface(in_axes(&axes, origin + direction * at - self.center), half);
                    (surface.distance - radius, -surface.normal.dot(along))
                };
                approach(gap, length, touch)
            }
        }
    }
}

/// How far it is to the contact with a convex shape; `look` tells the gap, and how fast it closes, so far along the way.
///
/// Signed distance to a convex shape is convex along a line, so its tangent lies beneath it and the tangent's root is never
/// beyond the first contact: Newton's method comes from the near side and stops at the contact.
fn approach(look: impl Fn(f32) -> (f32, f32), length: f32, touch: f32) -> Option<f32> {
    let mut along = 0.0;
    for _ in 0..SWEEP_STEPS {
        let (gap, closing) = look(along);
        if closing <= 0.0 {
            return None;
        }
        if gap <= touch {
            break;
        }
        along += gap / closing;
        if along > length || along.is_nan() {
            return None;
        }
    }
    Some(along)
}

/// How far a point gets along `direction` before it is within `radius` of a centre that is `offset` away.
fn past_ball(offset: Vec3, direction: Vec3, radius: f32, touch: f32) -> Option<f32> {
    let ahead = offset.dot(direction);
    if ahead <= 0.0 {
        return None;
    }
    let distance = offset.length();
    let gap = distance - radius;
    if gap <= touch {
        return Some(0.0);
    }
    // What is beside the way, not the difference of two large squares.
    let beside = (offset - direction * ahead).length();
    (beside <= radius + touch).then(|| {
        let overlap = ((radius - beside) * (radius + beside)).max(0.0);
        gap * (distance + radius) / (ahead + overlap.sqrt())
    })
}

/// Whether a point that moves at most `length` along `direction` is in a box round the origin at any time.
fn enters_box(origin: Vec3, direction: Vec3, half: Vec3, length: f32) -> bool {
    let (pace, side) = (direction.recip(), direction.signum());
    let entry = ((-half * side - origin) * pace).max_element();
    let exit = ((half * side - origin) * pace).min_element();
    // What rounding leaves open counts as yes.
    !(entry > exit || entry > length || exit < 0.0)
}
