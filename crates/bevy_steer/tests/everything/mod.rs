//! A world with every behaviour, every modifier and every kind of target, that stays as large as it is.

#[path = "../../src/testing.rs"]
pub mod sim;

use bevy::{ecs::schedule::SingleThreadedExecutor, math::ops, prelude::*};
use bevy_steer::*;
use sim::Sim;

/// Agents come in so many kinds.
const KINDS: usize = 21;
/// The behaviours, in the order of [`Tally`].
pub const BEHAVIORS: [BehaviorId; 12] = [
    Seek::ID,
    Flee::ID,
    Arrive::ID,
    Pursue::ID,
    Evade::ID,
    OffsetPursue::ID,
    Wander::ID,
    PathFollow::ID,
    FlockMember::ID,
    Separation::ID,
    Brake::ID,
    ObstacleFeeler::ID,
];

/// How many contributions each behaviour has written so far.
#[derive(Resource, Default)]
pub struct Tally(pub [usize; BEHAVIORS.len()]);

/// How many events observers have heard of.
#[derive(Resource, Default)]
pub struct Heard(pub usize);

fn hear<E: EntityEvent>(_: On<E>, mut heard: ResMut<Heard>) {
    heard.0 += 1;
}

fn tally(mut tally: ResMut<Tally>, agents: Query<&SteeringAccumulator>) {
    for contribution in agents.iter().flat_map(SteeringAccumulator::contributions) {
        if let Some(at) = BEHAVIORS.iter().position(|&id| id == contribution.behavior()) {
            tally.0[at] += 1;
        }
    }
}

/// Half the edge of the world.
#[derive(Resource)]
struct HalfEdge(f32);

/// Who leaves the world comes back on the other side, so that nothing grows for ever.
fn wrap(half: Res<HalfEdge>, mut agents: Query<&mut Transform, With<SteeringAgent>>) {
    for mut transform in &mut agents {
        let place = transform.translation;
        if place.abs().max_element() > half.0 {
            transform.translation = place - 2.0 * half.0 * (place / (2.0 * half.0)).round();
        }
    }
}

/// Goes round in a circle.
#[derive(Component)]
struct Circling {
    center: Vec3,
    angle: f32,
}

fn circle(mut movers: Query<(&mut Circling, &mut Transform)>) {
    for (mut mover, mut transform) in &mut movers {
        mover.angle += 0.02;
        let (sin, cos) = ops::sin_cos(mover.angle);
        transform.translation = mover.center + Vec3::new(cos, sin, 0.0) * 4.0;
    }
}

/// The world with `agents` agents, at the same density however many.
pub fn everything(agents: usize, threads: usize) -> Sim {
    let mut pools = TaskPoolOptions::default();
    (pools.io.max_threads, pools.async_compute.max_threads) = (1, 1);
    (pools.compute.min_threads, pools.compute.max_threads) = (threads, threads);
    pools.create_default_pools();
    let half = 0.5 * (agents as f32 * 4.0).sqrt();
    let mut sim = Sim::new(60.0);
    sim.app
        .init_resource::<Heard>()
        .add_observer(hear::<Arrived>)
        .add_observer(hear::<WaypointReached>)
        .add_observer(hear::<PathCompleted>)
        .add_observer(hear::<Stalled>);
    sim.app.init_resource::<Tally>().insert_resource(HalfEdge(half)).add_systems(
        FixedUpdate,
        (
            (wrap, circle).before(SteeringSystems::Sense),
            tally.after(SteeringSystems::Avoid).before(SteeringSystems::Integrate),
        ),
    );
    if threads == 1 {
        for label in bevy::app::FixedMainScheduleOrder::default().labels {
            sim.app.edit_schedule(label, |schedule| {
                schedule.set_executor(SingleThreadedExecutor::new());
            });
        }
    }
    populate(sim.app.world_mut(), agents, half);
    sim
}

/// Warms up: crowds the agents together and has all of them reach their waypoints at once, so that buffers are larger
/// than anything that comes later, then lets the world calm down.
pub fn warm_up(sim: &mut Sim) {
    let world = sim.app.world_mut();
    let mut agents = world.query_filtered::<&mut Transform, (With<FlockMember>, Without<Brake>)>();
    let mut paths = world.query::<&mut PathFollow>();
    agents.iter_mut(world).for_each(|mut transform| transform.translation *= 0.5);
    let mut reach = |sim: &mut Sim, radius| {
        paths.iter_mut(sim.app.world_mut()).for_each(|mut path| path.arrival_radius = radius);
        sim.tick();
    };
    reach(sim, 1e3);
    reach(sim, 0.6);
    sim.ticks(300);
}

