//! The sums that flocking needs, eight neighbours at a time.

use std::ops::Range;

use fearless_simd::{Level, Simd, dispatch, f32x4, f32x8, i32x8, mask32x8, prelude::*, u32x8};
use glam::Vec3;

use crate::columns::{Columns, LANES};
use crate::flock_query::{Falloff, FlockQuery, FlockSums, usable};
use crate::query::Runs;
use crate::table::Zone;
use crate::{Grid, Layout};

/// What computing flock sums works with: the instruction set, found at run time, and a buffer that is reused.
///
/// Every instruction set gives the same bits: the lanes are always eight, nothing is fused, and the lanes are added up
/// in one order.
#[derive(Clone, Debug)]
pub struct FlockKernel {
    level: Level,
    candidates: Vec<Candidate>,
}

impl Default for FlockKernel {
    fn default() -> Self {
        Self::with_level(Level::new())
    }
}

impl FlockKernel {
    /// With a given instruction set: for tests and benchmarks.
    #[doc(hidden)]
    #[must_use]
    pub fn with_level(level: Level) -> Self {
        Self { level, candidates: Vec::new() }
    }

    /// The instruction set in use.
    #[must_use]
    pub fn level(&self) -> String {
        format!("{:?}", self.level)
    }
}

/// A flockmate in sight, where only the nearest count.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    distance_squared: f32,
    id: u64,
    index: u32,
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
        visit: impl FnMut(usize, &FlockSums),
    ) {
        assert!(entries.end <= self.len(), "no such entries: {entries:?} of {}", self.len());
        let candidates = &mut kernel.candidates;
        dispatch!(kernel.level, simd => answer(simd, self, entries, candidates, query, visit));
    }
}

#[inline(always)]
fn answer<'q, S: Simd>(
    simd: S,
    grid: &Grid,
    entries: Range<usize>,
    candidates: &mut Vec<Candidate>,
    query: impl Fn(usize) -> Option<&'q FlockQuery>,
    mut visit: impl FnMut(usize, &FlockSums),
) {
    let planar = grid.layout() == Layout::Planar;
    let mut last: Option<(&FlockQuery, Plan<S>)> = None;
    let mut cover = Cover::default();
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
            cover.lay(grid, grid.position(entry), plan.reach);
            let mut asked = Asked { simd, grid, entry, plan: &plan, cover: &cover, candidates };
            let sums = match (planar, plan.smooth, plan.all_round) {
                (true, true, true) => asked.sums::<2, true, false>(),
                (true, true, false) => asked.sums::<2, true, true>(),
                (true, false, true) => asked.sums::<2, false, false>(),
                (true, false, false) => asked.sums::<2, false, true>(),
                (false, true, true) => asked.sums::<3, true, false>(),
                (false, true, false) => asked.sums::<3, true, true>(),
                (false, false, true) => asked.sums::<3, false, false>(),
                (false, false, false) => asked.sums::<3, false, true>(),
            };
            visit(entry, &sums);
        }
    }
}

/// A question, made ready.
#[derive(Clone, Copy)]
struct Plan<S: Simd> {
    smooth: bool,
    all_round: bool,
    reach: f32,
    max_neighbors: Option<u32>,
    reach_squared: f32x8<S>,
    cos_half_view: f32x8<S>,
    coincident_squared: f32x8<S>,
    near: Rule<S>,
    middle: Rule<S>,
    far: Rule<S>,
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

/// The ranges of entries round a point, kept for the next point: entries side by side mostly share them.
#[derive(Default)]
struct Cover {
    zone: Option<Zone>,
    /// Where there are more, they are looked up as they are needed.
    ranges: [Range<usize>; Cover::MOST],
    count: usize,
}

impl Cover {
    /// Rows of cells, in space, that a ball touches whose radius is the cell size.
    const MOST: usize = 9;

    #[inline(always)]
    fn lay(&mut self, grid: &Grid, center: Vec3, radius: f32) {
        let zone = grid.ball_zone(center, radius);
        if zone != self.zone || zone.is_none() {
            self.find(grid, zone);
        }
    }

