//! Evade: away from where the threat will be.

use bevy::prelude::*;

use crate::{
    accumulator::BehaviorId,
    agent::{AgentView, SteeringAgent},
    behavior::{DEFAULT_WEIGHT, Fault, GOAL, Steerer, Steering, SteeringBehavior, check},
    behaviors::{
        flee::{flee, panic_fade, panic_radius_fault},
        pursue::{MAX_PREDICTION, max_prediction_fault, prediction_time},
    },
    priority::SteeringPriority,
    rng::SteeringId,
    target::{SteeringTarget, TargetMemory, TargetView, Targets},
};

/// Runs from the point where the threat will be: [`Flee`](crate::Flee) from
/// `threat + threat_velocity × min(distance / max_speed, max_prediction)`.
///
/// A threat that comes faster than the agent runs would be predicted behind the agent's back, and fleeing from there would
/// lead into its arms. So the look ahead ends where the threat passes nearest, and the agent gives way sideways.
///
/// With a `panic_radius`, measured to where the threat is now, it is silent beyond and fades as [`Flee`](crate::Flee) does.
///
/// Source: C. Reynolds, *Steering Behaviors for Autonomous Characters*, 1999; the end of the look ahead is ours.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(SteeringAgent, TargetMemory<Evade>)]
#[type_path = "bevy_steer"]
pub struct Evade {
    /// What to run from.
    #[entities]
    pub target: SteeringTarget,
    /// Longest look into the future in seconds; 3 by default.
    #[reflect(@0.0_f32..=10.0_f32)]
    pub max_prediction: f32,
    /// Distance in units beyond which the threat does not matter; none by default.
    #[reflect(@0.0_f32..=50.0_f32)]
    pub panic_radius: Option<f32>,
    /// Factor on its force; 1 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub weight: f32,
    /// Level; [`GOAL`](SteeringPriority::GOAL) by default.
    pub priority: SteeringPriority,
}

impl Default for Evade {
    fn default() -> Self {
        Self {
            target: SteeringTarget::default(),
            max_prediction: MAX_PREDICTION,
            panic_radius: None,
            weight: DEFAULT_WEIGHT,
            priority: GOAL,
        }
    }
}

impl Evade {
    /// Runs from an entity, the nearest of a group, or a point, however far.
    #[must_use]
    pub fn new(target: impl Into<SteeringTarget>) -> Self {
        Self { target: target.into(), ..default() }
    }

