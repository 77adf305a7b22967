//! The built-in behaviours, one file each.

use bevy::prelude::*;

use crate::{behavior::SteeringApp, schedule::SteeringSystems};

mod arrive;
mod brake;
mod flee;
mod flock;
mod seek;
mod separation;

pub use arrive::{Arrive, ArriveState, SlowingRadius, arrive, auto_slowing_radius};
pub use brake::Brake;
pub use flee::{Flee, flee, panic_fade};
pub use flock::FlockMember;
pub use seek::{Seek, seek};
pub use separation::Separation;

/// One line per behaviour.
pub(crate) fn register(app: &mut App) {
    use SteeringSystems::Steer;
    app.add_steering_behavior::<Seek>(Steer, seek::steer.into_configs())
        .add_steering_behavior::<Flee>(Steer, flee::steer.into_configs())
        .add_steering_behavior::<Arrive>(Steer, arrive::steer.into_configs())
        .add_steering_behavior::<Brake>(Steer, brake::steer.into_configs());
}
