//! Brings flock members what the grid has answered, several of them side by side.

use fearless_simd::{Simd, dispatch, f32x8, f32x16, prelude::*};

use super::{
    flock::{CRUISE, FlockLaw, FlockMember},
    flock_questions::Question,
    flock_sums::FlockAnswers,
    flock_urge::{PLANAR, Packed, transposed},
};
use crate::{
    accumulator::{Contribution, ContributionKind, SteeringAccumulator},
    agent::{SteeringAgent, SteeringVelocity},
    behavior::{Steering, SteeringBehavior, check},
    lanes::{self, LANES, Limits, Numbers, Vectors, Views, Wide},
    plane::SteeringPlane,
    priority::SteeringPriority,
    rows::TableRows,
};

/// Lots whose answers are fetched together.
const FETCHED: usize = 8;

/// The members in one table, as far as they are in one plane.
pub(crate) struct Members<'a, 'w> {
    pub(crate) steering: &'a Steering<'w>,
    pub(crate) rows: TableRows<'a>,
    pub(crate) agent: &'a [SteeringAgent],
    pub(crate) velocity: &'a [SteeringVelocity],
    pub(crate) own_plane: Option<&'a [SteeringPlane]>,
    pub(crate) plane: SteeringPlane,
}

/// Some members side by side, to be filled in one by one.
struct Lot {
    limits: Limits,
    velocity: Vectors,
    rules: Rules,
    urges: Urges,
}

/// What questions ask for beside the sums; kept from lot to lot, for most members of a flock ask the same.
struct Rules {
    /// The marks of the questions.
    marks: [u32; LANES],
    cruise: Numbers,
    weight: Numbers,
    separation_weight: Numbers,
    priority: [SteeringPriority; LANES],
}

/// What the grid has answered; see [`Packed`].
struct Urges {
    marks: Numbers,
    weight: Numbers,
    separation: Vectors,
    steady: Vectors,
    paced: Vectors,
}

/// What members want.
struct Wishes {
    push: Vectors,
    push_weight: Numbers,
    desired: Vectors,
    desire_weight: Numbers,
    /// A bit for each that pushes.
    pushes: u64,
    /// A bit for each that desires.
    desires: u64,
    /// A bit for each whose numbers need no second look.
    sound: u64,
}

impl Members<'_, '_> {
    /// Brings the answers to the accumulators from the `first` one of the table on.
    pub(crate) fn take(
        &self,
        first: usize,
        accumulators: &mut [SteeringAccumulator],
        answers: &FlockAnswers,
    ) {
        let level = lanes::level();
        match self.plane {
            SteeringPlane::Space => {
                dispatch!(level, simd => self.take_lots(simd, first, accumulators, answers.spatial()));
            }
            plane => {
                dispatch!(level, simd => self.take_lots(simd, first, accumulators, answers.planar(plane)));
            }
        }
    }

    #[inline(always)]
    fn take_lots<S: Simd, const N: usize>(
        &self,
        simd: S,
        first: usize,
        accumulators: &mut [SteeringAccumulator],
        answers: &[Packed<N>],
    ) {
        let mut lot = Lot {
            limits: Limits::ZERO,
            velocity: Vectors::ZERO,
            rules: Rules::NONE,
            urges: Urges {
                marks: Numbers::ZERO,
                weight: Numbers::ZERO,
                separation: Vectors::ZERO,
                steady: Vectors::ZERO,
                paced: Vectors::ZERO,
            },
        };
        let mut wishes = Wishes {
            push: Vectors::ZERO,
            push_weight: Numbers::ZERO,
            desired: Vectors::ZERO,
            desire_weight: Numbers::ZERO,
            pushes: 0,
            desires: 0,
            sound: 0,
        };
        let mut fetched = [[[0.0; N]; LANES]; FETCHED];
        for (n, accumulators) in accumulators.chunks_mut(FETCHED * LANES).enumerate() {
            let first = first + n * FETCHED * LANES;
            self.fetch(first, accumulators.len(), answers, fetched.as_flattened_mut());
            for (n, (accumulators, fetched)) in accumulators.chunks_mut(LANES).zip(&fetched).enumerate() {
                let asked = self.look(simd, first + n * LANES, accumulators.len(), fetched, &mut lot);
                wish(simd, self.plane, self.steering.dt(), &lot, &mut wishes);
                (wishes.pushes, wishes.desires) = (wishes.pushes & asked, wishes.desires & asked);
                for (lane, accumulator) in accumulators.iter_mut().enumerate() {
                    wishes.write(lane, lot.rules.priority[lane], accumulator);
                }
            }
        }
    }

