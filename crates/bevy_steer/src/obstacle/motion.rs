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
    /// The tick of the last change of position, 0 before the first look.
    changed: u64,
    /// Ticks between the last two changes of position.
    interval: u64,
    /// The tick of the last change of any kind.
    touched: u64,
    moves: bool,
}

/// Ticks without a change after which an obstacle counts as part of the still world again.
const STILL_AFTER: u64 = 60;

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

    /// The obstacle is at `position` in `tick`; `changed` says whether anything of its place is new, `given` is the
    /// velocity that it tells itself.
    pub(crate) fn observe(&mut self, position: Vec3, changed: bool, given: Option<Vec3>, tick: u64, dt: f32) {
        if self.changed == 0 {
            *self = Self { position, changed: tick, touched: tick, interval: 1, ..default() };
        } else if changed && position != self.position {
            let waited = tick.saturating_sub(self.changed);
            // After a longer rest the motion has begun in this tick.
            let elapsed = if waited > 2 * self.interval + 1 { 1 } else { waited.max(1) };
            let seconds = elapsed as f32 * dt;
            self.velocity = if seconds > 0.0 { (position - self.position) / seconds } else { Vec3::ZERO };
            (self.position, self.changed, self.interval) = (position, tick, elapsed);
            (self.touched, self.moves) = (tick, true);
        } else {
            let quiet = tick.saturating_sub(self.changed);
            if quiet > self.interval {
                self.velocity = Vec3::ZERO;
            }
            // What is only turned, or written anew where it was, counts as moving but says nothing of its velocity.
            if changed {
                (self.touched, self.moves) = (tick, true);
            }
            self.moves &= tick.saturating_sub(self.touched) < STILL_AFTER;
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
                motion.observe(Vec3::X * x, tick % every == 0, None, tick, 0.1);
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
                motion.observe(Vec3::X * x, tick.is_multiple_of(4) || tick == again, None, tick, 0.1);
                motion.velocity.x
            });
            seen.collect::<Vec<_>>()
        };
        assert_eq!(run(0), run(18), "loading a scene writes every place anew");
    }

    #[test]
    fn what_stops_has_no_velocity_and_is_still_in_the_end() {
        let mut motion = ObstacleMotion::default();
        motion.observe(Vec3::ZERO, true, None, 1, 0.1);
        assert!(!motion.moves(), "what has just been spawned does not move");
        motion.observe(Vec3::X, true, None, 2, 0.1);
        assert!(motion.moves() && motion.velocity() == Vec3::X * 10.0);
        motion.observe(Vec3::X, false, None, 4, 0.1);
        assert!(motion.moves() && motion.velocity() == Vec3::ZERO);
        motion.observe(Vec3::X, false, None, 2 + STILL_AFTER, 0.1);
        assert!(!motion.moves());
        motion.observe(Vec3::X, false, Some(Vec3::Y), 100, 0.1);
        assert_eq!(motion.velocity(), Vec3::Y, "what it tells itself counts");
    }
}
