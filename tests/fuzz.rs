//! Random scenes with senseless values and things that come and go: nothing panics, nothing becomes NaN, limits hold, and
//! healthy agents far away do not notice.
//!
//! A failure prints its seed and the fewest agents that still fail.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use bevy::{ecs::entity_disabling::Disabled, prelude::*};
use bevy_steer::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

use crate::common::{sim::Sim, tick_by};

/// Agents and things that are up to no good.
const SICK: usize = 50;
/// Healthy agents, far away from them.
const HEALTHY: usize = 24;
const TICKS: usize = 250;
const SEEDS: u64 = 64;

/// A number that a game may end up with: mostly usual, sometimes anything.
fn wild(rng: &mut Pcg32, usual: f32) -> f32 {
    const SENSELESS: [f32; 12] = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e30,
        -1e30,
        1e-40,
        1e-20,
        -1.0,
        0.0,
        -0.0,
    ];
    if rng.random_bool(0.7) {
        usual * rng.random_range(0.0_f32..2.0)
    } else {
        SENSELESS[rng.random_range(0..SENSELESS.len())]
    }
}

fn usual_vec(rng: &mut Pcg32, extent: f32) -> Vec3 {
    let mut x = || rng.random_range(-extent..extent);
    Vec3::new(x(), x(), x())
}

fn wild_vec(rng: &mut Pcg32, extent: f32) -> Vec3 {
    match rng.random_range(0..8) {
        0 => Vec3::new(wild(rng, extent), wild(rng, extent), wild(rng, extent)),
        // On one spot with others.
        1 => Vec3::ONE,
        _ => usual_vec(rng, extent),
    }
}

fn target(rng: &mut Pcg32, entities: &[Entity]) -> SteeringTarget {
    match rng.random_range(0..3) {
        0 => SteeringTarget::Point(wild_vec(rng, 50.0)),
        // Also the agent itself, what is gone, and what has no place.
        1 => SteeringTarget::Entity(entities[rng.random_range(0..entities.len())]),
        _ => SteeringTarget::Nearest { group: rng.random_range(0..3), radius: wild(rng, 20.0) },
    }
}

fn slowing(rng: &mut Pcg32) -> SlowingRadius {
    if rng.random_bool(0.5) { SlowingRadius::Auto } else { SlowingRadius::Fixed(wild(rng, 4.0)) }
}

fn priority(rng: &mut Pcg32) -> SteeringPriority {
    SteeringPriority([0, 64, 128, 128, 192, 255][rng.random_range(0..6)])
}

const BEHAVIORS: usize = 12;

fn add_behavior(rng: &mut Pcg32, me: &mut EntityWorldMut, entities: &[Entity], kind: usize) {
    let (weight, priority, target) = (wild(rng, 1.0), priority(rng), target(rng, entities));
    let panic_radius = rng.random_bool(0.5).then(|| wild(rng, 10.0));
    match kind {
        0 => me.insert(Seek { target, weight, priority }),
        1 => me.insert(Flee { target, panic_radius, weight, priority }),
        2 => me.insert(Arrive {
            target,
            slowing_radius: slowing(rng),
            tolerance: wild(rng, 0.1),
            weight,
            priority,
        }),
        3 => me.insert(Pursue { target, max_prediction: wild(rng, 3.0), weight, priority }),
        4 => me.insert(Evade { target, max_prediction: wild(rng, 3.0), panic_radius, weight, priority }),
        5 => {
            let (offset, slowing_radius) = (wild_vec(rng, 3.0), slowing(rng));
            me.insert(OffsetPursue { target, offset, slowing_radius, weight, priority })
        }
        6 => {
            let (radius, distance, jitter) = (wild(rng, 1.2), wild(rng, 2.0), wild(rng, 0.6));
            me.insert(Wander { radius, distance, jitter, weight, priority })
        }
        7 => me.insert(FlockMember {
            law: if rng.random_bool(0.5) { FlockLaw::Smooth } else { FlockLaw::Classic },
            separation: if rng.random_bool(0.5) { SeparationMode::Sum } else { SeparationMode::Mean },
            separation_radius: wild(rng, 2.0),
            separation_weight: wild(rng, 2.5),
            alignment_radius: wild(rng, 5.0),
            alignment_weight: wild(rng, 1.0),
            cohesion_radius: wild(rng, 6.0),
            cohesion_weight: wild(rng, 0.5),
            cruise_weight: wild(rng, 0.25),
            field_of_view: wild(rng, 180.0),
            max_neighbors: rng.random_bool(0.5).then(|| rng.random_range(0..8)),
            weight,
            priority,
        }),
        8 => me.insert(Separation { radius: wild(rng, 1.2), weight, priority }),
        9 => me.insert(Brake { weight, priority }),
        10 => {
            let mode = if rng.random_bool(0.3) {
                FeelerMode::Point { length: wild(rng, 3.0) }
            } else {
                FeelerMode::Swept { whisker_angle: wild(rng, 15.0), skin: wild(rng, 0.05) }
            };
            me.insert(ObstacleFeeler { mode, release: wild(rng, 1.2), weight, priority })
        }
        _ => {
            let count = rng.random_range(0..6);
            let mut waypoints: Vec<Vec3> = (0..count).map(|_| wild_vec(rng, 30.0)).collect();
            if rng.random_bool(0.6) {
                waypoints.retain(|w| w.is_finite());
            }
            me.insert(PathFollow {
                waypoints,
                mode: [PathMode::Once, PathMode::Loop, PathMode::PingPong][rng.random_range(0..3)],
                arrival_radius: wild(rng, 0.6),
                slowing_radius: slowing(rng),
                weight,
                priority,
            })
        }
    };
}

