//! The scene format: what may be left out, what order means, entity references, saving and going on.

use std::time::Duration;

use bevy::{
    prelude::*,
    world_serialization::{DynamicWorldBuilder, serde::WorldDeserializer},
};
use bevy_steer::*;
use bevy_steer_cli::{Place, Problem, Scene, SceneFault, new_app, read_scene, tick};

const DT: Duration = Duration::from_nanos(16_666_667);

fn load(text: &str) -> Result<(App, Scene), Vec<SceneFault>> {
    let mut app = new_app(DT, Some(2));
    read_scene(&mut app, text).map(|scene| (app, scene))
}

fn loaded(text: &str) -> (App, Scene) {
    load(text).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// A scene with the given entities, without resources.
fn scene(entities: &[&str]) -> String {
    let entities: String =
        entities.iter().enumerate().map(|(i, e)| format!("{}: (components: {{{e}}}),\n", i + 1)).collect();
    format!("(resources: {{}}, entities: {{\n{entities}}})")
}

const TRANSFORM: &str = r#""bevy_transform::components::transform::Transform""#;
const NAME: &str = r#""bevy_ecs::name::Name""#;

#[test]
fn what_is_left_out_comes_from_the_defaults() {
    let text = scene(&[&format!(
        r#"{TRANSFORM}: (translation: (1.0, 2.0, 0.5)), "bevy_steer::SteeringAgent": (max_speed: 3.0),
           "bevy_steer::Seek": (weight: 2.0), "bevy_steer::FlockMember": ()"#
    )]);
    let (app, scene) = loaded(&text);
    let agent = app.world().entity(scene.agents[0].entity);
    assert_eq!(agent.get(), Some(&Transform::from_xyz(1.0, 2.0, 0.5)));
    assert_eq!(agent.get(), Some(&SteeringAgent { max_speed: 3.0, ..default() }));
    assert_eq!(agent.get(), Some(&Seek::default().with_weight(2.0)));
    assert_eq!(agent.get(), Some(&FlockMember::default()));
    assert_eq!(agent.get(), Some(&SteeringVelocity::default()), "what an agent needs comes with it");
}

#[test]
fn resources_may_be_partial_too() {
    let text = r#"(resources: {"bevy_steer::SteeringDefaults": (plane: Xz), "bevy_steer::SteeringSeed": (9)},
        entities: {1: (components: {"bevy_steer::Seek": ()})})"#;
    let (app, _) = loaded(text);
    let defaults = SteeringDefaults { plane: SteeringPlane::Xz, ..default() };
    assert_eq!(*app.world().resource::<SteeringDefaults>(), defaults);
    assert_eq!(*app.world().resource::<SteeringSeed>(), SteeringSeed(9));
}

