//! The built-in behaviours, one file each.

use bevy::prelude::*;

use crate::{behavior::SteeringApp, schedule::SteeringSystems};

mod arrive;
mod brake;
mod evade;
mod flee;
mod flock;
mod flock_questions;
mod flock_sums;
mod flock_take;
mod flock_urge;
mod obstacle_feeler;
mod offset_pursue;
mod path_follow;
mod path_progress;
mod pursue;
mod seek;
mod separation;
mod wander;

pub use arrive::{Arrive, ArriveState, SlowingRadius, arrive, auto_slowing_radius};
pub use brake::Brake;
pub use evade::{Evade, evade};
pub use flee::{Flee, flee, panic_fade};
pub use flock::{FlockLaw, FlockMember, SeparationMode};
pub(crate) use flock_questions::{BatchQuestions, FlockQuestions, Question};
pub use obstacle_feeler::{FeelerMode, FeelerState, ObstacleFeeler};
pub use offset_pursue::{OffsetPursue, OffsetPursueState};
pub use path_follow::PathFollow;
pub use path_progress::{PathMode, PathProgress};
pub use pursue::{Pursue, predict, prediction_time};
pub use seek::{Seek, seek};
pub use separation::{Separation, fade, push_from, separate};
pub use wander::{Wander, WanderState, wander_point, wander_turn};

/// One line per behaviour, and the states that some of them keep.
pub(crate) fn register(app: &mut App) {
    use SteeringSystems::{Avoid, Steer};
    // A behaviour that nobody has costs no more than to find that out.
    app.add_steering_behavior::<Seek, _>(Steer, seek::steer.run_if(any_with_component::<Seek>))
        .add_steering_behavior::<Flee, _>(Steer, flee::steer.run_if(any_with_component::<Flee>))
        .add_steering_behavior::<Arrive, _>(Steer, arrive::steer.run_if(any_with_component::<Arrive>))
        .add_steering_behavior::<Pursue, _>(Steer, pursue::steer.run_if(any_with_component::<Pursue>))
        .add_steering_behavior::<Evade, _>(Steer, evade::steer.run_if(any_with_component::<Evade>))
        .add_steering_behavior::<OffsetPursue, _>(
            Steer,
            offset_pursue::steer.run_if(any_with_component::<OffsetPursue>),
        )
        .add_steering_behavior::<Wander, _>(Steer, wander::steer.run_if(any_with_component::<Wander>))
        .add_steering_behavior::<PathFollow, _>(
            Steer,
            path_follow::steer.run_if(any_with_component::<PathFollow>),
        )
        .add_steering_behavior::<FlockMember, _>(
            Steer,
            flock::steer.run_if(any_with_component::<FlockMember>),
        )
        .add_steering_behavior::<Separation, _>(
            Steer,
            separation::steer.run_if(any_with_component::<Separation>),
        )
        .add_steering_behavior::<Brake, _>(Steer, brake::steer.run_if(any_with_component::<Brake>))
        .add_steering_behavior::<ObstacleFeeler, _>(
            Avoid,
            obstacle_feeler::steer.run_if(any_with_component::<ObstacleFeeler>),
        );

    app.add_observer(arrive::forget)
        .register_type::<ArriveState>()
        .register_type::<FeelerState>()
        .register_type::<OffsetPursueState>()
        .register_type::<PathProgress>()
        .register_type::<WanderState>();
}
