//! The built-in behaviours, one file each.

use bevy::prelude::*;

use crate::{behavior::SteeringApp, schedule::SteeringSystems};

mod arrive;
mod flock;
mod seek;
mod separation;

pub use arrive::{Arrive, ArriveState, SlowingRadius, arrive, auto_slowing_radius};
pub use flock::{FlockLaw, FlockMember, FlockSums, SeparationMode};
pub use seek::{Seek, seek};
pub use separation::{Separation, fade, push_from, separate};

/// One line per behaviour.
pub(crate) fn register(app: &mut App) {
    use SteeringSystems::Steer;
    app.add_steering_behavior::<Seek>(Steer, seek::steer.into_configs())
        .add_steering_behavior::<Arrive>(Steer, arrive::steer.into_configs())
        .add_steering_behavior::<FlockMember>(Steer, flock::steer.into_configs())
        .add_steering_behavior::<Separation>(Steer, separation::steer.into_configs());
    app.register_type::<ArriveState>();
}
