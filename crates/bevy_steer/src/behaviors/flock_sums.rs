//! What the members of all flocks are after, computed in the order of the grid.
//!
//! An agent and its neighbours lie side by side in the grid, but anywhere in storage. So all members ask first, then the
//! grid is gone through from end to end, eight neighbours at a time, and what each is after is put where it lies in
//! storage.

use core::sync::atomic::{AtomicU32, Ordering};

use bevy::{math::ops, prelude::*, utils::Parallel};
use bevy_steer_grid::{Falloff, FlockKernel, FlockQuery, FlockSums, Grid, Neighbor, Runner};

use super::{
    flock::{FlockLaw, FlockMember, SeparationMode},
    separation::{fade, push_from},
};
use crate::{
    behavior::check,
    neighbors::NeighborGrid,
    parallel::{BATCH, ComputeRunner},
    plane::SteeringPlane,
    rng::SteeringId,
};

/// Entries of the grid that are answered in one go.
const STRETCH: usize = 1024;

/// What a member is after, its own heading and speed apart.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct FlockUrge {
    /// The separation of Reynolds, before it is divided by the reaction time.
    pub(crate) separation: Vec3,
    /// The weighted sum of the velocities that alignment and cohesion desire is `steady + paced · max_speed`.
    pub(crate) steady: Vec3,
    pub(crate) paced: Vec3,
    /// Their total weight.
    pub(crate) weight: f32,
}

/// A question that several members have in common, and what to make of the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Question {
    member: FlockMember,
    plane: SteeringPlane,
    query: FlockQuery,
    alignment: Rule,
    cohesion: Rule,
    /// What the offset to the centre is multiplied by, beside `max_speed`.
    pace: f32,
}

/// Weight and reach of alignment or cohesion.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rule {
    weight: f32,
    radius: f32,
    /// 1 / (stretch over which a flockmate fades in); infinite without fading.
    steepness: f32,
}

impl Rule {
    fn new(weight: f32, radius: f32, law: FlockLaw) -> Self {
        let (weight, radius) = (check::or_zero(weight), check::or_zero(radius));
        let steepness = match law {
            FlockLaw::Smooth => 1.0 / (FlockQuery::FADE * radius),
            FlockLaw::Classic => f32::INFINITY,
        };
        Self { weight, radius, steepness }
    }

    /// The weight, by the fade of the nearest flockmate, which is the largest one.
    #[inline]
    fn at(&self, nearest: f32) -> f32 {
        let inside = self.radius - nearest;
        let x = if inside > 0.0 { (inside * self.steepness).min(1.0) } else { 0.0 };
        // Just on a hard radius counts.
        let x = if inside == 0.0 && self.steepness.is_infinite() { 1.0 } else { x };
        self.weight * (x * x * (3.0 - 2.0 * x))
    }
}

impl Question {
    fn new(member: &FlockMember, plane: SteeringPlane) -> Self {
        let view = member.field_of_view;
        let sees_all = !(view.is_finite() && (0.0..360.0).contains(&view));
        let law = member.law;
        Self {
            member: *member,
            plane,
            query: FlockQuery {
                falloff: match law {
                    FlockLaw::Smooth => Falloff::Smooth,
                    FlockLaw::Classic => Falloff::Hard,
                },
                separation_radius: member.separation_radius,
                alignment_radius: member.alignment_radius,
                cohesion_radius: member.cohesion_radius,
                cos_half_view: if sees_all { -2.0 } else { ops::cos(0.5 * view.to_radians()) },
                max_neighbors: member.max_neighbors,
            },
            alignment: Rule::new(member.alignment_weight, member.alignment_radius, law),
            cohesion: Rule::new(member.cohesion_weight, member.cohesion_radius, law),
            pace: 1.0 / member.cohesion_radius,
        }
    }

    #[inline]
    fn urge(&self, sums: &FlockSums) -> FlockUrge {
        let nearest = sums.nearest_squared.sqrt();
        let mut urge = FlockUrge { separation: sums.separation, ..default() };
        if self.member.separation == SeparationMode::Mean && sums.separation_weight > 0.0 {
            urge.separation /= sums.separation_weight;
        }
        if sums.alignment_weight > 0.0 {
            let weight = self.alignment.at(nearest);
            urge.steady = sums.alignment * (weight / sums.alignment_weight);
            urge.weight = weight;
        }
        if sums.cohesion_weight > 0.0 {
            let weight = self.cohesion.at(nearest);
            match self.member.law {
                FlockLaw::Smooth => {
                    let share = weight / sums.cohesion_weight;
                    urge.steady += sums.cohesion_velocity * share;
                    urge.paced = sums.cohesion * (share * self.pace);
                }
                FlockLaw::Classic => urge.paced = sums.cohesion.normalize_or_zero() * weight,
            }
            urge.weight += weight;
        }
        urge
    }
}

/// Asks and answers; kept from tick to tick for its memory.
#[derive(Default)]
pub(crate) struct FlockWork {
    /// For each row 0 without a question, else one more than its place among the questions.
    asked: Vec<AtomicU32>,
    /// The different questions of each batch.
    questions: Vec<Vec<Question>>,
    batches: usize,
    /// `width` words for each row. Atomic because threads write in each other's midst; each word is written once.
    answers: Vec<AtomicU32>,
    width: usize,
    /// Stands in answers of this tick.
    stamp: u32,
    scratch: Parallel<Scratch>,
}

#[derive(Default)]
struct Scratch {
    kernel: FlockKernel,
    nearest: Vec<Neighbor>,
}