    fn find(&mut self, grid: &Grid, zone: Option<Zone>) {
        self.zone = zone;
        self.count = 0;
        for range in Runs(grid.table.rows(zone)) {
            if self.count < Self::MOST {
                self.ranges[self.count] = range;
            }
            self.count += 1;
        }
    }

    /// The ranges if they are kept.
    #[inline(always)]
    fn kept(&self) -> Option<&[Range<usize>]> {
        self.ranges.get(..self.count)
    }
}

// Only what is inlined here gets the instructions that were dispatched for: closures that go through library functions
// such as `array::map` do not, hence the plain loops.

/// One entry's question.
struct Asked<'a, S: Simd> {
    simd: S,
    grid: &'a Grid,
    entry: usize,
    plan: &'a Plan<S>,
    cover: &'a Cover,
    candidates: &'a mut Vec<Candidate>,
}

/// Eight entries of the columns.
#[inline(always)]
fn load<S: Simd>(simd: S, column: &[f32], at: usize) -> f32x8<S> {
    f32x8::from_slice(simd, &column[at..at + LANES])
}

#[inline(always)]
fn load_all<S: Simd, const D: usize>(simd: S, columns: [&[f32]; 3], at: usize) -> [f32x8<S>; D] {
    let mut lanes = [f32x8::splat(simd, 0.0); D];
    for axis in 0..D {
        lanes[axis] = load(simd, columns[axis], at);
    }
    lanes
}

#[inline(always)]
fn splat_all<S: Simd, const D: usize>(simd: S, v: Vec3) -> [f32x8<S>; D] {
    let mut lanes = [f32x8::splat(simd, 0.0); D];
    for axis in 0..D {
        lanes[axis] = f32x8::splat(simd, v[axis]);
    }
    lanes
}

impl<S: Simd> Asked<'_, S> {
    /// In `D` dimensions, with smooth falloff or hard radii, with a field of view or all round.
    #[inline(always)]
    fn sums<const D: usize, const SMOOTH: bool, const VIEW: bool>(&mut self) -> FlockSums {
        let mut lanes = Lanes::<S, D>::new(self.simd);
        let sight = Sight::<S, D>::new(self.simd, self.grid, self.entry, self.plan);
        if let Some(most) = self.plan.max_neighbors {
            self.find_nearest::<D, VIEW>(&sight, most as usize);
            for block in self.candidates.chunks(LANES) {
                lanes.add_block::<SMOOTH>(self.simd, self.plan, &self.grid.columns, &sight, block);
            }
        } else if let Some(ranges) = self.cover.kept() {
            for range in ranges {
                self.add_range::<D, SMOOTH, VIEW>(&mut lanes, &sight, range.clone());
            }
        } else {
            for range in Runs(self.grid.table.rows(self.cover.zone)) {
                self.add_range::<D, SMOOTH, VIEW>(&mut lanes, &sight, range);
            }
        }
        lanes.finish(self.simd)
    }

    #[inline(always)]
    fn add_range<const D: usize, const SMOOTH: bool, const VIEW: bool>(
        &self,
        lanes: &mut Lanes<S, D>,
        sight: &Sight<S, D>,
        range: Range<usize>,
    ) {
        let columns = &self.grid.columns;
        let mut at = range.start;
        while at < range.end {
            let seen = sight.look::<VIEW>(self.simd, columns, at, range.end);
            lanes.add::<SMOOTH>(self.simd, self.plan, seen, load_all(self.simd, columns.velocity(), at));
            at += LANES;
        }
    }

    /// The nearest flockmates in sight, in grid order: distance and ties by id decide who is among them.
    #[inline(always)]
    fn find_nearest<const D: usize, const VIEW: bool>(&mut self, sight: &Sight<S, D>, most: usize) {
        let (grid, found) = (self.grid, &mut *self.candidates);
        found.clear();
        if most == 0 {
            return;
        }
        for run in Runs(grid.table.rows(self.cover.zone)) {
            for at in run.clone().step_by(LANES) {
                let seen = sight.look::<VIEW>(self.simd, &grid.columns, at, run.end);
                let squared: [f32; LANES] = seen.distance_squared.into();
                let mut bits = seen.mates.to_bitmask();
                while bits != 0 {
                    let lane = bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    let index = at + lane;
                    found.push(Candidate {
                        distance_squared: squared[lane],
                        id: grid.columns.id[index],
                        index: index as u32,
                    });
                }
            }
        }
        if found.len() > most {
            found.select_nth_unstable_by(most - 1, |a, b| {
                let tie = a.id.cmp(&b.id).then(a.index.cmp(&b.index));
                a.distance_squared.total_cmp(&b.distance_squared).then(tie)
            });
            found.truncate(most);
        }
        found.sort_unstable_by_key(|candidate| candidate.index);
    }
}

