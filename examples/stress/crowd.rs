//! The crowd: how many, where they start, and what keeps them together.

use std::ops::RangeInclusive;

use bevy::{math::ops, prelude::*};
use bevy_steer::{SteeringSeed, prelude::*};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

/// How many agents there can be.
pub const COUNTS: RangeInclusive<u32> = 1..=2_000_000;
/// What keys and slider offer.
pub const SHOWN_COUNTS: RangeInclusive<u32> = 1_000..=1_000_000;
/// Flockmates within reach of each agent at the start.
const FLOCKMATES: f32 = 24.0;
/// Width of the box by its height.
const ASPECT: f32 = 16.0 / 9.0;

/// How many agents there are, and the box that they live in.
#[derive(Resource)]
pub struct Crowd {
    /// How many there should be.
    pub wanted: u32,
    count: u32,
    /// Half the size of the box in units.
    pub half: Vec2,
}

impl Crowd {
    pub fn new(wanted: u32) -> Self {
        Self { wanted, count: 0, half: Vec2::ONE }
    }
}

pub fn plugin(app: &mut App) {
    app.add_steering_behavior::<Bounds, _>(SteeringSystems::Steer, bounds)
        .add_systems(PreUpdate, populate.run_if(|crowd: Res<Crowd>| crowd.wanted != crowd.count));
}

/// Puts a new crowd in place of the old one, in one batch. The box grows with it, so that the density stays.
fn populate(world: &mut World, old: &mut QueryState<Entity, With<FlockMember>>) {
    let old: Vec<Entity> = old.iter(world).collect();
    for agent in old {
        world.despawn(agent);
    }
    let seed = world.resource::<SteeringSeed>().0;
    let mut crowd = world.resource_mut::<Crowd>();
    let count = crowd.wanted;
    let reach = FlockMember::default().reach();
    let area = count as f32 * core::f32::consts::PI * reach * reach / FLOCKMATES;
    let half = Vec2::new((area * ASPECT).sqrt(), (area / ASPECT).sqrt()) * 0.5;
    (crowd.count, crowd.half) = (count, half);
    let mut rng = Pcg32::seed_from_u64(seed);
    let whirls = Whirls::new(half.y, &mut rng);
    world.spawn_batch((0..count).map(|_| {
        let at = half * Vec2::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0));
        (
            FlockMember::default(),
            Bounds,
            SteeringVelocity((whirls.direction(at) * 4.0).extend(0.0)),
            Transform::from_translation(at.extend(0.0)),
        )
    }));
}

/// How the agents move at first: as streams between whirls, which neither crowd anywhere nor thin out. They are level lines
/// of a sum of waves, each given by its wave vector and phase.
struct Whirls([(Vec2, f32); 7]);

impl Whirls {
    /// Whirls of about `size` units.
    fn new(size: f32, rng: &mut Pcg32) -> Self {
        Self(core::array::from_fn(|n| {
            let (sin, cos) = ops::sin_cos(rng.random_range(0.0..core::f32::consts::TAU));
            let length = size * (1.5 - 0.17 * n as f32);
            (Vec2::new(cos, sin) * (core::f32::consts::TAU / length), rng.random_range(0.0..9.0))
        }))
    }

    fn direction(&self, at: Vec2) -> Vec2 {
        let slope = self.0.iter().map(|&(wave, phase)| wave.normalize() * ops::cos(wave.dot(at) + phase));
        slope.sum::<Vec2>().perp().normalize_or(Vec2::X)
    }
}

/// Turns the agent back at the edge of the box. Unlike the `Fence` of the other examples it has no settings and reads no
/// more than it needs, for it is asked about every agent in every tick.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[reflect(Component, Default)]
#[require(SteeringAgent)]
pub struct Bounds;

impl SteeringBehavior for Bounds {
    const NAME: &'static str = "Bounds";
}

/// Seconds that agents look ahead.
const AHEAD: f32 = 1.5;

type Bounded<'a> =
    (&'a Transform, &'a SteeringVelocity, &'a SteeringAgent, &'a mut SteeringAccumulator, &'a Bounds);

fn bounds(steering: Steering, crowd: Res<Crowd>, mut agents: Query<Bounded>) {
    let half = crowd.half;
    steering.for_each(&mut agents, |(transform, velocity, agent, mut accumulator, _)| {
        let velocity = velocity.truncate();
        let soon = transform.translation.truncate() + velocity * AHEAD;
        let outside = soon - soon.clamp(-half, half);
        if outside != Vec2::ZERO
            && !accumulator.is_held()
            && let Some(outward) = outside.try_normalize()
        {
            // Partly along the edge, so that it turns instead of braking.
            let along = velocity.reject_from_normalized(outward).normalize_or(outward.perp());
            let desired = (along * 0.6 - outward).normalize_or_zero() * agent.max_speed;
            let share = (outside.length() / (agent.max_speed * AHEAD).max(1e-3)).min(1.0);
            accumulator.desire(Bounds::ID, desired.extend(0.0), 4.0 * share, SteeringPriority::SAFETY);
        }
    });
}
