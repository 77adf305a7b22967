//! Steering behaviours for [Bevy](https://bevy.org): agents that seek, flee, arrive, pursue, wander, avoid, follow paths
//! and flock.
//!
//! ```
//! use bevy::prelude::*;
//! use bevy_steer::prelude::*;
//!
//! let mut app = App::new();
//! app.add_plugins((MinimalPlugins, SteeringPlugins::default()));
//! // Everything else that an agent needs comes with the behaviour.
//! app.world_mut().spawn(Arrive::new(Vec3::new(10.0, 0.0, 0.0)));
//! app.update();
//! ```
//!
//! # How it works
//!
//! A behaviour is a component. Its system writes a desired velocity or a push into the [`SteeringAccumulator`] of its own
//! agent. One system per tick combines what has been written, clamps force and speed, and moves `Transform`. Everybody
//! sees the others as they were at the start of the tick, in [`NeighborGrid`].
//!
//! [`SteeringPlugins`] lists the plugins, [`SteeringSystems`] the stages of a tick, [`SteeringCombine`] how wishes become
//! one force. A game's own behaviour is a system that writes to the accumulator; [`SteeringApp::add_steering_behavior`]
//! registers it like a built-in one.
//!
//! # Units
//!
//! World units and seconds; forces in units/s² at mass 1. Nothing is per frame: the tick rate does not change how an
//! agent behaves.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `multi_threaded` (default) | systems and agents spread over the compute pool |
//! | `serialize` | serde for every component (the accumulator has it anyway) |
//! | `libm` | the same bits on every operating system |
//! | `interpolation` | smooth drawing between fixed ticks: `SteeringInterpolationPlugin` |
//! | `debug` | names of systems in Bevy's error messages |

#[cfg(test)]
extern crate self as bevy_steer;

pub mod behaviors;

mod accumulator;
mod agent;
mod batch;
mod behavior;
#[cfg(test)]
mod cases;
mod combine;
mod combine_lanes;
mod end_tick;
mod events;
mod facing;
mod faults;
mod gather;
mod hash;
mod integrate;
#[cfg(feature = "interpolation")]
mod interpolation;
mod lanes;
mod metrics;
mod neighbors;
mod obstacle;
mod parallel;
mod plane;
mod plugin;
mod priority;
mod rng;
mod rows;
mod schedule;
mod sensing;
mod smoothing;
mod stall;
mod target;
#[cfg(test)]
mod testing;
mod turn_limit;
mod warnings;

#[cfg(feature = "interpolation")]
pub use crate::interpolation::SteeringInterpolationPlugin;
/// The grid itself, which knows no ECS: for kernels over its columns, and for grids of things that are not agents.
pub use bevy_steer_grid as grid;

pub use crate::{
    accumulator::{
        BehaviorId, Contribution, ContributionKind, INLINE_CONTRIBUTIONS, SteeringAccumulator, SteeringGoal,
    },
    agent::{AgentView, SteeringAgent, SteeringDefaults, SteeringGroup, SteeringVelocity},
    behavior::{
        Fault, InternalState, ReflectFault, Steerer, SteererItem, Steering, SteeringApp, SteeringBehavior,
        SteeringBehaviors, check,
    },
    behaviors::*,
    combine::{SteeringCombine, combine, intention, truncate, wants_rest},
    events::{Arrived, PathCompleted, Stalled, TargetLost, WaypointReached},
    facing::{FaceMode, FaceVelocity, face_velocity, forward_axis},
    hash::steering_hash,
    integrate::{CustomIntegration, SteeringOutput, step},
    metrics::{SteeringMetrics, SteeringMetricsPlugin, measure},
    neighbors::{Neighbor, NeighborGrid, RayNeighbor},
    obstacle::{
        NearObstacle, Obstacle, ObstacleHit, ObstacleIndex, ObstacleMotion, ObstaclePlugin, ObstacleShape,
        ShapeHit, ShapeSurface,
    },
    parallel::ComputeRunner,
    plane::SteeringPlane,
    plugin::{
        IntegrationPlugin, NeighborGridPlugin, SteeringBehaviorsPlugin, SteeringCorePlugin, SteeringPlugins,
    },
    priority::SteeringPriority,
    rng::{AgentRng, NextSteeringId, SteeringId, SteeringSeed},
    schedule::{MAX_VARIABLE_STEP, SteeringSchedule, SteeringStep, SteeringSystems},
    sensing::SteerEvery,
    smoothing::{SteeringSmoothing, alpha_for_step},
    stall::StallWatch,
    target::{SteeringTarget, TargetMemory, TargetView, Targets},
    turn_limit::{TurnLimit, limit_turn, rotate_towards},
    warnings::{SteeringWarning, SteeringWarnings},
};

/// What most games need: `use bevy_steer::prelude::*`.
pub mod prelude {
    pub use crate::{
        Arrive, Arrived, BehaviorId, Brake, Evade, FaceVelocity, Flee, FlockMember, Obstacle, ObstacleFeeler,
        PathFollow, Pursue, Seek, Separation, Steerer, Steering, SteeringAccumulator, SteeringAgent,
        SteeringApp, SteeringBehavior, SteeringCombine, SteeringDefaults, SteeringGroup, SteeringPlane,
        SteeringPlugins, SteeringPriority, SteeringSystems, SteeringTarget, SteeringVelocity, Wander,
    };
}
