//! The same scene gives the same bits, whatever the threads, the executor, the order of spawning and the order of systems.

use std::{
    collections::HashSet,
    hash::BuildHasher,
    process::Command,
    sync::{Arc, Mutex},
    thread::ThreadId,
    time::Duration,
};

use bevy::{
    platform::hash::FixedHasher,
    prelude::*,
    tasks::{ComputeTaskPool, TaskPoolBuilder},
};
use bevy_steer::*;

use crate::common::scene::{AGENTS, Order, Scene, Setup};

const TICKS: usize = 240;

/// Tells the child process how many threads to have.
const THREADS: &str = "BEVY_STEER_TEST_THREADS";

fn assert_same(what: &str, a: &[u64], b: &[u64]) {
    assert!(!a.is_empty() && a.len() == b.len());
    let parted = a.iter().zip(b).position(|(a, b)| a != b);
    assert_eq!(parted.map(|i| (i + 1) * 10), None, "{what}: the bits part at about this tick");
}

/// A behaviour that notes which threads it runs on.
#[derive(Component, Reflect, Clone, Default)]
#[reflect(Component, Default)]
struct Probe;

impl SteeringBehavior for Probe {
    const NAME: &'static str = "Probe";
}

/// Which threads have worked in which tick.
type Notes = Arc<Mutex<HashSet<(u64, ThreadId)>>>;

fn add_probe(scene: &mut Scene) -> Notes {
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let notes = Arc::clone(&seen);
    let probe = move |steering: Steering, mut agents: Query<(Steerer, &Probe)>| {
        let (notes, tick) = (&notes, steering.tick());
        steering.for_each(&mut agents, |(_, _)| {
            if tick <= 2 {
                // Slow enough that one thread cannot do it all before the others wake.
                std::thread::sleep(Duration::from_micros(100));
                notes.lock().expect("no panic").insert((tick, std::thread::current().id()));
            }
        });
    };
    scene.sim.app.add_steering_behavior::<Probe, _>(SteeringSystems::Steer, probe);
    for &agent in &scene.entities[..AGENTS] {
        scene.sim.app.world_mut().entity_mut(agent).insert(Probe);
    }
    seen
}

/// Not a test by itself: what [`one_two_and_eight_threads_give_the_same_bits`] runs in a process of its own.
#[test]
fn child_process() {
    let Ok(threads) = std::env::var(THREADS) else { return };
    let threads: usize = threads.parse().expect("a number");
    let pool = ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(threads).build());
    assert_eq!(pool.thread_num(), threads, "the pool has the threads that were asked for");

    let default = Setup::default();
    for (name, setup) in [
        ("as it comes", default),
        ("always parallel", Setup { parallel_from: 0, ..default }),
        ("never parallel", Setup { parallel_from: usize::MAX, ..default }),
        ("single-threaded executor", Setup { single_threaded: true, ..default }),
    ] {
        let mut scene = Scene::new(setup);
        let seen = add_probe(&mut scene);
        let hashes = scene.run(0, TICKS);
        let seen = seen.lock().expect("no panic");
        let used = (1..=2).map(|tick| seen.iter().filter(|note| note.0 == tick).count()).max();
        let used = used.expect("two ticks");
        let parallel = threads > 1 && setup.parallel_from != usize::MAX;
        assert_eq!(used > 1, parallel, "{name}: {used} threads did the work of {threads}");
        let events = FixedHasher.hash_one(scene.events());
        println!("RESULT|{name}|{hashes:x?} {} {events:x}", scene.events().len());
    }
}

#[test]
fn one_two_and_eight_threads_give_the_same_bits() {
    let results: Vec<(String, String)> = ["1", "2", "8"]
        .into_iter()
        .flat_map(|threads| {
            let program = std::env::current_exe().expect("this program");
            let arguments = ["--exact", "--nocapture", "determinism::child_process"];
            let output =
                Command::new(program).args(arguments).env(THREADS, threads).output().expect("the child runs");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{threads} threads: {text}{errors}");
            let lines = text.lines().filter_map(|line| line.split_once("RESULT|")?.1.split_once('|'));
            let results: Vec<_> = lines
                .map(|(name, result)| (format!("{threads} threads, {name}"), result.to_owned()))
                .collect();
            assert_eq!(results.len(), 4, "{text}");
            results
        })
        .collect();
    let (first, expected) = &results[0];
    assert!(expected.matches(',').count() == TICKS / 10 - 1, "hashes and events: {expected}");
    for (name, result) in &results {
        assert_eq!(result, expected, "{name} gives other bits or events than {first}");
    }
}

