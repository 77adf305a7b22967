//! Pursue: at full speed to where the target will be.

use bevy::prelude::*;

use crate::{
    accumulator::BehaviorId,
    agent::{AgentView, SteeringAgent},
    behavior::{DEFAULT_WEIGHT, Fault, GOAL, Steerer, Steering, SteeringBehavior, check},
    behaviors::seek::seek,
    priority::SteeringPriority,
    target::{SteeringTarget, TargetMemory, TargetView, Targets},
};

/// Heads for the point where the target will be: [`Seek`](crate::Seek) of
/// `target + target_velocity × min(distance / max_speed, max_prediction)`.
///
/// The target's velocity is its [`SteeringVelocity`](crate::SteeringVelocity), or measured from its motion if it has none.
/// A target faster than the agent is led by `max_prediction` at most, so the heading stays finite.
///
/// Source: C. Reynolds, *Steering Behaviors for Autonomous Characters*, 1999.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(SteeringAgent, TargetMemory<Pursue>)]
#[type_path = "bevy_steer"]
pub struct Pursue {
    /// What to pursue.
    #[entities]
    pub target: SteeringTarget,
    /// Longest look into the future in seconds; 3 by default.
    #[reflect(@0.0_f32..=10.0_f32)]
    pub max_prediction: f32,
    /// Factor on its force; 1 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub weight: f32,
    /// Level; [`GOAL`](SteeringPriority::GOAL) by default.
    pub priority: SteeringPriority,
}

/// Seconds that pursuers and evaders look ahead at most, by default.
pub(super) const MAX_PREDICTION: f32 = 3.0;

impl Default for Pursue {
    fn default() -> Self {
        Self {
            target: SteeringTarget::default(),
            max_prediction: MAX_PREDICTION,
            weight: DEFAULT_WEIGHT,
            priority: GOAL,
        }
    }
}

impl Pursue {
    /// Pursues an entity, the nearest of a group, or a point.
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

    /// The same with another weight.
    #[must_use]
    pub const fn with_weight(mut self, weight: f32) -> Self {
        self.weight = weight;
        self
    }
}

impl SteeringBehavior for Pursue {
    const NAME: &'static str = "Pursue";

    fn fault(&self) -> Option<Fault> {
        check::weight(self.weight)
            .or_else(|| self.target.fault())
            .or_else(|| max_prediction_fault(self.max_prediction))
    }
}

/// What is wrong with a longest prediction, if anything.
pub(super) fn max_prediction_fault(seconds: f32) -> Option<Fault> {
    check::not_negative("max_prediction", seconds, "must be finite and not negative; nothing is predicted")
}

/// Seconds to look ahead for something at `distance`: `min(distance / max_speed, max_prediction)`; for an agent that cannot
/// move `max_prediction`.
#[inline]
#[must_use]
pub fn prediction_time(view: &AgentView, distance: f32, max_prediction: f32) -> f32 {
    // 0 / 0 is NaN, and `min` takes the other.
    (distance / view.max_speed).min(check::or_zero(max_prediction))
}

/// Where the target will be when the agent could be there: `target + target_velocity × prediction_time`.
#[inline]
#[must_use]
pub fn predict(view: &AgentView, target: &TargetView, max_prediction: f32) -> Vec3 {
    let distance = view.position.distance(target.position);
    target.position + target.velocity * prediction_time(view, distance, max_prediction)
}

