//! The neighbour grid: one snapshot of all agents per tick, shared by flocking, avoidance and the game.

use std::sync::{Mutex, OnceLock, PoisonError};

use bevy::{
    ecs::{
        entity::{Entities, EntityHashMap},
        query::QueryData,
        storage::TableId,
    },
    prelude::*,
};
use bevy_steer_grid::{Grid, Item, Layout, RadiusCensus, Runner};

use crate::{
    agent::{AgentView, SteeringAgent, SteeringDefaults, SteeringGroup, SteeringVelocity},
    behaviors::{Arrive, ArriveState, FlockMember, Separation},
    parallel::{BATCH, ComputeRunner},
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
    /// The agents as they lie in storage, table by table; an agent's place here is its *row*, which grid entries have as
    /// their tag.
    items: Vec<Item>,
    entities: Vec<Entity>,
    /// What each agent arrives at, see [`Errand`]; empty where no agent has such a goal.
    errands: Vec<Errand>,
    /// The tables that agents lie in, and the row that each begins with.
    tables: Vec<(TableId, usize)>,
}

/// Finds the rows of agents: for a whole table at once, unless agents have been moved in storage since the start of the
/// tick.
pub(crate) struct Rows<'a> {
    grid: &'a NeighborGrid,
    entities: &'a Entities,
    moved: OnceLock<EntityHashMap<usize>>,
}

/// The rows of the agents of one table.
pub(crate) struct TableRows<'a> {
    rows: &'a Rows<'a>,
    first: Option<usize>,
    table: &'a [Entity],
}

impl Rows<'_> {
    /// The rows of a table, given by its entities.
    pub(crate) fn of<'a>(&'a self, table: &'a [Entity]) -> TableRows<'a> {
        let id =
            table.first().and_then(|&entity| self.entities.get_spawned(entity).ok()).map(|at| at.table_id);
        let first = self.grid.tables.iter().find(|&&(table, _)| Some(table) == id).map(|&(_, first)| first);
        TableRows { rows: self, first, table }
    }

    #[cold]
    fn find(&self, entity: Entity) -> Option<usize> {
        let all = || self.grid.entities.iter().enumerate().map(|(row, &entity)| (entity, row)).collect();
        self.moved.get_or_init(all).get(&entity).copied()
    }
}

impl TableRows<'_> {
    /// The row of the `n`th agent of the table; `None` if it was no agent at the start of the tick.
    #[inline]
    pub(crate) fn row(&self, n: usize) -> Option<usize> {
        let entity = self.table[n];
        match self.first.map(|first| first + n) {
            Some(row) if self.rows.grid.entities.get(row) == Some(&entity) => Some(row),
            _ => self.rows.find(entity),
        }
    }
}

/// What an agent arrives at, as a number, and whether it has settled there.
#[derive(Debug, Clone, Copy, Default)]
struct Errand {
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

