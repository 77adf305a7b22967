//! One scene with every behaviour, every mode and every modifier, and a script that changes it on the way.

use bevy::{
    ecs::{entity::EntityHashMap, entity_disabling::Disabled, schedule::SingleThreadedExecutor},
    math::ops,
    prelude::*,
};
use bevy_steer::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

use super::sim::Sim;

/// Agents; more than [`SteeringDefaults::parallel_from`], so that the parallel path is taken by default.
pub const AGENTS: usize = 2400;
/// Targets that move without telling their velocity, and obstacles.
pub const THINGS: usize = 120;
/// Kinds of agents.
const KINDS: usize = 30;

/// The order in which entities come into being; each index keeps its number and its nature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    Forward,
    Reverse,
    Shuffled,
}

impl Order {
    pub fn indices(self, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..count).collect();
        match self {
            Self::Forward => {}
            Self::Reverse => all.reverse(),
            Self::Shuffled => all.sort_by_key(|&i| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        }
        all
    }
}

/// How a scene is run; nothing here may change the result.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub order: Order,
    pub parallel_from: usize,
    pub single_threaded: bool,
}

impl Default for Setup {
    fn default() -> Self {
        let parallel_from = SteeringDefaults::default().parallel_from;
        Self { order: Order::Forward, parallel_from, single_threaded: false }
    }
}

/// Goes round in a circle, step by step. Its state is a component, so that it can be saved.
#[derive(Component, Reflect, Clone, Copy, Default)]
#[reflect(Component, Default)]
pub struct Mover {
    center: Vec3,
    radius: f32,
    every: u32,
    ticks: u32,
}

fn move_things(mut movers: Query<(&mut Mover, &mut Transform)>) {
    for (mut mover, mut transform) in &mut movers {
        mover.ticks += 1;
        if mover.ticks % mover.every == 0 {
            let (sin, cos) = ops::sin_cos(mover.ticks as f32 * 0.02);
            transform.translation = mover.center + Vec3::new(cos, sin, cos) * mover.radius;
        }
    }
}

/// Index of an entity, whatever its place in storage.
#[derive(Resource, Default)]
struct Indices(EntityHashMap<usize>);

/// What happened, in the order in which observers heard of it.
#[derive(Resource, Default)]
pub struct EventLog(pub Vec<(u64, String)>);

fn hear<E: EntityEvent>(app: &mut App, tell: fn(&E, &dyn Fn(Entity) -> usize) -> String) {
    app.add_observer(
        move |event: On<E>, step: Res<SteeringStep>, indices: Res<Indices>, mut log: ResMut<EventLog>| {
            let index = |entity: Entity| indices.0.get(&entity).copied().unwrap_or(usize::MAX);
            let text = tell(&event, &index);
            log.0.push((step.tick, format!("{} {text}", index(event.event_target()))));
        },
    );
}

/// The scene and who is who in it.
pub struct Scene {
    pub sim: Sim,
    pub entities: Vec<Entity>,
}

impl Scene {
    /// The scene, ready for its first tick.
    pub fn new(setup: Setup) -> Self {
        let mut scene = Self::empty(setup);
        let world = scene.sim.app.world_mut();
        let order = setup.order.indices(AGENTS + THINGS);
        let mut entities = vec![Entity::PLACEHOLDER; order.len()];
        for &i in &order {
            entities[i] = world.spawn_empty().id();
        }
        for &i in &order {
            furnish(world, i, &entities);
        }
        scene.name(entities);
        scene
    }

    /// The same app without anything in it.
    pub fn empty(setup: Setup) -> Self {
        let mut sim = Sim::new(60.0);
        let app = &mut sim.app;
        app.register_type::<Mover>()
            .init_resource::<Indices>()
            .init_resource::<EventLog>()
            .insert_resource(SteeringSeed(42))
            .add_systems(FixedUpdate, move_things.before(SteeringSystems::Sense));
        app.world_mut().resource_mut::<SteeringDefaults>().parallel_from = setup.parallel_from;
        hear::<Arrived>(app, |_, _| "arrived".into());
        hear::<TargetLost>(app, |event, index| format!("lost {}", index(event.target)));
        hear::<WaypointReached>(app, |event, _| format!("reached {}", event.waypoint));
        hear::<PathCompleted>(app, |_, _| "completed".into());
        hear::<Stalled>(app, |_, _| "stalled".into());
        if setup.single_threaded {
            app.edit_schedule(FixedUpdate, |schedule| {
                schedule.set_executor(SingleThreadedExecutor::new());
            });
        }
        Self { sim, entities: Vec::new() }
    }

