//! The neighbour grid: one snapshot of all agents per tick, shared by flocking, avoidance and the game.

use bevy::prelude::*;
use bevy_steer_grid::{Grid, Item, Layout, suggest_cell_size};

use crate::{
    agent::{AgentView, SteeringAgent, SteeringDefaults, SteeringGroup, SteeringVelocity},
    behaviors::{Arrive, ArriveState, FlockMember, Separation},
    plane::SteeringPlane,
    rng::SteeringId,
};

/// All agents as they were at the start of the tick, sorted into cells: the source of every look at neighbours.
///
/// It is rebuilt in [`SteeringSystems::Sense`](crate::SteeringSystems::Sense) and read-only for the rest of the tick, so
/// that it does not matter which agent moves first. Queries are exact for any radius and any coordinates, and visit
/// agents in an order that depends on positions and [`SteeringId`]s alone. Agents whose position is not finite, and
/// disabled entities, are left out.
///
/// An agent looks from its own plane and sees the others as their shadows on it.
#[derive(Resource, Default)]
pub struct NeighborGrid {
    /// One grid for each plane in use.
    grids: [Option<Grid>; 3],
    items: Vec<Item>,
    records: Vec<AgentRecord>,
    reaches: Vec<f32>,
}

/// What the grid keeps of an agent beside position and velocity.
#[derive(Debug, Clone, Copy)]
struct AgentRecord {
    entity: Entity,
    position: Vec3,
    velocity: Vec3,
    arrive_key: u32,
    settled: bool,
}

/// Marks members of a flock in a grid entry's key; the other bits are the group.
const FLOCK_BIT: u32 = 1 << 31;

/// The key under which flock members of `group` stand in the grid.
#[must_use]
pub(crate) const fn flock_key(group: u32) -> u32 {
    group | FLOCK_BIT
}

/// An agent as its neighbours see it: at the start of the tick, in the plane that was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor {
    /// The agent.
    pub entity: Entity,
    /// Its number.
    pub id: SteeringId,
    /// From the centre of the query to the agent.
    pub offset: Vec3,
    /// Squared length of `offset`.
    pub distance_squared: f32,
    /// Position, projected on the plane.
    pub position: Vec3,
    /// Velocity, projected on the plane.
    pub velocity: Vec3,
    /// Radius of its disc or ball.
    pub radius: f32,
    /// Its [`SteeringGroup`].
    pub group: u32,
    /// Whether it has a [`FlockMember`].
    pub in_flock: bool,
    /// The target of its [`Arrive`](crate::Arrive) as a number, 0 without one.
    pub(crate) arrive_key: u32,
    /// Whether it has settled there.
    pub(crate) settled: bool,
}

/// The first agent along a ray.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RayNeighbor {
    /// The agent; its offset is from the origin of the ray.
    pub neighbor: Neighbor,
    /// Distance along the ray to its disc or ball.
    pub distance: f32,
}

impl NeighborGrid {
    /// Number of agents in this tick.
    #[inline]
    #[must_use]
    pub fn agent_count(&self) -> usize {
        self.records.len()
    }

    /// The grid of one plane, in the plane's grid coordinates ([`SteeringPlane::to_grid`]): for kernels that run over whole
    /// rows of cells. `None` where no agent uses the plane.
    #[inline]
    #[must_use]
    pub fn cells(&self, plane: SteeringPlane) -> Option<&Grid> {
        self.grids[plane.index()].as_ref()
    }

    /// The agent that a grid entry stands for.
    #[must_use]
    pub fn entity(&self, grid: &Grid, index: usize) -> Entity {
        self.records[grid.tags()[index] as usize].entity
    }

    /// Calls `visit` for every agent within `radius` of `center`, those exactly on it included, in grid order.
    ///
    /// The asking agent itself is among them; [`for_each_neighbor`](Self::for_each_neighbor) leaves it out. Nothing is
    /// found in a plane that no agent uses.
    #[inline]
    pub fn for_each_within(
        &self,
        plane: SteeringPlane,
        center: Vec3,
        radius: f32,
        mut visit: impl FnMut(Neighbor),
    ) {
        if let Some(grid) = self.cells(plane) {
            grid.for_each_within(plane.to_grid(center), radius, |index, offset, distance_squared| {
                visit(self.neighbor(plane, grid, index, plane.from_grid(offset), distance_squared));
            });
        }
    }

