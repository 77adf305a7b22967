//! Changes components by reflection, for one agent, its group or all, and takes changes back.

use core::any::TypeId;

use bevy::{
    prelude::*,
    reflect::{PartialReflect, ReflectFromReflect, TypeRegistry},
};
use bevy_steer::{SteeringAgent, SteeringGroup};

/// Whom a change is for.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[reflect(Default, Debug, PartialEq)]
pub enum EditScope {
    /// The selected agent.
    #[default]
    Agent,
    /// All agents of its group.
    Group,
    /// All agents.
    All,
}

/// What one agent was before a change.
#[derive(Debug)]
pub enum Change {
    /// A field had another value.
    Field {
        /// The agent.
        entity: Entity,
        /// The component.
        component: TypeId,
        /// The field, as a reflection path; empty for the component itself.
        path: String,
        /// Its value before.
        old: Box<dyn PartialReflect>,
    },
    /// It had no such component.
    Added {
        /// The agent.
        entity: Entity,
        /// The component.
        component: TypeId,
    },
    /// It had this component.
    Removed {
        /// The agent.
        entity: Entity,
        /// The component.
        component: TypeId,
        /// Its value.
        old: Box<dyn PartialReflect>,
    },
}

/// One entry of the history: all agents that one change was for.
#[derive(Debug)]
pub struct EditStep {
    /// What was changed, for people.
    pub label: String,
    /// What it was before.
    pub changes: Vec<Change>,
    field: Option<(Entity, EditScope, TypeId, String)>,
}

/// Changes that can be taken back; the last 200.
#[derive(Resource, Debug, Default)]
pub struct EditHistory {
    steps: Vec<EditStep>,
    /// Whether a change of the same field joins the last step, as it does while a slider is dragged.
    pub joining: bool,
}

impl EditHistory {
    const CAPACITY: usize = 200;

    /// The changes, oldest first.
    #[must_use]
    pub fn steps(&self) -> &[EditStep] {
        &self.steps
    }

    fn add(&mut self, mut step: EditStep) {
        if step.changes.is_empty() {
            return;
        }
        if let Some(last) = self.steps.last_mut()
            && self.joining
            && step.field.is_some()
            && last.field == step.field
        {
            // What it was before the drag began is known for agents that were changed earlier in it.
            step.changes.retain(|new| !last.changes.iter().any(|old| same_place(old, new)));
            last.changes.append(&mut step.changes);
        } else {
            self.steps.push(step);
            if self.steps.len() > Self::CAPACITY {
                self.steps.remove(0);
            }
        }
        self.joining = true;
    }
}

fn same_place(a: &Change, b: &Change) -> bool {
    match (a, b) {
        (
            Change::Field { entity, component, path, .. },
            Change::Field { entity: other, component: kind, path: field, .. },
        ) => entity == other && component == kind && path == field,
        _ => false,
    }
}

/// The group of an agent; 0 without [`SteeringGroup`].
#[must_use]
pub fn group_of(world: &World, entity: Entity) -> u32 {
    world.get::<SteeringGroup>(entity).map_or(0, |group| group.0)
}

/// The agents that a change is for, the selected one first. Empty if that is no agent any more.
#[must_use]
pub fn scope_entities(world: &World, selected: Entity, scope: EditScope) -> Vec<Entity> {
    if world.get::<SteeringAgent>(selected).is_none() {
        return Vec::new();
    }
    let mut entities = vec![selected];
    if scope != EditScope::Agent
        && let Some(mut agents) = world.try_query_filtered::<Entity, With<SteeringAgent>>()
    {
        let group = group_of(world, selected);
        entities.extend(agents.iter(world).filter(|&entity| {
            entity != selected && (scope == EditScope::All || group_of(world, entity) == group)
        }));
    }
    entities
}

enum Written {
    Nothing,
    Changed(Box<dyn PartialReflect>),
    NoSuchField,
}

/// Writes one field of one component, if that changes anything.
fn write_field(
    world: &mut World,
    component: &ReflectComponent,
    entity: Entity,
    path: &str,
    value: &dyn PartialReflect,
) -> Written {
    let Ok(mut entity) = world.get_entity_mut(entity) else { return Written::Nothing };
    // Read first: touching the component would count as a change of it.
    let Some(current) = component.reflect(&entity) else { return Written::Nothing };
    let Ok(field) = current.reflect_path(path) else { return Written::NoSuchField };
    if field.reflect_partial_eq(value) == Some(true) {
        return Written::Nothing;
    }
    let old = copy(field);
    let Some(mut current) = component.reflect_mut(&mut entity) else { return Written::Nothing };
    match current.reflect_path_mut(path).map(|field| field.try_apply(value)) {
        Ok(Ok(())) => Written::Changed(old),
        Ok(Err(error)) => {
            log::warn!("cannot set {path}: {error}");
            Written::Nothing
        }
        Err(_) => Written::NoSuchField,
    }
}

