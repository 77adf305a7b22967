//! Agents that meet others and obstacles at once.

use bevy::prelude::*;
use bevy_steer::*;

use crate::common::sim::Sim;

#[test]
fn case_22_separation_still_acts_when_an_obstacle_comes_ahead() {
    for offset in [0.0, 0.3, -0.3] {
        let mut sim = Sim::new(60.0);
        let behaviors = || {
            let goal = Seek::new(Vec3::new(30.0, 0.0, 0.0));
            (goal, Separation::default(), ObstacleFeeler::default(), SteeringCombine::Budget)
        };
        let agent = SteeringAgent::default().with_radius(0.2);
        let a = sim.moving(Vec3::new(0.0, 0.2 + offset, 0.0), Vec3::X * 5.0, (agent, behaviors()));
        let b = sim.moving(Vec3::new(0.0, offset - 0.2, 0.0), Vec3::X * 5.0, (agent, behaviors()));
        sim.thing(Vec3::X * 8.0, Obstacle::Sphere { radius: 1.5 });
        let start = sim.position(a).distance(sim.position(b));
        let mut passed = 0.0_f32;
        for tick in 0..300 {
            sim.tick();
            let distance = sim.position(a).distance(sim.position(b));
            assert!(
                distance >= start - 1e-5,
                "offset {offset}, tick {tick}: {distance} apart, {start} before"
            );
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

#[test]
fn case_56_a_flock_splits_round_a_circle_and_closes_again() {
    for hz in [20.0, 60.0] {
        let mut sim = Sim::new(hz);
        let center = Vec3::X * 25.0;
        sim.thing(center, Obstacle::Sphere { radius: 3.0 });
        let agents: Vec<Entity> = (0..60)
            .map(|i| {
                let (row, column) = (i / 6, i % 6);
                // A loose block, with a little disorder so that nobody is a mirror image of anybody.
                let nudge = 0.1 * ((i * 7) % 5) as f32;
                let place = Vec3::new(column as f32 * 1.9 + nudge, (row as f32 - 4.5) * 1.9 + nudge, 0.0);
                sim.moving(place, Vec3::X * 4.0, (FlockMember::default(), ObstacleFeeler::default()))
            })
            .collect();
        let (mut split, mut met) = (false, None);
        let mut together_at = None;
        for tick in 0..(30.0 * hz) as usize {
            sim.tick();
            let places: Vec<Vec3> = agents.iter().map(|&a| sim.position(a)).collect();
            let nearest = places.iter().map(|p| p.distance(center)).fold(f32::MAX, f32::min);
            assert!(nearest >= 3.5 - 1e-3, "{hz} Hz, tick {tick}: {nearest} from the centre of the circle");
            let beside = |side: f32| {
                places.iter().filter(|p| (p.x - center.x).abs() < 3.0 && p.y * side > 0.0).count()
            };
            split |= beside(1.0) >= 5 && beside(-1.0) >= 5;
            if nearest < 5.0 {
                met.get_or_insert(tick);
            }
            let beyond = places.iter().all(|p| p.x > center.x + 3.0);
            if beyond && together_at.is_none() && is_one_group(&places, 6.0) {
                together_at = Some(tick);
            }
        }
        assert!(split, "{hz} Hz: it splits");
        let met = met.expect("it meets the circle") as f64 / hz;
        let together = together_at.expect("it is one group again") as f64 / hz;
        println!("{hz} Hz: met {met}, together {together}");
        assert!(together - met <= 15.0, "{hz} Hz: {} s after they met", together - met);
        let places: Vec<Vec3> = agents.iter().map(|&a| sim.position(a)).collect();
        assert!(is_one_group(&places, 6.0), "{hz} Hz: and it stays one");
    }
}
