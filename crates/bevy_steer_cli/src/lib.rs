//! bevy_steer_cli
