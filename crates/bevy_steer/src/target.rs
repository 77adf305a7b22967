//! What a behaviour is after: a point, an entity or the nearest agent of a group.

use core::marker::PhantomData;

use bevy::{
    ecs::{entity::MapEntities, system::SystemParam},
    prelude::*,
};

use crate::{
    agent::{AgentView, SteeringVelocity},
    behavior::{Fault, SteererItem, Steering, SteeringBehavior, check},
    events::Happening,
    sensing::SteerEvery,
};

/// What a behaviour is after.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, MapEntities)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Debug, Clone, PartialEq, Default)]
#[type_path = "bevy_steer"]
pub enum SteeringTarget {
    /// A point in world units.
    Point(Vec3),
    /// An entity with a `Transform`. Its velocity is its [`SteeringVelocity`], or measured from its motion if it has none.
    Entity(#[entities] Entity),
    /// The nearest other agent of a group, found through the neighbour grid.
    Nearest {
        /// The [`SteeringGroup`](crate::SteeringGroup) to look for.
        group: u32,
        /// How far to look, in units.
        #[reflect(@0.0_f32..=50.0_f32)]
        radius: f32,
    },
}

impl Default for SteeringTarget {
    fn default() -> Self {
        Self::Point(Vec3::ZERO)
    }
}

impl SteeringTarget {
    /// What is wrong with the values, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        match *self {
            Self::Point(point) if !point.is_finite() => Some(Fault {
                field: "target",
                value: point.x + point.y + point.z,
                consequence: "the point is not finite; the behaviour is ignored",
            }),
            Self::Nearest { radius, .. } => check::not_negative(
                "target",
                radius,
                "the radius must be finite and not negative; finds nothing",
            ),
            Self::Point(_) | Self::Entity(_) => None,
        }
    }
}

impl From<Vec3> for SteeringTarget {
    fn from(point: Vec3) -> Self {
        Self::Point(point)
    }
}

impl From<Entity> for SteeringTarget {
    fn from(entity: Entity) -> Self {
        Self::Entity(entity)
    }
}

/// A target as it is in this tick, projected on the agent's plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetView {
    /// Where it is.
    pub position: Vec3,
    /// How it moves, in units/s.
    pub velocity: Vec3,
    /// Which way it faces.
    pub rotation: Quat,
    /// The entity, unless it is a point.
    pub entity: Option<Entity>,
}

/// What behaviour `B` of one agent remembers of its target: enough to measure the target's velocity, and whether its loss
/// has been told.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serialize", serde(bound = ""))]
#[reflect(Component, Default)]
#[type_path = "bevy_steer"]
pub struct TargetMemory<B: Send + Sync + 'static> {
    #[entities]
    entity: Option<Entity>,
    position: Vec3,
    seen: bool,
    lost: bool,
    #[reflect(ignore)]
    #[cfg_attr(feature = "serialize", serde(skip))]
    behavior: PhantomData<fn() -> B>,
}

impl<B: Send + Sync + 'static> Default for TargetMemory<B> {
    fn default() -> Self {
        Self { entity: None, position: Vec3::ZERO, seen: false, lost: false, behavior: PhantomData }
    }
}

impl<B: Send + Sync + 'static> TargetMemory<B> {
    /// The velocity of something seen at `position`, from where it was seen `elapsed` seconds ago.
    fn measure(&mut self, entity: Entity, position: Vec3, elapsed: f32) -> Vec3 {
        let known = self.seen && self.entity == Some(entity) && elapsed > 0.0;
        let velocity = if known { (position - self.position) / elapsed } else { Vec3::ZERO };
        (self.entity, self.position, self.seen) = (Some(entity), position, true);
        velocity
    }

    /// Forgets where the target was: the next look is a first look.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Looks targets up; a system parameter for behaviours.
#[derive(SystemParam)]
pub struct Targets<'w, 's> {
    entities: Query<'w, 's, (&'static Transform, Option<&'static SteeringVelocity>)>,
}

impl Targets<'_, '_> {
    /// The target as it is now; `None` if there is none. The loss of a target entity is told once, by
    /// [`TargetLost`](crate::TargetLost).
    pub fn resolve<B: SteeringBehavior>(
        &self,
        target: &SteeringTarget,
        memory: &mut TargetMemory<B>,
        me: &SteererItem,
        view: &AgentView,
        steering: &Steering,
    ) -> Option<TargetView> {
        match *target {
            SteeringTarget::Point(point) => Some(TargetView {
                position: view.plane.project(point),
                velocity: Vec3::ZERO,
                rotation: Quat::IDENTITY,
                entity: None,
            }),
            SteeringTarget::Entity(entity) => {
                let Ok((transform, velocity)) = self.entities.get(entity) else {
                    if !(memory.lost && memory.entity == Some(entity)) {
                        // Several behaviours may lose theirs in one tick; entity numbers depend on storage.
                        steering.send(me, B::ID.get(), Happening::TargetLost(entity));
                        memory.entity = Some(entity);
                        memory.seen = false;
                        memory.lost = true;
                    }
                    return None;
                };
                memory.lost = false;
                let position = view.plane.project(transform.translation);
                let velocity = match velocity {
                    Some(velocity) => view.plane.project(velocity.0),
                    None => {
                        let elapsed = me.every.map_or(view.dt, SteerEvery::since_look);
                        memory.measure(entity, position, elapsed)
                    }
                };
                (position.is_finite() && velocity.is_finite()).then_some(TargetView {
                    position,
                    velocity,
                    rotation: transform.rotation,
                    entity: Some(entity),
                })
            }
            SteeringTarget::Nearest { group, radius } => {
                let found = steering.grid().nearest_of_group(view, me.entity, group, radius)?;
                let rotation = self.entities.get(found.entity).map_or(Quat::IDENTITY, |(t, _)| t.rotation);
                Some(TargetView {
                    position: found.position,
                    velocity: found.velocity,
                    rotation,
                    entity: Some(found.entity),
                })
            }
        }
    }
}
