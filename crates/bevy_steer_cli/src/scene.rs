//! Scene files: reading, finding what is wrong, spawning.

use std::{fs, path::Path};

use bevy::{
    ecs::{
        entity::{EntityHashMap, EntityHashSet, EntityMapper, SceneEntityMapper},
        reflect::{ReflectComponent, ReflectResource},
        relationship::RelationshipHookMode,
    },
    platform::collections::{HashMap, HashSet},
    prelude::*,
    reflect::{
        ReflectFromReflect, ReflectMut, TypeRegistration, TypeRegistry,
        serde::{ReflectDeserializerProcessor, TypedReflectDeserializer},
    },
};
use bevy_steer::{ReflectFault, SteeringAgent, SteeringId, SteeringVelocity};
use ron::value::RawValue;
use serde::de::DeserializeSeed;

use crate::{
    error::{Error, Place, Problem, SceneFault},
    ron_text::Reader,
};

/// A scene that has been spawned.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// Its agents, in order of the file.
    pub agents: Vec<SceneAgent>,
    /// The world's entity for each number in the file.
    pub entities: EntityHashMap<Entity>,
}

/// An agent of a scene.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SceneAgent {
    /// The entity.
    pub entity: Entity,
    /// Its `Name`, else its number in the file. Where several agents have one name, the later ones are numbered:
    /// `boid`, `boid#2`, `boid#3`.
    pub label: String,
}

/// Reads the scene in file `path` and spawns it into the app's world, which stays as it was if anything is wrong.
///
/// # Errors
///
/// [`Error::Read`] or [`Error::Scene`] with everything that is wrong.
pub fn load_scene(app: &mut App, path: &Path) -> Result<Scene, Error> {
    let bytes = fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let byte = e.utf8_error().valid_up_to();
        vec![SceneFault { place: Place::default(), problem: Problem::NotText { byte } }]
    });
    text.and_then(|text| read_scene(app, &text))
        .map_err(|faults| Error::Scene { path: path.to_owned(), faults })
}

/// Spawns the scene in `text`, as [`load_scene`].
///
/// # Errors
///
/// Everything that is wrong, in order of the text.
pub fn read_scene(app: &mut App, text: &str) -> Result<Scene, Vec<SceneFault>> {
    let registry = app.world().resource::<AppTypeRegistry>().clone();
    let registry = &*registry.read();
    let draft = Draft::read(text, registry)?;
    let scene = draft.spawn(app.world_mut(), registry);
    if scene.agents.is_empty() {
        for &entity in scene.entities.values() {
            app.world_mut().despawn(entity);
        }
        return Err(vec![SceneFault { place: Place::default(), problem: Problem::NoAgents }]);
    }
    Ok(scene)
}

/// What the file holds, as values.
#[derive(Default)]
struct Draft {
    resources: Vec<Box<dyn Reflect>>,
    entities: Vec<DraftEntity>,
}

struct DraftEntity {
    /// The entity's number in the file.
    key: Entity,
    label: String,
    components: Vec<Box<dyn Reflect>>,
}

impl DraftEntity {
    fn get<C: Component>(&self) -> Option<&C> {
        self.components.iter().find_map(|c| c.downcast_ref::<C>())
    }
}

/// Collects faults.
#[derive(Default)]
struct Faults(Vec<SceneFault>);

impl Faults {
    fn add(&mut self, entity: &str, component: Option<&str>, problem: Problem) {
        let place = Place { entity: Some(entity.to_owned()), component: component.map(short_name) };
        self.0.push(SceneFault { place, problem });
    }

    fn add_to_file(&mut self, problem: Problem) {
        self.0.push(SceneFault { place: Place::default(), problem });
    }
}

impl Draft {
    fn read(text: &str, registry: &TypeRegistry) -> Result<Self, Vec<SceneFault>> {
        let mut faults = Faults::default();
        let mut reader = Reader::new(text);
        let pieces = match reader.world() {
            Ok(pieces) => pieces,
            Err(problem) => {
                faults.add_to_file(if text.trim().is_empty() { Problem::Empty } else { problem });
                return Err(faults.0);
            }
        };
        let mut draft = Self::default();
        let resources = &pieces.resources.0;
        draft.resources = read_values("resources", "resource", resources, &reader, registry, &mut faults);
        let mut keys = EntityHashSet::default();
        for (number, entity) in &pieces.entities.0 {
            let components = &entity.components.0;
            let label = read_name(components, &reader).unwrap_or_else(|| number.to_string());
            let components = read_values(&label, "component", components, &reader, registry, &mut faults);
            match Entity::try_from_bits(*number) {
                Some(key) => {
                    if !keys.insert(key) {
                        faults.add(&label, None, Problem::DuplicateEntity);
                    }
                    draft.entities.push(DraftEntity { key, label, components });
                }
                None => faults.add(&label, None, Problem::BadEntityNumber { number: *number }),
            }
        }
        draft.find_dangling(&keys, registry, &mut faults);
        draft.find_duplicate_ids(&mut faults);
        if faults.0.is_empty() { Ok(draft) } else { Err(faults.0) }
    }

