//! The form in which an accumulator is saved: without it no scene with an agent could be.

use bevy::prelude::*;
use serde::{Deserialize, Serialize};

use super::{BehaviorId, Contribution, SteeringAccumulator, SteeringGoal, Store};

/// What an accumulator holds, however it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename = "SteeringAccumulator")]
pub(super) struct Saved {
    contributions: Vec<Entry>,
    goal: Option<Entry>,
    held: bool,
    rejected: Option<u32>,
}

/// A contribution, or a goal with its tolerance as weight.
#[derive(Serialize, Deserialize)]
struct Entry {
    value: [f32; 3],
    weight: f32,
    key: u32,
}

impl From<SteeringAccumulator> for Saved {
    fn from(SteeringAccumulator(store): SteeringAccumulator) -> Self {
        let entry = |value: Vec3, weight, key| Entry { value: value.into(), weight, key };
        Self {
            contributions: store.contributions().iter().map(|c| entry(c.value, c.weight, c.key)).collect(),
            goal: store.goal().map(|goal| entry(goal.position, goal.tolerance, goal.key)),
            held: store.is_held(),
            rejected: store.rejected().map(|id| id.0),
        }
    }
}

impl From<Saved> for SteeringAccumulator {
    fn from(saved: Saved) -> Self {
        let mut store = Store::default();
        let mut rejected = saved.rejected.map(BehaviorId);
        if let Some(Entry { value, weight: tolerance, key }) = saved.goal {
            let position = Vec3::from(value);
            store.set_goal(position.is_finite().then_some(SteeringGoal { position, tolerance, key }));
        }
        // A file may hold what behaviours could not have written.
        for Entry { value, weight, key } in saved.contributions {
            let contribution = Contribution { value: value.into(), weight, key };
            if contribution.value.is_finite() && weight > 0.0 && weight <= f32::MAX {
                store.push(contribution);
            } else {
                let id = contribution.behavior();
                rejected = Some(rejected.map_or(id, |first| first.min(id)));
            }
        }
        store.set_rejected(rejected);
        if saved.held {
            store.end_tick(true);
        }
        Self(store)
    }
}

#[cfg(test)]
mod tests {
    use bevy::reflect::{
        TypeRegistry,
        serde::{TypedReflectDeserializer, TypedReflectSerializer},
    };
    use serde::de::DeserializeSeed;

    use super::*;
    use crate::SteeringPriority;

    #[test]
    fn a_file_cannot_bring_in_what_behaviours_could_not_write() {
        let text = r#"{"contributions": [{"value": [1, 2, 3], "weight": -1, "key": 8},
            {"value": [1, 0, 0], "weight": 1, "key": 4}], "goal": null, "held": true, "rejected": null}"#;
        let loaded: SteeringAccumulator = serde_json::from_str(text).expect("it loads");
        assert_eq!(loaded.contributions().iter().map(|c| c.value).collect::<Vec<_>>(), [Vec3::X]);
        assert_eq!(loaded.0.rejected(), Some(BehaviorId(2)));
    }

    #[test]
    fn an_accumulator_comes_back_from_a_scene_as_it_was() {
        let (id, goal) = (BehaviorId::new("A"), SteeringPriority::GOAL);
        let mut registry = TypeRegistry::new();
        registry.register::<SteeringAccumulator>();
        let registration = registry.get(core::any::TypeId::of::<SteeringAccumulator>()).expect("registered");
        for count in [0, 2, 7] {
            let mut before = SteeringAccumulator::default();
            (0..count).for_each(|n| before.push(id, Vec3::X * n as f32, 0.5, goal));
            before.set_goal(id, goal, Vec3::Y, 0.25);
            before.desire(id, Vec3::X, -1.0, goal);
            before.end_tick(true);
            let text =
                serde_json::to_string(&TypedReflectSerializer::new(&before, &registry)).expect("saves");
            let reader = TypedReflectDeserializer::new(registration, &registry);
            let after = reader.deserialize(&mut serde_json::Deserializer::from_str(&text)).expect("loads");
            assert_eq!(after.try_downcast_ref::<SteeringAccumulator>(), Some(&before), "{text}");
        }
    }
}
