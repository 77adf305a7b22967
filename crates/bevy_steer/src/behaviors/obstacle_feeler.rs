//! Obstacle feeler: looks ahead and goes round what is in the way.

use bevy::{prelude::*, utils::Parallel};

use crate::{
    accumulator::BehaviorId,
    agent::{AgentView, SteeringAgent, SteeringDefaults},
    behavior::{DEFAULT_WEIGHT, Fault, Steerer, Steering, SteeringBehavior, check},
    combine::{SteeringCombine, combine, intention},
    obstacle::{NearObstacle, ObstacleIndex, Reach},
    priority::SteeringPriority,
};

mod field;
mod passage;
mod point;
mod swept;
mod ways;

#[cfg(test)]
mod cases;

/// Looks along the velocity and goes round [`Obstacle`](crate::Obstacle)s.
///
/// Its push stands at level [`SAFETY`](SteeringPriority::SAFETY), before spacing and goals, and is what is missing between
/// what the goals will do and what is safe. It acts sideways where there is a way round, and brakes where there is not.
/// [`FeelerMode`] tells how it looks.
///
/// A feeler sees as far as it must to stop, not further: it goes round posts and walls and out of corners, but is no path
/// finder. A dead end deeper than its look-ahead needs waypoints.
///
/// Source: C. Reynolds, *Steering Behaviors for Autonomous Characters*, 1999 (obstacle avoidance, containment).
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(SteeringAgent, FeelerState)]
#[type_path = "bevy_steer"]
pub struct ObstacleFeeler {
    /// How it looks; swept by default.
    pub mode: FeelerMode,
    /// Hysteresis: it lets go at this many times the distance at which it grips; 1.2 by default, 1 switches it off.
    /// Smaller values count as 1.
    #[reflect(@1.0_f32..=2.0_f32)]
    pub release: f32,
    /// Factor on its push; 1 by default. Less makes it unsafe.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub weight: f32,
    /// Level; [`SAFETY`](SteeringPriority::SAFETY) by default.
    pub priority: SteeringPriority,
}

/// How an [`ObstacleFeeler`] looks.
#[derive(Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Debug, Clone, PartialEq, Default)]
#[type_path = "bevy_steer"]
pub enum FeelerMode {
    /// A single point ahead, the tip, as in the textbook: within the agent's radius of an obstacle it pushes with
    /// `max_force` straight away from it. It misses whatever is thinner than its length and may stop head-on.
    Point {
        /// Distance of the tip in units, along the velocity (along +X at rest).
        #[reflect(@0.0_f32..=20.0_f32)]
        length: f32,
    },
    /// The agent's whole disc or ball, and a little skin, swept along the way that the goals want and along the velocity,
    /// over `look-ahead = radius + v·τ + v²·m/F` (v = speed, τ = reaction time, m = mass, F = maximum force), though never
    /// beyond the goal less its tolerance. It never skips a thin wall, and relative velocity counts where obstacles move.
    ///
    /// Three rules, from the mildest to the hardest:
    ///
    /// 1. Way round. If the wanted way is blocked, whiskers to both sides look for the smallest turn that is clear; the
    ///    push makes the velocity turn there. The side is kept until the wanted way has been clear for 0.3 s, or the other side leads
    ///    on with a turn below 45° where this one leads away. Equal sides: the left. Near an obstacle the turn grows smoothly from 0, since a slight turn already makes a far hit farther
    ///    than the look-ahead. Boxed in, it takes the freest way at a speed of at most √(F/m · distance).
    /// 2. Braking. A hit ahead at distance h, whose surface the velocity v meets at angle α, needs the deceleration
    ///    a = v²·cos α / 2h to be avoided. Above half of F/m a push against the surface sets in, and is F at 0.8 · F/m.
    /// 3. Contact. Within the skin the push along the outward normal rises to F at the touch. An agent inside an obstacle
    ///    leaves by the nearest face; exactly at a circle's centre, by a direction fixed by its
    ///    [`SteeringId`](crate::SteeringId).
    ///
    /// With [`SteeringCombine::WeightedSum`] other pushes can overrule it.
    Swept {
        /// Angle between neighbouring whiskers in degrees; 15 by default, taken as 2 to 90. In a plane the edges of
        /// obstacles are tried too, so that no gap is missed; in space one between two blocked whiskers is.
        #[reflect(@5.0_f32..=45.0_f32)]
        whisker_angle: f32,
        /// Distance that it keeps from obstacles, as a share of the radius; 0.05 by default. At a low tick
        /// rate it is at least `F/m · dt²`, the way that the force moves the agent in a tick, up to a fifth of the radius.
        #[reflect(@0.0_f32..=1.0_f32)]
        skin: f32,
    },
}

impl FeelerMode {
    /// Swept, with whiskers 15° apart and a skin of 5 %.
    pub const SWEPT: Self = Self::Swept { whisker_angle: 15.0, skin: 0.05 };
}

impl Default for FeelerMode {
    fn default() -> Self {
        Self::SWEPT
    }
}

impl Default for ObstacleFeeler {
    fn default() -> Self {
        Self::new(FeelerMode::SWEPT)
    }
}

impl ObstacleFeeler {
    /// A feeler that looks in the given way.
    #[must_use]
    pub const fn new(mode: FeelerMode) -> Self {
        Self { mode, release: 1.2, weight: DEFAULT_WEIGHT, priority: SteeringPriority::SAFETY }
    }

    /// A feeler with a single tip `length` units ahead.
    #[must_use]
    pub const fn point(length: f32) -> Self {
        Self::new(FeelerMode::Point { length })
    }

    /// The same with another hysteresis.
    #[must_use]
    pub const fn with_release(mut self, release: f32) -> Self {
        self.release = release;
        self
    }

