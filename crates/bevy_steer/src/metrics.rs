//! Numbers that say how a crowd moves, for tests, tuning and continuous integration.

use bevy::{
    ecs::entity::{EntityHashMap, EntityHashSet},
    prelude::*,
};
use bevy_steer_grid::{Grid, Item, Layout, suggest_cell_size};

use crate::{
    agent::{SteeringAgent, SteeringDefaults, SteeringVelocity},
    behaviors::ArriveState,
    events::Arrived,
    hash::steering_hash,
    plane::SteeringPlane,
    rng::SteeringId,
    schedule::{SteeringSchedule, SteeringSystems},
};

/// Below this speed in units/s an agent counts as standing: it has no heading.
const MOVING: f32 = 0.01;

/// How the agents of a world move, see [`measure`].
///
/// Agents whose position, rotation or velocity is not finite are counted in [`non_finite`](Self::non_finite) and left out
/// of everything else but `agents` and `state_hash`.
#[derive(Resource, Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct SteeringMetrics {
    /// Number of agents now.
    pub agents: usize,
    /// Ticks since [`SteeringMetricsPlugin`] was added.
    pub ticks: u64,
    /// Mean speed now, in units/s.
    pub mean_speed: f32,
    /// Highest speed now, in units/s.
    pub max_speed: f32,
    /// Length of the mean heading of the agents that move now: 1 when all go the same way, near 0 without order, and 0
    /// when nobody moves.
    pub polarization: f32,
    /// Distance in units between the centres of the nearest two agents now; `None` with fewer than two. It is measured in
    /// the plane that all agents share, else in space.
    pub min_separation: Option<f32>,
    /// Pairs of agents now whose centres are nearer than the sum of their radii.
    pub overlaps: usize,
    /// Agents that are settled at the target of their [`Arrive`](crate::Arrive) now, or have sent
    /// [`Arrived`] since the plugin was added; each counts once.
    pub arrived: usize,
    /// Since the plugin was added, how often an agent's velocity turned by more than 90° from one tick to the next while
    /// it moved in both: jitter makes this grow.
    pub heading_reversals: u64,
    /// Agents whose position, rotation or velocity is not finite now.
    pub non_finite: usize,
    /// [`steering_hash`] of the world.
    pub state_hash: u64,
}

/// Counts in each tick what [`measure`] cannot see afterwards: ticks, heading reversals and arrivals. Add it after
/// [`SteeringPlugins`](crate::SteeringPlugins).
#[derive(Debug, Clone, Copy, Default)]
pub struct SteeringMetricsPlugin;

impl Plugin for SteeringMetricsPlugin {
    fn build(&self, app: &mut App) {
        let schedule = app.world().get_resource::<SteeringSchedule>().copied().unwrap_or_default().0;
        app.register_type::<SteeringMetrics>()
            .init_resource::<SteeringMetrics>()
            .init_resource::<Memory>()
            .add_systems(schedule, count.after(SteeringSystems::Integrate))
            .add_observer(|arrived: On<Arrived>, mut memory: ResMut<Memory>| {
                memory.arrived.insert(arrived.entity);
            });
    }
}

/// What the last tick is compared with.
#[derive(Resource, Default)]
struct Memory {
    /// Velocities of the agents that moved in the last tick; zero for those that stood.
    velocities: EntityHashMap<Vec3>,
    arrived: EntityHashSet,
}

fn count(
    mut metrics: ResMut<SteeringMetrics>,
    mut memory: ResMut<Memory>,
    agents: Query<(Entity, &SteeringVelocity), With<SteeringAgent>>,
) {
    metrics.ticks += 1;
    let mut seen = 0;
    for (entity, velocity) in &agents {
        let moves = velocity.is_finite() && velocity.length_squared() > MOVING * MOVING;
        let now = if moves { velocity.0 } else { Vec3::ZERO };
        let before = memory.velocities.insert(entity, now).unwrap_or(Vec3::ZERO);
        metrics.heading_reversals += u64::from(before.dot(now) < 0.0);
        seen += 1;
    }
    if memory.velocities.len() > seen {
        memory.velocities.retain(|&entity, _| agents.contains(entity));
    }
}