pub(crate) fn steer(
    steering: Steering,
    targets: Targets,
    mut agents: Query<(Steerer, &Pursue, &mut TargetMemory<Pursue>)>,
) {
    const ID: BehaviorId = Pursue::ID;
    steering.for_each(&mut agents, |(mut me, behavior, mut memory)| {
        if let Some(view) = steering.view(&me)
            && let Some(target) = targets.resolve(&behavior.target, &mut memory, &me, &view, &steering)
        {
            let predicted = predict(&view, &target, behavior.max_prediction);
            me.accumulator.set_goal(ID, behavior.priority, predicted, 0.0);
            let desired = seek(&view, predicted).unwrap_or(Vec3::ZERO);
            // On the spot an agent at rest has nothing to do.
            if desired != view.velocity || desired != Vec3::ZERO {
                me.accumulator.desire(ID, desired, behavior.weight, behavior.priority);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{agent::SteeringVelocity, events::TargetLost, plane::SteeringPlane, testing::*};

    #[test]
    fn reference_trace() {
        let mut sim = Sim::new(5.0).with_agent_defaults(6.0, 15.0, 1.0);
        // It has no behaviour, so it coasts: 0.6 per step.
        let hare = sim.moving(Vec3::X * 12.0, Vec3::Y * 3.0, ());
        let agent = sim.agent(Vec3::ZERO, Pursue::new(hare));
        sim.follow("pursue.csv", agent, |row| (row.vec("px", "py"), None));
    }

    #[test]
    fn reference_points_are_predicted() {
        let agent = SteeringAgent::new(6.0, 15.0).with_reaction_time(1.0);
        for row in read_reference("pursue.csv") {
            let view = AgentView::new(&agent, row.vec("px", "py"), Vec3::ZERO, SteeringPlane::Xy, 0.2);
            let target = TargetView {
                position: row.vec("target_x", "target_y"),
                velocity: Vec3::Y * 3.0,
                rotation: Quat::IDENTITY,
                entity: None,
            };
            let predicted = predict(&view, &target, MAX_PREDICTION);
            assert!(predicted.distance(row.vec("predicted_x", "predicted_y")) < 1e-3, "{predicted}");
        }
    }

    #[test]
    fn a_velocity_that_nobody_tells_is_measured() {
        let mut sim = Sim::new(60.0);
        let told = sim.thing(Vec3::X * 12.0, SteeringVelocity(Vec3::Y * 3.0));
        let seen = sim.thing(Vec3::X * 12.0, ());
        let a = sim.agent(Vec3::ZERO, Pursue::new(told));
        let b = sim.agent(Vec3::ZERO, Pursue::new(seen));
        for _ in 0..60 {
            sim.tick();
            for thing in [told, seen] {
                sim.get_mut::<Transform>(thing).translation.y += 3.0 / 60.0;
            }
        }
        let apart = sim.position(a).distance(sim.position(b));
        // One tick of force in another direction, forgotten within the reaction time: 0.25 m/s · 0.25 s at most.
        assert!(apart < 0.0625, "only the first tick knows nothing of the motion: {apart}");
    }

    #[test]
    fn case_53_a_faster_target_is_led_by_the_longest_prediction_at_most() {
        for plane in SteeringPlane::ALL {
            let mut sim = Sim::new(60.0).with_plane(plane);
            let hare = sim.thing(plane.project(Vec3::splat(300.0)), SteeringVelocity(Vec3::X * 40.0));
            let hound = sim.agent(Vec3::ZERO, Pursue::new(hare));
            let stone = sim.agent(Vec3::ZERO, (Pursue::new(hare), SteeringAgent::new(0.0, 15.0)));
            sim.tick();
            let view = test_view(Vec3::ZERO, Vec3::ZERO);
            assert_eq!(prediction_time(&view, 300.0, 3.0), 3.0);
            let expected = plane.project(Vec3::new(420.0, 300.0, 300.0)).normalize();
            assert!(sim.velocity(hound).normalize().distance(expected) < 1e-3, "{plane:?}");
            sim.ticks(60);
            assert!(sim.velocity(hound).is_finite() && sim.velocity(hound).length() > 4.0);
            assert_eq!(sim.position(stone), Vec3::ZERO, "{plane:?}: max_speed 0 stays and stays finite");
        }
    }

    #[test]
    fn case_53_a_despawned_target_is_told_once_and_pulls_no_more() {
        let mut sim = Sim::new(60.0);
        sim.count_events::<TargetLost>();
        let [hare, other] = [Vec3::X * 9.0, Vec3::Y * 9.0].map(|at| sim.thing(at, ()));
        let hound = sim.agent(Vec3::ZERO, Pursue::new(hare));
        let second = sim.agent(Vec3::X, Pursue::new(other));
        sim.ticks(30);
        sim.app.world_mut().despawn(hare);
        sim.ticks(30);
        assert_eq!(sim.force(hound), Vec3::ZERO);
        assert_eq!(sim.count::<TargetLost>(hound), 1);
        assert_eq!(sim.count::<TargetLost>(second), 0);
        assert!(sim.velocity(second).length() > 1.0);
    }
}
