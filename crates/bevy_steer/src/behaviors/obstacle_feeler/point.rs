//! The textbook feeler: one point ahead.

use bevy::prelude::*;

use super::FeelerState;
use crate::{agent::AgentView, combine::truncate, obstacle::NearObstacle, rng::direction_from_bits};

/// Where the tip is.
pub(super) fn tip(view: &AgentView, length: f32) -> Vec3 {
    view.position + view.heading() * length
}

/// `max_force` straight away from each obstacle that the tip is in or within the agent's radius of; summed and truncated.
///
/// Once engaged it holds on until the tip is `release` times as far from the obstacle's heart as where it grips.
pub(super) fn push(
    view: &AgentView,
    tip: Vec3,
    release: f32,
    near: &[NearObstacle],
    state: &mut FeelerState,
    bits: u64,
) -> Vec3 {
    let slack = if state.engaged { release - 1.0 } else { 0.0 };
    let (mut sum, mut engaged) = (Vec3::ZERO, false);
    for obstacle in near {
        let grip = view.radius + slack * (view.radius + obstacle.shape.inner_radius());
        if obstacle.distance < grip {
            engaged = true;
            let normal = obstacle.shape.surface(tip).normal;
            sum += if normal == Vec3::ZERO { direction_from_bits(bits, view.plane) } else { normal };
        }
    }
    *state = FeelerState { engaged, look_ahead: tip.distance(view.position), ..*state };
    truncate(sum * view.max_force, view.max_force)
}