pub(crate) fn copy(value: &dyn PartialReflect) -> Box<dyn PartialReflect> {
    match value.reflect_clone() {
        Ok(clone) => clone.into_partial_reflect(),
        Err(_) => value.to_dynamic(),
    }
}

/// The path without its last part; the component itself is the last parent.
fn parent(path: &str) -> Option<&str> {
    (!path.is_empty()).then(|| path.rfind(['.', '[', '#']).map_or("", |at| &path[..at]))
}

fn has_field(world: &World, component: &ReflectComponent, entity: Entity, path: &str) -> bool {
    let value = world.get_entity(entity).ok().and_then(|entity| component.reflect(entity));
    value.is_some_and(|value| value.reflect_path(path).is_ok())
}

/// The concrete value that a dynamic one stands for, so that it compares equal to its like.
fn concrete(registry: &TypeRegistry, value: Box<dyn PartialReflect>) -> Box<dyn PartialReflect> {
    value
        .get_represented_type_info()
        .filter(|_| value.is_dynamic())
        .and_then(|info| registry.get_type_data::<ReflectFromReflect>(info.type_id()))
        .and_then(|from| from.from_reflect(&*value))
        .map_or(value, |concrete| concrete.into_partial_reflect())
}

/// Sets one field for the scope, and remembers what it was. Returns how many agents changed.
///
/// Only that field is written, only where it differs, and only on agents that have the component. Where an agent's enum
/// is of another variant, so that the field isn't there, it gets the selected agent's whole enum.
pub fn edit_field(
    world: &mut World,
    selected: Entity,
    scope: EditScope,
    component: TypeId,
    path: &str,
    value: Box<dyn PartialReflect>,
) -> usize {
    let registry = world.resource::<AppTypeRegistry>().clone();
    let registry = registry.read();
    let Some(registration) = registry.get(component) else { return 0 };
    let Some(reflect) = registration.data::<ReflectComponent>() else { return 0 };
    if !has_field(world, reflect, selected, path) {
        return 0;
    }
    let value = concrete(&registry, value);
    let mut changes = Vec::new();
    for entity in scope_entities(world, selected, scope) {
        let mut path = path;
        let mut written = write_field(world, reflect, entity, path, &*value);
        while let (Written::NoSuchField, Some(shorter)) = (&written, parent(path)) {
            path = shorter;
            let source = world
                .get_entity(selected)
                .ok()
                .and_then(|entity| reflect.reflect(entity))
                .and_then(|value| value.reflect_path(path).ok())
                .map(copy);
            written = match source {
                Some(source) => write_field(world, reflect, entity, path, &*source),
                None => Written::Nothing,
            };
        }
        if let Written::Changed(old) = written {
            changes.push(Change::Field { entity, component, path: path.to_owned(), old });
        }
    }
    let count = changes.len();
    let name = registration.type_info().type_path_table().short_path();
    let label = format!("{name}: {}", if path.is_empty() { "value" } else { path }).replace('_', " ");
    let field = Some((selected, scope, component, path.to_owned()));
    world.get_resource_or_init::<EditHistory>().add(EditStep { label, changes, field });
    count
}

/// Gives a component in its default form to those of the scope that lack it. Returns how many got it.
pub fn add_component(world: &mut World, selected: Entity, scope: EditScope, component: TypeId) -> usize {
    let registry = world.resource::<AppTypeRegistry>().clone();
    let registry = registry.read();
    let Some(registration) = registry.get(component) else { return 0 };
    let (Some(reflect), Some(default)) =
        (registration.data::<ReflectComponent>(), registration.data::<ReflectDefault>())
    else {
        return 0;
    };
    let mut changes = Vec::new();
    for entity in scope_entities(world, selected, scope) {
        let Ok(mut target) = world.get_entity_mut(entity) else { continue };
        if !reflect.contains(&target) {
            reflect.insert(&mut target, default.default().as_partial_reflect(), &registry);
            changes.push(Change::Added { entity, component });
        }
    }
    let count = changes.len();
    let label = format!("add {}", registration.type_info().type_path_table().short_path());
    world.get_resource_or_init::<EditHistory>().add(EditStep { label, changes, field: None });
    count
}

