//! What the members of all flocks are after, computed in the order of the grid.
//!
//! An agent and its neighbours lie side by side in the grid, but anywhere in storage. So the grid is gone through from end
//! to end, eight neighbours at a time, and afterwards each agent fetches its answer by the entry that it has there. Fetching
//! is cheaper than to put each answer where the agent lies: loads overlap, stores wait for each other.

use bevy::{prelude::*, utils::Parallel};
use bevy_steer_grid::{FlockBlock, FlockKernel, FlockQuery, Grid, Neighbor, Runner};

use super::{
    flock_questions::Question,
    flock_urge::{PLANAR, Packed, SPATIAL, answer_blocks},
    separation::{fade, push_from},
};
use crate::{
    behavior::check, neighbors::NeighborGrid, parallel::ComputeRunner, plane::SteeringPlane, rng::SteeringId,
};

/// Entries of the grid that are answered in one go.
const STRETCH: usize = 256;

#[derive(Default)]
pub(crate) struct Scratch {
    kernel: FlockKernel,
    blocks: Vec<FlockBlock>,
    nearest: Vec<Neighbor>,
}

/// All answers, in grid order; kept from tick to tick for their memory.
#[derive(Default)]
pub(crate) struct FlockAnswers {
    planar: [Vec<Packed<PLANAR>>; 2],
    spatial: Vec<Packed<SPATIAL>>,
    scratch: Parallel<Scratch>,
}

impl FlockAnswers {
    /// Answers all questions.
    pub(crate) fn answer(&mut self, pool: &ComputeRunner, neighbors: &NeighborGrid) {
        let Self { planar: [xy, xz], spatial, scratch } = self;
        answer(pool, neighbors, SteeringPlane::Xy, xy, scratch);
        answer(pool, neighbors, SteeringPlane::Xz, xz, scratch);
        answer(pool, neighbors, SteeringPlane::Space, spatial, scratch);
    }

    /// The answers in a plane; none in space.
    pub(crate) fn planar(&self, plane: SteeringPlane) -> &[Packed<PLANAR>] {
        self.planar.get(plane.index()).map_or(&[], Vec::as_slice)
    }

    /// The answers in space.
    pub(crate) fn spatial(&self) -> &[Packed<SPATIAL>] {
        &self.spatial
    }
}

/// Answers the questions of one plane's grid.
fn answer<const N: usize>(
    pool: &ComputeRunner,
    neighbors: &NeighborGrid,
    plane: SteeringPlane,
    answers: &mut Vec<Packed<N>>,
    scratch: &Parallel<Scratch>,
) {
    let grid = neighbors.cells(plane);
    answers.resize(grid.map_or(0, Grid::len), [0.0; N]);
    let Some(grid) = grid else { return };
    let marks = grid.marks();
    let question = |entry: usize| neighbors.question(marks[entry]).filter(|q| q.plane == plane);
    pool.run(answers.chunks_mut(STRETCH).enumerate(), |(stretch, answers)| {
        let first = stretch * STRETCH;
        let Scratch { kernel, blocks, nearest } = &mut *scratch.borrow_local_mut();
        let entries = first..first + answers.len();
        grid.flock_blocks(entries, kernel, |entry| question(entry).map(|q| &q.query), blocks);
        for block in blocks.iter_mut().filter(|block| block.coincident != 0) {
            for n in 0..block.len {
                let entry = block.entries[n] as usize;
                if block.coincident >> n & 1 == 1
                    && let Some(question) = question(entry)
                {
                    add_parting(grid, question, entry, nearest, block, n);
                }
            }
        }
        if blocks.iter().map(|block| block.len).sum::<usize>() < answers.len() {
            answers.iter_mut().for_each(|answer| answer[0] = 0.0);
        }
        answer_blocks(blocks, marks, |mark| neighbors.question(mark), first, answers);
    });
}

/// Flockmates on one spot of whom all are looked at.
const PILE: usize = 64;

/// Adds the push from flockmates on the same spot to the `n`th entry of a block.
#[cold]
fn add_parting(
    grid: &Grid,
    question: &Question,
    entry: usize,
    nearest: &mut Vec<Neighbor>,
    block: &mut FlockBlock,
    n: usize,
) {
    let push = part(grid, question.plane, entry, &question.query, nearest).to_array();
    for (sums, push) in block.separation.iter_mut().zip(push) {
        sums[n] += push;
    }
}

/// The push on an entry from flockmates on the same spot, in grid coordinates: the numbers of the two decide the direction.
fn part(
    grid: &Grid,
    plane: SteeringPlane,
    entry: usize,
    query: &FlockQuery,
    nearest: &mut Vec<Neighbor>,
) -> Vec3 {
    let (center, key, me) = (grid.position(entry), grid.keys()[entry], SteeringId(grid.ids()[entry]));
    let velocity = grid.velocity(entry);
    let heading = if velocity.length_squared() > 1e-8 { velocity.normalize() } else { Vec3::X };
    let radius = check::or_zero(query.separation_radius);
    let seen = |index: usize, offset: Vec3, squared: f32| {
        let ahead = || offset.dot(heading) >= query.cos_half_view * squared.sqrt();
        index != entry && grid.keys()[index] == key && (query.sees_all_round() || ahead())
    };
    let reach = query.coincidence();
    let offset = |index: usize| grid.position(index) - center;
    let push = |index: usize| {
        let (offset, other) = (offset(index), SteeringId(grid.ids()[index]));
        let squared = offset.length_squared();
        push_from(plane.from_grid(offset), squared, radius, plane, me, other) * fade(squared.sqrt(), radius)
    };
    if let Some(most) = query.max_neighbors {
        let wanted = |index: usize| seen(index, offset(index), offset(index).length_squared());
        grid.k_nearest(center, most as usize, reach, wanted, nearest);
        return plane.to_grid(nearest.iter().map(|n| push(n.index)).sum());
    }
    let (mut all, mut count) = (Vec3::ZERO, 0);
    grid.for_each_within(center, reach, |index, offset, squared| {
        if seen(index, offset, squared) {
            count += 1;
            if count <= PILE {
                all += push(index);
            }
        }
    });
    if count > PILE {
        // A pile: the nearest in grid order on both sides, who have this one among theirs, speak for all.
        let run = grid.runs(center, reach).find(|run| run.contains(&entry)).unwrap_or(entry..entry + 1);
        let on_spot = |index: &usize| {
            let (offset, squared) = (offset(*index), offset(*index).length_squared());
            squared <= reach * reach && seen(*index, offset, squared)
        };
        let before = (run.start..entry).rev().filter(on_spot).take(PILE / 2);
        let after = (entry + 1..run.end).filter(on_spot).take(PILE / 2);
        let (mut some, mut heard) = (Vec3::ZERO, 0);
        for index in before.chain(after) {
            some += push(index);
            heard += 1;
        }
        all = some * (count as f32 / heard.max(1) as f32);
    }
    plane.to_grid(all)
}