fn populate(world: &mut World, agents: usize, half: f32) {
    let mut rng = AgentRng::seeded(SteeringSeed(1), SteeringId(1), 1);
    let mut point = || Vec3::new(rng.signed(), rng.signed(), rng.signed()) * half;
    let mut movers = Vec::new();
    for i in 0..agents / 20 {
        let center = point();
        let mut thing = world.spawn(Transform::from_translation(center));
        match i % 4 {
            0 => thing.insert(Obstacle::Sphere { radius: 0.7 }),
            1 => thing.insert(Obstacle::Cuboid { half_extents: Vec3::new(1.0, 0.5, 1.0) }),
            2 => thing.insert((Obstacle::Sphere { radius: 0.5 }, Circling { center, angle: 0.0 })),
            _ => thing.insert(Circling { center, angle: 1.0 }),
        };
        if i % 4 == 3 {
            movers.push(thing.id());
        }
    }
    // Who stands in the corners keeps the grids as large as they are.
    for corner in [Vec3::splat(half), Vec3::splat(-half)] {
        for plane in SteeringPlane::ALL {
            world.spawn((Brake::new(), plane, Transform::from_translation(corner)));
        }
    }
    let entities: Vec<Entity> = (0..agents).map(|_| world.spawn_empty().id()).collect();
    for (i, &me) in entities.iter().enumerate() {
        let (other, thing) = (entities[(i * 31 + 7) % agents], movers[i % movers.len()]);
        world.entity_mut(me).insert((
            SteeringAgent::new(4.0, 15.0).with_radius(0.2),
            Transform::from_translation(point()),
            SteeringVelocity(point().normalize_or(Vec3::X)),
            SteeringGroup(i as u32 % 3),
        ));
        furnish(world.entity_mut(me), i, other, thing, [point(), point()]);
    }
}

/// Makes an agent one of its kind.
fn furnish(mut me: EntityWorldMut, i: usize, other: Entity, thing: Entity, [a, b]: [Vec3; 2]) {
    let nearest = SteeringTarget::Nearest { group: (i as u32 + 1) % 3, radius: 6.0 };
    let loops = PathFollow::new(vec![a, a + Vec3::X * 6.0, a + Vec3::splat(6.0)]).with_mode(PathMode::Loop);
    let flock = FlockMember::default();
    match i % KINDS {
        0 => me.insert(Seek::new(a)),
        1 => me.insert(Seek::new(nearest)),
        2 => me.insert(Flee::new(a).with_panic_radius(30.0)),
        3 => me.insert(Flee::new(other)),
        4 => me.insert((Arrive::new(Vec3::splat(5.0)), Separation::default())),
        5 => me.insert(Arrive::new(thing)),
        6 => me.insert(Pursue::new(other)),
        7 => me.insert(Pursue::new(thing)),
        8 => me.insert(Evade::new(nearest)),
        9 => me.insert(OffsetPursue::new(other, Vec3::ONE)),
        10 => me.insert(Wander::new()),
        11 => me.insert(loops),
        12 => me.insert(PathFollow::new(vec![a, b]).with_mode(PathMode::PingPong)),
        13 => me.insert(flock),
        14 => me.insert(FlockMember { law: FlockLaw::Classic, field_of_view: 200.0, ..flock }),
        15 => me.insert(FlockMember {
            max_neighbors: Some(5),
            separation: SeparationMode::Mean,
            ..FlockMember::default()
        }),
        16 => me.insert((Separation::default(), Brake::new())),
        17 => me.insert((Seek::new(a), ObstacleFeeler::point(2.0))),
        18 => me.insert((Wander::new(), ObstacleFeeler::default())),
        19 => me.insert((loops, ObstacleFeeler::default())),
        // All at once.
        _ => me.insert((
            (Seek::new(a), Flee::new(other), Arrive::new(b), Pursue::new(thing), Evade::new(nearest)),
            (OffsetPursue::new(other, Vec3::ONE), Wander::new(), loops, flock, Separation::default()),
            Brake::new().with_weight(0.1),
        )),
    };
    match i % 4 {
        1 => me.insert(SteeringPlane::Xz),
        2 => me.insert(SteeringPlane::Space),
        _ => &mut me,
    };
    match i % 5 {
        1 => me.insert(SteerEvery::new(0.1)),
        2 => me.insert(SteeringSmoothing::new(0.3)),
        3 => me.insert(TurnLimit::new(3.0)),
        _ => me.insert(FaceVelocity::default()),
    };
}
