//! The tick rate and how often an agent looks do not change what it does.

use bevy::prelude::*;

use crate::{Arrive, Arrived, PathFollow, PathMode, Pursue, Seek, SteerEvery, SteeringVelocity, testing::*};

/// Where one agent is after 10 s, and how far it has gone.
fn after_ten_seconds(hz: f64, scene: impl Fn(&mut Sim) -> Entity) -> (Vec3, f32) {
    let mut sim = Sim::new(hz);
    let agent = scene(&mut sim);
    let (mut way, mut last) = (0.0, sim.position(agent));
    for _ in 0..(hz * 10.0) as usize {
        sim.tick();
        way += sim.position(agent).distance(last);
        last = sim.position(agent);
    }
    (last, way)
}

/// A scene whose agent is watched.
type Scene = (&'static str, fn(&mut Sim) -> Entity);

#[test]
fn case_49_the_tick_rate_does_not_change_where_agents_go() {
    let scenes: [Scene; 5] = [
        ("seek", |sim| sim.moving(Vec3::new(3.0, 8.0, 0.0), Vec3::X * 5.0, Seek::new(Vec3::X * 30.0))),
        ("seek through the target", |sim| {
            sim.moving(Vec3::new(3.0, 8.0, 0.0), Vec3::X * 5.0, Seek::new(Vec3::X * 6.0))
        }),
        ("arrive", |sim| sim.moving(Vec3::new(3.0, 8.0, 0.0), Vec3::X * 5.0, Arrive::new(Vec3::X * 20.0))),
        ("pursue", |sim| {
            let hare = sim.moving(Vec3::X * 12.0, Vec3::Y * 3.0, ());
            sim.agent(Vec3::ZERO, Pursue::new(hare))
        }),
        ("path", |sim| {
            let square = [(0.0, 0.0), (8.0, 0.0), (8.0, 8.0), (0.0, 8.0)].map(|(x, y)| Vec3::new(x, y, 0.0));
            sim.agent(Vec3::ZERO, PathFollow::new(square).with_mode(PathMode::Loop))
        }),
    ];
    for (name, scene) in scenes {
        let ((at_60, way), (at_144, _)) = (after_ten_seconds(60.0, scene), after_ten_seconds(144.0, scene));
        let apart = at_60.distance(at_144);
        assert!(apart <= 0.02 * way, "{name}: {apart} apart after {way}");
    }
}

#[test]
fn case_50_an_agent_that_looks_twice_a_second_arrives_and_rests() {
    let mut sim = Sim::new(60.0);
    sim.count_events::<Arrived>();
    let rare = sim.agent(Vec3::ZERO, (Arrive::new(Vec3::X * 20.0), SteerEvery::new(0.5)));
    let fast = sim.moving(
        Vec3::Y * 9.0,
        Vec3::X * 5.0,
        (Arrive::new(Vec3::new(20.0, 9.0, 0.0)), SteerEvery::new(0.5)),
    );
    let mut past = f32::MIN;
    for _ in 0..3600 {
        sim.tick();
        past = past.max(sim.position(rare).x).max(sim.position(fast).x);
    }
    for (agent, target) in [(rare, Vec3::X * 20.0), (fast, Vec3::new(20.0, 9.0, 0.0))] {
        assert_eq!(sim.velocity(agent), Vec3::ZERO);
        assert!(sim.position(agent).distance(target) <= 0.05, "{}", sim.position(agent));
        assert_eq!(sim.count::<Arrived>(agent), 1);
    }
    assert!(past < 20.05, "it does not swing past the target: {past}");
}

#[test]
fn case_50_rare_looks_at_a_moving_target_keep_up() {
    let mut sim = Sim::new(60.0);
    let hare = sim.thing(Vec3::X * 12.0, SteeringVelocity(Vec3::Y * 2.0));
    let rare = sim.agent(Vec3::ZERO, (Pursue::new(hare), SteerEvery::new(0.1)));
    let often = sim.agent(Vec3::ZERO, Pursue::new(hare));
    let mut apart: f32 = 0.0;
    for _ in 0..120 {
        sim.tick();
        sim.get_mut::<Transform>(hare).translation.y += 2.0 / 60.0;
        apart = apart.max(sim.position(rare).distance(sim.position(often)));
    }
    assert!(apart < 0.3, "{apart}");
}
