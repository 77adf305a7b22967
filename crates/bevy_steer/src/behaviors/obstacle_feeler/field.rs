//! What an agent feels of the obstacles near it in one tick.

use bevy::prelude::*;

use super::passage::Passage;
use crate::{agent::AgentView, obstacle::NearObstacle, rng::direction_from_bits};

/// Seconds that the motion of obstacles is followed ahead, at most.
pub(super) const HORIZON: f32 = 2.0;
/// Shares of F/m at which braking sets in and is full.
const BRAKE: [f32; 2] = [0.5, 0.8];
/// Speeds in units/s up to here are none.
pub(super) const STILL: f32 = 1e-6;

/// The world as one agent feels it in one tick.
pub(super) struct Field<'a> {
    pub(super) view: &'a AgentView,
    pub(super) near: &'a [NearObstacle],
    /// Radius with the skin.
    pub(super) radius: f32,
    /// The speed that ways are tried at.
    pub(super) speed: f32,
    pub(super) look_ahead: f32,
}

/// `radius + v·τ + v²·m/F`: what it takes to stop from a speed `v`, and half as much again.
pub(super) fn look_ahead(view: &AgentView, speed: f32) -> f32 {
    let brake = if view.max_force > 0.0 { speed * speed * view.mass / view.max_force } else { 0.0 };
    let length = view.radius + speed * view.response_time() + brake;
    // An agent that cannot steer has no use for an endless look.
    if length.is_finite() { length } else { view.radius }
}

impl Field<'_> {
    /// The radius to sweep past an obstacle with. What is nearer than the skin is passed as near as it is, a little less so
    /// that sliding along it stays possible; `None` for what is overlapped: there is no way past, only out.
    pub(super) fn radius_for(&self, obstacle: &NearObstacle) -> Option<f32> {
        let slack = 0.02 * self.view.radius;
        let radius = self.radius.min(obstacle.distance - slack);
        (radius > 0.0 && obstacle.distance > 0.98 * self.view.radius).then_some(radius)
    }

    /// Whether the way in direction `direction` is free for `far` units, at the speed of the field.
    pub(super) fn is_clear(&self, direction: Vec3, far: f32) -> bool {
        !self.near.iter().any(|obstacle| {
            Passage::any(self, obstacle)
                .is_some_and(|passage| self.contact(obstacle, &passage, direction, far).is_some())
        })
    }

    /// Where an obstacle ends the way in direction `direction`, if it does within less than `far` units.
    pub(super) fn contact(
        &self,
        obstacle: &NearObstacle,
        passage: &Passage,
        direction: Vec3,
        far: f32,
    ) -> Option<f32> {
        let along = if obstacle.velocity == Vec3::ZERO {
            if self.speed <= STILL || passage.gap >= far || !passage.cone.holds(direction) {
                return None;
            }
            obstacle.shape.contact(self.view.position, direction, far, passage.radius)?
        } else {
            if passage.gap > passage.length {
                return None;
            }
            let relative = direction * self.speed - obstacle.velocity;
            let pace = relative.length();
            let direction = relative / pace;
            if pace <= STILL || !passage.cone.holds(direction) {
                return None;
            }
            let length = passage.length.min(pace * HORIZON);
            let along = obstacle.shape.contact(self.view.position, direction, length, passage.radius)?;
            along * (self.speed / pace)
        };
        (along < far).then_some(along)
    }

    /// The way out of an obstacle's danger, and the share of `max_force` that it takes.
    pub(super) fn danger(&self, obstacle: &NearObstacle, bits: u64) -> (Vec3, f32) {
        const NONE: (Vec3, f32) = (Vec3::ZERO, 0.0);
        let view = self.view;
        let skin = self.radius - view.radius;
        let beyond = self.radius - obstacle.distance;
        if beyond > 0.0 {
            let normal = obstacle.shape.surface(view.position).normal;
            let normal = if normal == Vec3::ZERO { direction_from_bits(bits, view.plane) } else { normal };
            let touch = if beyond < skin { beyond / skin } else { 1.0 };
            let closing = -(view.velocity - obstacle.velocity).dot(normal);
            let stop = self.braking(closing, closing, obstacle.distance - view.radius);
            return (normal, touch.max(stop));
        }
        let relative = view.velocity - obstacle.velocity;
        let speed = relative.length();
        if speed <= STILL || -beyond > self.look_ahead {
            return NONE;
        }
        match obstacle.shape.sweep(view.position, relative / speed, self.look_ahead, self.radius) {
            Some(hit) => (hit.normal, self.braking(speed, -relative.dot(hit.normal), hit.distance)),
            None => NONE,
        }
    }

    /// The share of `max_force` to brake with for a hit `distance` ahead along the way.
    fn braking(&self, speed: f32, closing: f32, distance: f32) -> f32 {
        let view = self.view;
        if closing <= 0.0 || view.max_force <= 0.0 || !view.mass.is_finite() {
            return 0.0;
        }
        let acceleration = view.max_force / view.mass;
        let pause = view.dt.max(view.sense_interval);
        // One tick, or one look, passes before the next chance, and until then others may push the other way.
        let left = (distance - (speed + acceleration * pause) * pause).max(1e-6);
        let share = speed * closing / (2.0 * left) / acceleration;
        // Even against a push of all that is left, this stops it within the tick; more would throw it back.
        let enough = 0.5 + 0.5 * closing / (acceleration * pause).max(1e-6);
        ((share - BRAKE[0]) / (BRAKE[1] - BRAKE[0])).min(enough).clamp(0.0, 1.0)
    }
}