    /// The same with another longest prediction in seconds.
    #[must_use]
    pub const fn with_max_prediction(mut self, seconds: f32) -> Self {
        self.max_prediction = seconds;
        self
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

impl SteeringBehavior for Evade {
    const NAME: &'static str = "Evade";

    fn fault(&self) -> Option<Fault> {
        check::weight(self.weight)
            .or_else(|| self.target.fault())
            .or_else(|| max_prediction_fault(self.max_prediction))
            .or_else(|| panic_radius_fault(self.panic_radius))
    }
}

/// The velocity that takes the agent away from where `threat` will be, at full speed. Where the threat comes straight at
/// the agent, that is straight away from it.
#[must_use]
pub fn evade(view: &AgentView, threat: &TargetView, max_prediction: f32, id: SteeringId) -> Vec3 {
    let offset = view.position - threat.position;
    let mut ahead = prediction_time(view, offset.length(), max_prediction);
    let nearest = offset.dot(threat.velocity) / threat.velocity.length_squared();
    if nearest > 0.0 {
        ahead = ahead.min(nearest);
    }
    let predicted = threat.position + threat.velocity * ahead;
    // What is left of the offset on a collision course is rounding.
    let hits = view.position.distance_squared(predicted) <= 1e-6 * offset.length_squared();
    flee(view, if hits { threat.position } else { predicted }, id)
}

pub(crate) fn steer(
    steering: Steering,
    targets: Targets,
    mut agents: Query<(Steerer, &Evade, &mut TargetMemory<Evade>)>,
) {
    const ID: BehaviorId = Evade::ID;
    steering.for_each(&mut agents, |(mut me, behavior, mut memory)| {
        if let Some(view) = steering.view(&me)
            && let Some(threat) = targets.resolve(&behavior.target, &mut memory, &me, &view, &steering)
        {
            let fade = panic_fade(behavior.panic_radius, view.position.distance(threat.position));
            let desired = evade(&view, &threat, behavior.max_prediction, *me.id) * fade;
            me.accumulator.desire(ID, desired, behavior.weight * fade, behavior.priority);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::SteeringVelocity, events::TargetLost, plane::SteeringPlane, sensing::SteerEvery, testing::*,
    };

    fn threat(position: Vec3, velocity: Vec3) -> TargetView {
        TargetView { position, velocity, rotation: Quat::IDENTITY, entity: None }
    }

    #[test]
    fn it_runs_from_the_predicted_point() {
        let view = test_view(Vec3::ZERO, Vec3::ZERO);
        // 10 away at max_speed 5: two seconds ahead.
        let desired = evade(&view, &threat(Vec3::X * 10.0, Vec3::Y * 2.0), 3.0, SteeringId(1));
        assert!(desired.distance(Vec3::new(-10.0, -4.0, 0.0).normalize() * 5.0) < 1e-5, "{desired}");
    }

    #[test]
    fn a_faster_threat_is_never_met_half_way() {
        let view = test_view(Vec3::ZERO, Vec3::ZERO);
        for i in 0..360 {
            let direction = Quat::from_rotation_z((i as f32).to_radians()) * Vec3::X;
            for speed in [1.0, 5.0, 20.0, 200.0] {
                let threat = threat(Vec3::X * 10.0, direction * speed);
                let desired = evade(&view, &threat, 3.0, SteeringId(1));
                assert!((desired.length() - 5.0).abs() < 1e-4, "{i} at {speed}: {desired}");
                assert!(desired.x <= 5e-3, "{i} at {speed}: runs towards the threat, {desired}");
            }
        }
    }

    #[test]
    fn case_50_a_rare_look_at_a_threat_that_stands_leads_straight_away() {
        let mut sim = Sim::new(60.0);
        let start = Vec3::new(3.0, 0.01, 0.0);
        let rare = sim.agent(start, (Evade::new(Vec3::ZERO), SteerEvery::new(0.1)));
        let often = sim.agent(start, Evade::new(Vec3::ZERO));
        sim.seconds(10.0);
        for agent in [rare, often] {
            let way = sim.position(agent) - start;
            let lateral = start.normalize().cross(way).length();
            assert!(way.length() > 40.0 && lateral < 0.02 * way.length(), "{lateral} aside of {way}");
        }
    }

    #[test]
    fn case_51_no_jump_at_the_panic_radius() {
        let mut sim = Sim::new(60.0);
        let evade = Evade::new(Vec3::ZERO).with_panic_radius(4.0);
        let agents: Vec<_> = (1..200).map(|i| sim.agent(Vec3::X * (i as f32 * 0.025), evade)).collect();
        sim.tick();
        let forces: Vec<f32> = agents.iter().map(|&a| sim.force(a).x).collect();
        for pair in forces.windows(2) {
            assert!(pair[1] <= pair[0], "the force rises with distance: {pair:?}");
            assert!(pair[0] - pair[1] < 0.05 * 20.0, "it jumps: {pair:?}");
        }
        assert_eq!((forces[0], forces[198]), (15.0, 0.0));
    }

    #[test]
    fn case_53_a_despawned_threat_is_told_once_and_agents_that_cannot_move_are_finite() {
        for plane in SteeringPlane::ALL {
            let mut sim = Sim::new(60.0).with_plane(plane);
            sim.count_events::<TargetLost>();
            let wolf = sim.thing(Vec3::X * 3.0, SteeringVelocity(Vec3::NEG_X));
            let sheep = sim.agent(Vec3::ZERO, Evade::new(wolf));
            let stone = sim.agent(Vec3::X, (Evade::new(wolf), SteeringAgent::new(0.0, 15.0)));
            sim.ticks(30);
            assert!(sim.velocity(sheep).x < -2.0, "{plane:?}");
            assert_eq!(sim.position(stone), Vec3::X, "{plane:?}");
            sim.app.world_mut().despawn(wolf);
            sim.ticks(30);
            assert_eq!(sim.force(sheep), Vec3::ZERO, "{plane:?}");
            assert_eq!(sim.count::<TargetLost>(sheep), 1, "{plane:?}");
        }
    }
}