    /// Fetches the answers of the members from the `first` one on, in short loops, so that many fetches are under way at the
    /// same time.
    #[inline(always)]
    fn fetch<const N: usize>(
        &self,
        first: usize,
        count: usize,
        answers: &[Packed<N>],
        fetched: &mut [Packed<N>],
    ) {
        let Some(cells) = self.steering.grid().cells(self.plane) else { return };
        let mut entries = [usize::MAX; FETCHED * LANES];
        let entries = &mut entries[..count];
        let entry_of = |row: usize| cells.entry_of(row).unwrap_or(usize::MAX);
        match self.rows.run(first, count) {
            Some(row) => entries.iter_mut().zip(row..).for_each(|(entry, row)| *entry = entry_of(row)),
            None => entries.iter_mut().zip(first..).for_each(|(entry, at)| {
                *entry = self.rows.row(at).map_or(usize::MAX, entry_of);
            }),
        }
        if let Some(planes) = self.own_plane {
            for (entry, &plane) in entries.iter_mut().zip(&planes[first..]) {
                *entry = if plane == self.plane { *entry } else { usize::MAX };
            }
        }
        for (answer, &entry) in fetched.iter_mut().zip(&*entries) {
            *answer = answers.get(entry).copied().unwrap_or([0.0; N]);
        }
    }

    /// Fills a lot with the members from the `first` one on; a bit for each that has an answer.
    #[inline(always)]
    fn look<S: Simd, const N: usize>(
        &self,
        simd: S,
        first: usize,
        count: usize,
        fetched: &[Packed<N>; LANES],
        lot: &mut Lot,
    ) -> u64 {
        lot.urges.set(simd, fetched);
        let mut asked = 0;
        for (lane, (agent, velocity)) in
            self.agent[first..first + count].iter().zip(&self.velocity[first..first + count]).enumerate()
        {
            let mark = lot.urges.marks.0[lane].to_bits();
            if mark != lot.rules.marks[lane] {
                lot.rules.set(lane, mark, self.steering.grid().question(mark));
            }
            asked |= u64::from(mark != 0) << lane;
            lot.limits.set(lane, agent);
            lot.velocity.set(lane, velocity.0);
        }
        asked
    }
}

impl Urges {
    /// Enters answers.
    #[inline(always)]
    fn set<S: Simd, const N: usize>(&mut self, simd: S, answers: &[Packed<N>; LANES]) {
        let Self { marks, weight, separation: s, steady: a, paced: b } = self;
        if N == PLANAR {
            let [sx, sy, _] = &mut s.0;
            let [ax, ay, _] = &mut a.0;
            let [bx, by, _] = &mut b.0;
            let columns = [marks, weight, sx, sy, ax, ay, bx, by];
            let mut halves = [[f32x8::splat(simd, 0.0); 8]; 2];
            for (half, answers) in halves.iter_mut().zip(answers.chunks_exact(8)) {
                for n in 0..8 {
                    half[n] = f32x8::from_slice(simd, &answers[n]);
                }
                *half = transposed(simd, *half);
            }
            for (n, column) in columns.into_iter().enumerate() {
                halves[0][n].store_slice(&mut column.0[..8]);
                halves[1][n].store_slice(&mut column.0[8..]);
            }
        } else {
            for (lane, answer) in answers.iter().enumerate() {
                (marks.0[lane], weight.0[lane]) = (answer[0], answer[1]);
                for (n, vectors) in [&mut *s, &mut *a, &mut *b].into_iter().enumerate() {
                    for axis in 0..3 {
                        vectors.0[axis].0[lane] = answer[2 + n * 3 + axis];
                    }
                }
            }
        }
    }
}

impl Rules {
    const NONE: Self = Self {
        marks: [0; LANES],
        cruise: Numbers::ZERO,
        weight: Numbers::ZERO,
        separation_weight: Numbers::ZERO,
        priority: [SteeringPriority::GOAL; LANES],
    };