#[test]
fn entities_refer_to_each_other_by_their_numbers() {
    let hare = r#""bevy_steer::SteeringVelocity": ((0.0, 3.0, 0.0)), "bevy_steer::SteeringAgent": ()"#;
    let text = scene(&[r#""bevy_steer::Seek": (target: Entity(2))"#, hare]);
    let (mut app, scene) = loaded(&text);
    let [hound, hare] = [0, 1].map(|i| scene.agents[i].entity);
    let target = app.world().get::<Seek>(hound).map(|seek| seek.target);
    assert_eq!(target, Some(SteeringTarget::Entity(hare)));
    (0..120).for_each(|_| tick(&mut app));
    let position = app.world().get::<Transform>(hound).map(|t| t.translation);
    assert!(position.is_some_and(|p| p.y > 3.0 && p.x.abs() < 1e-3), "it follows: {position:?}");

    let faults = load(&self::scene(&[r#""bevy_steer::Seek": (target: Entity(7))"#])).err();
    let place = Place { entity: Some("1".into()), component: Some("Seek".into()) };
    assert_eq!(faults, Some(vec![SceneFault { place, problem: Problem::Dangling { number: 7 } }]));
}

#[test]
fn the_order_of_components_does_not_matter_and_a_given_number_wins() {
    let agent = r#""bevy_steer::SteeringAgent": (max_speed: 2.0)"#;
    let seek = r#""bevy_steer::Seek": (target: Point((9.0, 0.0, 0.0)))"#;
    let id = r#""bevy_steer::SteeringId": (7)"#;
    let run = |parts: [&str; 3]| {
        let text = scene(&[&parts.join(", "), r#""bevy_steer::Seek": ()"#, r#""bevy_steer::Seek": ()"#]);
        let (mut app, scene) = loaded(&text);
        let ids: Vec<u64> = scene
            .agents
            .iter()
            .filter_map(|a| app.world().get::<SteeringId>(a.entity))
            .map(|id| id.0)
            .collect();
        let first = SteeringId::FIRST_AUTOMATIC;
        assert_eq!(ids, [7, first, first + 1], "automatic numbers follow the file: {parts:?}");
        (0..60).for_each(|_| tick(&mut app));
        steering_hash(app.world())
    };
    let hash = run([agent, seek, id]);
    for parts in
        [[agent, id, seek], [seek, agent, id], [seek, id, agent], [id, agent, seek], [id, seek, agent]]
    {
        assert_eq!(run(parts), hash, "{parts:?}");
    }
}

#[test]
fn automatic_numbers_go_round_given_ones_further_down() {
    let first = SteeringId::FIRST_AUTOMATIC;
    let given = format!(r#""bevy_steer::Seek": (), "bevy_steer::SteeringId": ({first})"#);
    let (app, scene) = loaded(&scene(&[r#""bevy_steer::Seek": ()"#, &given]));
    let ids = scene.agents.iter().filter_map(|a| app.world().get::<SteeringId>(a.entity));
    assert_eq!(ids.map(|id| id.0).collect::<Vec<_>>(), [first + 1, first]);
}

#[test]
fn labels_are_names_or_numbers_and_differ() {
    let named = |name: &str| format!(r#"{NAME}: "{name}", "bevy_steer::Seek": ()"#);
    let text = scene(&[
        &named("boid"),
        r#""bevy_steer::Seek": ()"#,
        &named("boid"),
        &format!(r#"{NAME}: "a rock""#),
        &named("boid"),
        &named(""),
    ]);
    let (_, scene) = loaded(&text);
    let labels: Vec<&str> = scene.agents.iter().map(|a| a.label.as_str()).collect();
    assert_eq!(labels, ["boid", "2", "boid#2", "boid#3", "6"], "what does not steer has no label");
}

/// Every fault of a scene as text.
fn faults(text: &str) -> Vec<String> {
    load(text).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn every_fault_is_named_with_its_place() {
    let text = scene(&[
        &format!(r#"{NAME}: "ann", "bevy_steer::Seek": (weight: -1.0, target: Point((inf, 0.0, 0.0)))"#),
        &format!(
            r#"{TRANSFORM}: (translation: (0.0, NaN, 0.0)), "bevy_steer::SteeringVelocity": ((inf, 0.0, 0.0))"#
        ),
        r#""bevy_steer::Sek": (), "Transform": ()"#,
        r#""bevy_steer::Seek": (wieght: 1.0)"#,
        r#""bevy_steer::Seek": (weight: "much")"#,
        &format!(r#"{TRANSFORM}: (translaton: (0.0, 0.0, 0.0))"#),
        r#""bevy_steer::SteeringSeed": (1)"#,
        r#""bevy_steer::SteeringAgent": (mass: 0.0, radius: -1.0), "bevy_steer::SteeringAgent": ()"#,
        r#""bevy_steer::Seek": (target: Nearest(group: 1))"#,
        r#""bevy_steer::Seek": (), "bevy_steer::SteeringId": (5)"#,
        r#""bevy_steer::Seek": (), "bevy_steer::SteeringId": (5)"#,
    ]);
    let found = faults(&text);
    let expected = [
        "ann: Seek: weight = -1: must be finite",
        "ann: Seek: target = inf: the point is not finite",
        "2: Transform: translation = Vec3(0.0, NaN, 0.0): not finite",
        "2: SteeringVelocity: 0 = Vec3(inf, 0.0, 0.0): not finite",
        "3: Sek: no such component; did you mean `bevy_steer::Seek`?",
        "3: Transform: no such component; did you mean `bevy_transform::components::transform::Transform`?",
        "4: Seek: line 5, column ",
        "5: Seek: line 6, column ",
        "6: Transform: line 7, column ",
        "7: SteeringSeed: is no component; it is a resource and belongs under `resources`",
        "8: SteeringAgent: mass = 0: must be finite and above 0",
        "8: SteeringAgent: radius = -1: must be finite",
        "8: SteeringAgent: given twice",
        "9: Seek: line 10, column ",
        "11: SteeringId: 5 is the number of 10 too",
    ];
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\ninstead of {expected}");
        assert!(!found.contains('\n'), "{found}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    assert!(found[6].contains("unknown field `wieght`"), "{}", found[6]);
    assert!(found[13].contains("SteeringTarget is not complete"), "{}", found[13]);
    assert!(found[8].contains("unknown field `translaton`"), "{}", found[8]);
}

#[test]
fn files_that_are_no_scene_are_refused() {
    for (text, expected) in [
        ("", "the file is empty"),
        (" \n ", "the file is empty"),
        ("(resources: {}, entities: {})", "no agents: "),
        (&scene(&[&format!(r#"{NAME}: "rock""#)]), "no agents: "),
        ("(resources: {}, entities: {1: (components: {)})", "line 1, column "),
        ("(\nresources: {},\nentity: {})", "line 3, column "),
        ("[1, 2, 3]", "line 1, column "),
        ("(resources: {}, entities: {0: (components: {})})", "0: 0 is no entity number"),
        ("(resources: {}, entities: {-1: (components: {})})", "line 1, column "),
        ("(resources: {}, entities: {1: (components: {}), 1: (components: {})})", "1: another entity"),
        ("(resources: {\"bevy_steer::Seek\": ()}, entities: {})", "resources: Seek: is no resource"),
        (
            "(resources: {\"bevy_steer::SteeringSed\": (1)}, entities: {})",
            "resources: SteeringSed: no such resource",
        ),
        (&format!("(resources: {}", "(".repeat(5000)), "line 1, column "),
    ] {
        let found = faults(text);
        assert_eq!(found.len(), 1, "{text:.80}: {found:?}");
        assert!(found[0].starts_with(expected), "{text:.80}: {found:?}");
    }
}

#[test]
fn what_the_head_of_a_file_enables_holds_inside() {
    let text = scene(&[r#""bevy_steer::FlockMember": (max_neighbors: 7)"#]);
    assert_eq!(faults(&text).len(), 1, "an option needs its Some");
    let (app, scene) = loaded(&format!("#![enable(implicit_some)]\n{text}"));
    let member = app.world().get::<FlockMember>(scene.agents[0].entity);
    assert_eq!(member.and_then(|m| m.max_neighbors), Some(7));
}

/// Saves a world as Bevy does.
fn save(world: &World) -> String {
    let registry = world.resource::<AppTypeRegistry>().clone();
    let registry = registry.read();
    let entities = world.archetypes().iter().flat_map(|a| a.entities().iter().map(|entity| entity.id()));
    DynamicWorldBuilder::from_world(world, &registry)
        .deny_all_resources()
        .allow_resource::<SteeringDefaults>()
        .allow_resource::<SteeringSeed>()
        .extract_resources()
        .extract_entities(entities)
        .remove_empty_entities()
        .build()
        .serialize(&registry)
        .expect("the world can be written")
}

/// Loads a scene as Bevy's own asset loader does, without its assets.
fn load_like_bevy(app: &mut App, text: &str) {
    struct NoAssets;
    impl bevy::asset::LoadFromPath for NoAssets {
        fn load_from_path_erased(
            &mut self,
            _: core::any::TypeId,
            path: bevy::asset::AssetPath<'static>,
        ) -> bevy::asset::UntypedHandle {
            panic!("no scene here has assets: {path}")
        }
    }
    let registry = app.world().resource::<AppTypeRegistry>().clone();
    let mut ron = ron::Deserializer::from_str(text).expect("RON");
    let seed = WorldDeserializer { type_registry: &registry.read(), load_from_path: &mut NoAssets };
    let world = serde::de::DeserializeSeed::deserialize(seed, &mut ron).expect("a scene");
    world.write_to_world(app.world_mut(), &mut default()).expect("it fits the world");
}

/// Scenes whose state must survive saving, by what they hold. Add a row for a behaviour with state of its own.
const STATES: &[(&str, &[&str])] = &[
    (
        "seek after an agent",
        &[
            r#""bevy_steer::Seek": (target: Entity(2))"#,
            r#""bevy_steer::Seek": (target: Point((5.0, 9.0, 0.0)))"#,
        ],
    ),
    (
        "arrive at something without a velocity, now and then",
        &[
            r#""bevy_steer::Arrive": (target: Entity(3)), "bevy_steer::SteerEvery": (seconds: 0.13)"#,
            r#""bevy_steer::Arrive": (target: Entity(3)), "bevy_transform::components::transform::Transform": (translation: (-9.0, 0.0, 0.0))"#,
            r#""bevy_transform::components::transform::Transform": (translation: (4.0, 3.0, 0.0)), "bevy_ecs::name::Name": "drift""#,
        ],
    ),
    (
        "a settled crowd round an entity, and one who comes late",
        &[
            r#""bevy_steer::Arrive": (target: Entity(4)), "bevy_steer::Separation": (), "bevy_transform::components::transform::Transform": (translation: (12.0, 0.4, 0.0))"#,
            r#""bevy_steer::Arrive": (target: Entity(4)), "bevy_steer::Separation": (), "bevy_transform::components::transform::Transform": (translation: (-1.0, 0.2, 0.0))"#,
            r#""bevy_steer::Arrive": (target: Entity(4)), "bevy_steer::Separation": (), "bevy_transform::components::transform::Transform": (translation: (0.3, -1.0, 0.0))"#,
            r#""bevy_transform::components::transform::Transform": ()"#,
        ],
    ),
    (
        "a flock that smooths, looks now and then, and turns like a vehicle",
        &[
            r#""bevy_steer::FlockMember": (), "bevy_steer::SteeringSmoothing": (alpha: 0.1), "bevy_steer::SteeringVelocity": ((1.0, 2.0, 0.0))"#,
            r#""bevy_steer::FlockMember": (), "bevy_steer::SteerEvery": (seconds: 0.1), "bevy_transform::components::transform::Transform": (translation: (1.5, 0.0, 0.0))"#,
            r#""bevy_steer::FlockMember": (), "bevy_steer::TurnLimit": (), "bevy_steer::FaceVelocity": (), "bevy_transform::components::transform::Transform": (translation: (0.0, 2.5, 0.0))"#,
        ],
    ),
    (
        "hunters, prey and wingmen",
        &[
            r#""bevy_steer::Wander": (), "bevy_steer::Evade": (target: Entity(2), panic_radius: Some(6.0))"#,
            r#""bevy_steer::Pursue": (target: Entity(1)), "bevy_steer::FaceVelocity": (), "bevy_transform::components::transform::Transform": (translation: (6.0, 2.0, 0.0))"#,
            r#""bevy_steer::OffsetPursue": (target: Entity(2), offset: (-1.0, 1.0, 0.0)), "bevy_transform::components::transform::Transform": (translation: (8.0, 2.0, 0.0))"#,
            r#""bevy_steer::Flee": (target: Entity(5)), "bevy_steer::Wander": (), "bevy_steer::SteerEvery": (seconds: 0.2)"#,
            r#""bevy_transform::components::transform::Transform": (translation: (1.0, 1.0, 0.0)), "bevy_ecs::name::Name": "drift""#,
        ],
    ),
    (
        "paths in all modes past obstacles, of which one moves",
        &[
            r#""bevy_steer::PathFollow": (waypoints: [(3.0, 0.0, 0.0), (9.0, 1.0, 0.0)], mode: PingPong), "bevy_steer::ObstacleFeeler": ()"#,
            r#""bevy_steer::PathFollow": (waypoints: [(0.0, 4.0, 0.0), (4.0, 4.0, 0.0), (4.0, 0.0, 0.0)], mode: Loop), "bevy_steer::ObstacleFeeler": (mode: Point(length: 2.0))"#,
            r#""bevy_steer::PathFollow": (waypoints: [(0.0, -4.0, 0.0), (14.0, -4.0, 0.0)]), "bevy_steer::ObstacleFeeler": ()"#,
            r#""bevy_steer::Obstacle": Sphere(radius: 0.8), "bevy_transform::components::transform::Transform": (translation: (5.0, 0.3, 0.0))"#,
            r#""bevy_steer::Obstacle": Cuboid(half_extents: (0.5, 0.5, 0.5)), "bevy_transform::components::transform::Transform": (translation: (6.0, -3.6, 0.0)), "bevy_ecs::name::Name": "drift""#,
        ],
    ),
];

/// One tick; whatever is called "drift" is moved by the game.
fn game_tick(app: &mut App) {
    let mut names = app.world_mut().query::<(&Name, &mut Transform)>();
    for (name, mut transform) in names.iter_mut(app.world_mut()) {
        if name.as_str() == "drift" {
            transform.translation += Vec3::new(0.011, -0.007, 0.0);
        }
    }
    tick(app);
}

#[test]
fn a_saved_scene_goes_on_to_the_same_bits() {
    for &(what, entities) in STATES {
        let (mut straight, _) = loaded(&scene(entities));
        (0..100).for_each(|_| game_tick(&mut straight));
        let saved = save(straight.world());
        let at_save = steering_hash(straight.world());
        (0..100).for_each(|_| game_tick(&mut straight));
        let expected = steering_hash(straight.world());

        let (mut restored, _) = loaded(&saved);
        assert_eq!(steering_hash(restored.world()), at_save, "{what}: as it was saved");
        // Other entity numbers than before, and another number of ticks, must not matter.
        let mut by_bevy = new_app(DT, Some(2));
        for _ in 0..1234 {
            by_bevy.world_mut().spawn_empty();
        }
        (0..3).for_each(|_| tick(&mut by_bevy));
        load_like_bevy(&mut by_bevy, &saved);
        assert_eq!(steering_hash(by_bevy.world()), at_save, "{what}: as it was saved");
        for app in [&mut restored, &mut by_bevy] {
            (0..100).for_each(|_| game_tick(app));
            assert_eq!(steering_hash(app.world()), expected, "{what}");
        }
        assert_ne!(expected, at_save, "{what}: something still moved, or the test says nothing");
    }
}

#[test]
fn bevys_own_loader_reads_the_same_scene() {
    let text = include_str!("../../../assets/scenes/flock.scn.ron");
    let (mut ours, _) = loaded(text);
    let mut theirs = new_app(DT, Some(2));
    load_like_bevy(&mut theirs, text);
    for _ in 0..100 {
        tick(&mut ours);
        tick(&mut theirs);
    }
    assert_eq!(steering_hash(ours.world()), steering_hash(theirs.world()));
}
