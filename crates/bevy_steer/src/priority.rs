//! Priority levels.

use bevy::prelude::*;

/// A priority level: level 0 is served first. [`SteeringCombine`](crate::SteeringCombine) says what that means.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Debug, Clone, PartialEq, Default)]
#[type_path = "bevy_steer"]
pub struct SteeringPriority(pub u8);

impl SteeringPriority {
    /// Level 0: what keeps an agent whole, such as obstacles and containment.
    pub const SAFETY: Self = Self(0);
    /// Level 64: distance from others, such as separation and unit avoidance.
    pub const SPACING: Self = Self(64);
    /// Level 128: goals, and flocking.
    pub const GOAL: Self = Self(128);
    /// Level 192: what an agent does when it has nothing to do, such as wandering. Levels from here on are skipped
    /// while a goal wants the agent to rest.
    pub const IDLE: Self = Self(192);
}

impl Default for SteeringPriority {
    fn default() -> Self {
        Self::GOAL
    }
}
