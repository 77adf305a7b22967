//! What makes an entity an agent, and the view of it that behaviours compute with.

use bevy::prelude::*;

use crate::{
    accumulator::SteeringAccumulator,
    behavior::{Fault, check},
    combine::SteeringCombine,
    integrate::SteeringOutput,
    plane::SteeringPlane,
    rng::SteeringId,
    stall::StallWatch,
};

/// An agent that steers: its limits. Spawning it brings everything else that an agent needs.
///
/// Forces are in world units per second squared at mass 1. A value that makes no sense (negative, infinite, NaN, mass 0)
/// leaves the agent where it is, with one warning.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(Transform, SteeringVelocity, SteeringAccumulator, SteeringOutput, SteeringId, StallWatch)]
#[type_path = "bevy_steer"]
pub struct SteeringAgent {
    /// Highest speed in units/s; 5 by default.
    #[reflect(@0.0_f32..=20.0_f32)]
    pub max_speed: f32,
    /// Largest steering force in units/s² at mass 1; 15 by default.
    #[reflect(@0.0_f32..=100.0_f32)]
    pub max_force: f32,
    /// Mass: acceleration is force / mass; 1 by default.
    #[reflect(@0.05_f32..=20.0_f32)]
    pub mass: f32,
    /// Seconds in which the agent wants to reach the velocity that a behaviour desires; 0.25 by default. The smaller, the
    /// snappier; 1 is the textbook `desired − velocity`.
    #[reflect(@0.02_f32..=2.0_f32)]
    pub reaction_time: f32,
    /// Radius of the agent's disc or ball in units; 0.5 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub radius: f32,
}

impl Default for SteeringAgent {
    fn default() -> Self {
        Self { max_speed: 5.0, max_force: 15.0, mass: 1.0, reaction_time: 0.25, radius: 0.5 }
    }
}

impl SteeringAgent {
    /// An agent with the given limits and defaults for the rest.
    #[must_use]
    pub const fn new(max_speed: f32, max_force: f32) -> Self {
        Self { max_speed, max_force, mass: 1.0, reaction_time: 0.25, radius: 0.5 }
    }

    /// The same agent with another mass.
    #[must_use]
    pub const fn with_mass(mut self, mass: f32) -> Self {
        self.mass = mass;
        self
    }

    /// The same agent with another reaction time in seconds.
    #[must_use]
    pub const fn with_reaction_time(mut self, seconds: f32) -> Self {
        self.reaction_time = seconds;
        self
    }

    /// The same agent with another radius.
    #[must_use]
    pub const fn with_radius(mut self, radius: f32) -> Self {
        self.radius = radius;
        self
    }

    /// What is wrong with the values, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        const STILL: &str = "must be finite and not negative; taken as 0";
        check::not_negative("max_speed", self.max_speed, STILL)
            .or_else(|| check::not_negative("max_force", self.max_force, STILL))
            .or_else(|| {
                check::positive("mass", self.mass, "must be finite and above 0; the agent stays where it is")
            })
            .or_else(|| check::not_negative("reaction_time", self.reaction_time, STILL))
            .or_else(|| check::not_negative("radius", self.radius, STILL))
    }
}

/// Velocity in units/s. In a plane its third coordinate is kept at 0.
///
/// On an entity that is not an agent it tells pursuers how fast their target moves.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default, Deref, DerefMut)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct SteeringVelocity(pub Vec3);

/// The group that an agent belongs to, 0 without this component. Flocks consist of members of one group, and
/// [`SteeringTarget::Nearest`](crate::SteeringTarget::Nearest) looks for agents of a group.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct SteeringGroup(pub u32);

/// Defaults for all agents of an app.
#[derive(Resource, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct SteeringDefaults {
    /// The plane of agents that have no [`SteeringPlane`] of their own; `Xy` by default.
    pub plane: SteeringPlane,
    /// How agents combine contributions that have no [`SteeringCombine`] of their own; `Budget` by default.
    pub combine: SteeringCombine,
    /// Number of agents from which on systems run on the compute pool; 1024 by default. The results are the same.
    pub parallel_from: usize,
}

impl Default for SteeringDefaults {
    fn default() -> Self {
        Self { plane: SteeringPlane::Xy, combine: SteeringCombine::Budget, parallel_from: 1024 }
    }
}

