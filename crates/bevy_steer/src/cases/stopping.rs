//! Agents that stop: where, how, and that they stay.

use bevy::prelude::*;

use crate::{
    AgentView, Arrive, Arrived, BehaviorId, FaceVelocity, Seek, SlowingRadius, SteerEvery,
    SteeringAccumulator, SteeringAgent, SteeringCombine, SteeringPlane, SteeringPriority, SteeringSmoothing,
    SteeringSystems, testing::*,
};

fn heading_degrees(velocity: Vec3) -> f32 {
    bevy::math::ops::atan2(velocity.y, velocity.x).to_degrees()
}

#[test]
fn case_04_arriving_at_ones_own_place_is_finite() {
    for plane in SteeringPlane::ALL {
        let mut sim = Sim::new(60.0).with_plane(plane);
        let here = sim.agent(Vec3::ZERO, Arrive::new(Vec3::ZERO));
        let moving = sim.moving(Vec3::X, plane.left_of(Vec3::X) * 5.0, Arrive::new(Vec3::X));
        sim.tick();
        assert_eq!(sim.force(here), Vec3::ZERO);
        let force = sim.force(moving);
        assert!(
            force.is_finite() && force.dot(plane.left_of(Vec3::X)) < -1.0,
            "{plane:?}: it brakes, {force}"
        );
    }
}

#[test]
fn case_10_a_snappy_agent_stops_without_turning_round() {
    // Fixed 2 is exactly 4 · v · T here: critically damped.
    let mut sim = Sim::new(60.0).with_agent_defaults(5.0, 50.0, 0.1);
    let arrive = Arrive::new(Vec3::X * 10.0).with_slowing_radius(2.0);
    let agent = sim.moving(Vec3::ZERO, Vec3::X * 5.0, (arrive, FaceVelocity::default()));
    let second = sim.moving(Vec3::Y * 9.0, Vec3::X * 5.0, Arrive::new(Vec3::new(10.0, 9.0, 0.0)));
    for _ in 0..600 {
        sim.tick();
        let velocity = sim.velocity(agent);
        assert!(velocity == Vec3::ZERO || heading_degrees(velocity).abs() < 1.0, "{velocity}");
    }
    for agent in [agent, second] {
        assert!(sim.velocity(agent).length() < 0.01);
    }
    let facing = sim.get::<Transform>(agent).rotation * Vec3::X;
    assert!(heading_degrees(facing).abs() < 1.0, "it still faces +x: {facing}");
}

#[test]
fn case_11_a_weak_agent_does_not_hunt_for_the_spot() {
    let mut sim = Sim::new(60.0).with_agent_defaults(1.0, 0.1, 0.25);
    let agent = sim.agent(Vec3::ZERO, Arrive::new(Vec3::X * 5.0));
    let far = sim.agent(Vec3::Y * 9.0, Arrive::new(Vec3::new(50.0, 9.0, 0.0)));
    for (agent, target, seconds) in [(agent, 5.0, 120), (far, 50.0, 240)] {
        let view = AgentView::new(
            &SteeringAgent::new(1.0, 0.1),
            Vec3::ZERO,
            Vec3::ZERO,
            SteeringPlane::Xy,
            1.0 / 60.0,
        );
        let radius = SlowingRadius::Auto.get(&view);
        let (mut changes, mut last) = (0, 0.0);
        for _ in 0..seconds * 60 {
            let slows = target - sim.position(agent).x <= radius;
            sim.tick();
            let force = sim.force(agent).x;
            if slows && force != 0.0 {
                changes += i32::from(force * last < 0.0);
                last = force;
            }
        }
        assert!(changes <= 1, "the force changes sign {changes} times on the way to {target}");
        assert!((sim.position(agent).x - target).abs() <= 0.05, "{}", sim.position(agent));
        assert_eq!(sim.velocity(agent), Vec3::ZERO);
    }
}

#[test]
fn case_12_auto_leaves_room_to_brake() {
    let mut sim = Sim::new(60.0).with_agent_defaults(10.0, 2.0, 0.25);
    let auto = sim.agent(Vec3::ZERO, Arrive::new(Vec3::X * 100.0));
    let fast = sim.moving(Vec3::Y * 9.0, Vec3::X * 10.0, Arrive::new(Vec3::new(60.0, 9.0, 0.0)));
    let fixed = Arrive::new(Vec3::new(100.0, 18.0, 0.0)).with_slowing_radius(2.0);
    let fixed = sim.agent(Vec3::Y * 18.0, fixed);
    let view =
        AgentView::new(&SteeringAgent::new(10.0, 2.0), Vec3::ZERO, Vec3::ZERO, SteeringPlane::Xy, 1.0 / 60.0);
    assert!((SlowingRadius::Auto.get(&view) - 32.5).abs() < 1e-3);
    let mut past = [f32::MIN; 3];
    for _ in 0..3600 {
        sim.tick();
        for (past, (agent, target)) in past.iter_mut().zip([(auto, 100.0), (fast, 60.0), (fixed, 100.0)]) {
            *past = past.max(sim.position(agent).x - target);
        }
    }
    assert!(past[0] < 0.5 && past[1] < 0.5, "Auto overshoots by {past:?}");
    assert!((past[2] - 23.0).abs() < 2.0, "a fixed radius of 2 overshoots by about 23: {}", past[2]);
}