    fn find_dangling(&mut self, keys: &EntityHashSet, registry: &TypeRegistry, faults: &mut Faults) {
        /// Changes nothing, and notes what is not there.
        struct Notes<'a> {
            keys: &'a EntityHashSet,
            missing: Vec<Entity>,
        }

        impl EntityMapper for Notes<'_> {
            fn get_mapped(&mut self, source: Entity) -> Entity {
                if !self.keys.contains(&source) {
                    self.missing.push(source);
                }
                source
            }

            fn set_mapped(&mut self, _: Entity, _: Entity) {}
        }

        for entity in &mut self.entities {
            for component in &mut entity.components {
                let path = component.reflect_type_path().to_owned();
                let data = registry.get_type_data::<ReflectComponent>((**component).type_id());
                // The memory of a target may outlive it.
                let Some(data) = data.filter(|_| !path.starts_with("bevy_steer::TargetMemory<")) else {
                    continue;
                };
                let mut notes = Notes { keys, missing: Vec::new() };
                data.map_entities(&mut **component, &mut notes);
                for missing in notes.missing {
                    faults.add(&entity.label, Some(&path), Problem::Dangling { number: missing.to_bits() });
                }
            }
        }
    }

    fn find_duplicate_ids(&self, faults: &mut Faults) {
        let mut owners = HashMap::<u64, &str>::default();
        for entity in &self.entities {
            let Some(&id) = entity.get::<SteeringId>().filter(|id| **id != SteeringId::UNASSIGNED) else {
                continue;
            };
            if let Some(other) = owners.insert(id.0, &entity.label) {
                let problem = Problem::DuplicateId { id: id.0, other: other.to_owned() };
                faults.add(&entity.label, Some("SteeringId"), problem);
            }
        }
    }

    fn spawn(self, world: &mut World, registry: &TypeRegistry) -> Scene {
        let mut scene = Scene::default();
        // Given numbers first, so that automatic ones go round them; then in order of the file, so that automatic
        // numbers follow it. Within an entity the order of components does not matter.
        for entity in &self.entities {
            let id = world.spawn_empty().id();
            if let Some(&given) = entity.get::<SteeringId>() {
                world.entity_mut(id).insert(given);
            }
            scene.entities.insert(entity.key, id);
        }
        for DraftEntity { key, components, .. } in &self.entities {
            let id = scene.entities[key];
            for component in components.iter().filter(|c| !c.is::<SteeringId>()) {
                apply(world, id, &**component, registry, &mut scene.entities);
            }
        }
        for resource in &self.resources {
            let Some(data) = registry.get_type_data::<ReflectComponent>((**resource).type_id()) else {
                continue;
            };
            let component_id = data.register_component(world);
            let id = world.resource_entities().get(component_id).unwrap_or_else(|| world.spawn_empty().id());
            apply(world, id, &**resource, registry, &mut scene.entities);
        }
        let mut taken = HashSet::<String>::default();
        for DraftEntity { key, label, .. } in self.entities {
            let entity = scene.entities[&key];
            if world.get::<SteeringAgent>(entity).is_none() {
                continue;
            }
            let mut unique = label.clone();
            let mut n = 1;
            while !taken.insert(unique.clone()) {
                n += 1;
                unique = format!("{label}#{n}");
            }
            scene.agents.push(SceneAgent { entity, label: unique });
        }
        scene
    }
}

/// Inserts one value, or applies it to what is there.
fn apply(
    world: &mut World,
    entity: Entity,
    value: &dyn Reflect,
    registry: &TypeRegistry,
    entities: &mut EntityHashMap<Entity>,
) {
    if let Some(data) = registry.get_type_data::<ReflectComponent>(value.type_id()) {
        SceneEntityMapper::world_scope(entities, world, |world, mapper| {
            data.apply_or_insert_mapped(
                &mut world.entity_mut(entity),
                value.as_partial_reflect(),
                registry,
                mapper,
                RelationshipHookMode::Skip,
            );
        });
    }
}