/// One agent at the start of the tick, with every value made safe: what pure behaviour functions compute with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgentView {
    /// Position, projected on the plane.
    pub position: Vec3,
    /// Velocity, projected on the plane.
    pub velocity: Vec3,
    /// See [`SteeringAgent`]; finite and not negative.
    pub max_speed: f32,
    /// See [`SteeringAgent`]; finite and not negative.
    pub max_force: f32,
    /// See [`SteeringAgent`]; above 0 (infinite when the given mass made no sense: such an agent never moves).
    pub mass: f32,
    /// See [`SteeringAgent`]; finite and not negative.
    pub reaction_time: f32,
    /// See [`SteeringAgent`]; finite and not negative.
    pub radius: f32,
    /// The plane that the agent moves in.
    pub plane: SteeringPlane,
    /// Length of the tick in seconds.
    pub dt: f32,
    /// Seconds between two looks at the world when [`SteerEvery`](crate::SteerEvery) says so, else 0.
    pub sense_interval: f32,
}

impl AgentView {
    /// The view of an agent; values that make no sense become harmless.
    #[must_use]
    pub fn new(agent: &SteeringAgent, position: Vec3, velocity: Vec3, plane: SteeringPlane, dt: f32) -> Self {
        let safe = |x: f32| if x > 0.0 && x <= f32::MAX { x } else { 0.0 };
        let velocity = plane.project(velocity);
        Self {
            position: plane.project(position),
            velocity: if velocity.is_finite() { velocity } else { Vec3::ZERO },
            max_speed: safe(agent.max_speed),
            max_force: safe(agent.max_force),
            mass: if agent.mass.is_finite() && agent.mass > 0.0 { agent.mass } else { f32::INFINITY },
            reaction_time: safe(agent.reaction_time),
            radius: safe(agent.radius),
            plane,
            dt: safe(dt),
            sense_interval: 0.0,
        }
    }

    /// What a velocity error is divided by to become a force: `max(reaction_time, dt / mass)`, never 0.
    ///
    /// The floor keeps one tick from overshooting the desired velocity.
    #[inline]
    #[must_use]
    pub fn relaxation(&self) -> f32 {
        self.reaction_time.max(self.dt / self.mass).max(f32::MIN_POSITIVE)
    }

    /// Seconds in which the velocity follows a desire: `T = max(mass · reaction_time, dt)`, at least the sense interval.
    #[inline]
    #[must_use]
    pub fn response_time(&self) -> f32 {
        let mass = if self.mass.is_finite() { self.mass } else { 0.0 };
        (mass * self.reaction_time).max(self.dt).max(self.sense_interval)
    }

    /// The largest change of speed in one tick: `max_force · dt / mass`.
    #[inline]
    #[must_use]
    pub fn speed_per_tick(&self) -> f32 {
        self.max_force * self.dt / self.mass
    }

    /// Direction of travel; +X below a tiny speed.
    #[inline]
    #[must_use]
    pub fn heading(&self) -> Vec3 {
        if self.velocity.length_squared() > 1e-8 { self.velocity.normalize() } else { Vec3::X }
    }

    /// The force that a desired velocity counts as: `(desired − velocity) / relaxation`.
    #[inline]
    #[must_use]
    pub fn force_towards(&self, desired: Vec3) -> Vec3 {
        (desired - self.velocity) / self.relaxation()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senseless_values_become_harmless_and_are_named() {
        let bad = SteeringAgent {
            max_speed: f32::NAN,
            max_force: -1.0,
            mass: 0.0,
            reaction_time: f32::INFINITY,
            radius: -2.0,
        };
        let view = AgentView::new(&bad, Vec3::ZERO, Vec3::NAN, SteeringPlane::Xy, 0.0);
        assert_eq!((view.max_speed, view.max_force, view.radius), (0.0, 0.0, 0.0));
        assert_eq!(view.velocity, Vec3::ZERO);
        assert!(view.relaxation() > 0.0 && view.response_time() == 0.0);
        assert_eq!(bad.fault().map(|f| f.field), Some("max_speed"));
        assert_eq!(SteeringAgent { mass: 0.0, ..default() }.fault().map(|f| f.field), Some("mass"));
        assert_eq!(SteeringAgent::default().fault(), None);
    }

    #[test]
    fn one_tick_never_overshoots_a_desired_velocity() {
        let twitchy = SteeringAgent::new(5.0, 1e9).with_reaction_time(0.0).with_mass(2.0);
        let view = AgentView::new(&twitchy, Vec3::ZERO, Vec3::ZERO, SteeringPlane::Xy, 0.1);
        let after = view.force_towards(Vec3::X * 5.0) / view.mass * view.dt;
        assert!((after.x - 5.0).abs() < 1e-5, "{after}");
    }
}
