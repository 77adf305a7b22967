//! Agents that meet others and obstacles at once.

use bevy::prelude::*;
use bevy_steer::*;

use crate::common::sim::Sim;

#[test]
fn case_22_separation_still_acts_when_an_obstacle_comes_ahead() {
    for offset in [0.0, 0.3, -0.3, 0.7, -0.7, 1.1, -1.1] {
        let mut sim = Sim::new(60.0);
        let behaviors = || {
            let goal = Seek::new(Vec3::new(30.0, 0.0, 0.0));
            (goal, Separation::default(), ObstacleFeeler::default(), SteeringCombine::Budget)
        };
        let agent = SteeringAgent::default().with_radius(0.2);
        let a = sim.moving(Vec3::new(0.0, 0.2 + offset, 0.0), Vec3::X * 5.0, (agent, behaviors()));
        let b = sim.moving(Vec3::new(0.0, offset - 0.2, 0.0), Vec3::X * 5.0, (agent, behaviors()));
        let center = Vec3::X * 8.0;
        sim.thing(center, Obstacle::Sphere { radius: 1.5 });
        let start = sim.position(a).distance(sim.position(b));
        let mut passed = 0.0_f32;
        for tick in 0..300 {
            sim.tick();
            let distance = sim.position(a).distance(sim.position(b));
            assert!(
                distance >= start - 1e-5,
                "offset {offset}, tick {tick}: {distance} apart, {start} before"
            );
            for agent in [a, b] {
                let gap = sim.position(agent).distance(center) - 1.5 - 0.2;
                assert!(gap >= -1e-3, "offset {offset}, tick {tick}: {gap} from the obstacle");
            }
            passed = passed.max(sim.position(a).x.min(sim.position(b).x));
        }
        assert!(passed > 10.0, "offset {offset}: both get past, at {passed}");
    }
}

/// Whether every member is within `radius` of the rest, from one to the next.
fn is_one_group(places: &[Vec3], radius: f32) -> bool {
    let mut reached = vec![false; places.len()];
    let mut open = vec![0];
    reached[0] = true;
    while let Some(i) = open.pop() {
        for j in 0..places.len() {
            if !reached[j] && places[i].distance(places[j]) <= radius {
                reached[j] = true;
                open.push(j);
            }
        }
    }
    reached.iter().all(|&r| r)
}

/// Lets a flock of 60 meet a circle of radius 3: it must split, nobody may enter, and all must be one group again within
/// 15 s.
fn meet_a_circle(hz: f64, member: FlockMember, goal: Option<Seek>) {
    let mut sim = Sim::new(hz);
    let center = Vec3::X * 25.0;
    sim.thing(center, Obstacle::Sphere { radius: 3.0 });
    let agents: Vec<Entity> = (0..60)
        .map(|i| {
            let (row, column) = (i / 6, i % 6);
            // A loose block, with a little disorder so that nobody is a mirror image of anybody.
            let nudge = 0.1 * ((i * 7) % 5) as f32;
            let place = Vec3::new(column as f32 * 1.9 + nudge, (row as f32 - 4.5) * 1.9 + nudge, 0.0);
            let agent = sim.moving(place, Vec3::X * 4.0, (member, ObstacleFeeler::default()));
            if let Some(goal) = goal {
                sim.app.world_mut().entity_mut(agent).insert(goal);
            }
            agent
        })
        .collect();
    let reach = member.cohesion_radius;
    let (mut split, mut met, mut together) = (false, None, None);
    for tick in 0..(25.0 * hz) as usize {
        sim.tick();
        let places: Vec<Vec3> = agents.iter().map(|&a| sim.position(a)).collect();
        let nearest = places.iter().map(|p| p.distance(center)).fold(f32::MAX, f32::min);
        assert!(nearest >= 3.5, "{hz} Hz, tick {tick}: {nearest} from the centre of the circle");
        let beside =
            |side: f32| places.iter().filter(|p| (p.x - center.x).abs() < 3.0 && p.y * side > 0.0).count();
        split |= beside(1.0) >= 10 && beside(-1.0) >= 10;
        if nearest < 5.0 {
            met.get_or_insert(tick);
        }
        let beyond = places.iter().all(|p| p.x > center.x + 3.0);
        if beyond && together.is_none() && is_one_group(&places, reach) {
            together = Some(tick);
        }
    }
    let met = met.expect("it meets the circle");
    let together = together.expect("it is one group again");
    let seconds = (together - met) as f64 / hz;
    assert!(split, "{hz} Hz: it splits");
    assert!(seconds <= 15.0, "{hz} Hz: {seconds} s after they met");
    let places: Vec<Vec3> = agents.iter().map(|&a| sim.position(a)).collect();
    assert!(is_one_group(&places, reach), "{hz} Hz: and it stays one");
}

// Behind the circle the halves are more than two of its radii apart, and go on as they have turned aside. Members who see
// 6 units far cannot know of the other half: what brings them together is a common goal, or a longer sight.

#[test]
fn case_56_a_flock_with_a_goal_splits_round_a_circle_and_closes_again() {
    for hz in [20.0, 60.0] {
        let goal = Seek::new(Vec3::X * 80.0).with_weight(0.5);
        meet_a_circle(hz, FlockMember::default(), Some(goal));
    }
}

#[test]
fn case_56_a_flock_that_sees_past_a_circle_splits_and_closes_again() {
    for hz in [20.0, 60.0] {
        meet_a_circle(hz, FlockMember { cohesion_radius: 10.0, ..default() }, None);
    }
}
