//! Where steering runs: the schedule, the four system sets and the step of the current tick.

use bevy::{
    app::{FixedFirst, FixedLast, FixedPostUpdate, FixedPreUpdate},
    ecs::schedule::{InternedScheduleLabel, ScheduleLabel},
    prelude::*,
};

/// The stages of one steering tick, in this order:
///
/// 1. [`Sense`](Self::Sense): read the world. The [`NeighborGrid`](crate::NeighborGrid) and the obstacle index are
///    rebuilt from `Transform` and [`SteeringVelocity`](crate::SteeringVelocity); after that they only serve queries.
/// 2. [`Steer`](Self::Steer): goals. Each behaviour writes contributions into the
///    [`SteeringAccumulator`](crate::SteeringAccumulator) of its own agent, and into no other.
/// 3. [`Avoid`](Self::Avoid): behaviours that look at this tick's goals of their own agent, such as
///    [`ObstacleFeeler`](crate::ObstacleFeeler).
/// 4. [`Integrate`](Self::Integrate): combine the contributions, clamp force and speed, move `Transform`, turn the
///    agent, send events.
///
/// A game's own system that writes to the accumulator in `Steer` or `Avoid` is a behaviour like any other.
#[derive(SystemSet, Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SteeringSystems {
    /// Read the world into the neighbour grid and the obstacle index.
    Sense,
    /// Goals write their contributions.
    Steer,
    /// Avoidance writes its contributions, knowing the goals.
    Avoid,
    /// Combine, clamp, move, turn, send events.
    Integrate,
}

/// The schedule that steering runs in; set by [`SteeringPlugins::new`](crate::SteeringPlugins::new).
#[derive(Resource, Debug, Clone, Copy, PartialEq, Eq)]
pub struct SteeringSchedule(pub InternedScheduleLabel);

impl Default for SteeringSchedule {
    fn default() -> Self {
        Self(FixedUpdate.intern())
    }
}

impl SteeringSchedule {
    /// Whether Bevy runs this schedule with a constant step, so that `dt` is taken as it is.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        [
            FixedFirst.intern(),
            FixedPreUpdate.intern(),
            FixedUpdate.intern(),
            FixedPostUpdate.intern(),
            FixedLast.intern(),
        ]
        .contains(&self.0)
    }
}

/// Longest step in seconds that a variable schedule is allowed to take.
pub const MAX_VARIABLE_STEP: f32 = 0.1;

/// The current tick: its length and its number.
#[derive(Resource, Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[reflect(Resource, Default)]
#[type_path = "bevy_steer"]
pub struct SteeringStep {
    /// Length of this tick in seconds; finite and not negative.
    pub dt: f32,
    /// Ticks since the plugin was added; the first tick is 1.
    pub tick: u64,
}

/// First system of a tick: how long it is.
pub(crate) fn begin_step(time: Res<Time>, schedule: Res<SteeringSchedule>, mut step: ResMut<SteeringStep>) {
    let dt = time.delta_secs();
    step.dt = if schedule.is_fixed() { dt } else { dt.min(MAX_VARIABLE_STEP) };
    step.tick += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_fixed_schedules_have_a_constant_step() {
        assert!(SteeringSchedule::default().is_fixed());
        assert!(SteeringSchedule(FixedPostUpdate.intern()).is_fixed());
        assert!(!SteeringSchedule(Update.intern()).is_fixed());
    }
}
