//! Values that make no sense, and ticks of no or of great length.

use std::time::Duration;

use bevy::prelude::*;
use bevy_steer::*;

use crate::common::{sim::Sim, tick_by};

/// A hundred agents that have to do with each other and with obstacles; number 50 is at `sick`.
fn hundred(sick: Option<Vec3>) -> (Sim, Vec<Entity>) {
    let mut sim = Sim::new(60.0);
    sim.thing(Vec3::new(8.0, 8.0, 0.0), Obstacle::Sphere { radius: 1.0 });
    let mut agents = Vec::new();
    for i in 0..100 {
        let place = Vec3::new((i % 10) as f32 * 1.7, (i / 10) as f32 * 1.9, 0.0);
        let place = if i == 50 { sick.unwrap_or(place) } else { place };
        if i != 50 || sick.is_some() {
            let extra = (SteeringId(i), SteeringGroup(i as u32 % 2), ObstacleFeeler::default());
            let agent = sim.agent(place, extra);
            // The sick one looks farther than the others, and must not change even the order of their sums by it.
            let reach = if i == 50 { 7.9 } else { 6.0 };
            let flock = FlockMember { cohesion_radius: reach, ..default() };
            let nearest = SteeringTarget::Nearest { group: 0, radius: 30.0 };
            match i % 4 {
                0 | 2 => sim.app.world_mut().entity_mut(agent).insert((flock, Separation::new(reach))),
                1 => sim.app.world_mut().entity_mut(agent).insert((Wander::new(), Separation::default())),
                _ => sim.app.world_mut().entity_mut(agent).insert(Pursue::new(nearest)),
            };
            if i != 50 {
                agents.push(agent);
            }
        }
    }
    (sim, agents)
}

#[test]
fn case_06_one_sick_agent_leaves_the_others_as_they_are() {
    for sick in [Vec3::NAN, Vec3::new(8.0, f32::NAN, 0.0), Vec3::splat(f32::NEG_INFINITY)] {
        let (mut healthy, agents) = hundred(None);
        let (mut mixed, same) = hundred(Some(sick));
        for tick in 0..600 {
            healthy.tick();
            mixed.tick();
            for (&a, &b) in agents.iter().zip(&same) {
                let states = |sim: &Sim, e| {
                    let Transform { translation, rotation, .. } = *sim.get::<Transform>(e);
                    let [v, f] = [sim.velocity(e), sim.force(e)].map(|v| v.to_array().map(f32::to_bits));
                    (translation.to_array().map(f32::to_bits), rotation.to_array().map(f32::to_bits), v, f)
                };
                assert_eq!(states(&healthy, a), states(&mixed, b), "{sick}: tick {tick}");
            }
        }
        assert_eq!(mixed.warnings(), ["Transform.translation"], "{sick}");
        assert!(healthy.warnings().is_empty());
    }
}

#[test]
fn case_06_limits_that_make_no_sense_leave_an_agent_still_and_are_told_once() {
    let bad = [f32::NAN, -1.0, f32::INFINITY, f32::NEG_INFINITY];
    for plane in SteeringPlane::ALL {
        for &value in &bad {
            let fine = SteeringAgent::default();
            let sick = [
                ("max_speed", SteeringAgent { max_speed: value, ..fine }),
                ("max_force", SteeringAgent { max_force: value, ..fine }),
                ("mass", SteeringAgent { mass: value, ..fine }),
                ("mass", SteeringAgent { mass: 0.0, ..fine }),
            ];
            let mut sim = Sim::new(60.0).with_plane(plane);
            let healthy = sim.agent(Vec3::ONE * -9.0, Seek::new(Vec3::ONE * 99.0));
            let place = |i: usize| Vec3::ONE * 3.0 * i as f32;
            let goal = Seek::new(Vec3::X * 99.0);
            let agents: Vec<Entity> =
                sick.iter().enumerate().map(|(i, (_, a))| sim.agent(place(i), (*a, goal))).collect();
            sim.ticks(60);
            for (i, &agent) in agents.iter().enumerate() {
                assert_eq!(sim.position(agent), place(i), "{plane:?} {value} {}: it stays", sick[i].0);
                assert!(sim.force(agent).is_finite());
            }
            let told: Vec<_> = sim.app.world().resource::<SteeringWarnings>().iter().cloned().collect();
            let expected: Vec<_> = agents.iter().zip(sick).map(|(&e, (field, _))| (e, field)).collect();
            let told: Vec<_> = told.iter().map(|w| (w.entity, w.field)).collect();
            assert_eq!(told, expected, "{plane:?} {value}: each is named once");
            assert!(sim.velocity(healthy).length() > 4.0);
        }
    }
    // 0 is a limit like any other.
    let mut sim = Sim::new(60.0);
    let zero = SteeringAgent { max_speed: 0.0, max_force: 0.0, reaction_time: 0.0, ..default() };
    let still = sim.agent(Vec3::X, (zero, Seek::new(Vec3::ZERO)));
    let weak = sim.moving(Vec3::Y, Vec3::X, (SteeringAgent::new(5.0, 0.0), Arrive::new(Vec3::ZERO)));
    sim.ticks(60);
    assert_eq!((sim.position(still), sim.velocity(weak)), (Vec3::X, Vec3::X));
    assert!(sim.warnings().is_empty(), "{:?}", sim.warnings());
}

