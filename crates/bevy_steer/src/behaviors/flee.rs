//! Flee: at full speed away from a threat.

use bevy::prelude::*;

use crate::{
    accumulator::BehaviorId,
    agent::{AgentView, SteeringAgent},
    behavior::{DEFAULT_WEIGHT, Fault, GOAL, Steerer, Steering, SteeringBehavior, check},
    priority::SteeringPriority,
    rng::{SteeringId, direction_from_bits},
    target::{SteeringTarget, TargetMemory, Targets},
};

/// Runs from a threat at full speed: `desired = direction from threat × max_speed`, the mirror image of
/// [`Seek`](crate::Seek).
///
/// With a `panic_radius` it is silent beyond, and over the outer 30 % of the radius both the desired speed and the weight
/// fade to 0 ([`panic_fade`]), so that nothing jumps at the edge. On top of the threat it keeps its heading; at rest there
/// it takes a direction fixed by its [`SteeringId`].
///
/// Source: C. Reynolds, *Steering Behaviors for Autonomous Characters*, 1999.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(SteeringAgent, TargetMemory<Flee>)]
#[type_path = "bevy_steer"]
pub struct Flee {
    /// What to run from.
    #[entities]
    pub target: SteeringTarget,
    /// Distance in units beyond which the threat does not matter; none by default.
    #[reflect(@0.0_f32..=50.0_f32)]
    pub panic_radius: Option<f32>,
    /// Factor on its force; 1 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub weight: f32,
    /// Level; [`GOAL`](SteeringPriority::GOAL) by default.
    pub priority: SteeringPriority,
}

impl Default for Flee {
    fn default() -> Self {
        Self { target: SteeringTarget::default(), panic_radius: None, weight: DEFAULT_WEIGHT, priority: GOAL }
    }
}

impl Flee {
    /// Runs from a point, an entity or the nearest of a group, however far.
    #[must_use]
    pub fn new(target: impl Into<SteeringTarget>) -> Self {
        Self { target: target.into(), ..default() }
    }

    /// The same, silent beyond a distance in units.
    #[must_use]
    pub const fn with_panic_radius(mut self, radius: f32) -> Self {
        self.panic_radius = Some(radius);
        self
    }

    /// The same with another weight.
    #[must_use]
    pub const fn with_weight(mut self, weight: f32) -> Self {
        self.weight = weight;
        self
    }
}

impl SteeringBehavior for Flee {
    const NAME: &'static str = "Flee";

    fn fault(&self) -> Option<Fault> {
        check::weight(self.weight)
            .or_else(|| self.target.fault())
            .or_else(|| panic_radius_fault(self.panic_radius))
    }
}

/// What is wrong with a panic radius, if anything.
pub(super) fn panic_radius_fault(radius: Option<f32>) -> Option<Fault> {
    let radius = radius.unwrap_or(0.0);
    check::not_negative("panic_radius", radius, "must be finite and not negative; it runs however far")
}

/// How much a threat at `distance` matters, from 1 to 0: 1 up to 70 % of the panic radius, then falling by smoothstep to 0
/// at the radius. Without a radius, or with one that makes no sense, it is always 1.
#[inline]
#[must_use]
pub fn panic_fade(panic_radius: Option<f32>, distance: f32) -> f32 {
    match panic_radius {
        Some(radius) if radius.is_finite() && radius >= 0.0 => {
            if distance >= radius {
                return 0.0;
            }
            let x = ((radius - distance) / (0.3 * radius)).min(1.0);
            x * x * (3.0 - 2.0 * x)
        }
        Some(_) | None => 1.0,
    }
}

/// The velocity that takes the agent away from `threat` at full speed. On top of it, it goes on as it moves; at rest, in
/// a direction fixed by `id`.
#[inline]
#[must_use]
pub fn flee(view: &AgentView, threat: Vec3, id: SteeringId) -> Vec3 {
    let direction = (view.position - threat)
        .try_normalize()
        .or_else(|| view.velocity.try_normalize())
        .unwrap_or_else(|| direction_from_bits(id.0, view.plane));
    direction * view.max_speed
}

