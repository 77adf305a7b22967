//! Warnings: each wrong value is named once, never per frame.

use bevy::{platform::collections::HashSet, prelude::*, utils::Parallel};

/// A value that makes no sense: where it stands and what steering does about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SteeringWarning {
    /// The agent.
    pub entity: Entity,
    /// The component, by its short name.
    pub component: &'static str,
    /// The field.
    pub field: &'static str,
    /// The value as text.
    pub value: String,
    /// What was done.
    pub consequence: &'static str,
}

impl core::fmt::Display for SteeringWarning {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { entity, component, field, value, consequence } = self;
        write!(f, "{entity}: {component}.{field} = {value}: {consequence}")
    }
}

/// The warnings so far. Each pair of agent and field is logged once, through the `log` crate; here they can be read.
#[derive(Resource, Default)]
pub struct SteeringWarnings {
    threads: Parallel<Vec<SteeringWarning>>,
    fresh: Vec<SteeringWarning>,
    told: HashSet<(Entity, &'static str, &'static str)>,
    log: Vec<SteeringWarning>,
}

/// The field by which integration names what a behaviour wrote.
pub(crate) const CONTRIBUTION: &str = "contribution";

/// Warnings that are kept for reading; later ones are only logged.
const KEPT: usize = 256;

impl SteeringWarnings {
    /// Warns about a field, from any thread. Saying it again does nothing.
    pub fn warn(
        &self,
        entity: Entity,
        component: &'static str,
        field: &'static str,
        value: &dyn core::fmt::Debug,
        consequence: &'static str,
    ) {
        // Asked before anything is allocated: a lasting fault must not cost memory each tick.
        if !self.told.contains(&(entity, component, field)) {
            self.threads.borrow_local_mut().push(SteeringWarning {
                entity,
                component,
                field,
                value: format!("{value:?}"),
                consequence,
            });
        }
    }

    /// What has been warned about, oldest first, at most 256.
    pub fn iter(&self) -> impl Iterator<Item = &SteeringWarning> {
        self.log.iter()
    }
}

/// Logs what was collected in this tick.
pub(crate) fn tell_warnings(mut warnings: ResMut<SteeringWarnings>, names: Query<&Name>) {
    let SteeringWarnings { threads, fresh, told, log } = &mut *warnings;
    threads.drain_into(fresh);
    fresh.sort_unstable_by_key(|w| (w.entity.index_u32(), w.component, w.field));
    // A field that is named explains the contribution that it spoils.
    let names_field = |w: &SteeringWarning| w.field != CONTRIBUTION;
    let explained: Vec<bool> = fresh
        .chunk_by(|a, b| (a.entity, a.component) == (b.entity, b.component))
        .flat_map(|same| core::iter::repeat_n(same.iter().any(names_field), same.len()))
        .collect();
    for (warning, explained) in fresh.drain(..).zip(explained) {
        let first = told.insert((warning.entity, warning.component, warning.field));
        if first && !(explained && warning.field == CONTRIBUTION) {
            match names.get(warning.entity) {
                Ok(name) => log::warn!("{name} {warning}"),
                Err(_) => log::warn!("{warning}"),
            }
            if log.len() < KEPT {
                log.push(warning);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bevy::ecs::system::RunSystemOnce;

    use super::*;

    #[test]
    fn a_field_that_is_named_explains_the_contribution_that_it_spoils() {
        let mut world = World::new();
        world.init_resource::<SteeringWarnings>();
        let [a, b] = [world.spawn(()).id(), world.spawn(()).id()];
        for _ in 0..2 {
            let warnings = world.resource::<SteeringWarnings>();
            warnings.warn(a, "Seek", CONTRIBUTION, &0, "dropped");
            warnings.warn(a, "Seek", "weight", &f32::NAN, "ignored");
            warnings.warn(b, "Seek", CONTRIBUTION, &0, "dropped");
            world.run_system_once(tell_warnings).expect("the system runs");
        }
        let told: Vec<_> = world.resource::<SteeringWarnings>().iter().map(|w| (w.entity, w.field)).collect();
        assert_eq!(told, [(a, "weight"), (b, CONTRIBUTION)]);
    }

    #[test]
    fn each_fault_is_told_once() {
        let mut world = World::new();
        world.init_resource::<SteeringWarnings>();
        let [a, b] = [world.spawn(()).id(), world.spawn(()).id()];
        for _ in 0..3 {
            for entity in [b, a] {
                world.resource::<SteeringWarnings>().warn(entity, "Seek", "weight", &f32::NAN, "dropped");
            }
            world.run_system_once(tell_warnings).expect("the system runs");
        }
        let told: Vec<_> = world.resource::<SteeringWarnings>().iter().map(|w| w.entity).collect();
        assert_eq!(told, [a, b]);
        let text = world.resource::<SteeringWarnings>().iter().next().map(ToString::to_string);
        assert!(text.is_some_and(|t| t.ends_with("Seek.weight = NaN: dropped")));
    }
}