    #[inline(never)]
    fn set(&mut self, lane: usize, mark: u32, question: Option<&Question>) {
        self.marks[lane] = mark;
        if let Some(Question { member, .. }) = question {
            self.cruise.0[lane] = match member.law {
                FlockLaw::Smooth => check::or_zero(member.cruise_weight),
                FlockLaw::Classic => 0.0,
            };
            self.weight.0[lane] = member.weight;
            self.separation_weight.0[lane] = check::or_zero(member.separation_weight);
            self.priority[lane] = member.priority;
        }
    }
}

/// A push for separation, and for the rest one desired velocity, the weighted mean of what alignment, cohesion and cruise
/// desire.
#[inline(always)]
fn wish<S: Simd>(simd: S, plane: SteeringPlane, dt: f32, lot: &Lot, wishes: &mut Wishes) {
    let Lot { rules, urges, .. } = lot;
    let views = Views::new(simd, &lot.limits, &lot.velocity, plane, dt);
    let (zero, one) = (f32x16::splat(simd, 0.0), f32x16::splat(simd, 1.0));
    let separation = from_grid(simd, plane, &urges.separation);
    let steady = from_grid(simd, plane, &urges.steady);
    let paced = from_grid(simd, plane, &urges.paced);
    let cruise = rules.cruise.load(simd);
    let weight = rules.weight.load(simd);

    let push = separation.over(views.relaxation).truncated(views.max_force);
    let push_weight = weight * rules.separation_weight.load(simd);

    let squared = views.velocity.length_squared();
    let cruising = cruise * f32x16::splat(simd, CRUISE);
    let ahead = paced.plus(views.velocity, cruising / squared.sqrt());
    // Who hardly moves has no heading of his own.
    let east = Wide([one, zero, zero]);
    let travels = squared.simd_gt(f32x16::splat(simd, 1e-8));
    let pace = ahead.or(travels, paced.plus(east, cruising));
    let total = urges.weight.load(simd) + cruise;
    let desired = steady.plus(pace, views.max_speed).over(total);
    let desire_weight = weight * total;

    wishes.push.store(push);
    wishes.push_weight.store(push_weight);
    wishes.desired.store(desired);
    wishes.desire_weight.store(desire_weight);
    let sound = push.is_finite() & push_weight.simd_gt(zero) & push_weight.is_finite();
    let sound = sound & desired.is_finite() & desire_weight.simd_gt(zero) & desire_weight.is_finite();
    wishes.sound = sound.to_bitmask();
    wishes.pushes = push.differs(&Wide::zero(simd)).to_bitmask();
    wishes.desires = total.simd_gt(zero).to_bitmask();
}

/// As [`SteeringPlane::from_grid`].
#[inline(always)]
fn from_grid<S: Simd>(simd: S, plane: SteeringPlane, vectors: &Vectors) -> Wide<S> {
    let Wide([x, y, z]) = vectors.load(simd);
    let zero = f32x16::splat(simd, 0.0);
    Wide(match plane {
        SteeringPlane::Xy => [x, y, zero],
        SteeringPlane::Xz => [x, zero, y],
        SteeringPlane::Space => [x, y, z],
    })
}

impl Wishes {
    #[inline(always)]
    fn write(&self, lane: usize, priority: SteeringPriority, accumulator: &mut SteeringAccumulator) {
        let id = FlockMember::ID;
        let (push, push_weight) = (self.push.get(lane), self.push_weight.0[lane]);
        let (desired, desire_weight) = (self.desired.get(lane), self.desire_weight.0[lane]);
        let [pushes, desires, sound] =
            [self.pushes, self.desires, self.sound].map(|bits| bits >> lane & 1 == 1);
        if pushes & desires & sound {
            accumulator.add_sound([
                Contribution::new(ContributionKind::Push, id, push, push_weight, priority),
                Contribution::new(ContributionKind::Desired, id, desired, desire_weight, priority),
            ]);
        } else {
            if pushes {
                accumulator.push(id, push, push_weight, priority);
            }
            if desires {
                accumulator.desire(id, desired, desire_weight, priority);
            }
        }
    }
}
