//! A whole tick of 2,000 agents that have one behaviour alone, and what obstacles cost a feeler.
//!
//! `cargo bench -p bevy_steer --bench behaviors`; one compute thread. Each measured tick is the same one.

use std::time::Duration;

use bevy::prelude::*;
use bevy_steer::{OffsetPursue, PathMode, prelude::*};
use criterion::{Criterion, SamplingMode};

mod common;

use common::{Start, spread, steering_app, tick, time_ticks};

const AGENTS: usize = 2000;

/// Who has something to say in a tick.
#[derive(Resource)]
struct Wrote {
    behavior: BehaviorId,
    agents: usize,
}

fn count(mut wrote: ResMut<Wrote>, agents: Query<&SteeringAccumulator>) {
    let behavior = wrote.behavior;
    let has = |a: &&SteeringAccumulator| a.contributions().iter().any(|c| c.behavior() == behavior);
    wrote.agents = agents.iter().filter(has).count();
}

/// How many agents wrote contributions in the first tick.
fn writers(mut app: App, behavior: BehaviorId) -> usize {
    app.insert_resource(Wrote { behavior, agents: 0 })
        .add_systems(FixedUpdate, count.after(SteeringSystems::Avoid).before(SteeringSystems::Integrate));
    tick(&mut app);
    app.world().resource::<Wrote>().agents
}

/// [`AGENTS`] agents; `furnish` gives the `n`th its behaviour, and sees all of them.
fn crowd<B: Bundle>(furnish: impl Fn(usize, &Start, &[Entity]) -> B) -> App {
    let mut app = steering_app(1);
    let world = app.world_mut();
    let starts = spread(AGENTS, SteeringPlane::Xy);
    let entities: Vec<Entity> = starts.iter().map(|start| world.spawn(start.bundle()).id()).collect();
    for (n, start) in starts.iter().enumerate() {
        world.entity_mut(entities[n]).insert(furnish(n, start, &entities));
    }
    app
}

fn loops(start: &Start) -> PathFollow {
    let corners = [Vec3::X, Vec3::X + Vec3::Y, Vec3::Y, Vec3::ZERO];
    let corners: Vec<_> = corners.iter().map(|corner| start.position + *corner * 5.0).collect();
    PathFollow::new(corners).with_mode(PathMode::Loop)
}

/// An obstacle for each feeler to run into.
fn feelers(feeler: ObstacleFeeler, obstacle: Obstacle) -> App {
    let mut app = crowd(|_, _, _| feeler);
    for start in spread(AGENTS, SteeringPlane::Xy) {
        let ahead = start.position + start.velocity.normalize() * 1.2;
        app.world_mut().spawn((obstacle, Transform::from_translation(ahead)));
    }
    app
}

/// So many feelers among posts, in the middle of `edge`² of them: in a town of 10² they see as many as in a larger one.
fn town(edge: i32, feelers: usize) -> App {
    let mut app = steering_app(1);
    let world = app.world_mut();
    for x in 0..edge {
        for y in 0..edge {
            let at = Vec3::new((x - edge / 2) as f32 + 0.5, (y - edge / 2) as f32 + 0.5, 0.0) * 4.0;
            world.spawn((Obstacle::Sphere { radius: 0.5 }, Transform::from_translation(at)));
        }
    }
    let mut random = common::random();
    for _ in 0..feelers {
        let position = Vec3::new(random(), random(), 0.0) * 13.0;
        let velocity = Vec3::new(random(), random(), 0.0) * 4.0;
        world.spawn((ObstacleFeeler::default(), Start { position, velocity }.bundle()));
    }
    app
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("behavior");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
    let mut time = |name: &str, behavior: BehaviorId, expected: usize, build: &dyn Fn() -> App| {
        let wrote = writers(build(), behavior);
        assert!(wrote >= expected, "{name}: {wrote} agents wrote, of {expected} or more");
        let mut app = build();
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|ticks| time_ticks(&mut app, ticks));
        });
    };
    let next = |n: usize, all: &[Entity]| all[(n + 1) % AGENTS];
    let nearest = SteeringTarget::Nearest { group: 0, radius: 10.0 };
    let far = Vec3::X * 500.0;
    time("none", BehaviorId::new("none"), 0, &|| crowd(|_, _, _| SteeringAgent::default()));
    time("Seek", Seek::ID, AGENTS, &|| crowd(|_, _, _| Seek::new(far)));
    time("Seek, nearest", Seek::ID, AGENTS, &|| crowd(move |_, _, _| Seek::new(nearest)));
    time("Flee", Flee::ID, AGENTS, &|| crowd(|_, _, _| Flee::new(far)));
    time("Arrive", Arrive::ID, AGENTS, &|| crowd(|_, s, _| Arrive::new(s.position + Vec3::X * 9.0)));
    time("Arrive, crowd", Arrive::ID, AGENTS, &|| crowd(|_, _, _| Arrive::new(Vec3::ZERO)));
    time("Pursue", Pursue::ID, AGENTS, &|| crowd(|n, _, all| Pursue::new(next(n, all))));
    time("Evade", Evade::ID, AGENTS, &|| crowd(|n, _, all| Evade::new(next(n, all))));
    time("OffsetPursue", OffsetPursue::ID, AGENTS, &|| {
        crowd(|n, _, all| OffsetPursue::new(next(n, all), Vec3::X))
    });
    time("Wander", Wander::ID, AGENTS, &|| crowd(|_, _, _| Wander::new()));
    time("PathFollow", PathFollow::ID, AGENTS, &|| crowd(|_, start, _| loops(start)));
    time("FlockMember", FlockMember::ID, AGENTS, &|| crowd(|_, _, _| FlockMember::default()));
    time("Separation", Separation::ID, AGENTS, &|| crowd(|_, _, _| Separation::new(6.0)));
    time("Brake", Brake::ID, AGENTS, &|| crowd(|_, _, _| Brake::new()));
    // At any time some have just found a way round, or are too slow to mind.
    let (point, swept) = (ObstacleFeeler::point(1.2), ObstacleFeeler::default());
    let post = Obstacle::Sphere { radius: 0.3 };
    let block = Obstacle::Cuboid { half_extents: Vec3::new(0.4, 0.2, 0.3) };
    time("ObstacleFeeler, point", ObstacleFeeler::ID, AGENTS / 2, &|| feelers(point, post));
    time("ObstacleFeeler, swept", ObstacleFeeler::ID, AGENTS / 2, &|| feelers(swept, post));
    time("ObstacleFeeler, swept, boxes", ObstacleFeeler::ID, AGENTS / 2, &|| feelers(swept, block));
    for edge in [10, 100] {
        let name = |feelers: usize| format!("feelers {feelers}, obstacles {}", edge * edge);
        time(&name(10_000), ObstacleFeeler::ID, 2000, &|| town(edge, 10_000));
        time(&name(1), ObstacleFeeler::ID, 0, &|| town(edge, 1));
    }
    let near = [10, 100].map(|edge| writers(town(edge, 10_000), ObstacleFeeler::ID));
    assert_eq!(near[0], near[1], "the same obstacles are near");
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    bench(&mut criterion);
    criterion.final_summary();
}