/// Who is seen in eight entries.
struct Seen<S: Simd, const D: usize> {
    offset: [f32x8<S>; D],
    /// Infinite for who is not seen.
    distance_squared: f32x8<S>,
    mates: mask32x8<S>,
}

/// The one who looks.
struct Sight<S: Simd, const D: usize> {
    position: [f32x8<S>; D],
    heading: [f32x8<S>; D],
    key: u32x8<S>,
    entry: i32x8<S>,
    lane: i32x8<S>,
    reach_squared: f32x8<S>,
    cos_half_view: f32x8<S>,
    nobody: f32x8<S>,
}

impl<S: Simd, const D: usize> Sight<S, D> {
    #[inline(always)]
    fn new(simd: S, grid: &Grid, entry: usize, plan: &Plan<S>) -> Self {
        Self {
            position: splat_all(simd, grid.position(entry)),
            heading: splat_all(simd, heading(grid.velocity(entry))),
            key: u32x8::splat(simd, grid.columns.key[entry]),
            entry: i32x8::splat(simd, entry as i32),
            lane: i32x8::from_slice(simd, &[0, 1, 2, 3, 4, 5, 6, 7]),
            reach_squared: plan.reach_squared,
            cos_half_view: plan.cos_half_view,
            nobody: f32x8::splat(simd, f32::INFINITY),
        }
    }

    /// Looks at the entries from `at` to `end`, eight at most.
    #[inline(always)]
    fn look<const VIEW: bool>(&self, simd: S, columns: &Columns, at: usize, end: usize) -> Seen<S, D> {
        let offset = self.offset(load_all(simd, columns.position(), at));
        let squared = squared(offset);
        let key = u32x8::from_slice(simd, &columns.key[at..at + LANES]);
        let index = self.lane + i32x8::splat(simd, at as i32);
        let mut mates = key.simd_eq(self.key)
            & !index.simd_eq(self.entry)
            & index.simd_lt(i32x8::splat(simd, end as i32))
            & squared.simd_le(self.reach_squared);
        if VIEW {
            let mut ahead = offset[0] * self.heading[0];
            for axis in 1..D {
                ahead = ahead + offset[axis] * self.heading[axis];
            }
            mates = mates & ahead.simd_ge(self.cos_half_view * squared.sqrt());
        }
        Seen { offset, distance_squared: mates.select(squared, self.nobody), mates }
    }

    #[inline(always)]
    fn offset(&self, mut position: [f32x8<S>; D]) -> [f32x8<S>; D] {
        for axis in 0..D {
            position[axis] = position[axis] - self.position[axis];
        }
        position
    }
}

/// Evaluated from left to right, as everywhere in the grid.
#[inline(always)]
fn squared<S: Simd, const D: usize>(v: [f32x8<S>; D]) -> f32x8<S> {
    let mut sum = v[0] * v[0];
    for axis in 1..D {
        sum = sum + v[axis] * v[axis];
    }
    sum
}

/// Direction of travel; +x below a tiny speed.
#[inline]
fn heading(velocity: Vec3) -> Vec3 {
    if velocity.length_squared() > 1e-8 { velocity.normalize() } else { Vec3::X }
}