fn remove_behavior(me: &mut EntityWorldMut, kind: usize) {
    match kind {
        0 => me.remove::<Seek>(),
        1 => me.remove::<Flee>(),
        2 => me.remove::<(Arrive, ArriveState)>(),
        3 => me.remove::<Pursue>(),
        4 => me.remove::<Evade>(),
        5 => me.remove::<OffsetPursue>(),
        6 => me.remove::<Wander>(),
        7 => me.remove::<FlockMember>(),
        8 => me.remove::<Separation>(),
        9 => me.remove::<Brake>(),
        10 => me.remove::<(ObstacleFeeler, FeelerState)>(),
        _ => me.remove::<PathFollow>(),
    };
}

fn limits(rng: &mut Pcg32) -> SteeringAgent {
    SteeringAgent {
        max_speed: wild(rng, 5.0),
        max_force: wild(rng, 15.0),
        mass: wild(rng, 1.0),
        reaction_time: wild(rng, 0.25),
        radius: wild(rng, 0.5),
    }
}

fn obstacle(rng: &mut Pcg32, huge: bool) -> Obstacle {
    let mut size = |usual: f32| {
        let size = wild(rng, usual);
        // An endless obstacle is everybody's business, also of those who are far away.
        if huge || size < 1e3 || !size.is_finite() { size } else { -size }
    };
    let (a, b, c) = (size(2.0), size(2.0), size(2.0));
    match rng.random_range(0..3) {
        0 => Obstacle::Sphere { radius: a },
        1 => Obstacle::Cuboid { half_extents: Vec3::new(a, b, c) },
        _ => Obstacle::Wall { half_length: a, half_height: b, thickness: c },
    }
}

/// What may be changed about an agent beside its behaviours.
fn change(rng: &mut Pcg32, me: &mut EntityWorldMut) {
    match rng.random_range(0..15) {
        0 => me.insert(limits(rng)),
        1 => me.insert(SteeringVelocity(wild_vec(rng, 5.0))),
        2 => me.insert(Transform::from_translation(wild_vec(rng, 50.0))),
        3 => me.insert(SteeringPlane::ALL[rng.random_range(0..3)]),
        4 => me.insert(
            [SteeringCombine::WeightedSum, SteeringCombine::FirstNonZero, SteeringCombine::Budget]
                [rng.random_range(0..3)],
        ),
        5 => me.insert(SteerEvery::new(wild(rng, 0.1))),
        6 => me.insert(SteeringSmoothing::new(wild(rng, 0.4))),
        7 => me.insert(TurnLimit { max_turn_rate: wild(rng, 2.0), min_speed: wild(rng, 0.5) }),
        8 => {
            let axis = FaceMode::Axis(wild_vec(rng, 1.0));
            let mode = [FaceMode::Forward, axis, FaceMode::FlipX][rng.random_range(0..3)];
            me.insert(FaceVelocity { mode, smoothing: wild(rng, 0.1), min_speed: wild(rng, 0.1) })
        }
        9 => me.insert(StallWatch::after(wild(rng, 1.0))),
        10 => me.insert(SteeringGroup(rng.random_range(0..3))),
        11 => me.insert(CustomIntegration),
        12 => me.remove::<(SteerEvery, SteeringSmoothing, TurnLimit, FaceVelocity, CustomIntegration)>(),
        13 => me.remove::<SteeringAgent>(),
        _ => me.remove::<Transform>(),
    };
}

