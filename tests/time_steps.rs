//! The length of a tick, in fixed and in variable schedules.

use std::time::Duration;

use bevy::{prelude::*, time::TimeUpdateStrategy};
use bevy_steer::*;

use crate::common::{sim::Sim, tick_by};

fn step(app: &App) -> f32 {
    app.world().resource::<SteeringStep>().dt
}

#[test]
fn a_variable_step_is_at_most_a_tenth_of_a_second() {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, SteeringPlugins::new(Update)));
    app.world_mut().resource_mut::<Time<Virtual>>().set_max_delta(Duration::from_secs(10));
    let agent = app.world_mut().spawn((SteeringAgent::default(), SteeringVelocity(Vec3::X))).id();
    app.world_mut().spawn((SteeringAgent::default(), Transform::from_xyz(0.0, 9.0, 0.0)));
    app.update();
    let mut expected = 0.0;
    for (millis, taken) in [(16, 0.016), (100, 0.1), (250, 0.1), (1000, 0.1), (0, 0.0), (40, 0.04)] {
        app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(millis)));
        app.update();
        assert!((step(&app) - taken).abs() < 1e-6, "{millis} ms count as {taken} s: {}", step(&app));
        expected += taken;
        let x = app.world().get::<Transform>(agent).expect("it is there").translation.x;
        assert!((x - expected).abs() < 1e-5, "after {millis} ms at {x}, expected {expected}");
    }
}

#[test]
fn a_fixed_step_is_taken_as_it_is() {
    let mut sim = Sim::new(1.0);
    let agent = sim.moving(Vec3::ZERO, Vec3::X * 2.0, ());
    sim.agent(Vec3::Y * 9.0, ());
    sim.tick();
    assert_eq!((step(&sim.app), sim.position(agent).x), (1.0, 2.0));
    tick_by(&mut sim, Duration::from_secs(4));
    assert_eq!((step(&sim.app), sim.position(agent).x), (4.0, 10.0));
}