/// The sums in eight lanes.
struct Lanes<S: Simd, const D: usize> {
    separation: [f32x8<S>; D],
    separation_weight: f32x8<S>,
    alignment: [f32x8<S>; D],
    alignment_weight: f32x8<S>,
    cohesion: [f32x8<S>; D],
    cohesion_velocity: [f32x8<S>; D],
    cohesion_weight: f32x8<S>,
    nearest_squared: f32x8<S>,
    coincident: mask32x8<S>,
}

/// How much a neighbour counts for one rule.
#[derive(Clone, Copy)]
struct Rule<S: Simd> {
    radius: f32x8<S>,
    /// 1 / (share of the radius in which neighbours fade in).
    steepness: f32x8<S>,
    radius_squared: f32x8<S>,
}

impl<S: Simd> Rule<S> {
    #[inline(always)]
    fn new(simd: S, radius: f32) -> Self {
        // A rule without a radius sees nobody; −1 keeps infinities and zeros from meeting.
        let radius = usable(radius);
        let (radius, steepness, squared) = if radius > 0.0 {
            (radius, 1.0 / (FlockQuery::FADE * radius), radius * radius)
        } else {
            (-1.0, 1.0, -1.0)
        };
        Self {
            radius: f32x8::splat(simd, radius),
            steepness: f32x8::splat(simd, steepness),
            radius_squared: f32x8::splat(simd, squared),
        }
    }

    #[inline(always)]
    fn fade<const SMOOTH: bool>(&self, simd: S, distance: f32x8<S>, squared: f32x8<S>) -> f32x8<S> {
        let (zero, one) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0));
        if SMOOTH {
            let x = ((self.radius - distance) * self.steepness).max(zero).min(one);
            (x * x) * (f32x8::splat(simd, 3.0) - (x + x))
        } else {
            squared.simd_le(self.radius_squared).select(one, zero)
        }
    }
}

impl<S: Simd, const D: usize> Lanes<S, D> {
    #[inline(always)]
    fn new(simd: S) -> Self {
        let zero = f32x8::splat(simd, 0.0);
        Self {
            separation: [zero; D],
            separation_weight: zero,
            alignment: [zero; D],
            alignment_weight: zero,
            cohesion: [zero; D],
            cohesion_velocity: [zero; D],
            cohesion_weight: zero,
            nearest_squared: f32x8::splat(simd, f32::INFINITY),
            coincident: mask32x8::splat(simd, false),
        }
    }

    /// Adds eight entries, of whom those not seen count nothing.
    #[inline(always)]
    fn add<const SMOOTH: bool>(
        &mut self,
        simd: S,
        plan: &Plan<S>,
        seen: Seen<S, D>,
        velocity: [f32x8<S>; D],
    ) {
        let zero = f32x8::splat(simd, 0.0);
        let squared = seen.distance_squared;
        let distance = if SMOOTH { squared.sqrt() } else { squared };
        self.nearest_squared = self.nearest_squared.min(squared);

        let fade = plan.near.fade::<SMOOTH>(simd, distance, squared);
        let coincident = squared.simd_le(plan.coincident_squared);
        self.coincident = self.coincident | coincident;
        // Direction × 1/d, so offset / d²; the division does not wait for the fade.
        let push = coincident.select(zero, f32x8::splat(simd, 1.0) / squared) * fade;
        self.separation_weight = self.separation_weight + fade;
        let middle = plan.middle.fade::<SMOOTH>(simd, distance, squared);
        self.alignment_weight = self.alignment_weight + middle;
        let far = plan.far.fade::<SMOOTH>(simd, distance, squared);
        self.cohesion_weight = self.cohesion_weight + far;
        for axis in 0..D {
            // Coordinates at both ends of the number range are infinitely far apart, and not seen.
            let offset = seen.mates.select(seen.offset[axis], zero);
            self.separation[axis] = self.separation[axis] - offset * push;
            self.alignment[axis] = self.alignment[axis] + velocity[axis] * middle;
            self.cohesion[axis] = self.cohesion[axis] + offset * far;
            self.cohesion_velocity[axis] = self.cohesion_velocity[axis] + velocity[axis] * far;
        }
    }

