//! The swept feeler: the whole disc or ball, along the wanted way, the whiskers and the velocity.

use core::f32::consts::PI;

use bevy::{math::ops, prelude::*};

use super::{FeelerState, Wish};
use crate::{
    agent::AgentView,
    behavior::check,
    combine::{push_for, truncate},
    obstacle::{NearObstacle, Reach},
    plane::SteeringPlane,
    rng::direction_from_bits,
};

/// Seconds that the motion of obstacles is followed ahead, at most.
pub(super) const HORIZON: f32 = 2.0;
/// Seconds that the wanted way must have been clear for before the side is forgotten.
const CLEAR_FOR: f32 = 0.3;
/// The share of the radius that the skin grows to at low tick rates.
const LARGEST_DRIFT: f32 = 0.2;
/// How many look-aheads the choice of a side takes into account.
const CHOICE: f32 = 3.0;
/// Turns to two sides that differ by less (radians) count as equal: rounding must not choose.
const TIE: f32 = 0.03;
/// Radians that a way keeps off the tangent of an obstacle.
const HAIR: f32 = 0.004;
/// A turn in radians that still leads on: 45°.
const SLIGHT: f32 = core::f32::consts::FRAC_PI_4;
/// Whiskers to one side, at most.
const MOST_WHISKERS: usize = 90;
/// Halvings between a blocked whisker and a clear one.
const REFINEMENTS: usize = 6;
/// Shares of F/m at which braking sets in and is full.
const BRAKE: [f32; 2] = [0.5, 0.8];

/// The settings, made safe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Feeler {
    /// Angle between whiskers in radians.
    step: f32,
    whiskers: usize,
    skin: f32,
    release: f32,
}

/// The world as one agent feels it in one tick.
struct Field<'a> {
    view: &'a AgentView,
    near: &'a [NearObstacle],
    /// Radius with the skin.
    radius: f32,
    /// The speed that ways are tried at.
    speed: f32,
    look_ahead: f32,
}

/// `radius + v·τ + v²·m/F`: what it takes to stop from a speed `v`, and half as much again.
pub(super) fn look_ahead(view: &AgentView, speed: f32) -> f32 {
    let brake = if view.max_force > 0.0 { speed * speed * view.mass / view.max_force } else { 0.0 };
    let length = view.radius + speed * view.response_time() + brake;
    // An agent that cannot steer has no use for an endless look.
    if length.is_finite() { length } else { view.radius }
}

impl Feeler {
    pub(super) fn new(whisker_angle: f32, skin: f32, release: f32) -> Self {
        let angle = check::or_zero(whisker_angle);
        let angle = if angle > 0.0 { angle.clamp(2.0, 90.0) } else { 15.0 };
        let whiskers = ((180.0 / angle) as usize).clamp(1, MOST_WHISKERS);
        Self { step: angle.to_radians(), whiskers, skin: check::or_zero(skin), release }
    }

    /// The radius with the skin: the given share, and no less than the force can move the agent aside within a tick, as
    /// long as that is within a fifth of the radius.
    fn radius(&self, view: &AgentView) -> f32 {
        let drift = view.speed_per_tick().min(view.max_speed) * view.dt;
        view.radius + (view.radius * self.skin).max(drift.min(LARGEST_DRIFT * view.radius))
    }

    /// How far obstacles matter.
    pub(super) fn reach(&self, view: &AgentView) -> Reach {
        let units = look_ahead(view, view.velocity.length()) * self.release + self.radius(view);
        Reach { units, sizes: 0.0, seconds: HORIZON }
    }

    /// The push of one tick.
    pub(super) fn push(
        &self,
        view: &AgentView,
        wish: &Wish,
        near: &[NearObstacle],
        state: &mut FeelerState,
        bits: u64,
    ) -> Vec3 {
        let wanted_speed = wish.velocity.length();
        let grip = look_ahead(view, view.velocity.length());
        let field = Field {
            view,
            near,
            radius: self.radius(view),
            speed: if wanted_speed > 0.0 { wanted_speed.min(view.max_speed.max(1e-6)) } else { 0.0 },
            look_ahead: grip * if state.engaged { self.release } else { 1.0 },
        };
        let mut push = self.way_round(&field, wish, state);
        let mut felt = false;
        // Twice, so that what the second of two walls adds is not lost on the first.
        for _ in 0..2 {
            for obstacle in near {
                let (normal, share) = field.danger(obstacle, bits);
                felt |= share > 0.0;
                let lacking = share * view.max_force - push.dot(normal);
                if share > 0.0 && lacking > 0.0 {
                    push += normal * lacking;
                }
            }
        }
        state.engaged = felt || state.way != Vec3::ZERO;
        state.look_ahead = field.look_ahead;
        truncate(push, view.max_force)
    }

