//! Low-pass on the applied force.

use bevy::{math::ops, prelude::*};

use crate::behavior::{Fault, InternalState, check};

/// Ticks per second at which [`SteeringSmoothing`]'s alpha is stated.
const STATED_HZ: f32 = 60.0;

/// Smooths the applied force: `lerp(previous, raw, alpha)` per 1/60 s, at any tick rate; the first sample is taken raw.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct SteeringSmoothing {
    /// Share of the new force, from 0 (never changes) to 1 (no smoothing); 0.3 by default.
    #[reflect(@0.0_f32..=1.0_f32)]
    pub alpha: f32,
    #[reflect(default, @InternalState)]
    #[cfg_attr(feature = "serialize", serde(default))]
    previous: Option<Vec3>,
}

impl Default for SteeringSmoothing {
    fn default() -> Self {
        Self::new(0.3)
    }
}

impl SteeringSmoothing {
    /// Smoothing with the given share of the new force per 1/60 s.
    #[must_use]
    pub const fn new(alpha: f32) -> Self {
        Self { alpha, previous: None }
    }

    /// What is wrong with the values, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        (!(0.0..=1.0).contains(&self.alpha)).then_some(Fault {
            field: "alpha",
            value: self.alpha,
            consequence: "must be from 0 to 1; no smoothing",
        })
    }

    pub(crate) fn apply(&mut self, raw: Vec3, dt: f32) -> Vec3 {
        let smoothed = match self.previous {
            Some(previous) if self.fault().is_none() => previous.lerp(raw, alpha_for_step(self.alpha, dt)),
            _ => raw,
        };
        self.previous = Some(smoothed);
        smoothed
    }

    /// Lets the memory follow an agent that has come to rest.
    pub(crate) fn reset(&mut self) {
        self.previous = None;
    }
}

/// The share for a step of `dt` seconds that has the same effect over time as `alpha` per 1/60 s:
/// `1 − (1 − alpha)^(60·dt)`.
#[must_use]
pub fn alpha_for_step(alpha: f32, dt: f32) -> f32 {
    1.0 - ops::powf((1.0 - alpha).max(0.0), check::or_zero(dt) * STATED_HZ)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_trace() {
        let table = include_str!("../tests/reference/smoothing.csv");
        let mut smoothing = SteeringSmoothing::new(0.3);
        for line in table.lines().skip(1) {
            let v: Vec<f32> = line.split(',').map(|x| x.parse().expect("a number")).collect();
            let smoothed = smoothing.apply(Vec3::new(v[1], v[2], 0.0), 1.0 / 60.0);
            assert!(smoothed.distance(Vec3::new(v[3], v[4], 0.0)) < 1e-3, "{line}: {smoothed}");
        }
    }

    #[test]
    fn the_tick_rate_does_not_matter() {
        let after_a_second = |hz: usize| {
            let mut smoothing = SteeringSmoothing::new(0.05);
            smoothing.apply(Vec3::ZERO, 1.0 / hz as f32);
            (0..hz).fold(Vec3::ZERO, |_, _| smoothing.apply(Vec3::X, 1.0 / hz as f32)).x
        };
        let at_60 = after_a_second(60);
        assert!((at_60 - 0.954).abs() < 1e-3);
        assert!((after_a_second(30) - at_60).abs() < 1e-4 && (after_a_second(240) - at_60).abs() < 1e-4);
    }
}