pub(crate) fn steer(
    steering: Steering,
    targets: Targets,
    mut agents: Query<(Steerer, &Flee, &mut TargetMemory<Flee>)>,
) {
    const ID: BehaviorId = Flee::ID;
    steering.for_each(&mut agents, |(mut me, behavior, mut memory)| {
        if let Some(view) = steering.view(&me)
            && let Some(threat) = targets.resolve(&behavior.target, &mut memory, &me, &view, &steering)
        {
            let fade = panic_fade(behavior.panic_radius, view.position.distance(threat.position));
            let desired = flee(&view, threat.position, *me.id) * fade;
            me.accumulator.desire(ID, desired, behavior.weight * fade, behavior.priority);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plane::SteeringPlane, testing::*};

    #[test]
    fn reference_trace() {
        let mut sim = Sim::new(5.0).with_agent_defaults(4.0, 8.0, 1.0);
        let agent = sim.agent(Vec3::X * 2.0, Flee::new(Vec3::ZERO));
        sim.agent(Vec3::Y * 50.0, Flee::new(Vec3::Y * 50.0));
        sim.follow("flee.csv", agent, |row| (row.vec("px", ""), Some(row.vec("vx", ""))));
    }

    #[test]
    fn case_51_the_wanted_speed_never_rises_with_distance_and_nothing_jumps_at_the_panic_radius() {
        let mut last = 1.0;
        for i in 0..=4000 {
            let fade = panic_fade(Some(10.0), i as f32 * 0.004);
            assert!(fade <= last, "rises at {i}");
            assert!(last - fade < 0.003, "jumps at {i}: {last} to {fade}");
            last = fade;
        }
        assert_eq!((panic_fade(Some(10.0), 7.0), last), (1.0, 0.0));
    }

    #[test]
    fn beyond_the_panic_radius_it_neither_speeds_up_nor_brakes() {
        let mut sim = Sim::new(60.0);
        let flee = Flee::new(Vec3::ZERO).with_panic_radius(4.0);
        let beyond = sim.moving(Vec3::X * 4.1, Vec3::Y * 2.0, flee);
        let just_inside = sim.moving(Vec3::X * 3.999, Vec3::Y * 0.01, flee);
        let near = sim.agent(Vec3::X, flee);
        sim.tick();
        assert_eq!(sim.force(beyond), Vec3::ZERO);
        assert!(sim.force(just_inside).length() < 0.01 * 15.0, "{}", sim.force(just_inside));
        assert!(sim.force(near).x > 10.0);
    }

    #[test]
    fn on_top_of_the_threat_it_runs_all_the_same() {
        for plane in SteeringPlane::ALL {
            let mut sim = Sim::new(60.0).with_plane(plane);
            let still = sim.agent(Vec3::ZERO, (Flee::new(Vec3::ZERO), SteeringId(7)));
            let moving = sim.moving(Vec3::X, Vec3::NEG_X, Flee::new(Vec3::X));
            sim.tick();
            assert!(sim.force(still).is_finite() && sim.force(still).length() > 1.0, "{plane:?}");
            assert_eq!(sim.force(still), plane.project(sim.force(still)), "{plane:?}");
            assert!(sim.force(moving).x < -1.0, "{plane:?}: it goes on as it moves");
        }
    }

    #[test]
    fn bad_panic_radii_are_named_and_harmless() {
        let mut sim = Sim::new(60.0);
        for (i, radius) in [f32::NAN, -1.0, f32::INFINITY].into_iter().enumerate() {
            let agent = sim.agent(Vec3::X, Flee::new(Vec3::ZERO).with_panic_radius(radius));
            sim.tick();
            assert!(sim.force(agent).is_finite(), "{radius}");
            assert_eq!(sim.warnings(), vec!["Flee.panic_radius"; i + 1], "{radius}");
        }
    }
}
