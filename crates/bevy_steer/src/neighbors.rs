//! The neighbour grid: one snapshot of all agents per tick, shared by flocking, avoidance and the game.

use bevy::{
    ecs::{entity::Entities, storage::TableId},
    prelude::*,
};
use bevy_steer_grid::{Grid, Item};

use crate::{
    agent::AgentView,
    behaviors::{FlockQuestions, Question},
    plane::SteeringPlane,
    rng::SteeringId,
    rows::Rows,
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
    pub(crate) grids: [Option<Grid>; 3],
    /// The agents as they lie in storage, table by table; an agent's place here is its *row*, which grid entries have as
    /// their tag.
    pub(crate) items: Vec<Item>,
    pub(crate) entities: Vec<Entity>,
    /// What each agent arrives at, see [`Errand`]; empty where no agent has such a goal.
    pub(crate) errands: Vec<Errand>,
    /// The tables that agents lie in, and the row that each begins with.
    pub(crate) tables: Vec<(TableId, usize)>,
    /// What flock members ask; entries have the mark of their question.
    pub(crate) questions: FlockQuestions,
}

/// What an agent arrives at, as a number, and whether it has settled there.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Errand {
    pub(crate) arrive_key: u32,
    pub(crate) settled: bool,
}

/// Marks members of a flock in a grid entry's key; the other bits are the group.
pub(crate) const FLOCK_BIT: u32 = 1 << 31;

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
    /// Its [`SteeringGroup`](crate::SteeringGroup).
    pub group: u32,
    /// Whether it has a [`FlockMember`](crate::FlockMember).
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
        self.entities.len()
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
        self.entities[grid.tags()[index] as usize]
    }

    /// The question under a grid entry's mark.
    #[inline]
    pub(crate) fn question(&self, mark: u32) -> Option<&Question> {
        self.questions.get(mark)
    }

    /// Finds the rows of agents.
    pub(crate) fn rows<'a>(&'a self, entities: &'a Entities) -> Rows<'a> {
        Rows::new(self, entities)
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
        let row = grid.tags()[index] as usize;
        let errand = self.errands.get(row).copied().unwrap_or_default();
        let key = grid.keys()[index];
        Neighbor {
            entity: self.entities[row],
            id: SteeringId(grid.ids()[index]),
            offset,
            distance_squared,
            position: plane.from_grid(grid.position(index)),
            velocity: plane.from_grid(grid.velocity(index)),
            radius: grid.radii()[index],
            group: key & !FLOCK_BIT,
            in_flock: key & FLOCK_BIT != 0,
            arrive_key: errand.arrive_key,
            settled: errand.settled,
        }
    }
}
