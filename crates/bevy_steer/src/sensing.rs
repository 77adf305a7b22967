//! Looking at the world less often than every tick.

use bevy::prelude::*;

use crate::{
    behavior::{Fault, InternalState, check},
    rng::{SteeringId, mix},
};

/// The agent looks at targets, neighbours and obstacles only so often; in between the contributions of the last look serve.
///
/// What is kept is what was desired, not the force: velocity is still compared with it each tick, so the agent does not
/// swing. The looks of a crowd are spread evenly over the interval.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct SteerEvery {
    /// Seconds between two looks; 0, the default, looks every tick.
    #[reflect(@0.0_f32..=1.0_f32)]
    pub seconds: f32,
    /// Seconds until the next look; `None` before the first, which happens at once.
    #[reflect(default, @InternalState)]
    #[cfg_attr(feature = "serialize", serde(default))]
    left: Option<f32>,
    /// Seconds from the last look to the next tick.
    #[reflect(default)]
    #[cfg_attr(feature = "serialize", serde(default))]
    since: f32,
    /// Whether the contributions are held.
    #[reflect(default)]
    #[cfg_attr(feature = "serialize", serde(default))]
    holds: bool,
}

impl SteerEvery {
    /// Looks every `seconds`.
    #[must_use]
    pub const fn new(seconds: f32) -> Self {
        Self { seconds, left: None, since: 0.0, holds: false }
    }

    /// The interval in seconds, made safe.
    #[must_use]
    pub fn interval(&self) -> f32 {
        check::or_zero(self.seconds)
    }

    /// What is wrong with the values, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        check::not_negative("seconds", self.seconds, "must be finite and not negative; looks every tick")
    }

    /// Seconds between the last look and this tick's.
    #[must_use]
    pub(crate) fn since_look(&self) -> f32 {
        self.since
    }

    /// Ends a tick of `dt` seconds; answers whether the contributions serve for the next one too.
    pub(crate) fn end_tick(&mut self, dt: f32, id: SteeringId) -> bool {
        let interval = self.interval();
        // The first interval is cut short by a part that differs from agent to agent.
        let left = self.left.unwrap_or_else(|| interval * (mix(id.0) >> 40) as f32 / (1 << 24) as f32);
        // Half a tick of slack, so that 0.1 s at 60 Hz is six ticks whatever the rounding.
        let left = left - dt;
        let hold = left > 0.5 * dt && dt > 0.0;
        self.left = Some(if hold { left } else { (left + interval).max(0.0) });
        self.since = if self.holds { self.since + dt } else { dt };
        self.holds = hold;
        hold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_come_at_the_interval_and_are_spread() {
        let first_looks: Vec<usize> = (0..64)
            .map(|id| {
                let mut every = SteerEvery::new(0.1);
                let held: Vec<bool> = (0..600).map(|_| every.end_tick(1.0 / 60.0, SteeringId(id))).collect();
                let looks = held.iter().filter(|held| !**held).count();
                assert!((99..=101).contains(&looks), "agent {id} looked {looks} times in 10 s");
                held.iter().position(|held| !held).unwrap_or(0)
            })
            .collect();
        for tick in 0..5 {
            assert!(first_looks.contains(&tick), "no agent looked again after tick {tick}");
        }
    }

    #[test]
    fn the_time_between_two_looks_is_known() {
        for seconds in [0.0, 0.05, 0.2] {
            let mut every = SteerEvery::new(seconds);
            let (mut last_look, mut held) = (None, false);
            for tick in 0..100 {
                if !held {
                    let expected = last_look.map_or(0.0, |last| (tick - last) as f32 * 0.0625);
                    assert_eq!(every.since_look(), expected, "every {seconds} s, tick {tick}");
                    last_look = Some(tick);
                }
                held = every.end_tick(0.0625, SteeringId(3));
            }
        }
    }

    #[test]
    fn senseless_intervals_look_every_tick() {
        for seconds in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let mut every = SteerEvery::new(seconds);
            assert!(!every.end_tick(1.0 / 60.0, SteeringId(1)), "{seconds}");
            assert!(!every.end_tick(1.0 / 60.0, SteeringId(1)), "{seconds}");
        }
    }
}
