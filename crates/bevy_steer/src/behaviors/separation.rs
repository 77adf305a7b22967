//! Separation: distance from neighbours.

use bevy::prelude::*;

use crate::{
    agent::{AgentView, SteeringAgent},
    behavior::{Fault, Steerer, Steering, SteeringBehavior, check},
    combine::truncate,
    neighbors::Neighbor,
    priority::SteeringPriority,
    rng::{SteeringId, direction_from_bits, mix},
};

/// Keeps distance from all agents nearby, of whatever group: for crowds that share a goal.
///
/// The push is `Σ fade(d) · (p − pⱼ)/d² / reaction_time` over neighbours within `radius`, at most `max_force`: direction
/// times 1/d from each. Each neighbour fades in over the outer 30 % of the radius, so that nothing jumps when it comes
/// within reach. Agents on one spot part in opposite directions that their ids decide.
///
/// Source: C. Reynolds, *Flocks, Herds, and Schools*, 1987, and *Steering Behaviors for Autonomous Characters*, 1999.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(SteeringAgent)]
#[type_path = "bevy_steer"]
pub struct Separation {
    /// How far neighbours matter, in units between centres; 1.2 by default.
    #[reflect(@0.0_f32..=10.0_f32)]
    pub radius: f32,
    /// Factor on the push; 2.5 by default.
    #[reflect(@0.0_f32..=10.0_f32)]
    pub weight: f32,
    /// Level; [`SPACING`](SteeringPriority::SPACING) by default.
    pub priority: SteeringPriority,
}

impl Default for Separation {
    fn default() -> Self {
        Self { radius: 1.2, weight: 2.5, priority: SteeringPriority::SPACING }
    }
}

impl Separation {
    /// Separation within `radius` units.
    #[must_use]
    pub fn new(radius: f32) -> Self {
        Self { radius, ..default() }
    }

    /// The same with another weight.
    #[must_use]
    pub const fn with_weight(mut self, weight: f32) -> Self {
        self.weight = weight;
        self
    }
}

impl SteeringBehavior for Separation {
    const NAME: &'static str = "Separation";

    fn fault(&self) -> Option<Fault> {
        check::weight(self.weight).or_else(|| {
            check::not_negative(
                "radius",
                self.radius,
                "must be finite and not negative; no neighbour is seen",
            )
        })
    }
}

/// Share of a radius over which a neighbour fades in.
const FADE: f32 = 0.3;

