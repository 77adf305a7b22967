//! bevy_steer