    /// Turns the velocity to the clear way nearest to the wanted one.
    fn way_round(&self, field: &Field, wish: &Wish, state: &mut FeelerState) -> Vec3 {
        let view = field.view;
        let elapsed = view.dt.max(view.sense_interval);
        let far = field.look_ahead.min(wish.distance);
        state.way = Vec3::ZERO;
        let blocked = match wish.velocity.try_normalize() {
            Some(wanted) if field.free(wanted) < far => Some(wanted),
            _ => None,
        };
        let Some(wanted) = blocked else {
            state.clear_for += elapsed;
            if state.clear_for >= CLEAR_FOR {
                state.side = Vec3::ZERO;
            }
            return Vec3::ZERO;
        };
        state.clear_for = 0.0;
        let (side, turn) = match transported(view.plane, state.side, wanted) {
            Some(side) => self.keep_side(field, wanted, side, far),
            None => self.choose_side(field, wanted, far, wish.distance),
        };
        state.side = side;
        state.way = rotated(wanted, side, turn.angle);
        let acceleration = view.max_force / view.mass;
        let speed = if turn.clear { field.speed } else { field.speed.min((acceleration * turn.free).sqrt()) };
        let force = truncate(view.force_towards(state.way * speed), view.max_force);
        push_for(wish.mode, force, wish.force, view.max_force)
    }

    /// The side of the last tick, unless the other one leads on with a slight turn where this one leads away: a gap that has
    /// just been missed. Since the agent still comes nearer to what it wants, that cannot go to and fro for ever.
    fn keep_side(&self, field: &Field, wanted: Vec3, side: Vec3, far: f32) -> (Vec3, Turn) {
        let turn = self.turn(field, wanted, side, far);
        if turn.angle > SLIGHT {
            let other = self.turn(field, wanted, -side, far);
            if other.clear && other.angle < SLIGHT && other.angle + SLIGHT < turn.angle {
                return (-side, other);
            }
        }
        (side, turn)
    }

    /// The side with the smallest turn, counted from the wanted way and from the velocity; the first of equal ones.
    fn choose_side(&self, field: &Field, wanted: Vec3, far: f32, goal: f32) -> (Vec3, Turn) {
        let view = field.view;
        // At the distance where it first grips, any slight turn will do; what lies behind tells the sides apart.
        let farther = Field { look_ahead: CHOICE * field.look_ahead, ..*field };
        let far_off = far.max(farther.look_ahead.min(goal));
        let left = view.plane.left_of(wanted);
        let up = wanted.cross(left);
        let sides: &[Vec3] = &[left, -left, up, -up];
        let sides = if view.plane == SteeringPlane::Space { sides } else { &sides[..2] };
        let heading = view.velocity.normalize_or(wanted);
        let mut best: Option<(f32, Vec3, Turn)> = None;
        for &side in sides {
            let turn = self.turn(&farther, wanted, side, far_off);
            let cost = turn.angle + rotated(wanted, side, turn.angle).angle_between(heading);
            let better = best.is_none_or(|(lowest, _, t)| {
                (turn.clear && !t.clear) || (turn.clear == t.clear && cost < lowest - TIE)
            });
            if better {
                best = Some((cost, side, turn));
            }
        }
        let side = best.map_or(left, |(_, side, _)| side);
        (side, self.turn(field, wanted, side, far))
    }

    /// The smallest turn from `wanted` to one side that is clear as far as `far`; where there is none, as far as half of
    /// it, and so on.
    fn turn(&self, field: &Field, wanted: Vec3, side: Vec3, far: f32) -> Turn {
        let turn = self.turn_by_whiskers(field, wanted, side, far);
        // The edges of what is near show the ways between two whiskers.
        let limit = if turn.clear { turn.angle } else { PI };
        let angle = field.edges(wanted, side).filter(|&angle| angle < limit).fold(limit, |best, angle| {
            if angle < best && field.free(rotated(wanted, side, angle)) >= far { angle } else { best }
        });
        if angle < limit { Turn { angle, free: far, clear: true } } else { turn }
    }

    fn turn_by_whiskers(&self, field: &Field, wanted: Vec3, side: Vec3, far: f32) -> Turn {
        let mut free = [0.0; MOST_WHISKERS + 1];
        let free = &mut free[..=self.whiskers];
        for (i, free) in free.iter_mut().enumerate() {
            *free = field.free(rotated(wanted, side, self.step * i as f32));
            if i > 0 && *free >= far {
                return self.refined(field, wanted, side, i, far, true);
            }
        }
        let mut enough = far;
        for _ in 0..5 {
            enough *= 0.5;
            if let Some(i) = free.iter().position(|&free| free >= enough) {
                return self.refined(field, wanted, side, i, enough, false);
            }
        }
        Turn { angle: self.step * self.whiskers as f32, free: 0.0, clear: false }
    }

    /// Moves from whisker `i` back towards the one before it, as far as the way stays clear.
    fn refined(&self, field: &Field, wanted: Vec3, side: Vec3, i: usize, enough: f32, clear: bool) -> Turn {
        let (mut low, mut high) = (self.step * i.saturating_sub(1) as f32, self.step * i as f32);
        for _ in 0..if i > 0 { REFINEMENTS } else { 0 } {
            let middle = 0.5 * (low + high);
            if field.free(rotated(wanted, side, middle)) >= enough {
                high = middle;
            } else {
                low = middle;
            }
        }
        Turn { angle: high, free: enough, clear }
    }
}

