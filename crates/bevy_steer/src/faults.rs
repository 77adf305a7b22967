//! Notices components whose values make no sense, when they are added or changed.

use std::sync::{Mutex, PoisonError};

use bevy::{
    ecs::{change_detection::Tick, system::SystemChangeTick},
    prelude::*,
};

use crate::{behavior::Fault, warnings::SteeringWarnings};

/// The types of component that are watched. One system looks at all of them: most of them rarely change, and a system for
/// each would cost a small world more than all its steering.
#[derive(Resource, Default)]
pub(crate) struct FaultWatch(Mutex<Vec<Box<dyn Watch>>>);

trait Watch: Send {
    /// Checks what has changed since it was asked before.
    fn look(&mut self, world: &World, warnings: &SteeringWarnings, now: Tick);
}

struct Watched<C: Component> {
    /// Made when it is first needed: the app's default filters must be known.
    all: Option<QueryState<(Entity, Ref<'static, C>)>>,
    last: Option<Tick>,
    name: &'static str,
    fault: fn(&C) -> Option<Fault>,
}

/// Watches components of type `C`.
pub(crate) fn watch_for_faults<C: Component>(
    world: &mut World,
    name: &'static str,
    fault: fn(&C) -> Option<Fault>,
) {
    world.register_component::<C>();
    let watched = Watched { all: None, last: None, name, fault };
    let watch = world.get_resource_or_init::<FaultWatch>().into_inner();
    watch.0.get_mut().unwrap_or_else(PoisonError::into_inner).push(Box::new(watched));
}

/// Warns of components that have changed to values that make no sense.
pub(crate) fn warn_of_faults(world: &World, ticks: SystemChangeTick) {
    let (Some(watch), Some(warnings)) =
        (world.get_resource::<FaultWatch>(), world.get_resource::<SteeringWarnings>())
    else {
        return;
    };
    for watched in watch.0.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
        watched.look(world, warnings, ticks.this_run());
    }
}

impl<C: Component> Watch for Watched<C> {
    fn look(&mut self, world: &World, warnings: &SteeringWarnings, now: Tick) {
        let Self { all, last, name, fault } = self;
        if all.is_none() {
            *all = world.try_query();
        }
        let Some(all) = all else { return };
        let last = last.replace(now);
        let changed = |tick: &Tick| last.is_none_or(|last| tick.is_newer_than(last, now));
        let check = |entity: Entity, component: &C| {
            if let Some(Fault { field, value, consequence }) = fault(component) {
                warnings.warn(entity, name, field, &value, consequence);
            }
        };
        let all = all.query(world);
        let Ok(tables) = all.contiguous_iter() else {
            // A component that a game keeps in sparse sets.
            let all = all.iter().filter(|(_, c)| changed(&c.last_changed()));
            all.for_each(|(entity, c)| check(entity, &c));
            return;
        };
        // Tables in which nothing has changed cost next to nothing.
        for (entities, components) in tables {
            let ticks = components.changed_ticks_slice();
            for (some, ticks) in ticks.chunks(64).enumerate() {
                if ticks.iter().fold(false, |any, tick| any | changed(tick)) {
                    for n in some * 64..some * 64 + ticks.len() {
                        if changed(&ticks[n % 64]) {
                            check(entities[n], &components[n]);
                        }
                    }
                }
            }
        }
    }
}