    /// Finds the rows of agents.
    pub(crate) fn rows<'a>(&'a self, entities: &'a Entities) -> Rows<'a> {
        Rows { grid: self, entities, moved: OnceLock::new() }
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

/// What the grid takes from an agent.
#[derive(QueryData)]
#[query_data(contiguous(all))]
pub(crate) struct Gathered {
    entity: Entity,
    id: &'static SteeringId,
    agent: &'static SteeringAgent,
    transform: &'static Transform,
    velocity: &'static SteeringVelocity,
    group: Option<&'static SteeringGroup>,
    flock: Option<&'static FlockMember>,
    separation: Option<&'static Separation>,
    arrive: Option<(&'static Arrive, &'static ArriveState)>,
    plane: Option<&'static SteeringPlane>,
}

/// What gathering finds out beside the agents themselves.
#[derive(Default)]
struct Found {
    planes: [bool; 3],
    /// How far agents look.
    reaches: RadiusCensus,
    /// How large they are, where none looks.
    radii: RadiusCensus,
}

impl Found {
    fn add(&mut self, other: Self) {
        self.planes = core::array::from_fn(|plane| self.planes[plane] | other.planes[plane]);
        self.reaches.add(other.reaches);
        self.radii.add(other.radii);
    }
}

impl GatheredContiguousItem<'_, '_> {
    /// Fills `items` with the agents of this table from `first` on, as seen in `plane`; `row` is the row of the first.
    fn fill(
        &self,
        first: usize,
        row: usize,
        items: &mut [Item],
        (plane, default_plane): (SteeringPlane, SteeringPlane),
        found: &mut Found,
    ) {
        for (n, item) in items.iter_mut().enumerate() {
            let at = first + n;
            let position = self.transform[at].translation;
            let group = self.group.map_or(0, |groups| groups[at].0) & !FLOCK_BIT;
            let radius = self.agent[at].radius;
            *item = Item {
                position: plane.to_grid(position),
                velocity: plane.to_grid(self.velocity[at].0),
                id: self.id[at].0,
                key: if self.flock.is_some() { flock_key(group) } else { group },
                radius: if radius.is_finite() && radius > 0.0 { radius } else { 0.0 },
                tag: (row + n) as u32,
            };
            // Who is left out does not count at all: not even the size of the cells, which orders sums, may depend on him.
            if !position.is_finite() {
                item.position = Vec3::NAN;
                continue;
            }
            found.radii.count(item.radius * 4.0);
            if let Some(flock) = self.flock {
                found.reaches.count(flock[at].reach());
            }
            if let Some(separation) = self.separation {
                found.reaches.count(separation[at].radius);
            }
            let own = self.plane.map_or(default_plane, |planes| planes[at]);
            found.planes[own.index()] = true;
        }
    }
}

/// Rebuilds the grid from all agents.
pub(crate) fn build_grid(
    mut grid: ResMut<NeighborGrid>,
    defaults: Res<SteeringDefaults>,
    entities: &Entities,
    agents: Query<Gathered>,
) {
    let NeighborGrid { grids, items, entities: names, errands, tables } = &mut *grid;
    tables.clear();
    errands.clear();
    let (mut rows, mut have_errands) = (0, false);
    for table in contiguous(&agents) {
        if let Ok(location) = entities.get_spawned(table.entity[0]) {
            tables.push((location.table_id, rows));
        }
        rows += table.entity.len();
        have_errands |= table.arrive.is_some();
    }
    items.resize(rows, Item::default());
    names.clear();
    if have_errands {
        errands.resize(rows, Errand::default());
    }

    let pool = ComputeRunner::new(rows, defaults.parallel_from);
    let found = Mutex::new(Found::default());
    let in_view = |plane: SteeringPlane, items: &mut [Item]| {
        let (mut row, mut rest) = (0, items);
        for table in contiguous(&agents) {
            let Some(items) = rest.split_off_mut(..table.entity.len()) else { break };
            pool.run(items.chunks_mut(BATCH).enumerate(), |(batch, items)| {
                let (first, mut seen) = (batch * BATCH, Found::default());
                table.fill(first, row + first, items, (plane, defaults.plane), &mut seen);
                found.lock().unwrap_or_else(PoisonError::into_inner).add(seen);
            });
            row += table.entity.len();
        }
    };
    in_view(defaults.plane, items);
    let mut row = 0;
    for table in contiguous(&agents) {
        names.extend_from_slice(table.entity);
        if let Some((_, states)) = table.arrive {
            for (errand, state) in errands[row..].iter_mut().zip(states) {
                *errand = Errand { arrive_key: state.key(), settled: state.is_settled() };
            }
        }
        row += table.entity.len();
    }

    let Found { planes, reaches, radii } =
        core::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    let cell_size = if reaches.is_empty() { radii } else { reaches }.suggest_cell_size();
    // Gathered for the usual plane first; where there are others, once more for each of them.
    let mut gathered = defaults.plane;
    let in_turn = [defaults.plane]
        .into_iter()
        .chain(SteeringPlane::ALL.into_iter().filter(|&plane| plane != defaults.plane));
    for plane in in_turn {
        let slot = &mut grids[plane.index()];
        if !planes[plane.index()] {
            *slot = None;
            continue;
        }
        if gathered != plane {
            in_view(plane, items);
            gathered = plane;
        }
        let layout = match plane {
            SteeringPlane::Space => Layout::Spatial,
            SteeringPlane::Xy | SteeringPlane::Xz => Layout::Planar,
        };
        slot.get_or_insert_default().build_on(&pool, layout, cell_size, items);
    }
}

/// The tables of a query, in order.
fn contiguous<'a>(agents: &'a Query<Gathered>) -> impl Iterator<Item = GatheredContiguousItem<'a, 'a>> {
    // All components of agents lie in tables, so there is an answer.
    agents.contiguous_iter().into_iter().flatten()
}