/// Takes a component from all of the scope. Returns how many had it.
pub fn remove_component(world: &mut World, selected: Entity, scope: EditScope, component: TypeId) -> usize {
    let registry = world.resource::<AppTypeRegistry>().clone();
    let registry = registry.read();
    let Some(registration) = registry.get(component) else { return 0 };
    let Some(reflect) = registration.data::<ReflectComponent>() else { return 0 };
    let mut changes = Vec::new();
    for entity in scope_entities(world, selected, scope) {
        let Ok(mut target) = world.get_entity_mut(entity) else { continue };
        if let Some(old) = reflect.reflect(&target).map(|value| copy(value.as_partial_reflect())) {
            reflect.remove(&mut target);
            changes.push(Change::Removed { entity, component, old });
        }
    }
    let count = changes.len();
    let label = format!("remove {}", registration.type_info().type_path_table().short_path());
    world.get_resource_or_init::<EditHistory>().add(EditStep { label, changes, field: None });
    count
}

/// Takes the last change back, for every agent that is still there. Returns what it was.
pub fn undo(world: &mut World) -> Option<String> {
    let mut history = world.get_resource_or_init::<EditHistory>();
    history.joining = false;
    let step = history.steps.pop()?;
    let registry = world.resource::<AppTypeRegistry>().clone();
    let registry = registry.read();
    for change in step.changes.into_iter().rev() {
        match change {
            Change::Field { entity, component, path, old } => {
                if let Some(reflect) = registry.get_type_data::<ReflectComponent>(component) {
                    let _ = write_field(world, reflect, entity, &path, &*old);
                }
            }
            Change::Added { entity, component } => {
                if let (Some(reflect), Ok(mut target)) =
                    (registry.get_type_data::<ReflectComponent>(component), world.get_entity_mut(entity))
                {
                    reflect.remove(&mut target);
                }
            }
            Change::Removed { entity, component, old } => {
                if let (Some(reflect), Ok(mut target)) =
                    (registry.get_type_data::<ReflectComponent>(component), world.get_entity_mut(entity))
                {
                    reflect.insert(&mut target, &*old, &registry);
                }
            }
        }
    }
    Some(step.label)
}

#[cfg(test)]
mod tests {
    use bevy_steer::{
        Arrive, Flee, FlockMember, SlowingRadius, SteeringPlane, SteeringPlugins, SteeringTarget,
    };

    use super::*;

