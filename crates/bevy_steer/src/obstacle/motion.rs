//! How obstacles move.

use bevy::prelude::*;

/// What steering has seen of an obstacle's motion. It comes with [`Obstacle`](crate::Obstacle).
///
/// An obstacle without a [`SteeringVelocity`](crate::SteeringVelocity) has its velocity measured from tick to tick, also
/// where it is moved only every few ticks (a game that moves it once per frame).
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct ObstacleMotion {
    velocity: Vec3,
    position: Vec3,
    /// Whether it has been looked at before.
    seen: bool,
    /// Ticks since the last change of position, and between the last two.
    unmoved: u32,
    interval: u32,
    /// Ticks since the last change of any kind.
    untouched: u32,
    moves: bool,
}

/// Ticks without a change after which an obstacle counts as part of the still world again.
const STILL_AFTER: u32 = 60;

/// Where counting ticks ends, so that what stands still is not written any more.
const LONG_AGO: u32 = 1000;

impl ObstacleMotion {
    /// Velocity in units/s as seen in the last tick.
    #[must_use]
    pub const fn velocity(&self) -> Vec3 {
        self.velocity
    }

    /// Whether it has moved lately.
    #[must_use]
    pub const fn moves(&self) -> bool {
        self.moves
    }

    /// A tick has passed and the obstacle is at `position`; `changed` says whether anything of its place is new, `given` is
    /// the velocity that it tells itself. Ticks are counted here, not numbered, so that a saved scene can go on anywhere.
    pub(crate) fn observe(&mut self, position: Vec3, changed: bool, given: Option<Vec3>, dt: f32) {
        self.unmoved = (self.unmoved + 1).min(LONG_AGO);
        self.untouched = (self.untouched + 1).min(LONG_AGO);
        if !self.seen {
            *self = Self { position, seen: true, interval: 1, ..default() };
        } else if changed && position != self.position {
            // After a longer rest the motion has begun in this tick.
            let elapsed = if self.unmoved > 2 * self.interval + 1 { 1 } else { self.unmoved };
            let seconds = elapsed as f32 * dt;
            self.velocity = if seconds > 0.0 { (position - self.position) / seconds } else { Vec3::ZERO };
            (self.position, self.interval, self.unmoved) = (position, elapsed, 0);
            (self.untouched, self.moves) = (0, true);
        } else {
            if self.unmoved > self.interval {
                self.velocity = Vec3::ZERO;
            }
            // What is only turned, or written anew where it was, counts as moving but says nothing of its velocity.
            if changed {
                (self.untouched, self.moves) = (0, true);
            }
            self.moves &= self.untouched < STILL_AFTER;
        }
        if let Some(given) = given {
            self.velocity = given;
            self.moves |= given != Vec3::ZERO;
        }
        if !self.velocity.is_finite() {
            self.velocity = Vec3::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn velocities(every: u64) -> Vec<f32> {
        let mut motion = ObstacleMotion::default();
        (1..=20)
            .map(|tick| {
                let x = (tick / every * every) as f32 * 0.1;
                motion.observe(Vec3::X * x, tick % every == 0, None, 0.1);
                motion.velocity.x
            })
            .collect()
    }

    #[test]
    fn velocity_is_measured_however_often_the_game_moves_it() {
        for every in [1, 2, 3] {
            let seen = velocities(every);
            assert!(seen[8..].iter().all(|v| (v - 1.0).abs() < 1e-4), "every {every} ticks: {seen:?}");
        }
    }

    #[test]
    fn what_is_written_anew_where_it_was_keeps_its_velocity() {
        let run = |again: u64| {
            let mut motion = ObstacleMotion::default();
            let seen = (1..40).map(|tick: u64| {
                let x = (tick / 4 * 4) as f32 * 0.1;
                motion.observe(Vec3::X * x, tick.is_multiple_of(4) || tick == again, None, 0.1);
                motion.velocity.x
            });
            seen.collect::<Vec<_>>()
        };
        assert_eq!(run(0), run(18), "loading a scene writes every place anew");
    }

    #[test]
    fn what_stops_has_no_velocity_and_is_still_in_the_end() {
        let mut motion = ObstacleMotion::default();
        motion.observe(Vec3::ZERO, true, None, 0.1);
        assert!(!motion.moves(), "what has just been spawned does not move");
        motion.observe(Vec3::X, true, None, 0.1);
        assert!(motion.moves() && motion.velocity() == Vec3::X * 10.0);
        motion.observe(Vec3::X, false, None, 0.1);
        motion.observe(Vec3::X, false, None, 0.1);
        assert!(motion.moves() && motion.velocity() == Vec3::ZERO);
        (0..STILL_AFTER).for_each(|_| motion.observe(Vec3::X, false, None, 0.1));
        assert!(!motion.moves());
        (0..LONG_AGO).for_each(|_| motion.observe(Vec3::X, false, None, 0.1));
        let before = motion;
        motion.observe(Vec3::X, false, None, 0.1);
        assert_eq!(motion, before, "what stands still is not written any more");
        motion.observe(Vec3::X, false, Some(Vec3::Y), 0.1);
        assert_eq!(motion.velocity(), Vec3::Y, "what it tells itself counts");
    }
}
