//! Notices agents that want to move and do not.

use bevy::prelude::*;

use crate::behavior::Fault;

use crate::behavior::InternalState;

/// Watches whether an agent that wants to move gets anywhere; every agent has one.
///
/// The agent stalls when its output has wanted more than a tenth of `max_speed` for `after` seconds, and it has stayed
/// within half its radius (or the way it makes in a quarter of that time at full speed, if that is shorter) of one place.
/// [`Stalled`](crate::Stalled) is sent once, and again only after it has moved on.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct StallWatch {
    /// Seconds without progress; 2 by default, infinite never.
    #[reflect(@0.1_f32..=10.0_f32)]
    pub after: f32,
    #[reflect(@InternalState)]
    place: Vec3,
    #[reflect(@InternalState)]
    waited: f32,
}

impl Default for StallWatch {
    fn default() -> Self {
        Self::after(2.0)
    }
}

impl StallWatch {
    /// Tells after `seconds` without progress.
    #[must_use]
    pub const fn after(seconds: f32) -> Self {
        Self { after: seconds, place: Vec3::INFINITY, waited: 0.0 }
    }

    /// What is wrong with the values, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        (self.after.is_nan() || self.after <= 0.0).then_some(Fault {
            field: "after",
            value: self.after,
            consequence: "must be above 0; never tells",
        })
    }

    /// Whether the agent stands still against its will now.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.waited >= self.after
    }

    /// Ends a tick; answers whether the agent has just stalled.
    #[inline]
    pub(crate) fn end_tick(
        &mut self,
        position: Vec3,
        wants: bool,
        max_speed: f32,
        radius: f32,
        dt: f32,
    ) -> bool {
        let progress = (0.5 * radius).min(0.25 * self.after * max_speed);
        // Before the first tick the place is infinitely far away.
        let stays = position.distance_squared(self.place) <= progress * progress;
        let waits = stays & wants;
        let before = self.waited;
        // Capped, so that it does not grow for ever.
        let waited = (before + dt).min(self.after.max(before));
        self.place = if waits { self.place } else { position };
        self.waited = if waits { waited } else { 0.0 };
        waits & (before < self.after) & (waited >= self.after)
    }

    /// Share of `max_speed` above which the output of an agent wants to move.
    pub(crate) const IDLE: f32 = 0.1;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(watch: &mut StallWatch, n: usize, position: Vec3, wanted: f32) -> usize {
        (0..n).filter(|_| watch.end_tick(position, wanted > 0.5, 5.0, 0.5, 0.1)).count()
    }

    #[test]
    fn a_blocked_agent_stalls_once_until_it_moves_on() {
        let mut watch = StallWatch::default();
        assert_eq!(ticks(&mut watch, 100, Vec3::X, 5.0), 1);
        assert!(watch.is_stalled());
        assert_eq!(ticks(&mut watch, 1, Vec3::ZERO, 5.0), 0);
        assert!(!watch.is_stalled());
        assert_eq!(ticks(&mut watch, 100, Vec3::ZERO, 5.0), 1);
    }

    #[test]
    fn senseless_waits_are_named_and_never_tell() {
        for after in [0.0, -1.0, f32::NAN] {
            let mut watch = StallWatch::after(after);
            assert_eq!(watch.fault().map(|f| f.field), Some("after"), "{after}");
            assert_eq!(ticks(&mut watch, 100, Vec3::X, 5.0), 0, "{after}");
        }
        assert_eq!(StallWatch::after(f32::INFINITY).fault(), None, "infinite means never");
    }

    #[test]
    fn an_agent_that_wants_to_stand_or_moves_never_stalls() {
        let mut watch = StallWatch::default();
        assert_eq!(ticks(&mut watch, 100, Vec3::ZERO, 0.0), 0);
        let moving = (0..100).filter(|&i| watch.end_tick(Vec3::X * i as f32, true, 5.0, 0.5, 0.1)).count();
        assert_eq!(moving, 0);
    }
}