/// Measures all agents now. With [`SteeringMetricsPlugin`] the result holds what was counted since, and is kept in the
/// [`SteeringMetrics`] resource; without it `ticks` and `heading_reversals` are 0.
///
/// Neighbours are looked up in a grid, so large crowds take milliseconds.
pub fn measure(world: &mut World) -> SteeringMetrics {
    type Measured<'a> = (
        Entity,
        &'a SteeringId,
        &'a SteeringAgent,
        &'a Transform,
        &'a SteeringVelocity,
        Option<&'a SteeringPlane>,
        Option<&'a ArriveState>,
    );
    let default_plane = world.get_resource::<SteeringDefaults>().copied().unwrap_or_default().plane;
    let mut agents = world.query::<Measured>();
    let memory = world.get_resource::<Memory>();
    let counted = world.get_resource::<SteeringMetrics>().copied().unwrap_or_default();
    let mut metrics = SteeringMetrics {
        ticks: counted.ticks,
        heading_reversals: counted.heading_reversals,
        state_hash: steering_hash(world),
        ..default()
    };
    let mut items = Vec::new();
    let mut plane = None;
    // Sums of very many numbers, in double precision.
    let (mut speeds, mut headings, mut moving) = (0.0_f64, bevy::math::DVec3::ZERO, 0_usize);
    for (entity, id, agent, transform, velocity, own_plane, arrive) in agents.iter(world) {
        metrics.agents += 1;
        let settled = arrive.is_some_and(ArriveState::is_settled);
        metrics.arrived += usize::from(settled || memory.is_some_and(|m| m.arrived.contains(&entity)));
        if !(transform.is_finite() && velocity.is_finite()) {
            metrics.non_finite += 1;
            continue;
        }
        let speed = velocity.length();
        speeds += f64::from(speed);
        metrics.max_speed = metrics.max_speed.max(speed);
        if speed > MOVING {
            moving += 1;
            headings += (velocity.0 / speed).as_dvec3();
        }
        let own_plane = own_plane.copied().unwrap_or(default_plane);
        let shared = *plane.get_or_insert(own_plane);
        plane = Some(if shared == own_plane { shared } else { SteeringPlane::Space });
        let radius = if agent.radius.is_finite() { agent.radius.max(0.0) } else { 0.0 };
        items.push(Item { position: transform.translation, radius, id: id.0, ..default() });
    }
    let finite = metrics.agents - metrics.non_finite;
    metrics.mean_speed = (speeds / finite.max(1) as f64) as f32;
    metrics.polarization = (headings.length() / moving.max(1) as f64) as f32;
    measure_distances(&mut metrics, &mut items, plane.unwrap_or_default());
    if memory.is_some() {
        world.insert_resource(metrics);
    }
    metrics
}

