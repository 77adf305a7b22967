//! The sums that flocking needs: who asks, and whom the answer is made of.

use std::ops::Range;

use fearless_simd::{Level, Simd, dispatch, f32x8, prelude::*};

use crate::columns::LANES;
use crate::flock_block::{FlockBlock, Pending};
use crate::flock_lanes::{Lanes, Rule, Sight, load_all};
use crate::flock_query::{Falloff, FlockQuery, FlockSums};
use crate::vicinity::Vicinity;
use crate::{Grid, Layout};

/// What computing flock sums works with: the instruction set, found at run time, and a buffer that is reused.
///
/// Every instruction set gives the same bits: the lanes are always eight, nothing is fused, and the lanes are added up
/// in one order.
#[derive(Clone, Debug)]
pub struct FlockKernel {
    level: Level,
    vicinity: Vicinity,
    /// Flockmates in sight, where only the nearest count: squared distance in the upper half, place in the lower.
    candidates: Vec<u64>,
    blocks: Vec<FlockBlock>,
}

impl Default for FlockKernel {
    fn default() -> Self {
        Self::with_level(Level::new())
    }
}

impl FlockKernel {
    fn with_level(level: Level) -> Self {
        Self { level, vicinity: Vicinity::default(), candidates: Vec::new(), blocks: Vec::new() }
    }

    /// One for each instruction set that this machine has, plain scalar code first: for tests and benchmarks.
    #[doc(hidden)]
    #[must_use]
    pub fn one_of_each() -> Vec<Self> {
        let mut levels = vec![Level::fallback(), Level::baseline()];
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        {
            let best = Level::new();
            levels.extend(best.as_sse4_2().map(Simd::level));
            levels.extend(best.as_avx2().map(Simd::level));
            levels.extend(best.as_avx512().map(Simd::level));
        }
        levels.into_iter().map(Self::with_level).collect()
    }

    /// The name of the instruction set in use.
    #[must_use]
    pub fn level(&self) -> String {
        let name = format!("{:?}", self.level);
        name.split('(').next().unwrap_or_default().to_owned()
    }
}

impl Grid {
    /// Sums over the flockmates of one entry: those with the same [`Item::key`](crate::Item::key), within the radii and in
    /// the field of view of `query`, the entry itself left out.
    ///
    /// # Panics
    /// If `entry` is not less than [`len`](Self::len).
    #[must_use]
    pub fn flock_sums(&self, entry: usize, query: &FlockQuery, kernel: &mut FlockKernel) -> FlockSums {
        let mut answer = FlockSums::default();
        self.for_each_flock_sums(entry..entry + 1, kernel, |_| Some(query), |_, sums| answer = *sums);
        answer
    }

    /// As [`flock_sums`](Self::flock_sums) for every entry of a range for which `query` has a question, in order. Entries
    /// of a range lie near each other, so that their neighbours stay in the cache.
    ///
    /// # Panics
    /// If the range does not lie within [`len`](Self::len).
    pub fn for_each_flock_sums<'q>(
        &self,
        entries: Range<usize>,
        kernel: &mut FlockKernel,
        query: impl Fn(usize) -> Option<&'q FlockQuery>,
        mut visit: impl FnMut(usize, &FlockSums),
    ) {
        assert!(entries.end <= self.len(), "no such entries: {entries:?} of {}", self.len());
        // Few enough for their sums to stay in the cache.
        const STRETCH: usize = 256;
        let mut blocks = std::mem::take(&mut kernel.blocks);
        for first in entries.clone().step_by(STRETCH) {
            self.flock_blocks(first..entries.end.min(first + STRETCH), kernel, &query, &mut blocks);
            for block in &blocks {
                for (n, &entry) in block.entries[..block.len].iter().enumerate() {
                    visit(entry as usize, &block.sums(n));
                }
            }
        }
        kernel.blocks = blocks;
    }

    /// As [`for_each_flock_sums`](Self::for_each_flock_sums), for callers that go on with vector code: replaces `blocks` by
    /// the sums of all entries of the range that have a question, in order, eight to a block.
    ///
    /// # Panics
    /// If the range does not lie within [`len`](Self::len).
    pub fn flock_blocks<'q>(
        &self,
        entries: Range<usize>,
        kernel: &mut FlockKernel,
        query: impl Fn(usize) -> Option<&'q FlockQuery>,
        blocks: &mut Vec<FlockBlock>,
    ) {
        assert!(entries.end <= self.len(), "no such entries: {entries:?} of {}", self.len());
        blocks.clear();
        run(kernel, self, entries, &query, blocks);
    }
}

/// Not generic, so that the kernels, in all their variants, are compiled once and not at every call site.
fn run<'q>(
    kernel: &mut FlockKernel,
    grid: &Grid,
    entries: Range<usize>,
    query: &dyn Fn(usize) -> Option<&'q FlockQuery>,
    blocks: &mut Vec<FlockBlock>,
) {
    match grid.layout() {
        Layout::Planar => {
            dispatch!(kernel.level, simd => answer::<_, 2>(simd, grid, entries, kernel, query, blocks));
        }
        Layout::Spatial => {
            dispatch!(kernel.level, simd => answer::<_, 3>(simd, grid, entries, kernel, query, blocks));
        }
    }
}

