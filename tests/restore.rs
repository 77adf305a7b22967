//! What is saved by reflection and put into another app goes on as if nothing had happened.

use bevy::{
    ecs::{
        entity::{EntityHashMap, SceneEntityMapper},
        relationship::RelationshipHookMode,
    },
    prelude::*,
};
use bevy_steer::*;

use crate::common::scene::{Order, Scene, Setup};

const SAVED: usize = 100;
const TICKS: usize = 300;

/// Copies every registered component of every entity into a new app, whose entities have other ids.
fn restored(scene: &Scene, order: Order) -> Scene {
    let mut copy = Scene::empty(Setup { order, ..default() });
    let from = scene.sim.app.world();
    let world = copy.sim.app.world_mut();
    let registry = from.resource::<AppTypeRegistry>().clone();
    let registry = registry.read();
    // A few entities in between, so that no id stays what it was.
    for _ in 0..37 {
        world.spawn_empty();
    }
    let mut entities = vec![Entity::PLACEHOLDER; scene.entities.len()];
    let mut map = EntityHashMap::default();
    for i in order.indices(entities.len()) {
        if from.get_entity(scene.entities[i]).is_ok() {
            entities[i] = world.spawn_empty().id();
            map.insert(scene.entities[i], entities[i]);
        }
    }
    let pairs: Vec<_> = map.iter().map(|(&a, &b)| (a, b)).collect();
    SceneEntityMapper::world_scope(&mut map, world, |world, mapper| {
        for (old, new) in pairs {
            for component in registry.iter().filter_map(|r| r.data::<ReflectComponent>()) {
                if let Some(value) = component.reflect(from.entity(old)) {
                    component.apply_or_insert_mapped(
                        &mut world.entity_mut(new),
                        value.as_partial_reflect(),
                        &registry,
                        mapper,
                        RelationshipHookMode::Run,
                    );
                }
            }
        }
    });
    world.insert_resource(*from.resource::<SteeringStep>());
    world.insert_resource(*from.resource::<NextSteeringId>());
    copy.name(entities);
    copy
}

#[test]
fn a_saved_and_restored_scene_goes_on_to_the_bit() {
    let mut scene = Scene::new(Setup::default());
    scene.run(0, SAVED);
    let mut copies = [Order::Forward, Order::Reverse].map(|order| (order, restored(&scene, order)));
    let before = scene.events().len();
    let expected = scene.run(SAVED, TICKS);
    for (order, copy) in &mut copies {
        let hashes = copy.run(SAVED, TICKS);
        let parted = expected.iter().zip(&hashes).position(|(a, b)| a != b);
        assert_eq!(parted.map(|i| SAVED + (i + 1) * 10), None, "{order:?}: the bits part at about this tick");
        let (events, copied) = (&scene.events()[before..], copy.events());
        let odd = events.iter().zip(&copied).find(|(a, b)| a != b);
        assert_eq!((odd, events.len()), (None, copied.len()), "{order:?}: the same events, none twice");
    }
}

#[test]
fn leaving_out_one_state_is_found_out() {
    let mut scene = Scene::new(Setup::default());
    scene.run(0, SAVED);
    let mut copy = restored(&scene, Order::Forward);
    let wanderer = copy.entities[14];
    copy.sim.app.world_mut().entity_mut(wanderer).insert(WanderState::default());
    assert_eq!(scene.sim.hash(), copy.sim.hash());
    assert_ne!(scene.run(SAVED, SAVED + 30), copy.run(SAVED, SAVED + 30), "the check must fire");
}