    /// The same with another weight.
    #[must_use]
    pub const fn with_weight(mut self, weight: f32) -> Self {
        self.weight = weight;
        self
    }
}

impl SteeringBehavior for ObstacleFeeler {
    const NAME: &'static str = "ObstacleFeeler";

    fn fault(&self) -> Option<Fault> {
        check::weight(self.weight)
            .or_else(|| {
                let what = "must be finite and at least 1; taken as 1";
                check::not_negative("release", self.release - 1.0, what)
                    .map(|fault| Fault { value: self.release, ..fault })
            })
            .or_else(|| match self.mode {
                FeelerMode::Point { length } => {
                    check::not_negative("length", length, "must be finite and not negative; taken as 0")
                }
                FeelerMode::Swept { whisker_angle, skin } => {
                    check::positive("whisker_angle", whisker_angle, "must be finite and above 0; taken as 15")
                        .or_else(|| {
                            check::not_negative("skin", skin, "must be finite and not negative; taken as 0")
                        })
                }
            })
    }
}

/// What an [`ObstacleFeeler`] remembers.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct FeelerState {
    engaged: bool,
    side: Vec3,
    clear_for: f32,
    way: Vec3,
    look_ahead: f32,
}

impl FeelerState {
    /// Whether something is in the way.
    #[must_use]
    pub const fn is_engaged(&self) -> bool {
        self.engaged
    }

    /// The side on which it goes round, as a unit vector at a right angle to the wanted way; 0 while it has none.
    #[must_use]
    pub const fn side(&self) -> Vec3 {
        self.side
    }

    /// The direction that it has chosen, 0 while the wanted way is clear; for drawing.
    #[must_use]
    pub const fn way(&self) -> Vec3 {
        self.way
    }

    /// How far it looked in the last tick, in units; for drawing.
    #[must_use]
    pub const fn look_ahead(&self) -> f32 {
        self.look_ahead
    }
}

/// What the goals of an agent want, as far as they have said so.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Wish {
    /// The velocity that they are after.
    velocity: Vec3,
    /// The force that they add up to.
    force: Vec3,
    /// Distance in units beyond which nothing matters.
    distance: f32,
    mode: SteeringCombine,
}

/// Memory that is used again for each agent.
#[derive(Default)]
pub(crate) struct Scratch {
    near: Vec<NearObstacle>,
    ways: ways::WaysScratch,
}

pub(crate) fn steer(
    steering: Steering,
    defaults: Res<SteeringDefaults>,
    obstacles: Res<ObstacleIndex>,
    scratch: Local<Parallel<Scratch>>,
    mut agents: Query<(Steerer, &ObstacleFeeler, &mut FeelerState, Option<&SteeringCombine>)>,
) {
    const ID: BehaviorId = ObstacleFeeler::ID;
    let (scratch, obstacles, mode) = (&*scratch, &*obstacles, defaults.combine);
    steering.for_each(&mut agents, |(mut me, feeler, mut state, combine)| {
        if let Some(view) = steering.view(&me) {
            let scratch = &mut *scratch.borrow_local_mut();
            let near = &mut scratch.near;
            let release = feeler.release.clamp(1.0, 1e3).max(1.0);
            let push = match feeler.mode {
                FeelerMode::Point { length } => {
                    let tip = point::tip(&view, check::or_zero(length));
                    let reach = Reach { units: view.radius * release, sizes: release - 1.0, seconds: 0.0 };
                    gather(obstacles, &view, tip, reach, me.entity, near);
                    point::push(&view, tip, release, near, &mut state, me.id.0)
                }
                FeelerMode::Swept { whisker_angle, skin } => {
                    let wish = wish(&view, &me.accumulator, combine.copied().unwrap_or(mode));
                    let feeler = swept::Feeler::new(whisker_angle, skin, release);
                    gather(obstacles, &view, view.position, feeler.reach(&view), me.entity, near);
                    scratch.ways.make_room(near.capacity());
                    feeler.push(&view, &wish, near, &mut scratch.ways, &mut state, me.id.0)
                }
            };
            if push != Vec3::ZERO {
                me.accumulator.push(ID, push, feeler.weight, feeler.priority);
            }
        }
    });
}

/// The obstacles near a place in an order that does not depend on storage; never the agent itself.
fn gather(
    obstacles: &ObstacleIndex,
    view: &AgentView,
    center: Vec3,
    reach: Reach,
    me: Entity,
    near: &mut Vec<NearObstacle>,
) {
    near.clear();
    obstacles.for_each_within(view.plane, center, reach, |obstacle| {
        if obstacle.entity != me {
            near.push(obstacle);
        }
    });
    near.sort_unstable_by(NearObstacle::order);
}

/// What the goals want. Only desired velocities from the level of goals on are read: what other avoidance writes may or may
/// not be there yet.
fn wish(view: &AgentView, accumulator: &crate::SteeringAccumulator, mode: SteeringCombine) -> Wish {
    let desires = accumulator.sorted_desires(SteeringPriority::GOAL);
    let goals = match desires.iter().position(|c| c.priority() >= SteeringPriority::IDLE) {
        Some(idle) if idle > 0 && crate::combine::skips_idle(&desires) => &desires[..idle],
        _ => &desires[..],
    };
    let unlimited = AgentView { max_force: f32::INFINITY, ..*view };
    let distance = accumulator.goal().map_or(f32::INFINITY, |goal| {
        let tolerance = check::or_zero(goal.tolerance);
        (view.plane.project(goal.position).distance(view.position) - tolerance).max(0.0)
    });
    Wish {
        velocity: if goals.is_empty() { view.velocity } else { intention(goals, view) },
        force: combine(mode, goals, &unlimited),
        distance,
        mode,
    }
}
