//! What happens to agents is told to observers: once, and in an order that does not depend on storage.

use bevy::{ecs::entity::EntityHashMap, prelude::*};
use bevy_steer::*;

use crate::common::{scene::Order, sim::Sim};

/// Names of the events in the order in which they came, with the number of the agent.
#[derive(Resource, Default)]
struct Told(Vec<(u64, u64, String)>);

/// What was which target, before it went.
#[derive(Resource, Default)]
struct Targets(EntityHashMap<usize>);

fn listen<E: EntityEvent>(app: &mut App, tell: fn(&E, &Targets) -> String) {
    app.add_observer(
        move |event: On<E>,
              step: Res<SteeringStep>,
              ids: Query<&SteeringId>,
              targets: Res<Targets>,
              mut told: ResMut<Told>| {
            let id = ids.get(event.event_target()).map_or(0, |id| id.0);
            told.0.push((step.tick, id, tell(&event, &targets)));
        },
    );
}

/// Runs agents to which everything happens, several at a time, and answers with what was told.
fn told(order: Order, parallel_from: usize) -> Vec<(u64, u64, String)> {
    let mut sim = Sim::new(60.0);
    let app = &mut sim.app;
    app.init_resource::<Told>().init_resource::<Targets>();
    app.world_mut().resource_mut::<SteeringDefaults>().parallel_from = parallel_from;
    listen::<Arrived>(app, |_, _| "arrived".into());
    listen::<TargetLost>(app, |e, targets| format!("lost {}", targets.0[&e.target]));
    listen::<WaypointReached>(app, |e, _| format!("waypoint {}", e.waypoint));
    listen::<PathCompleted>(app, |_, _| "completed".into());
    listen::<Stalled>(app, |_, _| "stalled".into());

    let mut things = [Entity::PLACEHOLDER; 4];
    for i in order.indices(4) {
        things[i] = sim.thing(Vec3::X * (40.0 + i as f32), ());
    }
    let named = things.iter().enumerate().map(|(i, &thing)| (thing, i)).collect();
    sim.app.insert_resource(Targets(named));
    for i in order.indices(12) {
        let (place, id) = (Vec3::Y * 10.0 * i as f32, SteeringId(100 + i as u64));
        match i % 4 {
            0 => sim.agent(place, (id, Arrive::new(place + Vec3::X * 4.0))),
            // Two behaviours of one agent lose two targets in one tick.
            1 => sim.agent(place, (id, Seek::new(things[i % 3]), Flee::new(things[3]))),
            2 => sim.agent(place, (id, PathFollow::new([1.0, 2.0, 5.0].map(|x| place + Vec3::X * x)))),
            // So heavy that it does not get anywhere.
            _ => sim.agent(place, (id, SteeringAgent::default().with_mass(1e9), Seek::new(Vec3::X * 99.0))),
        };
    }
    sim.seconds(1.0);
    for thing in things {
        sim.app.world_mut().despawn(thing);
    }
    sim.seconds(9.0);
    core::mem::take(&mut sim.app.world_mut().resource_mut::<Told>().0)
}

#[test]
fn each_event_is_told_once_in_an_order_that_repeats() {
    let all = told(Order::Forward, usize::MAX);
    let of = |id: u64| -> Vec<&str> {
        all.iter().filter(|(_, who, _)| *who == id).map(|(_, _, what)| what.as_str()).collect()
    };
    for i in 0..12 {
        match i % 4 {
            0 => assert_eq!(of(100 + i), ["arrived"], "{i}"),
            1 => {
                let mut lost = of(100 + i);
                lost.sort_unstable();
                assert_eq!(lost, [format!("lost {}", i % 3), "lost 3".to_owned()], "{i}");
            }
            2 => assert_eq!(of(100 + i), ["waypoint 0", "waypoint 1", "waypoint 2", "completed"], "{i}"),
            _ => assert_eq!(of(100 + i), ["stalled"], "{i}"),
        }
    }
    for same_tick in all.chunk_by(|a, b| a.0 == b.0) {
        assert!(same_tick.is_sorted_by_key(|&(_, id, _)| id), "within a tick by number: {same_tick:?}");
    }
    for order in [Order::Reverse, Order::Shuffled] {
        for parallel_from in [0, usize::MAX] {
            assert_eq!(all, told(order, parallel_from), "{order:?}: the order of spawning leaves no trace");
        }
    }
}
