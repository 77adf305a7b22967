//! Chance that repeats: one generator per agent, seeded by the app's seed and the agent's id.

use bevy::{
    ecs::{lifecycle::HookContext, world::DeferredWorld},
    prelude::*,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

/// Seed of every random draw in the app's steering; 0 by default.
#[derive(Resource, Reflect, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct SteeringSeed(pub u64);

/// The number by which an agent is told from others, whatever its place in storage: it seeds the agent's random draws
/// and breaks ties. Give your own to make a scene independent of the order of spawning; else agents are numbered as they
/// are spawned, from 2³² on. Two agents with one number share their random draws.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[component(on_add = number_as_spawned)]
#[type_path = "bevy_steer"]
pub struct SteeringId(pub u64);

impl SteeringId {
    /// Not numbered yet.
    pub const UNASSIGNED: Self = Self(u64::MAX);
    /// First number given to agents that bring none.
    pub const FIRST_AUTOMATIC: u64 = 1 << 32;
}

impl Default for SteeringId {
    fn default() -> Self {
        Self::UNASSIGNED
    }
}

/// The next number to give; above all that have been seen.
#[derive(Resource, Reflect, Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct NextSteeringId(pub u64);

impl Default for NextSteeringId {
    fn default() -> Self {
        Self(SteeringId::FIRST_AUTOMATIC)
    }
}

fn number_as_spawned(mut world: DeferredWorld, context: HookContext) {
    let Some(mut next) = world.get_resource_mut::<NextSteeringId>().map(|n| n.0) else { return };
    let Some(mut id) = world.get_mut::<SteeringId>(context.entity) else { return };
    if *id == SteeringId::UNASSIGNED {
        id.0 = next;
        next += 1;
    } else {
        next = next.max(id.0.saturating_add(1));
    }
    if let Some(mut resource) = world.get_resource_mut::<NextSteeringId>() {
        resource.0 = next;
    }
}

/// Numbers agents that were spawned before the plugin was added.
pub(crate) fn number_early_agents(world: &mut World) {
    let mut next = world.resource::<NextSteeringId>().0;
    for mut id in world.query::<&mut SteeringId>().iter_mut(world) {
        if *id == SteeringId::UNASSIGNED {
            id.0 = next;
            next += 1;
        }
    }
    world.resource_mut::<NextSteeringId>().0 = next;
}

/// A `Pcg32` that can be reflected, compared and saved. It seeds itself on first use.
///
/// Each behaviour that draws holds its own, so that the order in which behaviours run leaves no trace.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Debug, Clone, PartialEq, Default)]
#[type_path = "bevy_steer"]
pub struct AgentRng {
    state: u64,
    stream: u64,
    seeded: bool,
}

impl AgentRng {
    /// A generator for agent `id`, apart from those of other agents and of other `purpose`s.
    #[must_use]
    pub fn seeded(seed: SteeringSeed, id: SteeringId, purpose: u64) -> Self {
        let mut rng = Self::default();
        rng.ensure_seeded(seed, id, purpose);
        rng
    }

    /// Seeds the generator unless it has been seeded before.
    pub fn ensure_seeded(&mut self, seed: SteeringSeed, id: SteeringId, purpose: u64) {
        if !self.seeded {
            // Streams of one PCG may be correlated, so agents differ by a hashed seed, not by stream.
            let pcg = Pcg32::seed_from_u64(mix(mix(mix(seed.0) ^ id.0) ^ purpose));
            *self = Self { state: pcg.state(), stream: pcg.stream(), seeded: true };
        }
    }

    /// Draws with any of `rand`'s distributions.
    pub fn draw<T>(&mut self, draw: impl FnOnce(&mut Pcg32) -> T) -> T {
        let mut pcg = Pcg32::from_state(self.state, self.stream);
        let value = draw(&mut pcg);
        self.state = pcg.state();
        value
    }

    /// A number drawn evenly from −1 to 1.
    pub fn signed(&mut self) -> f32 {
        self.draw(|pcg| pcg.random_range(-1.0_f32..=1.0))
    }
}

/// The finalizer of `SplitMix64`: every bit of the input reaches every bit of the output.
#[must_use]
pub(crate) const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A unit vector in `plane` fixed by `bits`: which way a coincident pair parts, for one.
#[must_use]
pub(crate) fn direction_from_bits(bits: u64, plane: crate::plane::SteeringPlane) -> Vec3 {
    let mut rng = AgentRng::seeded(SteeringSeed(bits), SteeringId(0), 0);
    // Rejection keeps directions even; the first try succeeds three times in four.
    for _ in 0..16 {
        let v = plane.project(Vec3::new(rng.signed(), rng.signed(), rng.signed()));
        let squared = v.length_squared();
        if (1e-3..=1.0).contains(&squared) {
            return v / squared.sqrt();
        }
    }
    Vec3::X
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_repeat_and_differ_by_seed_agent_and_purpose() {
        let draw = |seed, id, purpose| {
            let mut rng = AgentRng::seeded(SteeringSeed(seed), SteeringId(id), purpose);
            [rng.signed(), rng.signed(), rng.signed()]
        };
        assert_eq!(draw(1, 2, 3), draw(1, 2, 3));
        assert_ne!(draw(1, 2, 3), draw(2, 2, 3));
        assert_ne!(draw(1, 2, 3), draw(1, 3, 3));
        assert_ne!(draw(1, 2, 3), draw(1, 2, 4));
    }

    #[test]
    fn agents_are_numbered_as_spawned_beside_given_numbers() {
        let mut world = World::new();
        world.init_resource::<NextSteeringId>();
        let numbers: Vec<u64> = [SteeringId::default(), SteeringId(7), SteeringId::default()]
            .map(|id| {
                let entity = world.spawn(id).id();
                world.get::<SteeringId>(entity).map_or(0, |id| id.0)
            })
            .to_vec();
        assert_eq!(numbers, [1 << 32, 7, (1 << 32) + 1]);
    }

    #[test]
    fn agents_spawned_before_the_plugin_get_numbers_too() {
        let mut world = World::new();
        let early = world.spawn(SteeringId::default()).id();
        world.init_resource::<NextSteeringId>();
        number_early_agents(&mut world);
        assert_eq!(world.get::<SteeringId>(early), Some(&SteeringId(1 << 32)));
    }
}