/// One sick agent or thing. Everything about it comes from its own generator, so that leaving out others changes nothing.
struct Patient {
    rng: Pcg32,
    /// An obstacle or a mere thing instead of an agent.
    thing: bool,
}

impl Patient {
    fn new(seed: u64, index: usize) -> Self {
        Self { rng: Pcg32::seed_from_u64(seed * 1000 + index as u64), thing: index % 6 == 5 }
    }

    fn furnish(&mut self, me: &mut EntityWorldMut, entities: &[Entity], id: u64, huge: bool) {
        let rng = &mut self.rng;
        me.insert(Transform::from_translation(wild_vec(rng, 50.0)));
        if self.thing {
            if rng.random_bool(0.7) {
                let mut transform = Transform::from_translation(usual_vec(rng, 50.0));
                transform.rotation = Quat::from_rotation_z(wild(rng, 1.0));
                transform.scale =
                    Vec3::new(rng.random_range(-1.0_f32..2.0), 1.0, rng.random_range(0.0_f32..2.0));
                me.insert((transform, obstacle(rng, huge)));
            }
            return;
        }
        me.insert((
            SteeringId(id),
            if rng.random_bool(0.3) { limits(rng) } else { SteeringAgent::default() },
        ));
        for _ in 0..rng.random_range(0..4) {
            change(rng, me);
        }
        for _ in 0..rng.random_range(1..4) {
            let kind = rng.random_range(0..BEHAVIORS);
            add_behavior(rng, me, entities, kind);
        }
    }

    fn live(&mut self, world: &mut World, entities: &mut [Entity], index: usize, huge: bool) {
        if !self.rng.random_bool(0.05) {
            return;
        }
        let gone = world.get_entity(entities[index]).is_err();
        let action = self.rng.random_range(0..10);
        if gone || action == 0 {
            if !gone {
                world.despawn(entities[index]);
            }
            // Comes back another time.
            if gone && action < 5 {
                entities[index] = world.spawn_empty().id();
                let me = &mut world.entity_mut(entities[index]);
                self.furnish(me, entities, index as u64, huge);
            }
            return;
        }
        let mut me = world.entity_mut(entities[index]);
        let kind = self.rng.random_range(0..BEHAVIORS);
        match action {
            _ if self.thing => {
                let step = usual_vec(&mut self.rng, 0.1);
                if let Some(mut transform) = me.get_mut::<Transform>() {
                    transform.translation += step;
                }
            }
            1..4 => add_behavior(&mut self.rng, &mut me, entities, kind),
            4 | 5 => remove_behavior(&mut me, kind),
            6 if me.contains::<Disabled>() => drop(me.remove::<Disabled>().id()),
            6 => drop(me.insert(Disabled).id()),
            _ => change(&mut self.rng, &mut me),
        }
    }
}

/// Healthy agents, far away and in threes, so that the order of their sums does not matter either.
fn healthy(sim: &mut Sim) -> Vec<Entity> {
    let far = Vec3::splat(2000.0);
    let mut agents: Vec<Entity> = Vec::new();
    for i in 0..HEALTHY {
        let (three, place) = (i / 3, far + Vec3::new((i / 3) as f32 * 80.0, (i % 3) as f32 * 1.3, 0.0));
        let id = (SteeringId(1_000_000 + i as u64), SteeringGroup(100 + three as u32));
        let buddy = agents.last().copied();
        let nearest = SteeringTarget::Nearest { group: 100 + three as u32, radius: 30.0 };
        let goal = place + Vec3::new(12.0, 1.0, 3.0);
        let agent = sim.agent(place, (id, FaceVelocity::default()));
        let mut me = sim.app.world_mut().entity_mut(agent);
        match three {
            0 => me.insert((FlockMember::default(), Wander::new())),
            1 => me.insert((Arrive::new(goal), Separation::default())),
            2 => me.insert((Seek::new(goal), ObstacleFeeler::default(), SteerEvery::new(0.1))),
            3 => me.insert((Pursue::new(nearest), SteeringSmoothing::default())),
            4 => me.insert((Evade::new(nearest), TurnLimit::default())),
            5 => me.insert((
                PathFollow::new(vec![place, goal]).with_mode(PathMode::Loop),
                ObstacleFeeler::point(3.0),
            )),
            6 => match buddy {
                Some(buddy) if i % 3 > 0 => me.insert(OffsetPursue::new(buddy, Vec3::NEG_X)),
                _ => me.insert(Wander::new()),
            },
            _ => me.insert((Flee::new(nearest).with_panic_radius(9.0), Brake::new().with_weight(0.1))),
        };
        agents.push(agent);
    }
    for three in 0..HEALTHY / 3 {
        sim.thing(far + Vec3::new(three as f32 * 80.0 + 6.0, 2.0, 0.0), Obstacle::Sphere { radius: 1.5 });
    }
    agents
}