fn measure_distances(metrics: &mut SteeringMetrics, items: &mut [Item], plane: SteeringPlane) {
    for item in items.iter_mut() {
        item.position = plane.to_grid(item.position);
    }
    let layout = if plane == SteeringPlane::Space { Layout::Spatial } else { Layout::Planar };
    let mut grid = Grid::default();
    grid.build(layout, suggest_cell_size(items.iter().map(|item| 2.0 * item.radius)), items);
    let radii = grid.radii();
    for i in 0..grid.len() {
        let (position, radius) = (grid.position(i), radii[i]);
        let least = metrics.min_separation.unwrap_or(f32::INFINITY);
        if least > 0.0
            && let Some(nearest) = grid.nearest(position, least, |j| j != i)
        {
            metrics.min_separation = Some(least.min(nearest.distance_squared.sqrt()));
        }
        // A pair is found by the larger of the two, so that nobody looks further than its own size demands.
        grid.for_each_within(position, 2.0 * radius, |j, _, distance_squared| {
            let mine = (radii[j], j) < (radius, i);
            let reach = radius + radii[j];
            metrics.overlaps += usize::from(mine && distance_squared < reach * reach);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrive, FlockMember, Seek, SteeringPlugins, testing::Sim};

    fn sim() -> Sim {
        Sim::with_plugins(60.0, (SteeringPlugins::default(), SteeringMetricsPlugin))
    }

    fn metrics(sim: &mut Sim) -> SteeringMetrics {
        measure(sim.app.world_mut())
    }

    #[test]
    fn speeds_and_order_are_those_of_the_moment() {
        let mut sim = sim();
        assert_eq!(metrics(&mut sim), SteeringMetrics::default(), "an empty world");
        sim.moving(Vec3::ZERO, Vec3::X * 3.0, ());
        sim.moving(Vec3::Y * 4.0, Vec3::Y * 1.0, ());
        sim.agent(Vec3::X * 30.0, ());
        let m = metrics(&mut sim);
        assert_eq!((m.agents, m.ticks, m.non_finite, m.overlaps), (3, 0, 0, 0));
        assert!((m.mean_speed - 4.0 / 3.0).abs() < 1e-6 && m.max_speed == 3.0, "{m:?}");
        assert!((m.polarization - 0.5_f32.sqrt()).abs() < 1e-6, "who stands has no heading: {m:?}");
        assert_eq!(m.min_separation, Some(4.0));
        assert_eq!(m.state_hash, sim.hash());
        assert_eq!(
            *sim.app.world().resource::<SteeringMetrics>(),
            m,
            "the resource holds the last measurement"
        );
    }

    #[test]
    fn overlaps_are_pairs_and_distance_counts_in_the_shared_plane() {
        let mut sim = sim();
        let big = SteeringAgent::default().with_radius(3.0);
        sim.agent(Vec3::new(0.0, 0.0, 9.0), big);
        sim.agent(Vec3::X * 3.4, ());
        sim.agent(Vec3::X * 4.5, ());
        // Exactly touching is no overlap.
        sim.agent(Vec3::X * 5.5, ());
        let m = metrics(&mut sim);
        assert_eq!(m.overlaps, 1, "3.4 < 3 + 0.5, at different heights in a plane");
        assert_eq!(m.min_separation, Some(1.0));
        sim.app.world_mut().resource_mut::<SteeringDefaults>().plane = SteeringPlane::Space;
        assert_eq!(metrics(&mut sim).overlaps, 0, "9 apart in space");
    }

    #[test]
    fn distances_agree_with_every_pair_tried() {
        let mut sim = sim();
        let mut rng = crate::AgentRng::seeded(crate::SteeringSeed(1), SteeringId(1), 1);
        let agents: Vec<(Vec3, f32)> = (0..300)
            .map(|_| {
                let at = Vec3::new(rng.signed(), rng.signed(), 0.0) * 20.0;
                let size = rng.signed();
                (at, 0.1 + 0.8 * size * size * size * size)
            })
            .collect();
        for &(position, radius) in &agents {
            sim.agent(position, SteeringAgent::default().with_radius(radius));
        }
        let (mut least, mut overlaps) = (f32::INFINITY, 0);
        for (i, a) in agents.iter().enumerate() {
            for b in &agents[..i] {
                let squared = a.0.distance_squared(b.0);
                least = least.min(squared.sqrt());
                overlaps += usize::from(squared < (a.1 + b.1) * (a.1 + b.1));
            }
        }
        let m = metrics(&mut sim);
        assert_eq!(m.overlaps, overlaps);
        assert!(overlaps > 10, "the test sees something: {overlaps}");
        assert!(m.min_separation.is_some_and(|d| (d - least).abs() < 1e-6), "{m:?} {least}");
    }

    #[test]
    fn turns_of_more_than_90_degrees_while_moving_are_reversals() {
        let mut sim = sim();
        let agent = sim.moving(Vec3::ZERO, Vec3::X, ());
        let other = sim.moving(Vec3::Y * 9.0, Vec3::X, ());
        for velocity in [Vec3::X, Vec3::Y, Vec3::new(0.1, -1.0, 0.0), Vec3::ZERO, Vec3::Y] {
            sim.set_velocity(agent, velocity);
            sim.tick();
        }
        let m = metrics(&mut sim);
        assert_eq!((m.ticks, m.heading_reversals), (5, 1), "a right angle, and setting off, are none");
        sim.app.world_mut().despawn(other);
        sim.tick();
        assert_eq!(sim.app.world().resource::<Memory>().velocities.len(), 1, "the dead are forgotten");
    }

    #[test]
    fn who_has_arrived_counts_once_and_for_good() {
        let mut sim = sim();
        let agent = sim.agent(Vec3::ZERO, Arrive::new(Vec3::X * 2.0));
        sim.agent(Vec3::Y * 90.0, Seek::new(Vec3::X));
        sim.seconds(5.0);
        assert_eq!(metrics(&mut sim).arrived, 1);
        sim.get_mut::<Arrive>(agent).target = Vec3::X.into();
        sim.tick();
        assert_eq!(metrics(&mut sim).arrived, 1, "on its way again, but it has arrived");
    }

    #[test]
    fn agents_that_are_not_finite_are_counted_and_spoil_nothing() {
        let mut sim = sim();
        sim.moving(Vec3::ZERO, Vec3::X, FlockMember::default());
        sim.moving(Vec3::NAN, Vec3::X, FlockMember::default());
        sim.moving(Vec3::Y, Vec3::INFINITY, FlockMember::default());
        let m = metrics(&mut sim);
        assert_eq!((m.agents, m.non_finite, m.min_separation), (3, 2, None));
        assert_eq!((m.mean_speed, m.max_speed, m.polarization), (1.0, 1.0, 1.0));
    }
}
