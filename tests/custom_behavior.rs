//! A behaviour from outside the crate is a behaviour like any other.

use bevy::prelude::*;
use bevy_steer::prelude::*;
use bevy_steer::{Fault, SteerEvery, SteeringBehaviors, check};

use crate::common::sim::Sim;

/// Goes round a point at a distance.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component, Default)]
#[require(SteeringAgent)]
struct Orbit {
    center: Vec3,
    radius: f32,
    weight: f32,
}

impl Default for Orbit {
    fn default() -> Self {
        Self { center: Vec3::ZERO, radius: 5.0, weight: 1.0 }
    }
}

impl SteeringBehavior for Orbit {
    const NAME: &'static str = "Orbit";

    fn fault(&self) -> Option<Fault> {
        check::weight(self.weight)
    }
}

fn orbit(steering: Steering, mut agents: Query<(Steerer, &Orbit)>) {
    steering.for_each(&mut agents, |(mut me, orbit)| {
        if let Some(view) = steering.view(&me) {
            let outward = view.plane.project(view.position - orbit.center);
            let direction = outward.normalize_or(Vec3::X);
            let inward = direction * (orbit.radius - outward.length());
            let desired = (view.plane.left_of(direction) * 3.0 + inward).clamp_length_max(view.max_speed);
            me.accumulator.desire(Orbit::ID, desired, orbit.weight, SteeringPriority::GOAL);
        }
    });
}

fn sim() -> Sim {
    let mut sim = Sim::new(60.0);
    sim.app.add_steering_behavior::<Orbit, _>(SteeringSystems::Steer, orbit);
    sim
}

#[test]
fn it_works_in_every_combine_mode_and_plane() {
    let modes = [SteeringCombine::WeightedSum, SteeringCombine::FirstNonZero, SteeringCombine::Budget];
    for plane in SteeringPlane::ALL {
        let mut sim = sim().with_plane(plane);
        let agents = modes.map(|mode| {
            let alone = sim.agent(Vec3::X * 8.0, (Orbit::default(), mode));
            let among = sim.agent(Vec3::X * -2.0, (Orbit::default(), mode, Wander::new().with_weight(0.0)));
            let rarely = sim.agent(Vec3::X * 6.0, (Orbit::default(), mode, SteerEvery::new(0.05)));
            [alone, among, rarely]
        });
        sim.seconds(6.0);
        for (mode, agents) in modes.iter().zip(agents) {
            for agent in agents {
                let (p, v) = (sim.position(agent), sim.velocity(agent));
                // Turning lags by the reaction time, so the ring is a little wider.
                assert!((4.0..6.5).contains(&p.length()), "{plane:?} {mode:?}: at {p}");
                assert!((v.length() - 3.0).abs() < 0.5, "{plane:?} {mode:?}: moves on at {v}");
            }
        }
    }
}

#[test]
fn it_is_listed_warned_about_and_forgotten_like_any_other() {
    let mut sim = sim();
    let all = sim.app.world().resource::<SteeringBehaviors>().sorted();
    assert!(all.contains(&(Orbit::ID, "Orbit")) && all.len() == 13, "{all:?}");
    assert!(all.is_sorted_by_key(|&(_, name)| name), "{all:?}");
    assert_eq!(sim.app.world().resource::<SteeringBehaviors>().name(Orbit::ID), Some("Orbit"));
    let registry = sim.app.world().resource::<AppTypeRegistry>().clone();
    let known = registry.read().get_with_short_type_path("Orbit").is_some();
    assert!(known, "panels and scenes find its fields");

    let good = sim.agent(Vec3::X * 8.0, (Orbit::default(), SteerEvery::new(0.5)));
    let bad = sim.agent(Vec3::X * 20.0, Orbit { weight: -1.0, ..default() });
    sim.ticks(3);
    assert_eq!(sim.warnings(), ["Orbit.weight"], "named once");
    assert_eq!(sim.velocity(bad), Vec3::ZERO, "a weight that makes no sense is no weight");
    assert!(sim.velocity(good).length() > 0.1);
    assert!(!sim.get::<SteeringAccumulator>(good).contributions().is_empty(), "held");
    sim.app.world_mut().entity_mut(good).remove::<Orbit>();
    sim.tick();
    assert_eq!(sim.force(good), Vec3::ZERO, "a removed behaviour contributes nothing from that tick on");
}