    /// Calls `visit` for every other agent within `radius` of the agent seen in `view`.
    #[inline]
    pub fn for_each_neighbor(
        &self,
        view: &AgentView,
        me: Entity,
        radius: f32,
        mut visit: impl FnMut(Neighbor),
    ) {
        self.for_each_within(view.plane, view.position, radius, |neighbor| {
            if neighbor.entity != me {
                visit(neighbor);
            }
        });
    }

    /// Fills `out` with the `k` nearest agents within `radius` for which `filter` holds, nearest first, ties by
    /// [`SteeringId`].
    pub fn k_nearest(
        &self,
        plane: SteeringPlane,
        center: Vec3,
        k: usize,
        radius: f32,
        mut filter: impl FnMut(&Neighbor) -> bool,
        out: &mut Vec<Neighbor>,
    ) {
        out.clear();
        if let Some(grid) = self.cells(plane) {
            let from = plane.to_grid(center);
            let mut found = Vec::new();
            grid.k_nearest(from, k, radius, |i| filter(&self.seen_from(plane, grid, i, from)), &mut found);
            out.extend(
                found.iter().map(|n| {
                    self.neighbor(plane, grid, n.index, plane.from_grid(n.offset), n.distance_squared)
                }),
            );
        }
    }

    /// The nearest agent within `radius` for which `filter` holds, ties by [`SteeringId`].
    #[must_use]
    pub fn nearest(
        &self,
        plane: SteeringPlane,
        center: Vec3,
        radius: f32,
        mut filter: impl FnMut(&Neighbor) -> bool,
    ) -> Option<Neighbor> {
        let grid = self.cells(plane)?;
        let from = plane.to_grid(center);
        let n = grid.nearest(from, radius, |i| filter(&self.seen_from(plane, grid, i, from)))?;
        Some(self.neighbor(plane, grid, n.index, plane.from_grid(n.offset), n.distance_squared))
    }

    /// The nearest agent of `group`, other than the one that asks.
    #[must_use]
    pub fn nearest_of_group(
        &self,
        view: &AgentView,
        me: Entity,
        group: u32,
        radius: f32,
    ) -> Option<Neighbor> {
        self.nearest(view.plane, view.position, radius, |n| n.entity != me && n.group == group)
    }

    /// The first agent, in grid order, whose position lies in the box, borders included, and for which `filter` holds.
    #[must_use]
    pub fn first_in_box(
        &self,
        plane: SteeringPlane,
        min: Vec3,
        max: Vec3,
        mut filter: impl FnMut(&Neighbor) -> bool,
    ) -> Option<Neighbor> {
        let grid = self.cells(plane)?;
        let index = grid.first_in_box(plane.to_grid(min), plane.to_grid(max), |i| {
            filter(&self.seen_from(plane, grid, i, Vec3::ZERO))
        })?;
        Some(self.seen_from(plane, grid, index, Vec3::ZERO))
    }

    /// The first agent whose disc or ball a ray of `length` meets, for which `filter` holds; ties by [`SteeringId`].
    #[must_use]
    pub fn cast_ray(
        &self,
        plane: SteeringPlane,
        origin: Vec3,
        direction: Vec3,
        length: f32,
        mut filter: impl FnMut(&Neighbor) -> bool,
    ) -> Option<RayNeighbor> {
        let grid = self.cells(plane)?;
        let from = plane.to_grid(origin);
        let hit = grid.cast_ray(from, plane.to_grid(direction), length, 0.0, |i| {
            filter(&self.seen_from(plane, grid, i, from))
        })?;
        Some(RayNeighbor { neighbor: self.seen_from(plane, grid, hit.index, from), distance: hit.distance })
    }

