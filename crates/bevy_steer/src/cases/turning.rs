//! Agents that turn: to the right side, no faster than they may, and without circling for ever.

use bevy::{math::ops, prelude::*};

use crate::{
    Arrive, FaceVelocity, Seek, SteeringAgent, SteeringPlane, TurnLimit, rotate_towards, testing::*,
};

fn at(radians: f32) -> Vec3 {
    let (sin, cos) = ops::sin_cos(radians);
    Vec3::new(cos, sin, 0.0)
}

#[test]
fn case_09_flying_straight_up_is_finite_and_does_not_flip() {
    let mut sim = Sim::new(60.0).with_plane(SteeringPlane::Space);
    let up = sim.agent(Vec3::ZERO, (Seek::new(Vec3::Y * 100.0), FaceVelocity::default()));
    let down = sim.agent(Vec3::X * 9.0, (Seek::new(Vec3::new(9.0, -100.0, 0.0)), FaceVelocity::default()));
    // Up past the vertical: a loop that is flown by hand.
    let looping = sim.agent(Vec3::X * 20.0, FaceVelocity::default());
    let mut before: Vec<Quat> =
        [up, down, looping].iter().map(|&a| sim.get::<Transform>(a).rotation).collect();
    for tick in 0..600 {
        let (sin, cos) = ops::sin_cos(tick as f32 * 0.02);
        sim.set_velocity(looping, Vec3::new(0.0, sin, -cos) * 5.0);
        sim.tick();
        for (agent, before) in [up, down, looping].into_iter().zip(&mut before) {
            let rotation = sim.get::<Transform>(agent).rotation;
            assert!(rotation.is_finite() && rotation.is_normalized(), "{rotation}");
            let turned = before.angle_between(rotation).to_degrees();
            assert!(turned < 20.0, "it flips by {turned}° at tick {tick}");
            *before = rotation;
        }
    }
    for (agent, direction) in [(up, Vec3::Y), (down, Vec3::NEG_Y)] {
        let forward = sim.get::<Transform>(agent).rotation * Vec3::NEG_Z;
        assert!(forward.distance(direction) < 1e-2, "{forward}");
    }
}

#[test]
fn case_17_a_weak_agent_hits_instead_of_circling() {
    for plane in SteeringPlane::ALL {
        let mut sim = Sim::new(60.0).with_plane(plane).with_agent_defaults(5.0, 2.5, 1.0);
        let across = plane.left_of(Vec3::X) * 5.0;
        let seeks = sim.moving(Vec3::X * 10.0, across, Seek::new(Vec3::ZERO));
        let arrives = sim.moving(Vec3::X * 10.0, across, Arrive::new(Vec3::ZERO));
        let mut nearest = [f32::MAX; 2];
        for _ in 0..600 {
            sim.tick();
            for (nearest, agent) in nearest.iter_mut().zip([seeks, arrives]) {
                *nearest = nearest.min(sim.position(agent).length());
            }
        }
        assert!(nearest[0] <= 0.5, "{plane:?}: it circles at {}", nearest[0]);
        // Slowing down from 20 away takes its time, but there is no circling either.
        assert!(nearest[1] <= 1.0, "{plane:?}: it circles at {}", nearest[1]);
        sim.seconds(20.0);
        assert_eq!(sim.velocity(arrives), Vec3::ZERO, "{plane:?}");
    }
}

#[test]
fn case_18_a_vehicle_slows_down_for_a_target_inside_its_turning_circle() {
    for plane in SteeringPlane::ALL {
        for start in [5.0, 0.0] {
            let mut sim = Sim::new(60.0).with_plane(plane);
            let target = plane.left_of(Vec3::X) * 3.0;
            let limit = TurnLimit { max_turn_rate: 1.0, min_speed: 0.5 };
            let seeks = sim.moving(Vec3::ZERO, Vec3::X * start, (Seek::new(target), limit));
            let arrives = sim.moving(Vec3::ZERO, Vec3::X * start, (Arrive::new(target), limit));
            let rotation = Quat::from_rotation_arc(crate::forward_axis(plane), Vec3::X);
            for agent in [seeks, arrives] {
                sim.get_mut::<Transform>(agent).rotation = rotation;
            }
            let mut hit = [None; 2];
            for tick in 0..360 {
                sim.tick();
                for (hit, agent) in hit.iter_mut().zip([seeks, arrives]) {
                    if hit.is_none() && sim.position(agent).distance(target) <= 0.5 {
                        *hit = Some(tick as f32 / 60.0);
                    }
                }
            }
            assert!(hit[0].is_some() && hit[1].is_some(), "{plane:?} from {start}: seconds to hit {hit:?}");
        }
    }
}

