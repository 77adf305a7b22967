//! All agents into the grid, once per tick.

use bevy::{
    ecs::{change_detection::Tick, entity::Entities, query::QueryData, system::SystemChangeTick},
    prelude::*,
    utils::Parallel,
};
use bevy_steer_grid::{Extent, Item, Layout, RadiusCensus, Runner};

use crate::{
    accumulator::SteeringAccumulator,
    agent::{SteeringAgent, SteeringDefaults, SteeringGroup, SteeringVelocity},
    behaviors::{Arrive, ArriveState, BatchQuestions, FlockMember, Question, Separation},
    neighbors::{Errand, FLOCK_BIT, NeighborGrid, flock_key},
    parallel::{BATCH, ComputeRunner},
    plane::SteeringPlane,
    rng::SteeringId,
    sensing::SteerEvery,
};

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
    flock: Option<Ref<'static, FlockMember>>,
    separation: Option<&'static Separation>,
    arrive: Option<(&'static Arrive, &'static ArriveState)>,
    plane: Option<&'static SteeringPlane>,
    every: Has<SteerEvery>,
    accumulator: &'static SteeringAccumulator,
}

/// What gathering finds out beside the agents themselves.
#[derive(Default)]
pub(crate) struct Found {
    planes: [bool; 3],
    /// How far agents look.
    reaches: RadiusCensus,
    /// Four radii of those who look at nobody.
    sizes: RadiusCensus,
    extent: Extent,
}

impl Found {
    fn add(&mut self, other: &Self) {
        self.planes = core::array::from_fn(|plane| self.planes[plane] | other.planes[plane]);
        self.reaches.add(&other.reaches);
        self.sizes.add(&other.sizes);
        self.extent = self.extent.join(&other.extent);
    }
}

/// A batch of agents on its way into the grid.
struct Batch<'a> {
    /// Place of the first agent in its table.
    first: usize,
    /// Row of the first agent.
    row: usize,
    /// Number of the batch.
    number: usize,
    items: &'a mut [Item],
    names: &'a mut [Entity],
    questions: &'a mut BatchQuestions,
}

/// What all batches go by.
#[derive(Clone, Copy)]
struct Rules<'a> {
    /// The plane that agents are seen in.
    plane: SteeringPlane,
    default_plane: SteeringPlane,
    /// The questions that every batch knows.
    known: &'a [Question],
    /// When the marks of agents were made, if they still hold.
    asked: Option<Tick>,
}

impl GatheredContiguousItem<'_, '_> {
    /// Fills a batch with agents of this table, as seen in `plane`.
    fn fill(&self, batch: Batch, rules: Rules, found: &mut Found) {
        let Batch { first, row, number, items, names, questions } = batch;
        let Rules { plane, default_plane, known, asked } = rules;
        let layout = layout_of(plane);
        questions.clear();
        let unchanged = asked.is_some_and(|last| self.is_as_before(last, first, names));
        names.copy_from_slice(&self.entity[first..first + names.len()]);
        for (n, item) in items.iter_mut().enumerate() {
            let at = first + n;
            let position = self.transform[at].translation;
            let group = self.group.map_or(0, |groups| groups[at].0) & !FLOCK_BIT;
            let radius = self.agent[at].radius;
            let own_plane = self.plane.map_or(default_plane, |planes| planes[at]);
            let radius = if radius.is_finite() && radius > 0.0 { radius } else { 0.0 };
            // Who is left out does not count at all: not even the size of the cells, which orders sums, may depend on him.
            let there = position.is_finite();
            let (mut key, mut mark) = (group, 0);
            if let Some(flock) = &self.flock {
                key = flock_key(group);
                if there {
                    // Rules are as long as everything else together: who asks the same as before need not be read.
                    let before =
                        if unchanged { questions.ask_again(known, item.mark, own_plane) } else { None };
                    let (question, reach) =
                        before.unwrap_or_else(|| questions.ask(known, number, &flock[at], own_plane));
                    found.reaches.count(reach);
                    // Held contributions serve for another tick.
                    if !(self.every && self.accumulator[at].is_held()) {
                        mark = question;
                    }
                }
            }
            if there {
                found.planes[own_plane.index()] = true;
                match self.separation {
                    Some(separation) => found.reaches.count(separation[at].radius),
                    None if self.flock.is_none() => found.sizes.count(radius * 4.0),
                    None => {}
                }
            }
            *item = Item {
                position: if there { plane.to_grid(position) } else { Vec3::NAN },
                velocity: plane.to_grid(self.velocity[at].0),
                id: self.id[at].0,
                key,
                radius,
                tag: (row + n) as u32,
                mark,
            };
            found.extent.include(item, layout);
        }
    }

