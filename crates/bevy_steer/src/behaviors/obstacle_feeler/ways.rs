//! Looking for a way round: whiskers to a side, and the edges of what is near.

use core::f32::consts::PI;

use bevy::{math::ops, prelude::*};

use super::{
    field::Field,
    passage::{Block, Passage},
};

/// Whiskers to one side, at most.
pub(super) const MOST_WHISKERS: usize = 90;
/// Radians that a way keeps off the tangent of an obstacle.
const HAIR: f32 = 0.004;
/// Halvings between a blocked whisker and a clear one.
const REFINEMENTS: usize = 6;

/// A turn from the wanted way.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Turn {
    /// Radians.
    pub(super) angle: f32,
    /// Units that are free there.
    pub(super) free: f32,
    /// Whether that is as far as the feeler looks.
    pub(super) clear: bool,
}

/// Memory that is used again for each agent.
#[derive(Default)]
pub(super) struct WaysScratch {
    passages: Vec<(usize, Passage)>,
    blocks: Vec<(usize, Block)>,
    edges: Vec<Vec2>,
}

impl WaysScratch {
    /// Empties it and makes room for so many obstacles: memory grows when more come near, not when they are first in the way.
    pub(super) fn make_room(&mut self, obstacles: usize) {
        self.passages.clear();
        self.passages.reserve(obstacles);
        self.blocks.clear();
        self.blocks.reserve(obstacles);
        self.edges.clear();
        self.edges.reserve(2 * obstacles);
    }
}

/// The ways that an agent can try, once the wanted one is blocked.
pub(super) struct Ways<'a> {
    pub(super) field: &'a Field<'a>,
    /// The wanted direction.
    pub(super) wanted: Vec3,
    /// A direction at a right angle to it; the left in a plane.
    left: Vec3,
    /// Angle between whiskers in radians.
    step: f32,
    whiskers: usize,
    /// What can be in the way, by its number among the near obstacles.
    passages: &'a [(usize, Passage)],
    /// Directions in which the agent just passes an obstacle that stands still, in a plane: along the wanted way and to the
    /// left of it.
    edges: &'a [Vec2],
    /// How far ways must be clear.
    far: f32,
    /// What is in the way as far as that, by its number among the passages.
    blocks: &'a mut Vec<(usize, Block)>,
}

impl<'a> Ways<'a> {
    pub(super) fn new(
        field: &'a Field,
        wanted: Vec3,
        step: f32,
        whiskers: usize,
        scratch: &'a mut WaysScratch,
    ) -> Self {
        let WaysScratch { passages, blocks, edges } = scratch;
        passages.clear();
        edges.clear();
        let left = field.view.plane.left_of(wanted);
        for (i, obstacle) in field.near.iter().enumerate() {
            let Some((passage, tangents)) = Passage::new(field, obstacle) else { continue };
            passages.push((i, passage));
            if let Some(tangents) = tangents
                && obstacle.velocity == Vec3::ZERO
            {
                edges.extend(tangents.map(|t| Vec2::new(t.dot(wanted), t.dot(left))));
            }
        }
        Self { field, wanted, left, step, whiskers, passages, edges, far: 0.0, blocks }
    }

    /// Asks for ways that are clear as far as `far`.
    pub(super) fn look(&mut self, far: f32) {
        self.far = far;
        self.blocks.clear();
        for (i, (near, passage)) in self.passages.iter().enumerate() {
            let block = Block::new(self.field, &self.field.near[*near], passage, far);
            self.blocks.extend(block.map(|block| (i, block)));
        }
    }

    /// The smallest turn to one side that is clear; where there is none, that is clear half as far, and so on.
    pub(super) fn turn(&self, side: Vec3) -> Turn {
        let turn = self.turn_by_whiskers(side);
        // The edges of what is near show the ways between two whiskers.
        let limit = if turn.clear { turn.angle } else { PI };
        let hand = if self.left.dot(side) < 0.0 { -1.0 } else { 1.0 };
        // Most are on the other side or beyond the limit, which is seen without an angle.
        let least = if limit + 2.0 * HAIR < PI { ops::cos(limit + 2.0 * HAIR) } else { -2.0 };
        let edges = self.edges.iter().map(|edge| edge * Vec2::new(1.0, hand));
        let angle = edges.filter(|edge| edge.x > least && edge.y > -2.0 * HAIR).fold(limit, |best, edge| {
            let angle = ops::atan2(edge.y, edge.x);
            // A hair to either side of the tangent is outside.
            [angle - HAIR, angle + HAIR].into_iter().fold(best, |best, angle| {
                if angle > 0.0 && angle < best && self.is_clear(side, angle) { angle } else { best }
            })
        });
        if angle < limit { Turn { angle, free: self.far, clear: true } } else { turn }
    }

    fn turn_by_whiskers(&self, side: Vec3) -> Turn {
        let whisker = |i: usize| self.step * i as f32;
        if let Some(i) = (1..=self.whiskers).find(|&i| self.is_clear(side, whisker(i))) {
            let angle = self.refined(i, |angle| self.is_clear(side, angle));
            return Turn { angle, free: self.far, clear: true };
        }
        let mut free = [0.0; MOST_WHISKERS + 1];
        let free = &mut free[..=self.whiskers];
        for (i, free) in free.iter_mut().enumerate() {
            *free = self.free(side, whisker(i), self.far);
        }
        let mut enough = self.far;
        for _ in 0..5 {
            enough *= 0.5;
            if let Some(i) = free.iter().position(|&free| free >= enough) {
                let angle = self.refined(i, |angle| self.free(side, angle, enough) >= enough);
                return Turn { angle, free: enough, clear: false };
            }
        }
        Turn { angle: whisker(self.whiskers), free: 0.0, clear: false }
    }

    /// Moves from whisker `i` back towards the one before it, as far as the way stays clear.
    fn refined(&self, i: usize, is_clear: impl Fn(f32) -> bool) -> f32 {
        let (mut low, mut high) = (self.step * i.saturating_sub(1) as f32, self.step * i as f32);
        for _ in 0..if i > 0 { REFINEMENTS } else { 0 } {
            let middle = 0.5 * (low + high);
            if is_clear(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }

    /// Whether the way that turns by `angle` to one side is clear.
    fn is_clear(&self, side: Vec3, angle: f32) -> bool {
        let direction = rotated(self.wanted, side, angle);
        !self.blocks.iter().any(|(i, block)| {
            block.may.holds(direction)
                && (block.must.holds(direction) || {
                    let (near, passage) = &self.passages[*i];
                    self.field.contact(&self.field.near[*near], passage, direction, self.far).is_some()
                })
        })
    }

    /// How far that way is free, in units, `far` at most.
    fn free(&self, side: Vec3, angle: f32, far: f32) -> f32 {
        let direction = rotated(self.wanted, side, angle);
        self.passages.iter().fold(far, |free, (near, passage)| {
            self.field.contact(&self.field.near[*near], passage, direction, free).unwrap_or(free)
        })
    }
}

/// The direction that is `angle` radians from one direction to a side at a right angle to it.
pub(super) fn rotated(direction: Vec3, side: Vec3, angle: f32) -> Vec3 {
    let (sin, cos) = ops::sin_cos(angle);
    direction * cos + side * sin
}