    /// Says which entity stands for which index.
    pub fn name(&mut self, entities: Vec<Entity>) {
        let indices = entities.iter().enumerate().map(|(i, &entity)| (entity, i)).collect();
        self.sim.app.world_mut().insert_resource(Indices(indices));
        self.entities = entities;
    }

    /// Runs from tick `from` to tick `to`, and answers with the hash of every tenth.
    pub fn run(&mut self, from: usize, to: usize) -> Vec<u64> {
        let mut hashes = Vec::new();
        for tick in from..to {
            self.script(tick);
            self.sim.tick();
            if tick % 10 == 9 {
                hashes.push(self.sim.hash());
            }
        }
        hashes
    }

    /// The events so far.
    pub fn events(&self) -> Vec<(u64, String)> {
        self.sim.app.world().resource::<EventLog>().0.clone()
    }

    /// Things that a game does in mid-run.
    fn script(&mut self, tick: usize) {
        let (entities, world) = (&self.entities, self.sim.app.world_mut());
        if matches!(tick, 30 | 60 | 130) {
            // Targets and neighbours go.
            for k in 0..6 {
                world.despawn(entities[AGENTS + tick / 30 + 7 * k]);
                world.despawn(entities[tick + KINDS * k]);
            }
        }
        let mut every = |step: usize, change: &mut dyn FnMut(EntityWorldMut)| {
            for &entity in entities[..AGENTS].iter().step_by(step) {
                if let Ok(me) = world.get_entity_mut(entity) {
                    change(me);
                }
            }
        };
        match tick {
            // Behaviours go and come, also those whose contributions are held.
            50 => every(17, &mut |mut me| {
                me.remove::<(Seek, FlockMember)>();
            }),
            70 => every(19, &mut |mut me| {
                me.insert((Disabled, Wander::new()));
            }),
            110 => every(19, &mut |mut me| {
                me.remove::<Disabled>();
            }),
            // Paths are replaced.
            120 => every(3, &mut |mut me| {
                if let Some(mut path) = me.get_mut::<PathFollow>() {
                    path.waypoints = vec![Vec3::splat(10.0), Vec3::splat(-10.0)];
                }
            }),
            _ => {}
        }
    }
}