/// The entity's `Name`, ahead of everything else, so that faults can be told by it.
fn read_name(components: &[(String, &RawValue)], reader: &Reader) -> Option<String> {
    let (_, raw) = components.iter().find(|(path, _)| path == Name::type_path())?;
    let name: String = reader.value(raw, std::marker::PhantomData).ok()?;
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

/// Reads the components of an entity, or the resources.
fn read_values<'a>(
    label: &str,
    kind: &'static str,
    pieces: &[(String, &'a RawValue)],
    reader: &Reader<'a>,
    registry: &TypeRegistry,
    faults: &mut Faults,
) -> Vec<Box<dyn Reflect>> {
    let mut values = Vec::new();
    let mut seen = HashSet::<&str>::default();
    for (path, raw) in pieces {
        if !seen.insert(path) {
            faults.add(label, Some(path), Problem::DuplicateComponent);
            continue;
        }
        match read_value(path, kind, raw, reader, registry) {
            Ok((value, registration)) => {
                for problem in find_value_faults(&*value, registration) {
                    faults.add(label, Some(path), problem);
                }
                values.push(value);
            }
            Err(problem) => faults.add(label, Some(path), problem),
        }
    }
    values
}

fn read_value<'a, 'r>(
    path: &str,
    kind: &'static str,
    raw: &'a RawValue,
    reader: &Reader<'a>,
    registry: &'r TypeRegistry,
) -> Result<(Box<dyn Reflect>, &'r TypeRegistration), Problem> {
    let unknown = || Problem::UnknownType { kind, suggestion: suggest(path, kind, registry) };
    let registration = registry.get_with_type_path(path).ok_or_else(unknown)?;
    let is_resource = registration.data::<ReflectResource>().is_some();
    let hint = match (kind, is_resource) {
        ("component", true) => Some("; it is a resource and belongs under `resources`"),
        ("resource", false) => Some(""),
        _ if registration.data::<ReflectComponent>().is_none() => Some(""),
        _ => None,
    };
    if let Some(hint) = hint {
        return Err(Problem::WrongKind { kind, hint });
    }
    // Fields that the file leaves out come from the type's default.
    let mut whole = Whole::default();
    let seed = TypedReflectDeserializer::with_processor(registration, registry, &mut whole);
    let value = reader.value(raw, seed)?;
    let value =
        value.try_into_reflect().map_err(|_| Problem::WrongKind { kind, hint: " that can be read" })?;
    Ok((value, registration))
}

/// Refuses a value that cannot be made whole. Bevy would silently put the default of the struct around it in its place.
#[derive(Default)]
struct Whole {
    /// Whether this call is about the value that the caller is reading.
    inner: bool,
}

impl ReflectDeserializerProcessor for Whole {
    fn try_deserialize<'de, D: serde::Deserializer<'de>>(
        &mut self,
        registration: &TypeRegistration,
        registry: &TypeRegistry,
        deserializer: D,
    ) -> Result<Result<Box<dyn PartialReflect>, D>, D::Error> {
        if std::mem::take(&mut self.inner) {
            return Ok(Err(deserializer));
        }
        self.inner = true;
        let seed = TypedReflectDeserializer::with_processor(registration, registry, self);
        let value = seed.deserialize(deserializer)?;
        if value.try_as_reflect().is_none() && registration.data::<ReflectFromReflect>().is_some() {
            let name = registration.type_info().type_path_table().short_path();
            let what = format!("{name} is not complete: a variant needs all of its fields");
            return Err(serde::de::Error::custom(what));
        }
        Ok(Ok(value))
    }
}

/// All values of one component that make no sense.
fn find_value_faults(value: &dyn Reflect, registration: &TypeRegistration) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut not_finite = |field, finite: bool, value: &dyn std::fmt::Debug| {
        if !finite {
            problems.push(Problem::NotFinite { field, value: format!("{value:?}") });
        }
    };
    if let Some(t) = value.downcast_ref::<Transform>() {
        not_finite("translation", t.translation.is_finite(), &t.translation);
        not_finite("rotation", t.rotation.is_finite(), &t.rotation);
        not_finite("scale", t.scale.is_finite(), &t.scale);
    } else if let Some(velocity) = value.downcast_ref::<SteeringVelocity>() {
        not_finite("0", velocity.is_finite(), &velocity.0);
    }
    // A component tells one fault at a time: each told field is put right to hear of the next.
    let (Some(data), Some(default)) =
        (registration.data::<ReflectFault>(), registration.data::<ReflectDefault>())
    else {
        return problems;
    };
    let Ok(mut copy) = value.reflect_clone() else { return problems };
    let default = default.default();
    let mut told = HashSet::<&str>::default();
    while let Some(fault) = data.fault(&*copy)
        && told.insert(fault.field)
    {
        let (field, value, consequence) = (fault.field, fault.value, fault.consequence);
        problems.push(Problem::Value { field, value, consequence });
        let ReflectMut::Struct(fields) = copy.reflect_mut() else { break };
        let right = default.reflect_ref().as_struct().ok().and_then(|d| d.field(field));
        let (Some(wrong), Some(right)) = (fields.field_mut(field), right) else { break };
        if wrong.try_apply(right).is_err() {
            break;
        }
    }
    problems
}

/// The last part of a type path, generics included: `bevy_steer::Seek` is `Seek`.
fn short_name(path: &str) -> String {
    let head = path.split('<').next().unwrap_or(path);
    let start = head.rfind("::").map_or(0, |at| at + 2);
    path[start..].to_owned()
}

/// The registered type that somebody who wrote `path` may have meant.
fn suggest(path: &str, kind: &str, registry: &TypeRegistry) -> Option<String> {
    let wanted = short_name(path).to_lowercase();
    registry
        .iter()
        .filter(|r| r.data::<ReflectComponent>().is_some())
        .filter(|r| r.data::<ReflectResource>().is_some() == (kind == "resource"))
        .map(|r| r.type_info().type_path())
        .map(|known| {
            (strsim::normalized_damerau_levenshtein(&short_name(known).to_lowercase(), &wanted), known)
        })
        .filter(|&(likeness, _)| likeness >= 0.6)
        // The same answer whatever the order of the registry.
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, known)| known.to_owned())
}
