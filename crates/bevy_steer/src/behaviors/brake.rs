//! Brake: stop.

use bevy::prelude::*;

use crate::{
    agent::SteeringAgent,
    behavior::{DEFAULT_WEIGHT, Fault, GOAL, Steerer, Steering, SteeringBehavior, check},
    priority::SteeringPriority,
};

/// Wants velocity 0: `desired = 0`. Without any behaviour an agent coasts; with this one it stops.
///
/// When nothing else pulls and one tick can shed what speed is left, the velocity becomes exactly 0 and the position keeps
/// its bits. Levels from [`IDLE`](SteeringPriority::IDLE) on are skipped.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(SteeringAgent)]
#[type_path = "bevy_steer"]
pub struct Brake {
    /// Factor on its force; 1 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub weight: f32,
    /// Level; [`GOAL`](SteeringPriority::GOAL) by default.
    pub priority: SteeringPriority,
}

impl Default for Brake {
    fn default() -> Self {
        Self::new()
    }
}

impl Brake {
    /// Stops.
    #[must_use]
    pub const fn new() -> Self {
        Self { weight: DEFAULT_WEIGHT, priority: GOAL }
    }

    /// The same with another weight.
    #[must_use]
    pub const fn with_weight(mut self, weight: f32) -> Self {
        self.weight = weight;
        self
    }
}

impl SteeringBehavior for Brake {
    const NAME: &'static str = "Brake";

    fn fault(&self) -> Option<Fault> {
        check::weight(self.weight)
    }
}

pub(crate) fn steer(steering: Steering, mut agents: Query<(Steerer, &Brake)>) {
    steering.for_each(&mut agents, |(mut me, behavior)| {
        if steering.view(&me).is_some() {
            me.accumulator.rest(Brake::ID, behavior.weight, behavior.priority);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plane::SteeringPlane, testing::*};

    #[test]
    fn stops_exactly_and_stays_while_others_coast() {
        for plane in SteeringPlane::ALL {
            let mut sim = Sim::new(60.0).with_plane(plane);
            let braking = sim.moving(Vec3::ZERO, Vec3::X * 5.0, Brake::new());
            let coasting = sim.moving(Vec3::ONE * 20.0, Vec3::X * 5.0, ());
            sim.seconds(2.0);
            let place = sim.position(braking);
            assert_eq!(sim.velocity(braking), Vec3::ZERO, "{plane:?}");
            assert!((0.5..2.5).contains(&place.x), "{plane:?}: stops within its braking distance, {place}");
            sim.ticks(100);
            assert_eq!(sim.position(braking), place, "{plane:?}: the position keeps its bits");
            assert_eq!(sim.velocity(coasting), Vec3::X * 5.0, "{plane:?}");
        }
    }

    #[test]
    fn weights_that_make_no_sense_are_named_and_ignored() {
        let mut sim = Sim::new(60.0);
        let agent = sim.moving(Vec3::ZERO, Vec3::X * 5.0, Brake::new().with_weight(f32::NAN));
        let other = sim.moving(Vec3::ZERO, Vec3::X * 5.0, Brake::new());
        sim.ticks(10);
        assert_eq!(sim.velocity(agent), Vec3::X * 5.0);
        assert!(sim.velocity(other).x < 5.0);
        assert!(sim.warnings().contains(&"Brake.weight".to_owned()));
    }
}