#[test]
fn case_06_weights_that_make_no_sense_are_no_weights_and_are_told_once() {
    for value in [f32::NAN, -1.0, f32::INFINITY] {
        let mut sim = Sim::new(60.0);
        let other = sim.agent(Vec3::ONE * 5.0, Brake::new());
        let far = Vec3::X * 50.0;
        let path = PathFollow::new([far]).with_weight(value);
        let sick = [
            ("Seek", sim.agent(Vec3::Y * 10.0, Seek::new(far).with_weight(value))),
            ("Flee", sim.agent(Vec3::Y * 20.0, Flee::new(far).with_weight(value))),
            ("Arrive", sim.agent(Vec3::Y * 30.0, Arrive::new(far).with_weight(value))),
            ("Pursue", sim.agent(Vec3::Y * 40.0, Pursue::new(other).with_weight(value))),
            ("Evade", sim.agent(Vec3::Y * 50.0, Evade::new(other).with_weight(value))),
            ("OffsetPursue", sim.agent(Vec3::Y * 60.0, OffsetPursue::new(far, Vec3::X).with_weight(value))),
            ("Wander", sim.agent(Vec3::Y * 70.0, Wander::new().with_weight(value))),
            ("PathFollow", sim.agent(Vec3::Y * 80.0, path)),
            ("FlockMember", sim.agent(Vec3::Y * 90.0, FlockMember { weight: value, ..default() })),
            ("Separation", sim.agent(Vec3::ONE * 5.2, Separation::default().with_weight(value))),
            ("Brake", sim.agent(Vec3::Y * 110.0, Brake::new().with_weight(value))),
        ];
        // A feeler that is inside an obstacle has something to say.
        sim.thing(Vec3::Y * 130.2, Obstacle::Sphere { radius: 2.0 });
        let feeler = sim.agent(Vec3::Y * 130.0, ObstacleFeeler::default().with_weight(value));
        let before: Vec<Vec3> = sick.iter().map(|&(_, e)| sim.position(e)).collect();
        sim.ticks(60);
        for ((name, agent), before) in
            sick.iter().zip(before).chain([(&("ObstacleFeeler", feeler), Vec3::Y * 130.0)])
        {
            assert_eq!(sim.position(*agent), before, "{name} {value}: ignored");
            let warnings = sim.app.world().resource::<SteeringWarnings>();
            let told = warnings.iter().filter(|w| w.entity == *agent);
            let told: Vec<_> = told.map(|w| (w.component, w.field)).collect();
            assert_eq!(told, [(*name, "weight")], "{value}: named once");
        }
    }
}

#[test]
fn case_07_a_tick_of_no_length_changes_nothing() {
    for plane in SteeringPlane::ALL {
        let (mut sim, agents) = hundred(None);
        sim = sim.with_plane(plane);
        let limit = TurnLimit::default();
        sim.app.world_mut().entity_mut(agents[3]).insert((limit, SteeringSmoothing::default()));
        sim.app.world_mut().entity_mut(agents[5]).insert((SteerEvery::new(0.1), FaceVelocity::default()));
        sim.ticks(30);
        let before: Vec<Vec3> = agents.iter().flat_map(|&a| [sim.position(a), sim.velocity(a)]).collect();
        for _ in 0..5 {
            tick_by(&mut sim, Duration::ZERO);
        }
        let after: Vec<Vec3> = agents.iter().flat_map(|&a| [sim.position(a), sim.velocity(a)]).collect();
        for (agent, (before, after)) in agents.iter().zip(before.chunks(2).zip(after.chunks(2))) {
            assert!(sim.force(*agent).is_finite());
            assert_eq!(before[0], after[0], "{plane:?}: nobody moves in no time");
            let change = before[1].distance(after[1]);
            assert!(change < 1e-5, "{plane:?}: no change of speed in no time: {change}");
        }
        assert!(sim.warnings().is_empty(), "{:?}", sim.warnings());
        sim.ticks(30);
        assert!(agents.iter().all(|&a| sim.position(a).is_finite()));
    }
}

#[test]
fn case_07_a_hitch_of_a_second_is_survived() {
    let (mut sim, agents) = hundred(None);
    sim.ticks(30);
    for _ in 0..3 {
        tick_by(&mut sim, Duration::from_secs(1));
        for &agent in &agents {
            assert!(sim.position(agent).is_finite() && sim.velocity(agent).length() <= 5.0 + 1e-4);
        }
    }
    // A fixed schedule makes several normal ticks of a hitch, a variable one a short step.
    let run = |plugins: SteeringPlugins| {
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, plugins)).insert_resource(Time::<Fixed>::from_hz(60.0));
        app.world_mut().resource_mut::<Time<Virtual>>().set_max_delta(Duration::from_secs(10));
        app.update();
        let agent = app.world_mut().spawn((Arrive::new(Vec3::X * 3.0), SteeringAgent::new(5.0, 50.0))).id();
        app.world_mut().spawn((Seek::new(Vec3::Y), Transform::from_xyz(0.0, 9.0, 0.0)));
        app.insert_resource(bevy::time::TimeUpdateStrategy::ManualDuration(Duration::from_secs(1)));
        let ticks = app.world().resource::<SteeringStep>().tick;
        app.update();
        let step = *app.world().resource::<SteeringStep>();
        let x = app.world().get::<Transform>(agent).expect("it is there").translation.x;
        (step.tick - ticks, step.dt, x)
    };
    let (ticks, dt, x) = run(SteeringPlugins::default());
    assert!((59..=60).contains(&ticks) && (dt - 1.0 / 60.0).abs() < 1e-6, "{ticks} ticks of {dt}");
    assert!((1.0..=3.05).contains(&x), "no overshoot: {x}");
    let (ticks, dt, x) = run(SteeringPlugins::new(Update));
    assert_eq!((ticks, dt), (1, 0.1));
    assert!(x > 0.0 && x <= 0.5, "one step of a tenth of a second: {x}");
}
