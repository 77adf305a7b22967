//! The built-in behaviours, one file each.

use bevy::prelude::*;

use crate::{behavior::SteeringApp, schedule::SteeringSystems};

mod arrive;
mod flock;
mod obstacle_feeler;
mod seek;
mod separation;

pub use arrive::{Arrive, ArriveState, SlowingRadius, arrive, auto_slowing_radius};
pub use flock::FlockMember;
pub use obstacle_feeler::{FeelerMode, FeelerState, ObstacleFeeler};
pub use seek::{Seek, seek};
pub use separation::Separation;

/// One line per behaviour.
pub(crate) fn register(app: &mut App) {
    use SteeringSystems::{Avoid, Steer};
    app.add_steering_behavior::<Seek>(Steer, seek::steer.into_configs())
        .add_steering_behavior::<Arrive>(Steer, arrive::steer.into_configs())
        .add_steering_behavior::<ObstacleFeeler>(Avoid, obstacle_feeler::steer.into_configs())
        .register_type::<FeelerState>();
}