    /// Whether the same agents as at the time `last`, who were called so, would ask the same questions.
    fn is_as_before(&self, last: Tick, first: usize, names: &[Entity]) -> bool {
        let these = first..first + names.len();
        let Some(flock) = &self.flock else { return false };
        let now = flock.this_run_tick();
        let ticks = &flock.changed_ticks_slice()[these.clone()];
        self.plane.is_none()
            && !self.every
            && self.entity[these] == *names
            && !ticks.iter().fold(false, |any, tick| any | tick.is_newer_than(last, now))
    }
}

/// Rebuilds the grid from all agents.
pub(crate) fn build_grid(
    mut grid: ResMut<NeighborGrid>,
    defaults: Res<SteeringDefaults>,
    entities: &Entities,
    agents: Query<Gathered>,
    mut found: Local<Parallel<Found>>,
    ticks: SystemChangeTick,
) {
    let NeighborGrid { grids, items, entities: names, errands, tables, questions } = &mut *grid;
    tables.clear();
    errands.clear();
    let (mut rows, mut batches, mut have_errands) = (0, 0, false);
    for table in contiguous(&agents) {
        if let Ok(location) = entities.get_spawned(table.entity[0]) {
            tables.push((location.table_id, rows));
        }
        rows += table.entity.len();
        batches += table.entity.len().div_ceil(BATCH);
        have_errands |= table.arrive.is_some();
    }
    items.resize(rows, Item::default());
    names.resize(rows, Entity::PLACEHOLDER);
    if have_errands {
        errands.resize(rows, Errand::default());
    }
    let asked = questions.begin(batches, defaults.plane, ticks.this_run());
    let (known, questions) = questions.split();

    let pool = ComputeRunner::new(rows, defaults.parallel_from);
    let mut gather = |plane: SteeringPlane, items: &mut [Item]| {
        let (mut row, mut number) = (0, 0);
        let (mut items, mut names, mut questions) = (items, &mut names[..], &mut questions[..]);
        for table in contiguous(&agents) {
            let len = table.entity.len();
            let batches = len.div_ceil(BATCH);
            let these = items.split_off_mut(..len).unwrap_or_default();
            let called = names.split_off_mut(..len).unwrap_or_default();
            let theirs = questions.split_off_mut(..batches).unwrap_or_default();
            let jobs = these.chunks_mut(BATCH).zip(called.chunks_mut(BATCH)).zip(theirs).enumerate();
            pool.run(jobs, |(n, ((items, names), questions))| {
                let first = n * BATCH;
                let batch = Batch { first, row: row + first, number: number + n, items, names, questions };
                let rules = Rules { plane, default_plane: defaults.plane, known, asked };
                table.fill(batch, rules, &mut found.borrow_local_mut());
            });
            row += len;
            number += batches;
        }
        let mut sum = Found::default();
        for found in found.iter_mut() {
            sum.add(found);
            *found = Found::default();
        }
        sum
    };
    let Found { planes, reaches, sizes, mut extent } = gather(defaults.plane, items);
    let mut row = 0;
    for table in contiguous(&agents) {
        if let Some((_, states)) = table.arrive {
            for (errand, state) in errands[row..].iter_mut().zip(states) {
                *errand = Errand { arrive_key: state.key(), settled: state.is_settled() };
            }
        }
        row += table.entity.len();
    }

    let cell_size = if reaches.is_empty() { sizes } else { reaches }.suggest_cell_size();
    // Gathered for the usual plane first; where there are others, once more for each of them.
    let mut gathered = defaults.plane;
    let others = SteeringPlane::ALL.into_iter().filter(|&plane| plane != defaults.plane);
    for plane in core::iter::once(defaults.plane).chain(others) {
        let slot = &mut grids[plane.index()];
        if !planes[plane.index()] {
            *slot = None;
            continue;
        }
        if gathered != plane {
            extent = gather(plane, items).extent;
            gathered = plane;
        }
        slot.get_or_insert_default().build_within(&pool, layout_of(plane), cell_size, items, &extent);
    }
}

const fn layout_of(plane: SteeringPlane) -> Layout {
    match plane {
        SteeringPlane::Space => Layout::Spatial,
        SteeringPlane::Xy | SteeringPlane::Xz => Layout::Planar,
    }
}

/// The tables of a query, in order.
fn contiguous<'a>(agents: &'a Query<Gathered>) -> impl Iterator<Item = GatheredContiguousItem<'a, 'a>> {
    // All components of agents lie in tables, so there is an answer.
    agents.contiguous_iter().into_iter().flatten()
}
