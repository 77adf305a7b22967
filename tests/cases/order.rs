//! Who is spawned first does not matter, and nobody is his own neighbour.

use bevy::prelude::*;
use bevy_steer::*;

use crate::common::sim::Sim;

#[test]
fn case_52_three_agents_spawned_in_any_order() {
    for plane in SteeringPlane::ALL {
        let run = |order: [u64; 3]| {
            let mut sim = Sim::new(60.0).with_plane(plane);
            for id in order {
                let place = Vec3::new(id as f32, (id * id) as f32 * 0.5, 0.7 * id as f32);
                let behaviors = (FlockMember::default(), Wander::new(), Separation::default());
                sim.agent(
                    place,
                    (SteeringId(id), behaviors, ObstacleFeeler::default(), FaceVelocity::default()),
                );
            }
            for i in order {
                sim.thing(Vec3::splat(3.0 + i as f32), Obstacle::Sphere { radius: 1.0 });
            }
            let hashes: Vec<u64> = (0..600)
                .map(|_| {
                    sim.tick();
                    sim.hash()
                })
                .collect();
            hashes
        };
        let hashes = run([1, 2, 3]);
        assert!(hashes.windows(2).all(|w| w[0] != w[1]), "{plane:?}: they move");
        for order in [[3, 2, 1], [2, 3, 1], [1, 3, 2]] {
            assert_eq!(hashes, run(order), "{plane:?}: {order:?}");
        }
    }
}

#[test]
fn case_08_nobody_is_his_own_neighbour() {
    for plane in SteeringPlane::ALL {
        let mut sim = Sim::new(60.0).with_plane(plane);
        // Two with one number and on one spot are still two.
        let a = sim.agent(Vec3::ZERO, (SteeringId(7), SteeringGroup(1)));
        let b = sim.agent(Vec3::ZERO, (SteeringId(7), SteeringGroup(1)));
        sim.tick();
        let grid = sim.app.world().resource::<NeighborGrid>();
        let view = AgentView::new(&SteeringAgent::default(), Vec3::ZERO, Vec3::ZERO, plane, 0.1);
        for (me, other) in [(a, b), (b, a)] {
            let mut seen = Vec::new();
            grid.for_each_neighbor(&view, me, 5.0, |n| seen.push(n.entity));
            assert_eq!(seen, [other], "{plane:?}");
            let nearest = grid.nearest_of_group(&view, me, 1, 5.0).map(|n| n.entity);
            assert_eq!(nearest, Some(other), "{plane:?}");
        }

        // Alone there is nobody.
        let mut sim = Sim::new(60.0).with_plane(plane);
        let nearest = SteeringTarget::Nearest { group: 0, radius: 50.0 };
        let flock = FlockMember { cruise_weight: 0.0, ..default() };
        let one =
            sim.agent(Vec3::ZERO, (flock, Separation::new(9.0), Seek::new(nearest), Evade::new(nearest)));
        sim.thing(Vec3::X, ());
        sim.ticks(3);
        assert_eq!((sim.force(one), sim.velocity(one)), (Vec3::ZERO, Vec3::ZERO), "{plane:?}");
    }
}
