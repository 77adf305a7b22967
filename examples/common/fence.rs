//! Keeps agents in view: a game's own behaviour, written like the built-in ones.

use bevy::prelude::*;
use bevy_steer::{check, prelude::*};

/// Turns the agent back at the edge of a box round the origin: outside `half`, less the way that it makes in the next
/// `ahead` seconds, it desires to go inwards.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[reflect(Component, Default)]
pub struct Fence {
    /// Half the size of the box in units.
    pub half: Vec3,
    /// Seconds to look ahead.
    #[reflect(@0.0_f32..=2.0_f32)]
    pub ahead: f32,
    /// Factor on its force.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub weight: f32,
}

impl Default for Fence {
    fn default() -> Self {
        Self { half: Vec3::splat(10.0), ahead: 0.8, weight: 1.0 }
    }
}

impl Fence {
    pub fn new(half: Vec3) -> Self {
        Self { half, ..default() }
    }
}

impl SteeringBehavior for Fence {
    const NAME: &'static str = "Fence";

    fn fault(&self) -> Option<bevy_steer::Fault> {
        check::weight(self.weight)
    }
}

pub struct FencePlugin;

impl Plugin for FencePlugin {
    fn build(&self, app: &mut App) {
        app.add_steering_behavior::<Fence, _>(SteeringSystems::Steer, fence);
    }
}

fn fence(steering: Steering, mut agents: Query<(Steerer, &Fence)>) {
    steering.for_each(&mut agents, |(mut me, fence)| {
        if let Some(view) = steering.view(&me) {
            let soon = view.position + view.velocity * fence.ahead;
            let outside = view.plane.project(soon - soon.clamp(-fence.half, fence.half));
            if let Some(outward) = outside.try_normalize() {
                // Mostly inwards, so that it leaves the edge instead of sliding along it.
                let along = view.velocity.reject_from_normalized(outward).normalize_or_zero();
                let desired = (along * 0.5 - outward).normalize_or_zero() * view.max_speed;
                let share = (outside.length() / view.max_speed.max(1e-3)).min(1.0);
                me.accumulator.desire(
                    Fence::ID,
                    desired,
                    3.0 * share * fence.weight,
                    SteeringPriority::SAFETY,
                );
            }
        }
    });
}