    fn seen_from(&self, plane: SteeringPlane, grid: &Grid, index: usize, from: Vec3) -> Neighbor {
        let offset = plane.from_grid(grid.position(index) - from);
        self.neighbor(plane, grid, index, offset, offset.length_squared())
    }

    fn neighbor(
        &self,
        plane: SteeringPlane,
        grid: &Grid,
        index: usize,
        offset: Vec3,
        distance_squared: f32,
    ) -> Neighbor {
        let record = &self.records[grid.tags()[index] as usize];
        let key = grid.keys()[index];
        Neighbor {
            entity: record.entity,
            id: SteeringId(grid.ids()[index]),
            offset,
            distance_squared,
            position: plane.project(record.position),
            velocity: plane.project(record.velocity),
            radius: grid.radii()[index],
            group: key & !FLOCK_BIT,
            in_flock: key & FLOCK_BIT != 0,
            arrive_key: record.arrive_key,
            settled: record.settled,
        }
    }
}

type Gathered<'a> = (
    Entity,
    &'a SteeringId,
    &'a SteeringAgent,
    &'a Transform,
    &'a SteeringVelocity,
    Option<&'a SteeringGroup>,
    Option<&'a FlockMember>,
    Option<&'a Separation>,
    Option<(&'a Arrive, &'a ArriveState)>,
    Option<&'a SteeringPlane>,
);

/// Rebuilds the grid from all agents.
pub(crate) fn build_grid(
    mut grid: ResMut<NeighborGrid>,
    defaults: Res<SteeringDefaults>,
    agents: Query<Gathered>,
) {
    let NeighborGrid { grids, items, records, reaches } = &mut *grid;
    items.clear();
    records.clear();
    reaches.clear();
    let mut used = [false; 3];
    // Who is left out does not count at all: not even the size of the cells, which orders sums, may depend on him.
    let placed = agents.iter().filter(|agent| agent.3.translation.is_finite());
    for (entity, id, agent, transform, velocity, group, flock, separation, arrive, plane) in placed {
        used[plane.copied().unwrap_or(defaults.plane).index()] = true;
        let sane = |x: f32| if x.is_finite() && x > 0.0 { x } else { 0.0 };
        let velocity = if velocity.is_finite() { velocity.0 } else { Vec3::ZERO };
        let group = group.map_or(0, |g| g.0) & !FLOCK_BIT;
        items.push(Item {
            position: transform.translation,
            velocity,
            id: id.0,
            key: if flock.is_some() { flock_key(group) } else { group },
            radius: sane(agent.radius),
            tag: records.len() as u32,
        });
        records.push(AgentRecord {
            entity,
            position: transform.translation,
            velocity,
            arrive_key: arrive.map_or(0, |(_, state)| state.key()),
            settled: arrive.is_some_and(|(_, state)| state.is_settled()),
        });
        reaches.extend(flock.map(FlockMember::reach));
        reaches.extend(separation.map(|s| s.radius));
    }
    if reaches.is_empty() {
        reaches.extend(items.iter().map(|item| item.radius * 4.0));
    }
    let cell_size = suggest_cell_size(reaches.iter().copied());
    let mut mapped = SteeringPlane::Space;
    for plane in SteeringPlane::ALL {
        let slot = &mut grids[plane.index()];
        if used[plane.index()] {
            // Mapped in place from one plane's frame to the next; in the usual case there is only one.
            if mapped != SteeringPlane::Space || plane != SteeringPlane::Space {
                for (item, record) in items.iter_mut().zip(records.iter()) {
                    item.position = plane.to_grid(record.position);
                    item.velocity = plane.to_grid(record.velocity);
                }
            }
            mapped = plane;
            let layout = match plane {
                SteeringPlane::Space => Layout::Spatial,
                SteeringPlane::Xy | SteeringPlane::Xz => Layout::Planar,
            };
            slot.get_or_insert_with(Grid::default).build(layout, cell_size, items);
        } else {
            *slot = None;
        }
    }
}
