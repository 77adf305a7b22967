//! The swept feeler: the whole disc or ball, along the wanted way, the whiskers and the velocity.

use bevy::prelude::*;

use super::{
    FeelerState, Wish,
    field::{Field, HORIZON, look_ahead},
    ways::{MOST_WHISKERS, Turn, Ways, WaysScratch, rotated},
};
use crate::{
    agent::AgentView,
    behavior::check,
    combine::{push_for, truncate},
    obstacle::{NearObstacle, Reach},
    plane::SteeringPlane,
};

/// Seconds that the wanted way must have been clear for before the side is forgotten.
const CLEAR_FOR: f32 = 0.3;
/// The share of the radius that the skin grows to at low tick rates.
const LARGEST_DRIFT: f32 = 0.2;
/// How many look-aheads the choice of a side takes into account.
const CHOICE: f32 = 3.0;
/// Turns to two sides that differ by less (radians) count as equal: rounding must not choose.
const TIE: f32 = 0.03;
/// A turn in radians that still leads on: 45°.
const SLIGHT: f32 = core::f32::consts::FRAC_PI_4;

/// The settings, made safe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Feeler {
    /// Angle between whiskers in radians.
    step: f32,
    whiskers: usize,
    skin: f32,
    release: f32,
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
        scratch: &mut WaysScratch,
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
        let mut push = self.way_round(&field, wish, scratch, state);
        let mut felt = 0;
        // Twice, so that what the second of two walls adds is not lost on the first.
        for pass in 0..2 {
            if pass > 0 && felt < 2 {
                break;
            }
            for obstacle in near {
                let (normal, share) = field.danger(obstacle, bits);
                felt += usize::from(share > 0.0);
                let lacking = share * view.max_force - push.dot(normal);
                if share > 0.0 && lacking > 0.0 {
                    push += normal * lacking;
                }
            }
        }
        state.engaged = felt > 0 || state.way != Vec3::ZERO;
        state.look_ahead = field.look_ahead;
        truncate(push, view.max_force)
    }

    /// Turns the velocity to the clear way nearest to the wanted one.
    fn way_round(
        &self,
        field: &Field,
        wish: &Wish,
        scratch: &mut WaysScratch,
        state: &mut FeelerState,
    ) -> Vec3 {
        let view = field.view;
        let elapsed = view.dt.max(view.sense_interval);
        let far = field.look_ahead.min(wish.distance);
        state.way = Vec3::ZERO;
        let blocked = match wish.velocity.try_normalize() {
            Some(wanted) if !field.is_clear(wanted, far) => Some(wanted),
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
        let mut ways = Ways::new(field, wanted, self.step, self.whiskers, scratch);
        let (side, turn) = match transported(view.plane, state.side, wanted) {
            Some(side) => keep_side(&mut ways, side, far),
            None => choose_side(&mut ways, far, wish.distance),
        };
        state.side = side;
        state.way = rotated(wanted, side, turn.angle);
        let acceleration = view.max_force / view.mass;
        let speed = if turn.clear { field.speed } else { field.speed.min((acceleration * turn.free).sqrt()) };
        let force = truncate(view.force_towards(state.way * speed), view.max_force);
        push_for(wish.mode, force, wish.force, view.max_force)
    }
}

/// The side of the last tick, unless the other one leads on with a slight turn where this one leads away: a gap that has
/// just been missed. Since the agent still comes nearer to what it wants, that cannot go to and fro for ever.
fn keep_side(ways: &mut Ways, side: Vec3, far: f32) -> (Vec3, Turn) {
    ways.look(far);
    let turn = ways.turn(side);
    if turn.angle > SLIGHT {
        let other = ways.turn(-side);
        if other.clear && other.angle < SLIGHT && other.angle + SLIGHT < turn.angle {
            return (-side, other);
        }
    }
    (side, turn)
}

/// The side with the smallest turn, counted from the wanted way and from the velocity; the first of equal ones.
fn choose_side(ways: &mut Ways, far: f32, goal: f32) -> (Vec3, Turn) {
    let (view, wanted) = (ways.field.view, ways.wanted);
    // At the distance where it first grips, any slight turn will do; what lies behind tells the sides apart.
    let far_off = far.max((CHOICE * ways.field.look_ahead).min(goal));
    let left = view.plane.left_of(wanted);
    let up = wanted.cross(left);
    let sides: &[Vec3] = &[left, -left, up, -up];
    let sides = if view.plane == SteeringPlane::Space { sides } else { &sides[..2] };
    let heading = view.velocity.normalize_or(wanted);
    let mut best: Option<(f32, Vec3, Turn)> = None;
    ways.look(far_off);
    for &side in sides {
        let turn = ways.turn(side);
        let cost = turn.angle + rotated(wanted, side, turn.angle).angle_between(heading);
        let better = best.is_none_or(|(lowest, _, t)| {
            (turn.clear && !t.clear) || (turn.clear == t.clear && cost < lowest - TIE)
        });
        if better {
            best = Some((cost, side, turn));
        }
    }
    let side = best.map_or(left, |(_, side, _)| side);
    ways.look(far);
    (side, ways.turn(side))
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