#[test]
fn case_19_straight_behind_turns_no_faster_than_the_limit_to_a_reproducible_side() {
    for plane in SteeringPlane::ALL {
        let run = || {
            let mut sim = Sim::new(60.0).with_plane(plane);
            let limited = (Seek::new(Vec3::X * -10.0), TurnLimit::new(2.0));
            let agent = sim.moving(Vec3::ZERO, Vec3::X * 5.0, limited);
            let second = sim.moving(Vec3::Y * 0.0, Vec3::X * 5.0, limited);
            let mut last = Vec3::X;
            let mut sides = Vec::new();
            for tick in 0..120 {
                sim.tick();
                let heading = sim.velocity(agent).normalize();
                let turned = last.angle_between(heading);
                assert!(turned <= 2.0 / 60.0 + 1e-3, "{plane:?} tick {tick}: turned by {turned} rad");
                sides.push(sim.velocity(second));
                last = heading;
            }
            assert!(last.x < -0.9, "{plane:?}: it comes round, {last}");
            (sides[0].dot(plane.left_of(Vec3::X)) > 0.0, sides)
        };
        let (left, sides) = run();
        assert!(left, "{plane:?}: the side is the left one");
        assert_eq!(sides, run().1, "{plane:?}: every time");
    }
}

#[test]
fn case_20_turns_go_the_short_way_across_the_seam() {
    let degrees = |d: f32| at(d.to_radians());
    let turned = rotate_towards(degrees(359.0), degrees(1.0), 3.0_f32.to_radians(), SteeringPlane::Xy);
    assert!(turned.distance(degrees(1.0)) < 1e-5);
    let mut sim = Sim::new(60.0);
    let limit = TurnLimit::new(1.0_f32.to_radians() * 60.0);
    let agent = sim.moving(Vec3::ZERO, degrees(359.0) * 5.0, (Seek::new(degrees(1.0) * 1e4), limit));
    // Headings of +3 and −3 rad have the mean π.
    let mean = at(3.0) + at(-3.0);
    let second =
        sim.moving(Vec3::Y, Vec3::X * 5.0, (Seek::new(Vec3::Y + mean * 1e4), SteeringAgent::default()));
    sim.tick();
    assert!(
        sim.velocity(agent).normalize().distance(degrees(0.0)) < 1e-3,
        "+1 of +2°: {}",
        sim.velocity(agent)
    );
    sim.ticks(5);
    assert!(sim.velocity(agent).normalize().distance(degrees(1.0)) < 1e-3, "{}", sim.velocity(agent));
    assert!(mean.normalize().distance(Vec3::NEG_X) < 1e-5);
    sim.ticks(60);
    assert!(sim.velocity(second).x < -4.0, "{}", sim.velocity(second));
}

#[test]
fn case_20_facing_goes_the_short_way_across_the_seam() {
    let mut sim = Sim::new(60.0);
    let agent = sim.moving(Vec3::ZERO, at(-3.1) * 5.0, FaceVelocity::default());
    let other = sim.moving(Vec3::Y, Vec3::X * 5.0, FaceVelocity::default());
    sim.get_mut::<Transform>(agent).rotation = Quat::from_rotation_z(3.1);
    let mut turned = 0.0;
    let mut last = at(3.1);
    for _ in 0..120 {
        sim.tick();
        let facing = sim.get::<Transform>(agent).rotation * Vec3::X;
        turned += ops::atan2(last.cross(facing).z, last.dot(facing));
        last = facing;
    }
    let expected = core::f32::consts::TAU - 6.2;
    assert!((turned - expected).abs() < 1e-3, "turned by {turned} rad, not {expected}");
    assert!((sim.get::<Transform>(other).rotation * Vec3::X).distance(Vec3::X) < 1e-5);
}
