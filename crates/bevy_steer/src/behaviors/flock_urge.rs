//! From the sums over flockmates to what a member is after: eight members side by side, in the order of the grid.

use bevy_steer_grid::{FlockBlock, FlockQuery};
use fearless_simd::{Simd, dispatch, f32x8, prelude::*};

use super::{
    flock::{FlockLaw, SeparationMode},
    flock_questions::Question,
};
use crate::{behavior::check, lanes};

const LANES: usize = FlockBlock::LANES;
type Numbers = [f32; LANES];

/// What a member is after, its own heading and speed apart, in the coordinates of the grid: the mark of its question, 0
/// for who did not ask; the weight of what follows separation; the separation of Reynolds, before it is divided by the
/// reaction time; and two vectors `steady` and `paced`. The weighted sum of the velocities that alignment and cohesion
/// desire is `steady + paced · max_speed`. In a plane two answers fill a line of cache.
pub(crate) type Packed<const N: usize> = [f32; N];
/// Length of an answer in a plane.
pub(crate) const PLANAR: usize = 8;
/// Length of an answer in space.
pub(crate) const SPATIAL: usize = 11;

/// Writes the answers to what is in `blocks`; `answers` begin with entry `first`.
pub(crate) fn answer_blocks<'q, const N: usize>(
    blocks: &[FlockBlock],
    marks: &[u32],
    question: impl Fn(u32) -> Option<&'q Question>,
    first: usize,
    answers: &mut [Packed<N>],
) {
    let mut asked = Asked::NOBODY;
    dispatch!(lanes::level(), simd => for block in blocks {
        for (lane, &entry) in block.entries[..block.len].iter().enumerate() {
            let mark = marks[entry as usize];
            if mark != asked.marks[lane] {
                asked.set(lane, mark, question(mark));
            }
        }
        write(simd, block, &asked, urge(simd, block, &asked), first, answers);
    });
}

/// What those in a block asked; kept from block to block, for most members of a flock ask the same.
struct Asked {
    marks: [u32; LANES],
    alignment: Rule,
    cohesion: Rule,
    /// What the offset to the centre is multiplied by, beside `max_speed`.
    pace: Numbers,
    /// 1 for who takes the mean of separation.
    averages: Numbers,
    /// 1 for who flocks by the textbook.
    classic: Numbers,
}

/// Weight and reach of alignment or cohesion.
struct Rule {
    weight: Numbers,
    radius: Numbers,
    /// 1 / (stretch over which a flockmate fades in); 0 for a hard radius.
    steepness: Numbers,
}

impl Rule {
    const NONE: Self = Self { weight: [0.0; LANES], radius: [0.0; LANES], steepness: [0.0; LANES] };

    fn set(&mut self, lane: usize, weight: f32, radius: f32, law: FlockLaw) {
        let (weight, radius) = (check::or_zero(weight), check::or_zero(radius));
        let steepness = match law {
            FlockLaw::Smooth => 1.0 / (FlockQuery::FADE * radius),
            FlockLaw::Classic => 0.0,
        };
        (self.weight[lane], self.radius[lane], self.steepness[lane]) = (weight, radius, steepness);
    }

    /// The weight, by the fade of the nearest flockmate, which is the largest one.
    #[inline(always)]
    fn at<S: Simd>(&self, simd: S, nearest: f32x8<S>) -> f32x8<S> {
        let (weight, radius) = (load(simd, &self.weight), load(simd, &self.radius));
        let steepness = load(simd, &self.steepness);
        let (zero, one) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0));
        let x = ((radius - nearest) * steepness).max(zero).min(one);
        let fade = x * x * (f32x8::splat(simd, 3.0) - f32x8::splat(simd, 2.0) * x);
        let hard = nearest.simd_le(radius).select(weight, zero);
        steepness.simd_eq(zero).select(hard, weight * fade)
    }
}

impl Asked {
    const NOBODY: Self = Self {
        marks: [0; LANES],
        alignment: Rule::NONE,
        cohesion: Rule::NONE,
        pace: [0.0; LANES],
        averages: [0.0; LANES],
        classic: [0.0; LANES],
    };

    #[inline(never)]
    fn set(&mut self, lane: usize, mark: u32, question: Option<&Question>) {
        self.marks[lane] = mark;
        if let Some(Question { member, .. }) = question {
            self.alignment.set(lane, member.alignment_weight, member.alignment_radius, member.law);
            self.cohesion.set(lane, member.cohesion_weight, member.cohesion_radius, member.law);
            // As the sums have it: who switches cohesion off has no radius, and nobody within it.
            self.pace[lane] = 1.0 / check::or_zero(member.cohesion_radius).max(1e-18);
            self.averages[lane] = f32::from(member.separation == SeparationMode::Mean);
            self.classic[lane] = f32::from(member.law == FlockLaw::Classic);
        }
    }
}