impl FlockWork {
    /// Forgets the last tick.
    pub(crate) fn begin(&mut self, grid: &NeighborGrid) {
        let rows = grid.agent_count();
        self.asked.resize_with(rows, AtomicU32::default);
        self.asked.iter_mut().for_each(|asked| *asked.get_mut() = 0);
        self.batches = 0;
        // Vectors in a plane have two coordinates.
        self.width = if grid.cells(SteeringPlane::Space).is_some() { 11 } else { 8 };
        self.answers.resize_with(rows * self.width, AtomicU32::default);
        self.stamp = self.stamp.wrapping_add(1).max(1);
    }

    /// Enters the questions of one table of `len` agents; `question` gives row, component and plane of the `n`th, unless
    /// it does not ask.
    pub(crate) fn ask<'a>(
        &mut self,
        pool: &ComputeRunner,
        len: usize,
        question: impl Fn(usize) -> Option<(usize, &'a FlockMember, SteeringPlane)> + Sync,
    ) {
        let first = self.batches;
        self.batches += len.div_ceil(BATCH);
        if self.questions.len() < self.batches {
            self.questions.resize_with(self.batches, Vec::new);
        }
        let asked = &self.asked;
        pool.run(self.questions[first..self.batches].iter_mut().enumerate(), |(batch, questions)| {
            questions.clear();
            let mut last = 0;
            for n in batch * BATCH..len.min((batch + 1) * BATCH) {
                if let Some((row, member, plane)) = question(n) {
                    let same = |q: &Question| q.member == *member && q.plane == plane;
                    if !questions.get(last).is_some_and(same) {
                        // A few kinds of agents side by side; agents that all differ are not searched for.
                        let known = questions.iter().take(8).position(same);
                        last = known.unwrap_or(questions.len());
                        if known.is_none() {
                            questions.push(Question::new(member, plane));
                        }
                    }
                    let place = (first + batch) * BATCH + last;
                    asked[row].store(place as u32 + 1, Ordering::Relaxed);
                }
            }
        });
    }

    fn question(&self, row: usize) -> Option<&Question> {
        let place = self.asked[row].load(Ordering::Relaxed).checked_sub(1)? as usize;
        Some(&self.questions[place / BATCH][place % BATCH])
    }

    /// Answers all questions.
    pub(crate) fn answer(&self, pool: &ComputeRunner, neighbors: &NeighborGrid) {
        for plane in SteeringPlane::ALL {
            let Some(grid) = neighbors.cells(plane) else { continue };
            let tags = grid.tags();
            let question = |entry: usize| self.question(tags[entry] as usize).filter(|q| q.plane == plane);
            pool.run((0..grid.len()).step_by(STRETCH), |start| {
                let scratch = &mut *self.scratch.borrow_local_mut();
                let Scratch { kernel, nearest } = scratch;
                grid.for_each_flock_sums(
                    start..grid.len().min(start + STRETCH),
                    kernel,
                    |entry| question(entry).map(|q| &q.query),
                    |entry, sums| {
                        if let Some(question) = question(entry) {
                            let mut sums = *sums;
                            if sums.coincident {
                                sums.separation += part(grid, plane, entry, &question.query, nearest);
                            }
                            self.write(tags[entry] as usize, &question.urge(&sums));
                        }
                    },
                );
            });
        }
    }

    fn write(&self, row: usize, urge: &FlockUrge) {
        let FlockUrge { separation: s, steady: a, paced: b, weight } = urge;
        let words = &self.answers[row * self.width..][..self.width];
        let put = |words: &[AtomicU32], values: &[f32]| {
            for (word, value) in words.iter().zip(values) {
                word.store(value.to_bits(), Ordering::Relaxed);
            }
        };
        words[0].store(self.stamp, Ordering::Relaxed);
        if self.width == 8 {
            put(&words[1..8], &[s.x, s.y, a.x, a.y, b.x, b.y, *weight]);
        } else {
            put(&words[1..11], &[s.x, s.y, s.z, a.x, a.y, a.z, b.x, b.y, b.z, *weight]);
        }
    }

    /// What the agent of a row is after, in its plane; `None` if it did not ask, or is not in the grid.
    #[inline]
    pub(crate) fn urge(&self, row: usize, plane: SteeringPlane) -> Option<FlockUrge> {
        let words = &self.answers[row * self.width..][..self.width];
        if words[0].load(Ordering::Relaxed) != self.stamp {
            return None;
        }
        let at = |n: usize| f32::from_bits(words[n].load(Ordering::Relaxed));
        let flat = |n: usize| plane.from_grid(Vec3::new(at(n), at(n + 1), 0.0));
        let full = |n: usize| plane.from_grid(Vec3::new(at(n), at(n + 1), at(n + 2)));
        Some(if self.width == 8 {
            FlockUrge { separation: flat(1), steady: flat(3), paced: flat(5), weight: at(7) }
        } else {
            FlockUrge { separation: full(1), steady: full(4), paced: full(7), weight: at(10) }
        })
    }
}

/// The push on an entry from flockmates on the same spot, in grid coordinates: the numbers of the two decide the direction.
#[cold]
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
    let mut push = Vec3::ZERO;
    let mut add = |index: usize, offset: Vec3, squared: f32| {
        let offset = plane.from_grid(offset);
        push += push_from(offset, squared, radius, plane, me, SteeringId(grid.ids()[index]))
            * fade(squared.sqrt(), radius);
    };
    let reach = query.coincidence();
    if let Some(most) = query.max_neighbors {
        let wanted = |index: usize| {
            let offset = grid.position(index) - center;
            seen(index, offset, offset.length_squared())
        };
        grid.k_nearest(center, most as usize, reach, wanted, nearest);
        nearest.iter().for_each(|n| add(n.index, n.offset, n.distance_squared));
    } else {
        grid.for_each_within(center, reach, |index, offset, squared| {
            if seen(index, offset, squared) {
                add(index, offset, squared);
            }
        });
    }
    plane.to_grid(push)
}
