//! bevy_steer_grid