#[test]
fn the_order_of_spawning_leaves_no_trace() {
    let run = |order| {
        let mut scene = Scene::new(Setup { order, ..default() });
        (scene.run(0, TICKS), scene.events())
    };
    let (hashes, events) = run(Order::Forward);
    for order in [Order::Reverse, Order::Shuffled] {
        let (other_hashes, other_events) = run(order);
        assert_same(&format!("{order:?}"), &hashes, &other_hashes);
        let parted = events.iter().zip(&other_events).find(|(a, b)| a != b);
        assert_eq!(parted, None, "{order:?}: events come in the same order");
        assert_eq!(events.len(), other_events.len());
    }
    for word in ["arrived", "lost", "reached", "completed", "stalled"] {
        assert!(events.iter().any(|(_, text)| text.contains(word)), "something {word} in the scene");
    }
}

#[test]
fn the_scene_is_alive() {
    // Equal hashes of a scene where nothing happens would prove nothing.
    let mut scene = Scene::new(Setup::default());
    let hashes = scene.run(0, TICKS);
    assert!(hashes.windows(2).all(|w| w[0] != w[1]));
    let world = scene.sim.app.world_mut();
    let feeling = world.query::<&FeelerState>().iter(world).filter(|s| s.is_engaged()).count();
    let settled = world.query::<&ArriveState>().iter(world).filter(|s| s.is_settled()).count();
    let moving = world.query::<&SteeringVelocity>().iter(world).filter(|v| v.length() > 0.5).count();
    assert!(feeling > 10 && settled > 10 && moving > AGENTS / 2, "{feeling} {settled} {moving}");
    let names = world.resource::<SteeringBehaviors>().sorted();
    for (_, name) in names {
        let registry = world.resource::<AppTypeRegistry>().read();
        let component = registry
            .get_with_short_type_path(name)
            .and_then(|r| r.data::<ReflectComponent>())
            .unwrap_or_else(|| panic!("{name} is registered"));
        let used =
            scene.entities.iter().filter(|&&e| world.get_entity(e).is_ok_and(|e| component.contains(e)));
        assert!(used.count() > 0, "{name} is missing in the scene");
    }
}

#[test]
fn the_order_of_systems_leaves_no_trace() {
    const A: BehaviorId = BehaviorId::new("A game's wind");
    const B: BehaviorId = BehaviorId::new("A game's current");
    fn wind(mut agents: Query<(&Transform, &mut SteeringAccumulator)>) {
        for (transform, mut accumulator) in &mut agents {
            let force = transform.translation.yxz() * 0.013;
            accumulator.push(A, force, 0.7, SteeringPriority::GOAL);
        }
    }
    fn current(mut agents: Query<(&Transform, &mut SteeringAccumulator)>) {
        for (transform, mut accumulator) in &mut agents {
            let force = transform.translation.zyx() * 0.017;
            accumulator.push(B, force, 0.3, SteeringPriority::GOAL);
        }
    }
    let run = |wind_set: SteeringSystems, current_set: SteeringSystems| {
        let mut scene = Scene::new(Setup::default());
        scene.sim.app.add_systems(FixedUpdate, (wind.in_set(wind_set), current.in_set(current_set)));
        scene.run(0, 60)
    };
    let (steer, avoid) = (SteeringSystems::Steer, SteeringSystems::Avoid);
    assert_same("a writer before or after the others", &run(steer, avoid), &run(avoid, steer));
}

/// A behaviour as it must not be: what it does depends on who comes first.
#[derive(Component, Reflect, Clone, Default)]
#[reflect(Component, Default)]
struct Careless;

impl SteeringBehavior for Careless {
    const NAME: &'static str = "Careless";
}

fn careless(steering: Steering, mut agents: Query<(Steerer, &Careless)>) {
    let mut counter = 0.0;
    for (mut me, _) in &mut agents {
        if steering.view(&me).is_some() {
            counter += 1.0;
            me.accumulator.push(Careless::ID, Vec3::X * counter, 0.001, SteeringPriority::GOAL);
        }
    }
}

#[test]
fn a_behaviour_that_depends_on_the_order_is_found_out() {
    let run = |order| {
        let mut scene = Scene::new(Setup { order, ..default() });
        scene.sim.app.add_steering_behavior::<Careless, _>(SteeringSystems::Steer, careless);
        for i in order.indices(AGENTS) {
            let agent = scene.entities[i];
            scene.sim.app.world_mut().entity_mut(agent).insert(Careless);
        }
        scene.run(0, 10)
    };
    assert_eq!(run(Order::Forward), run(Order::Forward), "the same order still gives the same bits");
    assert_ne!(run(Order::Forward), run(Order::Reverse), "the check must fire");
}

#[test]
fn the_last_bit_of_one_agent_is_found_out() {
    let mut one = Scene::new(Setup::default());
    let mut two = Scene::new(Setup::default());
    assert_eq!(one.sim.hash(), two.sim.hash());
    let mut transform = two.sim.get_mut::<Transform>(two.entities[1234]);
    transform.translation.x = f32::from_bits(transform.translation.x.to_bits() ^ 1);
    assert_ne!(one.sim.hash(), two.sim.hash(), "at once");
    assert_ne!(one.run(0, 30), two.run(0, 30), "and later");
}
