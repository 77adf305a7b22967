//! bevy_steer_debug