/// What members are after.
struct Urge<S: Simd> {
    weight: f32x8<S>,
    separation: [f32x8<S>; 3],
    steady: [f32x8<S>; 3],
    paced: [f32x8<S>; 3],
}

#[inline(always)]
fn load<S: Simd>(simd: S, numbers: &Numbers) -> f32x8<S> {
    f32x8::from_slice(simd, numbers)
}

#[expect(clippy::needless_range_loop, reason = "closures may not be inlined into the dispatched code")]
#[inline(always)]
fn urge<S: Simd>(simd: S, block: &FlockBlock, asked: &Asked) -> Urge<S> {
    let (zero, one) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0));
    let nearest = load(simd, &block.nearest_squared).sqrt();
    let classic = load(simd, &asked.classic).simd_gt(zero);

    let (near, middle) = (load(simd, &block.separation_weight), load(simd, &block.alignment_weight));
    let far = load(simd, &block.cohesion_weight);
    let averages = load(simd, &asked.averages).simd_gt(zero) & near.simd_gt(zero);
    let crowd = averages.select(near, one);

    let aligned = middle.simd_gt(zero).select(asked.alignment.at(simd, nearest), zero);
    let align = aligned / middle.simd_gt(zero).select(middle, one);

    let drawn = far.simd_gt(zero).select(asked.cohesion.at(simd, nearest), zero);
    let share = drawn / far.simd_gt(zero).select(far, one);
    let (mut offset, mut squared) = ([zero; 3], zero);
    for axis in 0..3 {
        offset[axis] = load(simd, &block.cohesion[axis]);
        squared += offset[axis] * offset[axis];
    }
    // By the textbook cohesion seeks the centre at full speed, whatever the distance.
    let shorten = one / squared.sqrt();
    let seeks = shorten.is_finite() & shorten.simd_gt(zero);
    let seek = seeks.select(shorten, zero) * drawn;
    let pace = classic.select(seek, share * load(simd, &asked.pace));
    let follow = classic.select(zero, share);

    let mut urge = Urge { weight: aligned + drawn, separation: [zero; 3], steady: [zero; 3], paced: offset };
    for axis in 0..3 {
        urge.separation[axis] = load(simd, &block.separation[axis]) / crowd;
        urge.steady[axis] =
            load(simd, &block.alignment[axis]) * align + load(simd, &block.cohesion_velocity[axis]) * follow;
        urge.paced[axis] *= pace;
    }
    urge
}

/// Writes what the members of a block are after to their places.
#[inline(always)]
fn write<S: Simd, const N: usize>(
    simd: S,
    block: &FlockBlock,
    asked: &Asked,
    urge: Urge<S>,
    first: usize,
    answers: &mut [Packed<N>],
) {
    let Urge { weight, separation: s, steady: a, paced: b } = urge;
    let mark = f32x8::from_bits(fearless_simd::u32x8::from_slice(simd, &asked.marks));
    let entries = &block.entries[..block.len];
    if N == PLANAR {
        let rows = transposed(simd, [mark, weight, s[0], s[1], a[0], a[1], b[0], b[1]]);
        for (n, &entry) in entries.iter().enumerate() {
            rows[n].store_slice(&mut answers[entry as usize - first]);
        }
    } else {
        let columns = [mark, weight, s[0], s[1], s[2], a[0], a[1], a[2], b[0], b[1], b[2]];
        for (n, &entry) in entries.iter().enumerate() {
            for (value, column) in answers[entry as usize - first].iter_mut().zip(&columns) {
                *value = column[n];
            }
        }
    }
}

/// Rows become columns.
#[inline(always)]
pub(crate) fn transposed<S: Simd>(simd: S, mut rows: [f32x8<S>; LANES]) -> [f32x8<S>; LANES] {
    // Each round is a perfect shuffle of all 64 numbers, which turns their place, read as six bits, by one bit.
    for _ in 0..3 {
        let [a, b, c, d, e, f, g, h] = rows;
        let ((a, b), (c, d), (e, f), (g, h)) = (
            simd.interleave_f32x8(a, e),
            simd.interleave_f32x8(b, f),
            simd.interleave_f32x8(c, g),
            simd.interleave_f32x8(d, h),
        );
        rows = [a, b, c, d, e, f, g, h];
    }
    rows
}