    fn app() -> (App, [Entity; 4]) {
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, TransformPlugin, SteeringPlugins::default()));
        app.update();
        let agents = [0, 0, 7, 7].map(|group| {
            let own = FlockMember { cohesion_weight: 0.1 + group as f32, ..default() };
            app.world_mut().spawn((own, SteeringGroup(group))).id()
        });
        (app, agents)
    }

    fn weights(app: &App, agents: &[Entity]) -> Vec<f32> {
        agents.iter().map(|&a| app.world().get::<FlockMember>(a).map_or(-1.0, |f| f.weight)).collect()
    }

    const FLOCK: TypeId = TypeId::of::<FlockMember>();

    #[test]
    fn a_field_goes_to_the_agent_its_group_or_all_and_nothing_else_changes() {
        let (mut app, agents) = app();
        let before: Vec<FlockMember> =
            agents.iter().map(|&a| *app.world().get::<FlockMember>(a).expect("a member")).collect();
        for (scope, value, expected) in [
            (EditScope::Agent, 2.0_f32, [1.0, 1.0, 2.0, 1.0]),
            (EditScope::Group, 3.0, [1.0, 1.0, 3.0, 3.0]),
            (EditScope::All, 4.0, [4.0, 4.0, 4.0, 4.0]),
        ] {
            edit_field(app.world_mut(), agents[2], scope, FLOCK, "weight", Box::new(value));
            assert_eq!(weights(&app, &agents), expected, "{scope:?}");
        }
        for (agent, before) in agents.iter().zip(before) {
            let after = *app.world().get::<FlockMember>(*agent).expect("a member");
            assert_eq!(FlockMember { weight: 1.0, ..after }, before, "the other fields are as they were");
        }
    }

    #[test]
    fn a_field_that_has_the_value_already_is_not_touched() {
        let (mut app, agents) = app();
        app.world_mut().get_mut::<FlockMember>(agents[1]).expect("a member").weight = 2.0;
        app.world_mut().clear_trackers();
        let touched =
            edit_field(app.world_mut(), agents[0], EditScope::All, FLOCK, "weight", Box::new(2.0_f32));
        assert_eq!(touched, 3);
        let changed: Vec<bool> = agents
            .iter()
            .map(|&a| app.world().entity(a).get_ref::<FlockMember>().is_some_and(|f| f.is_changed()))
            .collect();
        assert_eq!(changed, [true, false, true, true], "only what differs counts as changed");
    }

    #[test]
    fn undo_takes_changes_back_one_by_one_and_a_drag_at_once() {
        let (mut app, agents) = app();
        let world = app.world_mut();
        for value in [2.0_f32, 2.5, 3.0] {
            edit_field(world, agents[0], EditScope::Group, FLOCK, "weight", Box::new(value));
        }
        world.resource_mut::<EditHistory>().joining = false;
        edit_field(world, agents[0], EditScope::Group, FLOCK, "weight", Box::new(5.0_f32));
        assert_eq!(world.resource::<EditHistory>().steps().len(), 2);
        assert!(undo(world).is_some());
        assert_eq!(weights(&app, &agents), [3.0, 3.0, 1.0, 1.0]);
        assert!(undo(app.world_mut()).is_some());
        assert_eq!(weights(&app, &agents), [1.0; 4], "the whole drag is one step");
        assert_eq!(undo(app.world_mut()), None);
    }

    #[test]
    fn enums_change_variant_and_bring_others_along() {
        let (mut app, [a, b, ..]) = app();
        let arrive = TypeId::of::<Arrive>();
        let world = app.world_mut();
        world.entity_mut(a).insert(Arrive::new(Vec3::X));
        world.entity_mut(b).insert(Arrive::new(Vec3::Y));
        let radius = |world: &World, e| world.get::<Arrive>(e).map(|a| a.slowing_radius);
        let fixed = SlowingRadius::Fixed(3.0);
        edit_field(world, a, EditScope::Agent, arrive, "slowing_radius", Box::new(fixed));
        assert_eq!((radius(world, a), radius(world, b)), (Some(fixed), Some(SlowingRadius::Auto)));
        edit_field(world, a, EditScope::All, arrive, "slowing_radius.0", Box::new(4.0_f32));
        let fixed = Some(SlowingRadius::Fixed(4.0));
        assert_eq!(
            (radius(world, a), radius(world, b)),
            (fixed, fixed),
            "the other has no such field before"
        );
        assert_eq!(
            world.get::<Arrive>(b).map(|a| a.target),
            Some(SteeringTarget::Point(Vec3::Y)),
            "its target is its own"
        );
        undo(world);
        assert_eq!(radius(world, b), Some(SlowingRadius::Auto));
        edit_field(world, a, EditScope::Agent, arrive, "target.0.y", Box::new(9.0_f32));
        assert_eq!(
            world.get::<Arrive>(a).map(|a| a.target),
            Some(SteeringTarget::Point(Vec3::new(1.0, 9.0, 0.0)))
        );
        // A component that is an enum itself.
        world.entity_mut(a).insert(SteeringPlane::Xy);
        let plane = TypeId::of::<SteeringPlane>();
        edit_field(world, a, EditScope::Agent, plane, "", Box::new(SteeringPlane::Space));
        assert_eq!(world.get::<SteeringPlane>(a), Some(&SteeringPlane::Space));
    }

    #[test]
    fn components_come_and_go_and_come_back() {
        let (mut app, agents) = app();
        let world = app.world_mut();
        let flee = TypeId::of::<Flee>();
        assert_eq!(add_component(world, agents[0], EditScope::Group, flee), 2);
        assert_eq!(add_component(world, agents[0], EditScope::All, flee), 2, "those that lack it");
        assert_eq!(remove_component(world, agents[0], EditScope::All, FLOCK), 4);
        assert!(world.get::<FlockMember>(agents[3]).is_none() && world.get::<Flee>(agents[3]).is_some());
        undo(world);
        assert_eq!(world.get::<FlockMember>(agents[3]).map(|f| f.cohesion_weight), Some(7.1));
        undo(world);
        undo(world);
        assert!(agents.iter().all(|&a| world.get::<Flee>(a).is_none()));
    }

    #[test]
    fn despawned_agents_and_missing_components_are_passed_over() {
        let (mut app, agents) = app();
        let world = app.world_mut();
        edit_field(world, agents[0], EditScope::All, FLOCK, "weight", Box::new(2.0_f32));
        add_component(world, agents[0], EditScope::All, TypeId::of::<Flee>());
        remove_component(world, agents[0], EditScope::Group, FLOCK);
        world.despawn(agents[0]);
        world.entity_mut(agents[1]).remove::<(FlockMember, Flee)>();
        for scope in [EditScope::Agent, EditScope::Group, EditScope::All] {
            assert_eq!(edit_field(world, agents[0], scope, FLOCK, "weight", Box::new(9.0_f32)), 0);
            assert_eq!(add_component(world, agents[0], scope, FLOCK), 0);
            assert_eq!(remove_component(world, agents[0], scope, FLOCK), 0);
        }
        assert_eq!(edit_field(world, agents[2], EditScope::Agent, FLOCK, "nothing", Box::new(9.0_f32)), 0);
        assert_eq!(edit_field(world, agents[2], EditScope::Agent, TypeId::of::<u8>(), "", Box::new(9_u8)), 0);
        while undo(world).is_some() {}
        assert_eq!(weights(&app, &agents[1..]), [1.0; 3]);
    }
}
