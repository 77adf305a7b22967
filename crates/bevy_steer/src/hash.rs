//! One number for the state of all agents.

use bevy::prelude::*;

use crate::{
    agent::SteeringVelocity,
    rng::{SteeringId, mix},
};

/// A hash of every agent's id, position, rotation and velocity, to the bit. Equal worlds give equal hashes whatever the
/// order of agents in storage; games and rollback netcode compare it to find where two runs part.
#[must_use]
pub fn steering_hash(world: &World) -> u64 {
    let Some(mut agents) = world.try_query::<(&SteeringId, &Transform, &SteeringVelocity)>() else {
        return 0;
    };
    // Agents are hashed one by one and added, so that their order does not count.
    agents.iter(world).fold(0, |sum: u64, (id, transform, velocity)| {
        let floats = transform
            .translation
            .to_array()
            .into_iter()
            .chain(transform.rotation.to_array())
            .chain(velocity.to_array());
        sum.wrapping_add(floats.fold(mix(id.0), |hash, x| mix(hash ^ u64::from(x.to_bits()))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(agents: &[(u64, f32)]) -> World {
        let mut world = World::new();
        for &(id, x) in agents {
            world.spawn((SteeringId(id), Transform::from_xyz(x, 0.0, 0.0), SteeringVelocity::default()));
        }
        world
    }

    #[test]
    fn order_does_not_count_and_one_bit_does() {
        let hash = |agents| steering_hash(&world(agents));
        assert_eq!(hash(&[(1, 2.0), (2, 3.0)]), hash(&[(2, 3.0), (1, 2.0)]));
        assert_ne!(hash(&[(1, 2.0), (2, 3.0)]), hash(&[(1, 3.0), (2, 2.0)]));
        assert_ne!(hash(&[(1, 2.0)]), hash(&[(1, f32::from_bits(2.0_f32.to_bits() + 1))]));
        assert_eq!(steering_hash(&World::new()), 0);
    }
}