/// In `D` dimensions.
#[inline(always)]
fn answer<'q, S: Simd, const D: usize>(
    simd: S,
    grid: &Grid,
    entries: Range<usize>,
    kernel: &mut FlockKernel,
    query: &dyn Fn(usize) -> Option<&'q FlockQuery>,
    blocks: &mut Vec<FlockBlock>,
) {
    let mut pending = Pending::<S, D>::new(simd);
    let mut last: Option<(&FlockQuery, Plan<S>)> = None;
    let FlockKernel { vicinity, candidates, .. } = kernel;
    vicinity.forget();
    for entry in entries {
        if let Some(query) = query(entry) {
            // Neighbours in the grid tend to ask the same question.
            let plan = match last {
                Some((known, plan)) if std::ptr::eq(known, query) || known == query => plan,
                _ => {
                    let plan = Plan::new(simd, query);
                    last = Some((query, plan));
                    plan
                }
            };
            vicinity.move_to(simd, grid, grid.position(entry), plan.reach);
            let mut asked = Asked { simd, grid, entry, plan: &plan, vicinity, candidates };
            let lanes = match (plan.smooth, plan.all_round) {
                (true, true) => asked.sums::<D, true, false>(),
                (true, false) => asked.sums::<D, true, true>(),
                (false, true) => asked.sums::<D, false, false>(),
                (false, false) => asked.sums::<D, false, true>(),
            };
            pending.take(simd, entry, lanes, blocks);
        }
    }
    pending.finish(simd, blocks);
}

/// A question, made ready.
#[derive(Clone, Copy)]
pub(crate) struct Plan<S: Simd> {
    smooth: bool,
    all_round: bool,
    reach: f32,
    max_neighbors: Option<u32>,
    pub(crate) reach_squared: f32x8<S>,
    pub(crate) cos_half_view: f32x8<S>,
    pub(crate) coincident_squared: f32x8<S>,
    pub(crate) near: Rule<S>,
    pub(crate) middle: Rule<S>,
    pub(crate) far: Rule<S>,
}

impl<S: Simd> Plan<S> {
    #[inline(always)]
    fn new(simd: S, query: &FlockQuery) -> Self {
        let (reach, least) = (query.reach(), query.coincidence());
        Self {
            smooth: query.falloff == Falloff::Smooth,
            all_round: query.sees_all_round(),
            reach,
            max_neighbors: query.max_neighbors,
            reach_squared: f32x8::splat(simd, reach * reach),
            cos_half_view: f32x8::splat(simd, query.cos_half_view),
            coincident_squared: f32x8::splat(simd, least * least),
            near: Rule::new(simd, query.separation_radius),
            middle: Rule::new(simd, query.alignment_radius),
            far: Rule::new(simd, query.cohesion_radius),
        }
    }
}

/// One entry's question.
struct Asked<'a, S: Simd> {
    simd: S,
    grid: &'a Grid,
    entry: usize,
    plan: &'a Plan<S>,
    vicinity: &'a Vicinity,
    candidates: &'a mut Vec<u64>,
}

impl<S: Simd> Asked<'_, S> {
    /// With smooth falloff or hard radii, with a field of view or all round.
    #[inline(always)]
    fn sums<const D: usize, const SMOOTH: bool, const VIEW: bool>(&mut self) -> Lanes<S, D> {
        let mut lanes = Lanes::<S, D>::new(self.simd);
        let sight = Sight::<S, D>::new(self.simd, self.grid, self.entry, self.plan);
        if let Some(most) = self.plan.max_neighbors {
            self.find_nearest::<D, VIEW>(&sight, most as usize);
            for block in self.candidates.chunks(LANES) {
                lanes.add_chosen::<SMOOTH>(self.simd, self.plan, self.vicinity, &sight, block);
            }
        } else {
            for block in 0..self.vicinity.blocks() {
                let at = block * LANES;
                let seen = sight.look::<VIEW>(self.simd, self.vicinity, at);
                let velocity = load_all(self.simd, &self.vicinity.velocity, at);
                lanes.add::<SMOOTH>(self.simd, self.plan, seen, velocity);
            }
        }
        lanes
    }

    /// The nearest flockmates in sight, in grid order: distance and ties by id decide who is among them.
    #[inline(always)]
    fn find_nearest<const D: usize, const VIEW: bool>(&mut self, sight: &Sight<S, D>, most: usize) {
        let (ids, index) = (&self.grid.columns.id, &self.vicinity.index);
        let id = |place: usize| ids[index[place] as usize];
        let found = &mut *self.candidates;
        found.clear();
        if most == 0 {
            return;
        }
        let enough = 4 * most.min(1 << 30) + 64;
        found.reserve(enough.min(1 << 12) + LANES);
        let mut limit = f32x8::splat(self.simd, f32::MAX);
        for block in 0..self.vicinity.blocks() {
            let at = block * LANES;
            let seen = sight.look::<VIEW>(self.simd, self.vicinity, at);
            let squared: [f32; LANES] = seen.distance_squared.into();
            let mut bits = (seen.mates & seen.distance_squared.simd_le(limit)).to_bitmask();
            while bits != 0 {
                let lane = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                // Bits of positive numbers are in the order of the numbers.
                found.push(u64::from(squared[lane].to_bits()) << 32 | (at + lane) as u64);
            }
            if found.len() >= enough {
                let last = choose(found, most, id);
                limit = f32x8::splat(self.simd, last);
            }
        }
        choose(found, most, id);
        found.sort_unstable_by_key(|&candidate| candidate as u32);
    }
}

/// Keeps the `most` nearest candidates, ties by id, and answers the squared distance of the last.
fn choose(found: &mut Vec<u64>, most: usize, id: impl Fn(usize) -> u64) -> f32 {
    let squared = |candidate: u64| (candidate >> 32) as u32;
    if found.len() <= most {
        return f32::MAX;
    }
    let (_, &mut last, beyond) = found.select_nth_unstable(most - 1);
    if beyond.iter().any(|&other| squared(other) == squared(last)) {
        let place = |candidate: u64| candidate as u32 as usize;
        found.select_nth_unstable_by_key(most - 1, |&c| (squared(c), id(place(c)), place(c)));
    }
    found.truncate(most);
    f32::from_bits(squared(last))
}