    /// Adds up to eight entries from anywhere.
    #[inline(always)]
    fn add_block<const SMOOTH: bool>(
        &mut self,
        simd: S,
        plan: &Plan<S>,
        columns: &Columns,
        sight: &Sight<S, D>,
        block: &[Candidate],
    ) {
        let (mut position, mut velocity) = ([[0.0; LANES]; D], [[0.0; LANES]; D]);
        let mut distance_squared = [f32::INFINITY; LANES];
        for (lane, candidate) in block.iter().enumerate() {
            let at = candidate.index as usize;
            for axis in 0..D {
                position[axis][lane] = columns.position()[axis][at];
                velocity[axis][lane] = columns.velocity()[axis][at];
            }
            distance_squared[lane] = candidate.distance_squared;
        }
        let seen = Seen {
            offset: sight.offset(load_all(simd, [&position[0], &position[1], &position[D - 1]], 0)),
            distance_squared: f32x8::from_slice(simd, &distance_squared),
            mates: sight.lane.simd_lt(i32x8::splat(simd, block.len() as i32)),
        };
        self.add::<SMOOTH>(
            simd,
            plan,
            seen,
            load_all(simd, [&velocity[0], &velocity[1], &velocity[D - 1]], 0),
        );
    }

    /// Adds up the lanes, always in the same order.
    #[inline(always)]
    fn finish(self, simd: S) -> FlockSums {
        let none = f32x8::splat(simd, 0.0);
        let (s, a, c, v) = (self.separation, self.alignment, self.cohesion, self.cohesion_velocity);
        let [sx, sy, ax, ay] = sum_four(simd, [s[0], s[1], a[0], a[1]]);
        let [cx, cy, vx, vy] = sum_four(simd, [c[0], c[1], v[0], v[1]]);
        let [sz, az, cz, vz] =
            if D > 2 { sum_four(simd, [s[D - 1], a[D - 1], c[D - 1], v[D - 1]]) } else { [0.0; 4] };
        let [sw, aw, cw, _] =
            sum_four(simd, [self.separation_weight, self.alignment_weight, self.cohesion_weight, none]);
        let (low, high) = simd.split_f32x8(self.nearest_squared);
        let nearest: [f32; 4] = low.min(high).into();
        FlockSums {
            separation: Vec3::new(sx, sy, sz),
            separation_weight: sw,
            alignment: Vec3::new(ax, ay, az),
            alignment_weight: aw,
            cohesion: Vec3::new(cx, cy, cz),
            cohesion_velocity: Vec3::new(vx, vy, vz),
            cohesion_weight: cw,
            nearest_squared: nearest[0].min(nearest[1]).min(nearest[2].min(nearest[3])),
            coincident: self.coincident.any_true(),
        }
    }
}

/// The sum over the lanes of each of four vectors.
#[inline(always)]
fn sum_four<S: Simd>(simd: S, [a, b, c, d]: [f32x8<S>; 4]) -> [f32; 4] {
    let (a, b, c, d) = (halve(simd, a), halve(simd, b), halve(simd, c), halve(simd, d));
    // Interleaved, so that halves of two vectors stand above each other: a₀₂ b₀₂ a₁₃ b₁₃.
    let ab: [f32; 4] = (simd.zip_low_f32x4(a, b) + simd.zip_high_f32x4(a, b)).into();
    let cd: [f32; 4] = (simd.zip_low_f32x4(c, d) + simd.zip_high_f32x4(c, d)).into();
    [ab[0] + ab[2], ab[1] + ab[3], cd[0] + cd[2], cd[1] + cd[3]]
}

/// The upper lanes added to the lower ones.
#[inline(always)]
fn halve<S: Simd>(simd: S, v: f32x8<S>) -> f32x4<S> {
    let (low, high) = simd.split_f32x8(v);
    low + high
}