/// How much a neighbour at `distance` counts within `radius`: 1 inside, falling to 0 over the outer 30 % (smoothstep).
#[inline]
#[must_use]
pub fn fade(distance: f32, radius: f32) -> f32 {
    if radius <= 0.0 {
        return 0.0;
    }
    let x = ((radius - distance) / (FADE * radius)).clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// The push away from one neighbour at `offset` (from the agent to it): `−offset / d²`.
///
/// On one spot the ids decide the direction, opposite for the two. Nearer than a thousandth of `radius` it grows no more.
#[inline]
#[must_use]
pub fn push_from(
    offset: Vec3,
    distance_squared: f32,
    radius: f32,
    plane: crate::SteeringPlane,
    me: SteeringId,
    other: SteeringId,
) -> Vec3 {
    let least = (radius * 1e-3).max(1e-6);
    if distance_squared > least * least {
        return offset / -distance_squared;
    }
    let direction = (-offset).try_normalize().unwrap_or_else(|| {
        let pair = mix(me.0.min(other.0)) ^ me.0.max(other.0);
        let direction = direction_from_bits(pair, plane);
        if me < other { direction } else { -direction }
    });
    direction / least
}

/// What one neighbour within `radius` adds to the sum: [`push_from`] it, by how much it counts ([`fade`]).
#[inline]
#[must_use]
pub fn separate(view: &AgentView, me: SteeringId, radius: f32, neighbor: &Neighbor) -> Vec3 {
    let push = push_from(neighbor.offset, neighbor.distance_squared, radius, view.plane, me, neighbor.id);
    push * fade(neighbor.distance_squared.sqrt(), radius)
}

pub(crate) fn steer(steering: Steering, mut agents: Query<(Steerer, &Separation)>) {
    steering.for_each(&mut agents, |(mut me, behavior)| {
        if let Some(view) = steering.view(&me) {
            let radius = check::or_zero(behavior.radius);
            let (mut sum, id) = (Vec3::ZERO, *me.id);
            steering.grid().for_each_neighbor(&view, me.entity, radius, |n| {
                sum += separate(&view, id, radius, &n);
            });
            let force = truncate(sum / view.relaxation(), view.max_force);
            if force != Vec3::ZERO {
                me.accumulator.push(Separation::ID, force, behavior.weight, behavior.priority);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrive, BehaviorId, SteeringAccumulator, SteeringSystems, testing::*};

    fn pair_force(distance: f32) -> Vec3 {
        let mut sim = Sim::new(60.0).with_agent_defaults(5.0, 15.0, 1.0);
        let a = sim.agent(Vec3::ZERO, Separation::default().with_weight(1.0));
        sim.agent(Vec3::X * distance, Separation::default());
        sim.tick();
        sim.force(a)
    }

    #[test]
    fn two_agents_half_a_unit_apart_push_with_two() {
        assert!(pair_force(0.5).distance(Vec3::X * -2.0) < 1e-5, "{}", pair_force(0.5));
    }

    #[test]
    fn case_01_agents_on_one_point_part_the_same_way_every_time() {
        let run = || {
            let mut sim = Sim::new(60.0);
            let [a, b] = [1, 2].map(|id| sim.agent(Vec3::ZERO, (Separation::new(1.0), SteeringId(id))));
            sim.tick();
            let (fa, fb) = (sim.force(a), sim.force(b));
            assert!(fa.is_finite() && fa.length() > 0.0 && fa == -fb, "opposite: {fa} {fb}");
            sim.seconds(1.0);
            assert!(sim.position(a).distance(sim.position(b)) > 0.5);
            sim.hash()
        };
        assert_eq!(run(), run());
    }

    #[test]
    fn case_35_a_heap_parts_and_stays_near() {
        let mut sim = Sim::new(60.0);
        let agents: Vec<_> = (0..40).map(|_| sim.agent(Vec3::ZERO, Separation::default())).collect();
        let stop = |mut q: Query<&mut SteeringAccumulator>| {
            for mut accumulator in &mut q {
                accumulator.rest(BehaviorId::new("Stop"), 1.0, SteeringPriority::GOAL);
            }
        };
        sim.app.add_systems(FixedUpdate, stop.in_set(SteeringSystems::Steer));
        sim.seconds(5.0);
        for (i, &a) in agents.iter().enumerate() {
            assert!(sim.position(a).length() < 10.0, "strayed to {}", sim.position(a));
            for &b in &agents[..i] {
                let distance = sim.position(a).distance(sim.position(b));
                assert!(distance > 0.25, "{distance}");
            }
        }
    }

    #[test]
    fn case_36_a_hundred_settle_round_one_point() {
        let mut sim = Sim::new(60.0);
        sim.count_events::<crate::Arrived>();
        let agents: Vec<_> = (0..100)
            .map(|i| {
                let (sin, cos) = bevy::math::ops::sin_cos(i as f32 * 2.4);
                let start = Vec3::new(cos, sin, 0.0) * (15.0 + i as f32 * 0.1);
                sim.agent(start, (Arrive::new(Vec3::ZERO), Separation::default()))
            })
            .collect();
        sim.seconds(40.0);
        for (i, &a) in agents.iter().enumerate() {
            assert!(sim.velocity(a).length() < 0.02, "{i} moves at {}", sim.velocity(a));
            assert_eq!(sim.count::<crate::Arrived>(a), 1, "{i}: one event");
            for &b in &agents[..i] {
                let distance = sim.position(a).distance(sim.position(b));
                assert!(distance >= 0.8, "{distance}");
            }
        }
    }

    #[test]
    fn case_41_separation_falls_with_distance_and_is_bounded() {
        assert!(pair_force(0.001).length() <= 15.0 + 1e-3);
        let forces: Vec<f32> = (1..=130).map(|i| pair_force(i as f32 * 0.01).length()).collect();
        assert!(forces.windows(2).all(|w| w[1] <= w[0] + 1e-5), "{forces:?}");
        assert_eq!(forces.last(), Some(&0.0));
    }

    fn crowd_speed(hz: f64, weight: f32) -> f32 {
        let mut sim = Sim::new(hz);
        let agents: Vec<_> = (0..30)
            .map(|i| {
                let start = Vec3::new((i % 6) as f32 * 1.5 - 20.0, (i / 6) as f32 * 1.5, 0.0);
                sim.agent(start, (Arrive::new(Vec3::ZERO), Separation::default().with_weight(weight)))
            })
            .collect();
        sim.seconds(20.0);
        agents.iter().map(|&a| sim.velocity(a).length()).sum::<f32>() / 30.0
    }

    #[test]
    fn case_47_a_crowd_calms_at_any_rate_and_weight() {
        for (hz, weight) in [(20.0, 2.5), (60.0, 2.5), (20.0, 25.0), (60.0, 25.0)] {
            let speed = crowd_speed(hz, weight);
            assert!(speed < 0.02, "{hz} Hz, weight {weight}: mean speed {speed}");
        }
    }

    #[test]
    fn case_48_idle_agents_stay_when_one_walks_through() {
        let mut sim = Sim::new(60.0);
        let starts: Vec<Vec3> =
            (0..10).map(|i| Vec3::new((i % 5) as f32, (i / 5) as f32 - 0.5, 0.0) * 1.3).collect();
        let idle: Vec<_> = starts
            .iter()
            .map(|&p| sim.agent(p, (Separation::default().with_weight(0.0), Arrive::new(p))))
            .collect();
        let walker = sim.agent(Vec3::X * -6.0, (Arrive::new(Vec3::X * 12.0), Separation::default()));
        sim.seconds(15.0);
        for (&agent, &start) in idle.iter().zip(&starts) {
            assert_eq!(sim.position(agent), start, "an idle agent moved");
        }
        assert!(sim.position(walker).distance(Vec3::X * 12.0) < 0.06, "{}", sim.position(walker));
    }
}