#[test]
fn case_14_steps_longer_than_the_tolerance_do_not_ping_pong() {
    let mut sim = Sim::new(60.0).with_agent_defaults(300.0, 300.0, 0.25);
    sim.count_events::<Arrived>();
    let arrive = |x, y| Arrive::new(Vec3::new(x, y, 0.0)).with_tolerance(1.0);
    let agent = sim.agent(Vec3::ZERO, arrive(1000.0, 0.0));
    let full = sim.moving(Vec3::Y * 9.0, Vec3::X * 300.0, arrive(800.0, 9.0));
    for _ in 0..1800 {
        sim.tick();
        for agent in [agent, full] {
            assert!(sim.velocity(agent).x >= 0.0, "it turns back at {}", sim.position(agent));
        }
    }
    for (agent, target) in [(agent, Vec3::X * 1000.0), (full, Vec3::new(800.0, 9.0, 0.0))] {
        assert!(sim.position(agent).distance(target) <= 1.0, "{}", sim.position(agent));
        assert_eq!(sim.velocity(agent), Vec3::ZERO);
        assert_eq!(sim.count::<Arrived>(agent), 1);
    }
}

#[test]
fn case_16_at_rest_inside_the_tolerance_the_position_keeps_its_bits() {
    for plane in SteeringPlane::ALL {
        let mut sim = Sim::new(60.0).with_plane(plane);
        let target = Vec3::new(0.1, 0.3, -0.7);
        let inside = sim.agent(target + Vec3::X * 0.03, Arrive::new(target));
        let slow = sim.moving(target + Vec3::X * 30.02, Vec3::X * 0.1, Arrive::new(target + Vec3::X * 30.0));
        sim.tick();
        let places = [inside, slow].map(|agent| sim.position(agent).to_array().map(f32::to_bits));
        for _ in 0..100 {
            sim.tick();
            let now = [inside, slow].map(|agent| sim.position(agent).to_array().map(f32::to_bits));
            assert_eq!(now, places, "{plane:?}");
        }
    }
}

#[test]
fn case_25_a_removed_behaviour_contributes_nothing_from_that_tick_on() {
    let mut sim = Sim::new(60.0);
    let plain = sim.agent(Vec3::ZERO, Seek::new(Vec3::X * 100.0));
    let smooth = sim.agent(Vec3::Y * 9.0, (Seek::new(Vec3::X * 100.0), SteeringSmoothing::new(0.3)));
    let rare = sim.agent(Vec3::Y * 18.0, (Seek::new(Vec3::X * 100.0), SteerEvery::new(1.0)));
    sim.ticks(5);
    for agent in [plain, smooth, rare] {
        assert!(sim.force(agent).length() > 1.0);
        sim.app.world_mut().entity_mut(agent).remove::<Seek>();
    }
    let (mut last, mut rest) = (sim.force(smooth).length(), Vec::new());
    for _ in 0..60 {
        sim.tick();
        assert_eq!(sim.force(plain), Vec3::ZERO);
        assert_eq!(sim.force(rare), Vec3::ZERO, "also where contributions are held");
        let now = sim.force(smooth).length();
        assert!(now <= last, "the remainder only falls: {now} after {last}");
        rest.push(now);
        last = now;
    }
    assert!(rest[0] > 1.0 && last < 1e-6, "it decays: {} to {last}", rest[0]);
}

#[test]
fn case_25b_idle_wishes_do_not_keep_an_agent_from_resting() {
    // In a weighted sum an idle wish pulls as hard as a goal until the slowing radius, by design.
    for mode in [SteeringCombine::Budget, SteeringCombine::FirstNonZero] {
        let mut sim = Sim::new(60.0);
        let agent = sim.agent(Vec3::ZERO, (Arrive::new(Vec3::X * 12.0), mode));
        let second = sim.agent(Vec3::Y * 90.0, (Arrive::new(Vec3::new(5.0, 90.0, 0.0)), mode));
        let restless = |mut agents: Query<&mut SteeringAccumulator>| {
            for mut accumulator in &mut agents {
                accumulator.desire(BehaviorId::new("Restless"), Vec3::Y * 5.0, 1.0, SteeringPriority::IDLE);
            }
        };
        sim.app.add_systems(FixedUpdate, restless.in_set(SteeringSystems::Steer));
        sim.seconds(20.0);
        assert_eq!(sim.velocity(agent), Vec3::ZERO, "{mode:?}");
        assert_eq!(sim.velocity(second), Vec3::ZERO, "{mode:?}");
    }
}
