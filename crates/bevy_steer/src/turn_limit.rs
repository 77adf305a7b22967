//! Vehicles: agents that cannot turn on the spot.

use bevy::{math::ops, prelude::*};

use crate::{
    agent::AgentView,
    behavior::{Fault, check},
    plane::SteeringPlane,
};

/// Makes the agent a vehicle: its heading turns at most so fast, and it slows down for a goal that its turning circle
/// would otherwise keep it from.
///
/// Towards a goal at distance d and bearing θ the speed is at most `0.8 · max_turn_rate · d / (2 · sin θ)`, with sin θ = 1
/// beyond 90°: the circle that touches the heading and passes through the goal has radius `d / (2 · sin θ)`, and at that
/// speed the vehicle can stay inside it.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct TurnLimit {
    /// Largest turn rate in rad/s; 2 by default.
    #[reflect(@0.1_f32..=12.0_f32)]
    pub max_turn_rate: f32,
    /// Speed in units/s below which it does not fall, unless a goal slows it down to rest; 0.5 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub min_speed: f32,
}

impl Default for TurnLimit {
    fn default() -> Self {
        Self { max_turn_rate: 2.0, min_speed: 0.5 }
    }
}

impl TurnLimit {
    /// A limit in rad/s, with the default lowest speed.
    #[must_use]
    pub const fn new(max_turn_rate: f32) -> Self {
        Self { max_turn_rate, min_speed: 0.5 }
    }

    /// What is wrong with the values, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        check::not_negative(
            "max_turn_rate",
            self.max_turn_rate,
            "must be finite and not negative; taken as 0",
        )
        .or_else(|| {
            check::not_negative("min_speed", self.min_speed, "must be finite and not negative; taken as 0")
        })
    }
}

/// The velocity of a vehicle after this tick.
///
/// `free` is the velocity that an unlimited agent would have, `intention` the velocity that it is after, `heading` where it
/// faces now, `goal` the offset to its goal if it has one, and `rest` says that it is slowing down to rest, or rests.
#[must_use]
pub fn limit_turn(
    limit: &TurnLimit,
    view: &AgentView,
    heading: Vec3,
    free: Vec3,
    intention: Vec3,
    goal: Option<Vec3>,
    rest: bool,
) -> Vec3 {
    let rate = check::or_zero(limit.max_turn_rate);
    let wanted = intention.try_normalize().unwrap_or(heading);
    let heading = rotate_towards(heading, wanted, rate * view.dt, view.plane);
    let lowest = if rest { 0.0 } else { check::or_zero(limit.min_speed).min(view.max_speed) };
    let mut speed = free.dot(heading).max(lowest);
    if let Some(goal) = goal
        && let Some(direction) = goal.try_normalize()
    {
        let cos = heading.dot(direction).clamp(-1.0, 1.0);
        let sin = if cos <= 0.0 { 1.0 } else { (1.0 - cos * cos).sqrt() };
        if sin > 1e-6 {
            speed = speed.min((0.8 * rate * goal.length() / (2.0 * sin)).max(lowest));
        }
    }
    heading * speed
}

/// `from` turned towards `to` by at most `angle` radians, the short way round; straight behind, to the left.
#[must_use]
pub fn rotate_towards(from: Vec3, to: Vec3, angle: f32, plane: SteeringPlane) -> Vec3 {
    let cos = from.dot(to).clamp(-1.0, 1.0);
    if angle >= core::f32::consts::PI || cos >= ops::cos(angle) {
        return to;
    }
    let side = (to - from * cos).try_normalize().filter(|_| cos > -0.999_999);
    let side = side.unwrap_or_else(|| plane.left_of(from));
    let (sin, cos) = ops::sin_cos(angle);
    (from * cos + side * sin).normalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_turn_the_short_way_and_no_faster() {
        let at = |degrees: f32| {
            let (sin, cos) = ops::sin_cos(degrees.to_radians());
            Vec3::new(cos, sin, 0.0)
        };
        let turned = rotate_towards(at(359.0), at(1.0), 1.0_f32.to_radians(), SteeringPlane::Xy);
        assert!(turned.distance(at(0.0)) < 1e-5, "1 of the 2 degrees, across 0: {turned}");
        assert_eq!(rotate_towards(at(359.0), at(1.0), 3.0_f32.to_radians(), SteeringPlane::Xy), at(1.0));
    }

    #[test]
    fn straight_behind_turns_left_every_time() {
        for plane in SteeringPlane::ALL {
            for from in [Vec3::X, Vec3::NEG_X] {
                let turned = rotate_towards(from, -from, 0.1, plane);
                assert!((turned.dot(from) - ops::cos(0.1)).abs() < 1e-5, "{plane:?}");
                assert!(turned.dot(plane.left_of(from)) > 0.0, "{plane:?}");
            }
        }
    }
}