/// Makes entity `i` what it is, from its index alone.
fn furnish(world: &mut World, i: usize, entities: &[Entity]) {
    let mut rng = Pcg32::seed_from_u64(i as u64);
    let mut around = |extent: f32| {
        let mut x = || rng.random_range(-extent..extent);
        Vec3::new(x(), x(), x())
    };
    let place = around(50.0);
    let velocity = around(4.0);
    let goal = around(50.0);
    let thing = entities[AGENTS + i % THINGS];
    let other = entities[(i * 31 + 7) % AGENTS];
    let mut me = world.entity_mut(entities[i]);
    me.insert(Transform::from_translation(place));
    if i >= AGENTS {
        let mover = Mover { center: place, radius: 6.0, every: 1 + i as u32 % 4, ticks: i as u32 };
        match i % 6 {
            // A goal that stands, for a crowd.
            0 if i == AGENTS + 6 => me.insert(Transform::from_xyz(21.0, 19.0, 20.0)),
            0 | 1 => me.insert(mover),
            2 => me.insert((mover, Obstacle::Sphere { radius: 1.5 })),
            3 => me.insert(Obstacle::Cuboid { half_extents: Vec3::new(2.0, 1.0, 3.0) }),
            4 => me.insert(Obstacle::wall_between(place, place + goal.normalize() * 8.0, 0.2)),
            _ => me.insert((Obstacle::Sphere { radius: 1.0 }, SteeringVelocity(velocity), mover)),
        };
        return;
    }

    me.insert((
        SteeringId(i as u64 * 3 + 5),
        SteeringAgent::new(5.0, 15.0).with_radius(0.3),
        SteeringVelocity(velocity),
        SteeringGroup(1 + i as u32 % 3),
    ));
    let nearest = SteeringTarget::Nearest { group: 1 + (i as u32 + 1) % 3, radius: 20.0 };
    let path = || PathFollow::new(vec![place, place + goal * 0.3, place - goal * 0.2, place + goal * 0.1]);
    let flock = FlockMember::default();
    let near = Transform::from_translation(Vec3::splat(20.0) + place * 0.08);
    match i % KINDS {
        0 => me.insert(Seek::new(goal)),
        1 => me.insert((Seek::new(other), Wander::new())),
        2 => me.insert(Seek::new(nearest)),
        3 => me.insert(Flee::new(goal).with_panic_radius(30.0)),
        4 => me.insert((Flee::new(nearest), Seek::new(thing))),
        5 => me.insert((near, Arrive::new(Vec3::splat(20.0)), Separation::default())),
        6 => me.insert((Arrive::new(thing), Flee::new(other).with_panic_radius(3.0))),
        7 => me.insert((near, Arrive::new(entities[AGENTS + 6]), Separation::default())),
        8 => me.insert(Pursue::new(other)),
        9 => me.insert(Pursue::new(thing)),
        10 => me.insert(Evade::new(nearest).with_panic_radius(15.0)),
        11 => me.insert((Evade::new(thing), Brake::new().with_weight(0.2))),
        12 => me.insert(OffsetPursue::new(other, Vec3::new(-1.0, 1.0, 1.0))),
        13 => me.insert(OffsetPursue::new(thing, Vec3::new(2.0, 0.0, 0.0))),
        14 | 15 => me.insert(Wander::new()),
        16..=18 => me.insert(flock),
        19 => me.insert((flock, Separation::default(), ObstacleFeeler::default())),
        20 => me.insert(FlockMember { law: FlockLaw::Classic, field_of_view: 200.0, ..flock }),
        21 => me.insert(FlockMember {
            max_neighbors: Some(5),
            separation: SeparationMode::Mean,
            ..FlockMember::default()
        }),
        // A heap on one point.
        22 => me.insert((Transform::from_xyz(5.0, 5.0, 5.0), Separation::default(), Brake::new())),
        23 => me.insert((Seek::new(goal), ObstacleFeeler::point(3.0))),
        24 => me.insert((Seek::new(goal), ObstacleFeeler::default())),
        25 => me.insert((Wander::new(), ObstacleFeeler::default(), Separation::new(2.0))),
        26 => me.insert(path()),
        27 => me.insert((path().with_mode(PathMode::Loop), ObstacleFeeler::default())),
        28 => me.insert(path().with_mode(PathMode::PingPong).with_arrival_radius(1.5)),
        // Pressed against nothing: wants to move and cannot.
        _ => me.insert((Seek::new(goal), SteeringAgent::new(5.0, 15.0).with_mass(1e9))),
    };
    match i % 4 {
        1 => me.insert(SteeringPlane::Xz),
        2 => me.insert(SteeringPlane::Space),
        _ => &mut me,
    };
    match i % 7 {
        1 => me.insert(SteeringCombine::WeightedSum),
        2 => me.insert(SteeringCombine::FirstNonZero),
        3 => me.insert(SteeringCombine::Budget),
        _ => &mut me,
    };
    match i % 5 {
        1 => me.insert(SteerEvery::new(0.1)),
        2 => me.insert(SteeringSmoothing::new(0.3)),
        3 => me.insert(TurnLimit::new(3.0)),
        _ => &mut me,
    };
    match i % 3 {
        0 => me.insert(FaceVelocity::default()),
        1 => me.insert(FaceVelocity::axis(Vec3::Y)),
        _ => me.insert(FaceVelocity { mode: FaceMode::FlipX, ..default() }),
    };
    if i.is_multiple_of(101) {
        me.insert(CustomIntegration);
    }
}