/// What was true of an agent before the tick.
struct Before {
    translation: Vec3,
    rotation: Quat,
    plane: SteeringPlane,
}

fn expect(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

fn check_agent(me: EntityRef, before: &Before, index: usize) -> Result<(), String> {
    let name = |what: &str| format!("agent {index}: {what}");
    let (Some(agent), Some(transform), Some(velocity), Some(output)) = (
        me.get::<SteeringAgent>(),
        me.get::<Transform>(),
        me.get::<SteeringVelocity>(),
        me.get::<SteeringOutput>(),
    ) else {
        return Ok(());
    };
    expect(output.force.is_finite() && output.desired_velocity.is_finite(), || {
        name(&format!("output {output:?}"))
    })?;
    let Before { translation, rotation, plane, .. } = *before;
    expect(!rotation.is_finite() || transform.rotation.is_finite(), || name("its rotation became NaN"))?;
    let kept = match plane {
        SteeringPlane::Xy => translation.z.to_bits() == transform.translation.z.to_bits(),
        SteeringPlane::Xz => translation.y.to_bits() == transform.translation.y.to_bits(),
        SteeringPlane::Space => true,
    };
    expect(kept, || name("its third coordinate was written"))?;
    if !translation.is_finite() || me.contains::<Disabled>() {
        return Ok(());
    }
    expect(transform.translation.is_finite(), || name("its position became NaN"))?;
    // Limits whose squares can be told apart from infinity.
    let limit = |x: f32| if x.is_finite() && x > 0.0 { x } else { 0.0 };
    let within = |v: Vec3, most: f32| most > 1e18 || v.length() <= most * (1.0 + 1e-4) + 1e-18;
    let (force, speed) = (limit(agent.max_force), limit(agent.max_speed));
    expect(within(output.force, force), || name(&format!("force {} above {force}", output.force)))?;
    expect(within(output.desired_velocity, speed), || {
        name(&format!("wants {} above {speed}", output.desired_velocity))
    })?;
    if me.contains::<CustomIntegration>() {
        let same =
            transform.translation.to_array().map(f32::to_bits) == translation.to_array().map(f32::to_bits);
        return expect(same, || name("something else moves it, and steering did"));
    }
    // One that was not finite counts as 0.
    expect(velocity.is_finite(), || name(&format!("velocity {}", velocity.0)))?;
    expect(within(velocity.0, speed), || name(&format!("speed {} above {speed}", velocity.length())))?;
    expect(plane.project(velocity.0) == velocity.0, || name("its velocity leaves the plane"))
}

/// Runs the scene of `seed` with the patients in `keep`; answers with the states of the healthy agents after each tick.
fn run(seed: u64, keep: &[usize]) -> Result<Vec<u64>, String> {
    let mut rng = Pcg32::seed_from_u64(seed);
    // Every fourth scene has endless obstacles, and nobody far away.
    let huge = seed % 4 == 3;
    let mut sim = Sim::new(60.0);
    {
        let mut defaults = sim.app.world_mut().resource_mut::<SteeringDefaults>();
        defaults.plane = SteeringPlane::ALL[rng.random_range(0..3)];
        defaults.parallel_from = if rng.random_bool(0.5) { 0 } else { usize::MAX };
        defaults.combine =
            [SteeringCombine::WeightedSum, SteeringCombine::FirstNonZero, SteeringCombine::Budget]
                [rng.random_range(0..3)];
    }
    let plane = sim.app.world().resource::<SteeringDefaults>().plane;
    let control = if huge { Vec::new() } else { healthy(&mut sim) };
    let world = sim.app.world_mut();
    let mut entities: Vec<Entity> = (0..SICK).map(|_| world.spawn_empty().id()).collect();
    let mut patients: Vec<Patient> = (0..SICK).map(|i| Patient::new(seed, i)).collect();
    for i in 0..SICK {
        if keep.contains(&i) {
            let me = &mut world.entity_mut(entities[i]);
            patients[i].furnish(me, &entities, i as u64, huge);
        } else {
            world.despawn(entities[i]);
        }
    }

    let mut states = Vec::new();
    for tick in 0..TICKS {
        for &i in keep {
            patients[i].live(sim.app.world_mut(), &mut entities, i, huge);
        }
        let before: Vec<Option<Before>> = keep
            .iter()
            .map(|&i| {
                let me = sim.app.world().get_entity(entities[i]).ok()?;
                let transform = me.get::<Transform>()?;
                Some(Before {
                    translation: transform.translation,
                    rotation: transform.rotation,
                    plane: me.get::<SteeringPlane>().copied().unwrap_or(plane),
                })
            })
            .collect();
        let seconds =
            [0.0, 1e-6, 1.0 / 240.0, 1.0 / 60.0, 1.0 / 60.0, 0.05, 0.25, 1.0][rng.random_range(0..8)];
        tick_by(&mut sim, Duration::from_secs_f64(seconds));
        for (&i, before) in keep.iter().zip(before) {
            if let (Some(before), Ok(me)) = (before, sim.app.world().get_entity(entities[i])) {
                check_agent(me, &before, i).map_err(|what| format!("tick {tick} of {seconds} s: {what}"))?;
            }
        }
        let mut state = 0_u64;
        for &agent in &control {
            let Transform { translation, rotation, .. } = *sim.get::<Transform>(agent);
            let velocity = sim.velocity(agent);
            expect(translation.is_finite(), || format!("tick {tick}: a healthy agent became NaN"))?;
            for x in [translation.to_array(), velocity.to_array()].concat().iter().chain(&rotation.to_array())
            {
                state = state.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(x.to_bits());
            }
        }
        states.push(state);
    }

    let warnings = sim.app.world().resource::<SteeringWarnings>();
    let mut told: Vec<_> = warnings.iter().map(|w| (w.entity, w.component, w.field)).collect();
    told.sort_unstable();
    expect(told.windows(2).all(|w| w[0] != w[1]), || "a fault is told twice".into())?;
    expect(told.iter().all(|t| !t.1.is_empty() && !t.2.is_empty() && !control.contains(&t.0)), || {
        format!("a warning names nobody, or a healthy agent: {told:?}")
    })?;
    expect(keep.len() < SICK || told.len() > 10, || "so many sick agents give warnings".into())?;
    Ok(states)
}

/// As [`run`], with panics as errors, and compared with the run without anybody sick.
fn verdict(seed: u64, keep: &[usize], undisturbed: &[u64]) -> Result<(), String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| run(seed, keep)));
    let states = outcome.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        format!("panic: {}", text.unwrap_or_default())
    })??;
    match states.iter().zip(undisturbed).position(|(a, b)| a != b) {
        Some(tick) => Err(format!("tick {tick}: healthy agents far away notice the sick ones")),
        None => Ok(()),
    }
}

#[test]
fn nothing_that_a_game_does_breaks_anything() {
    let mut agent_ticks = 0;
    for seed in 0..SEEDS {
        let undisturbed = run(seed, &[]).expect("healthy agents alone are fine");
        let everybody: Vec<usize> = (0..SICK).collect();
        if let Err(first) = verdict(seed, &everybody, &undisturbed) {
            // The fewest that still fail.
            let mut keep = everybody;
            let mut what = first.clone();
            for i in 0..SICK {
                let fewer: Vec<usize> = keep.iter().copied().filter(|&k| k != i).collect();
                if let Err(still) = verdict(seed, &fewer, &undisturbed) {
                    (keep, what) = (fewer, still);
                }
            }
            panic!("seed {seed}: {first}; smallest scene: agents {keep:?}: {what}");
        }
        agent_ticks += (SICK + HEALTHY) * TICKS;
    }
    assert!(agent_ticks >= 1_000_000, "{agent_ticks} agent-ticks");
}