/// A turn from the wanted way.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Turn {
    /// Radians.
    angle: f32,
    /// Units that are free there.
    free: f32,
    /// Whether that is as far as the feeler looks.
    clear: bool,
}

impl Field<'_> {
    /// The radius to sweep past an obstacle with. What is nearer than the skin is passed as near as it is, a little less so
    /// that sliding along it stays possible; `None` for what is overlapped: there is no way past, only out.
    fn radius_for(&self, obstacle: &NearObstacle) -> Option<f32> {
        let slack = 0.02 * self.view.radius;
        let radius = self.radius.min(obstacle.distance - slack);
        (radius > 0.0 && obstacle.distance > 0.98 * self.view.radius).then_some(radius)
    }

    /// Angles from the wanted way to one side at which the agent just passes an obstacle that stands still, in a plane.
    fn edges(&self, wanted: Vec3, side: Vec3) -> impl Iterator<Item = f32> {
        let still = self.near.iter().filter(|obstacle| obstacle.velocity == Vec3::ZERO);
        let tangents = still.filter_map(|obstacle| {
            obstacle.shape.tangents(self.view.plane, self.view.position, self.radius_for(obstacle)?)
        });
        tangents.flatten().flat_map(move |tangent| {
            let angle = ops::atan2(tangent.dot(side), tangent.dot(wanted));
            // A hair to either side of the tangent is outside.
            [angle - HAIR, angle + HAIR].into_iter().filter(|&angle| angle > 0.0)
        })
    }

    /// How far the way in direction `direction` is free, in units, at the speed of the field.
    fn free(&self, direction: Vec3) -> f32 {
        let mut free = f32::INFINITY;
        for obstacle in self.near {
            let relative = direction * self.speed - obstacle.velocity;
            let pace = relative.length();
            if let Some(radius) = self.radius_for(obstacle)
                && pace > 1e-6
            {
                let current = (self.view.velocity - obstacle.velocity).length();
                let length = if obstacle.velocity == Vec3::ZERO {
                    self.look_ahead
                } else {
                    look_ahead(self.view, current).min(pace * HORIZON)
                };
                if let Some(hit) = obstacle.shape.sweep(self.view.position, relative / pace, length, radius) {
                    free = free.min(hit.distance * (self.speed / pace));
                }
            }
        }
        free
    }

    /// The way out of an obstacle's danger, and the share of `max_force` that it takes.
    fn danger(&self, obstacle: &NearObstacle, bits: u64) -> (Vec3, f32) {
        let view = self.view;
        let skin = self.radius - view.radius;
        let beyond = self.radius - obstacle.distance;
        if beyond > 0.0 {
            let normal = obstacle.shape.surface(view.position).normal;
            let normal = if normal == Vec3::ZERO { direction_from_bits(bits, view.plane) } else { normal };
            let touch = if beyond < skin { beyond / skin } else { 1.0 };
            let closing = -(view.velocity - obstacle.velocity).dot(normal);
            let stop = self.braking(closing, closing, obstacle.distance - view.radius);
            return (normal, touch.max(stop));
        }
        let relative = view.velocity - obstacle.velocity;
        let speed = relative.length();
        if speed <= 1e-6 {
            return (Vec3::ZERO, 0.0);
        }
        match obstacle.shape.sweep(view.position, relative / speed, self.look_ahead, self.radius) {
            Some(hit) => (hit.normal, self.braking(speed, -relative.dot(hit.normal), hit.distance)),
            None => (Vec3::ZERO, 0.0),
        }
    }

    /// The share of `max_force` to brake with for a hit `distance` ahead along the way.
    fn braking(&self, speed: f32, closing: f32, distance: f32) -> f32 {
        let view = self.view;
        if closing <= 0.0 || view.max_force <= 0.0 || !view.mass.is_finite() {
            return 0.0;
        }
        let acceleration = view.max_force / view.mass;
        let pause = view.dt.max(view.sense_interval);
        // One tick, or one look, passes before the next chance, and until then others may push the other way.
        let left = (distance - (speed + acceleration * pause) * pause).max(1e-6);
        let share = speed * closing / (2.0 * left) / acceleration;
        // Even against a push of all that is left, this stops it within the tick; more would throw it back.
        let enough = 0.5 + 0.5 * closing / (acceleration * pause).max(1e-6);
        ((share - BRAKE[0]) / (BRAKE[1] - BRAKE[0])).min(enough).clamp(0.0, 1.0)
    }
}

/// The side kept from an earlier tick, at a right angle to the wanted way of this one.
fn transported(plane: SteeringPlane, side: Vec3, wanted: Vec3) -> Option<Vec3> {
    if side == Vec3::ZERO {
        return None;
    }
    (side - wanted * side.dot(wanted)).try_normalize().map(|s| match plane {
        SteeringPlane::Space => s,
        SteeringPlane::Xy | SteeringPlane::Xz => {
            let left = plane.left_of(wanted);
            if s.dot(left) < 0.0 { -left } else { left }
        }
    })
}

fn rotated(direction: Vec3, side: Vec3, angle: f32) -> Vec3 {
    let (sin, cos) = ops::sin_cos(angle);
    direction * cos + side * sin
}
