//! Separation.
use bevy::prelude::*;

/// Separation.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default)]
pub struct Separation {
    /// Radius.
    pub radius: f32,
}
