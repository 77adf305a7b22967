//! A table of agents, cut into batches that threads can share.

use bevy::{
    ecs::change_detection::{ContiguousComponentTicksMut, ContiguousMut, Tick},
    prelude::*,
};

use crate::{
    accumulator::SteeringAccumulator,
    agent::{SteeringAgent, SteeringVelocity},
    combine::SteeringCombine,
    facing::FaceVelocity,
    integrate::{MovingContiguousItem, SteeringOutput},
    parallel::BATCH,
    plane::SteeringPlane,
    rng::SteeringId,
    sensing::SteerEvery,
    smoothing::SteeringSmoothing,
    stall::StallWatch,
    turn_limit::TurnLimit,
};

/// A table of agents.
pub(crate) struct Table<'w> {
    shared: Shared<'w>,
    transform: Column<'w, Transform>,
    velocity: Column<'w, SteeringVelocity>,
    output: Column<'w, SteeringOutput>,
    // Changes of the following are not told: they change every tick, and are steering's own.
    accumulator: &'w mut [SteeringAccumulator],
    stall: &'w mut [StallWatch],
    smoothing: Option<&'w mut [SteeringSmoothing]>,
    every: Option<&'w mut [SteerEvery]>,
}

type Column<'w, T> = (&'w mut [T], ContiguousComponentTicksMut<'w>);

/// What all batches of a table read.
pub(crate) struct Shared<'w> {
    pub(crate) entity: &'w [Entity],
    pub(crate) id: &'w [SteeringId],
    pub(crate) agent: &'w [SteeringAgent],
    pub(crate) plane: Option<&'w [SteeringPlane]>,
    pub(crate) combine: Option<&'w [SteeringCombine]>,
    pub(crate) turn: Option<&'w [TurnLimit]>,
    pub(crate) face: Option<&'w [FaceVelocity]>,
    pub(crate) custom: bool,
}

/// What one batch writes.
pub(crate) struct Batch<'w> {
    /// Place of its first agent in the table.
    pub(crate) first: usize,
    pub(crate) transform: Tracked<'w, Transform>,
    pub(crate) velocity: Tracked<'w, SteeringVelocity>,
    pub(crate) output: Tracked<'w, SteeringOutput>,
    pub(crate) accumulator: &'w mut [SteeringAccumulator],
    pub(crate) stall: &'w mut [StallWatch],
    pub(crate) smoothing: Option<&'w mut [SteeringSmoothing]>,
    pub(crate) every: Option<&'w mut [SteerEvery]>,
}

impl<'w> Table<'w> {
    pub(crate) fn new(table: MovingContiguousItem<'w, '_>) -> Self {
        Self {
            shared: Shared {
                entity: table.entity,
                id: table.id,
                agent: table.agent,
                plane: table.plane,
                combine: table.combine,
                turn: table.turn,
                face: table.face,
                custom: table.custom,
            },
            transform: ContiguousMut::bypass_change_detection_split(table.transform),
            velocity: ContiguousMut::bypass_change_detection_split(table.velocity),
            output: ContiguousMut::bypass_change_detection_split(table.output),
            accumulator: quietly(table.accumulator),
            stall: quietly(table.stall),
            smoothing: table.smoothing.map(quietly),
            every: table.every.map(quietly),
        }
    }

    /// The batches, and what they have in common.
    pub(crate) fn batches(&mut self) -> (&Shared<'w>, impl Iterator<Item = Batch<'_>>) {
        let mut rest = Batch {
            first: 0,
            transform: Tracked::new(&mut self.transform),
            velocity: Tracked::new(&mut self.velocity),
            output: Tracked::new(&mut self.output),
            accumulator: self.accumulator,
            stall: self.stall,
            smoothing: self.smoothing.as_deref_mut(),
            every: self.every.as_deref_mut(),
        };
        (&self.shared, core::iter::from_fn(move || rest.cut()))
    }
}

impl<'w> Batch<'w> {
    /// Cuts off the first batch of what is left.
    fn cut(&mut self) -> Option<Self> {
        let len = self.accumulator.len().min(BATCH);
        let batch = Self {
            first: self.first,
            transform: self.transform.cut(len),
            velocity: self.velocity.cut(len),
            output: self.output.cut(len),
            accumulator: cut(&mut self.accumulator, len),
            stall: cut(&mut self.stall, len),
            smoothing: self.smoothing.as_mut().map(|rest| cut(rest, len)),
            every: self.every.as_mut().map(|rest| cut(rest, len)),
        };
        self.first += len;
        (len > 0).then_some(batch)
    }
}

/// Components whose changes are told, one by one.
pub(crate) struct Tracked<'w, T> {
    pub(crate) values: &'w mut [T],
    changed: &'w mut [Tick],
    now: Tick,
}

impl<'w, T: PartialEq> Tracked<'w, T> {
    fn new<'c>((values, ticks): &'w mut Column<'c, T>) -> Self {
        let now = ticks.this_run();
        Self { values, changed: ticks.changed_mut(), now }
    }

    /// Writes, and tells of it, only what changes, so that change detection stays quiet for agents that stand still.
    #[inline]
    pub(crate) fn set_if_neq(&mut self, n: usize, value: T) {
        if self.values[n] != value {
            *self.change(n) = value;
        }
    }

    /// A value to be changed, which is told.
    #[inline]
    pub(crate) fn change(&mut self, n: usize) -> &mut T {
        self.changed[n] = self.now;
        &mut self.values[n]
    }

    fn cut(&mut self, len: usize) -> Self {
        Self { values: cut(&mut self.values, len), changed: cut(&mut self.changed, len), now: self.now }
    }
}

/// The values, to be changed without telling.
fn quietly<'w, T>(column: ContiguousMut<'w, T>) -> &'w mut [T] {
    ContiguousMut::bypass_change_detection_split(column).0
}

/// Cuts off the first `len` of a slice.
fn cut<'w, T>(slice: &mut &'w mut [T], len: usize) -> &'w mut [T] {
    slice.split_off_mut(..len).unwrap_or_default()
}
