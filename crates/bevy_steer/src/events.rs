//! Events that a game observes, and the queue that gives them a reproducible order.

use bevy::{prelude::*, utils::Parallel};

use crate::rng::SteeringId;

/// The agent has come to rest at the target of its [`Arrive`](crate::Arrive), or settled in the crowd around it.
#[derive(EntityEvent, Reflect, Debug, Clone, Copy, PartialEq, Eq)]
#[reflect(Event)]
#[type_path = "bevy_steer"]
pub struct Arrived {
    /// The agent.
    pub entity: Entity,
}

/// A behaviour's target entity was despawned or has no `Transform` any more. Sent once; the behaviour is silent from then
/// on, and an agent without any other wish coasts. To make it stop, let an observer replace the behaviour:
/// `commands.entity(lost.entity).remove::<Pursue>().insert(Brake::default())`. A target of kind
/// [`Nearest`](crate::SteeringTarget::Nearest) is never lost, there may just be nobody.
#[derive(EntityEvent, Reflect, Debug, Clone, Copy, PartialEq, Eq)]
#[reflect(Event)]
#[type_path = "bevy_steer"]
pub struct TargetLost {
    /// The agent.
    pub entity: Entity,
    /// What it was after.
    pub target: Entity,
}

/// The agent has reached a waypoint of its [`PathFollow`](crate::PathFollow).
#[derive(EntityEvent, Reflect, Debug, Clone, Copy, PartialEq, Eq)]
#[reflect(Event)]
#[type_path = "bevy_steer"]
pub struct WaypointReached {
    /// The agent.
    pub entity: Entity,
    /// Index of the waypoint.
    pub waypoint: usize,
}

/// The agent has come to the end of its path, or to the end of a lap in `Loop` and of a leg in `PingPong`.
#[derive(EntityEvent, Reflect, Debug, Clone, Copy, PartialEq, Eq)]
#[reflect(Event)]
#[type_path = "bevy_steer"]
pub struct PathCompleted {
    /// The agent.
    pub entity: Entity,
}

/// The agent wants to move and has not for a while; see [`StallWatch`](crate::StallWatch).
#[derive(EntityEvent, Reflect, Debug, Clone, Copy, PartialEq, Eq)]
#[reflect(Event)]
#[type_path = "bevy_steer"]
pub struct Stalled {
    /// The agent.
    pub entity: Entity,
}

/// What happened to an agent in this tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Happening {
    WaypointReached(usize),
    PathCompleted,
    Arrived,
    TargetLost(Entity),
    Stalled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    id: SteeringId,
    /// Position among what happened to this agent, where one system tells of several things in one tick.
    order: u32,
    happening: Happening,
    entity: Entity,
}

/// Collects happenings from systems that run on many threads.
#[derive(Resource, Default)]
pub(crate) struct EventQueue {
    threads: Parallel<Vec<Entry>>,
    sorted: Vec<Entry>,
}

impl EventQueue {
    pub(crate) fn send(&self, entity: Entity, id: SteeringId, order: u32, happening: Happening) {
        self.threads.borrow_local_mut().push(Entry { id, order, happening, entity });
    }
}

/// Last system of a tick: sends what was collected, in order of agent id and kind, whatever thread found it.
pub(crate) fn send_events(mut queue: ResMut<EventQueue>, mut commands: Commands) {
    let EventQueue { threads, sorted } = &mut *queue;
    threads.drain_into(sorted);
    sorted.sort_unstable();
    for &Entry { entity, happening, .. } in sorted.iter() {
        match happening {
            Happening::Arrived => commands.trigger(Arrived { entity }),
            Happening::TargetLost(target) => commands.trigger(TargetLost { entity, target }),
            Happening::WaypointReached(waypoint) => commands.trigger(WaypointReached { entity, waypoint }),
            Happening::PathCompleted => commands.trigger(PathCompleted { entity }),
            Happening::Stalled => commands.trigger(Stalled { entity }),
        }
    }
    sorted.clear();
}
