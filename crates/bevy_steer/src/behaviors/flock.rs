//! Flocking.
use bevy::prelude::*;

/// Flock member.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default)]
pub struct FlockMember;

impl FlockMember {
    /// The largest radius that it looks within.
    #[must_use]
    pub fn reach(&self) -> f32 {
        6.0
    }
}
