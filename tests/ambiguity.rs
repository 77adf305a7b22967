//! The systems of a tick run in an order that is fixed wherever it matters.

use bevy::{
    ecs::schedule::{LogLevel, ScheduleBuildSettings},
    prelude::*,
};
use bevy_steer::*;

/// What Bevy says of systems whose order is open though they touch the same data; empty if there are none.
fn open_pairs(extra: impl FnOnce(&mut App)) -> String {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin, SteeringPlugins::default()));
    extra(&mut app);
    app.finish();
    app.cleanup();
    app.edit_schedule(FixedUpdate, |schedule| {
        schedule.set_build_settings(ScheduleBuildSettings {
            ambiguity_detection: LogLevel::Error,
            // Points where commands are applied would hide what is open.
            auto_insert_apply_deferred: false,
            ..default()
        });
    });
    app.world_mut().schedule_scope(FixedUpdate, |world, schedule| {
        // Twelve behaviours, and seven for what they have in common.
        assert!(schedule.graph().systems.len() >= 19, "all systems of the plugin are there");
        match schedule.initialize(world) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(schedule.graph(), world),
        }
    })
}

#[test]
fn no_order_is_left_open_but_that_of_the_writers() {
    // The plugin itself says that writers to the accumulator may come in any order; nothing else may.
    let open = open_pairs(|_| {});
    assert!(open.is_empty(), "{open}");
}

#[test]
fn an_open_order_is_found_out() {
    fn push_around(mut agents: Query<&mut Transform, With<SteeringAgent>>) {
        for mut transform in &mut agents {
            transform.translation.x += 1.0;
        }
    }
    let open = open_pairs(|app| {
        app.add_systems(FixedUpdate, push_around.in_set(SteeringSystems::Steer));
    });
    assert!(open.contains("push_around (in set Steer)") && open.contains("Transform"), "{open}");

    fn write(mut agents: Query<&mut SteeringAccumulator>) {
        for mut accumulator in &mut agents {
            accumulator.push(BehaviorId::new("W"), Vec3::X, 1.0, SteeringPriority::GOAL);
        }
    }
    let open = open_pairs(|app| {
        app.add_systems(FixedUpdate, write.in_set(SteeringSystems::Steer));
    });
    assert!(open.is_empty(), "a game's own writer needs no order: {open}");
}
