//! Wander: roam without a goal.

use bevy::{math::ops, prelude::*};

use crate::{
    accumulator::BehaviorId,
    agent::{AgentView, SteeringAgent},
    behavior::{DEFAULT_WEIGHT, Fault, Steerer, Steering, SteeringBehavior, check},
    plane::SteeringPlane,
    priority::SteeringPriority,
    rng::{AgentRng, SteeringId, SteeringSeed},
};

/// Roams: seeks a point on a circle of `radius` at `distance` ahead, and moves the point along the circle by a small random
/// step each tick.
///
/// `point = heading · distance + direction · radius`, `desired = direction to point × max_speed`. The direction on the
/// circle is held in the world frame and turns by `U(−1, 1) · jitter · √(3 · dt)`, so that its variance grows by
/// `jitter²` per second at any tick rate. It starts along the agent's heading. In `Space` the point moves on a sphere, with
/// that variance about each axis.
///
/// Source: C. Reynolds, *Steering Behaviors for Autonomous Characters*, 1999; the step that does not depend on the tick
/// rate is ours.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(SteeringAgent, WanderState)]
#[type_path = "bevy_steer"]
pub struct Wander {
    /// Radius of the circle in units; 1.2 by default. The larger against `distance`, the sharper the turns.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub radius: f32,
    /// Distance of the circle's centre ahead in units; 2 by default.
    #[reflect(@0.0_f32..=10.0_f32)]
    pub distance: f32,
    /// How fast the point moves along the circle, in rad/√s; 0.6455 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub jitter: f32,
    /// Factor on its force; 1 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub weight: f32,
    /// Level; [`IDLE`](SteeringPriority::IDLE) by default: skipped while a goal wants the agent to rest.
    pub priority: SteeringPriority,
}

impl Default for Wander {
    fn default() -> Self {
        Self::new()
    }
}

impl Wander {
    /// Roams with the defaults.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            radius: 1.2,
            distance: 2.0,
            jitter: 0.6455,
            weight: DEFAULT_WEIGHT,
            priority: SteeringPriority::IDLE,
        }
    }

    /// The same with another circle: its radius and its distance ahead, in units.
    #[must_use]
    pub const fn with_circle(mut self, radius: f32, distance: f32) -> Self {
        (self.radius, self.distance) = (radius, distance);
        self
    }

    /// The same with another jitter in rad/√s.
    #[must_use]
    pub const fn with_jitter(mut self, jitter: f32) -> Self {
        self.jitter = jitter;
        self
    }

    /// The same with another weight.
    #[must_use]
    pub const fn with_weight(mut self, weight: f32) -> Self {
        self.weight = weight;
        self
    }
}

impl SteeringBehavior for Wander {
    const NAME: &'static str = "Wander";

    fn fault(&self) -> Option<Fault> {
        const ZERO: &str = "must be finite and not negative; taken as 0";
        check::weight(self.weight)
            .or_else(|| check::not_negative("radius", self.radius, ZERO))
            .or_else(|| check::not_negative("distance", self.distance, ZERO))
            .or_else(|| check::not_negative("jitter", self.jitter, ZERO))
    }
}

/// Where on its circle an agent's [`Wander`] is, and its chance.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct WanderState {
    direction: Vec3,
    rng: AgentRng,
}

impl WanderState {
    /// The direction from the circle's centre to the point in world axes, a unit vector; 0 before the first tick.
    #[must_use]
    pub const fn direction(&self) -> Vec3 {
        self.direction
    }

    /// One random step.
    fn step(&mut self, behavior: &Wander, view: &AgentView, seed: SteeringSeed, id: SteeringId) -> Vec3 {
        self.rng.ensure_seeded(seed, id, u64::from(Wander::ID.get()));
        let noise = match view.plane {
            SteeringPlane::Xy | SteeringPlane::Xz => Vec3::X * self.rng.signed(),
            SteeringPlane::Space => Vec3::new(self.rng.signed(), self.rng.signed(), self.rng.signed()),
        };
        let direction = view.plane.project(self.direction).try_normalize().unwrap_or_else(|| view.heading());
        let seconds = view.dt.max(view.sense_interval);
        self.direction = wander_turn(view.plane, direction, noise, check::or_zero(behavior.jitter), seconds);
        self.direction
    }
}

/// The unit vector `direction` after a random step: turned by `noise · jitter · √(3 · seconds)`.
///
/// `noise` is drawn evenly from −1 to 1. In a plane its x alone counts, and turns to the left; in `Space` its part at a
/// right angle to `direction` says where and how far to turn.
#[must_use]
pub fn wander_turn(plane: SteeringPlane, direction: Vec3, noise: Vec3, jitter: f32, seconds: f32) -> Vec3 {
    let step = noise * (jitter * (3.0 * seconds).sqrt());
    let (towards, angle) = match plane {
        SteeringPlane::Xy | SteeringPlane::Xz => (plane.left_of(direction), step.x),
        SteeringPlane::Space => {
            let across = step - direction * step.dot(direction);
            (across.normalize_or_zero(), across.length())
        }
    };
    let (sin, cos) = ops::sin_cos(angle);
    (direction * cos + towards * sin).try_normalize().unwrap_or(direction)
}

/// The point that a wandering agent seeks, relative to the agent: `heading · distance + direction · radius`.
#[inline]
#[must_use]
pub fn wander_point(heading: Vec3, direction: Vec3, radius: f32, distance: f32) -> Vec3 {
    heading * distance + direction * radius
}

pub(crate) fn steer(steering: Steering, mut agents: Query<(Steerer, &Wander, &mut WanderState)>) {
    const ID: BehaviorId = Wander::ID;
    steering.for_each(&mut agents, |(mut me, behavior, mut state)| {
        if let Some(view) = steering.view(&me) {
            let direction = state.step(behavior, &view, steering.seed(), *me.id);
            let heading = view.heading();
            let (radius, distance) = (check::or_zero(behavior.radius), check::or_zero(behavior.distance));
            let point = wander_point(heading, direction, radius, distance);
            let desired = point.try_normalize().unwrap_or(heading) * view.max_speed;
            me.accumulator.desire(ID, desired, behavior.weight, behavior.priority);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{behaviors::Arrive, integrate::step, testing::*};

    #[test]
    fn reference_trace() {
        let agent = SteeringAgent::new(3.0, 6.0).with_reaction_time(1.0);
        let (mut position, mut velocity, mut direction) = (Vec3::ZERO, Vec3::X * 2.0, Vec3::X);
        let (mut noise, dt) = (7_u32, 0.2);
        for row in read_reference("wander.csv") {
            noise = noise.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            let u = (f64::from(noise) / f64::from(u32::MAX) * 2.0 - 1.0) as f32;
            let view = AgentView::new(&agent, position, velocity, SteeringPlane::Xy, dt);
            // 0.6455 · √0.6 = 0.5
            direction = wander_turn(view.plane, direction, Vec3::X * u, 0.5 / (3.0 * dt).sqrt(), dt);
            let force = wander_point(view.heading(), direction, 1.2, 2.0);
            assert!((ops::atan2(direction.y, direction.x) - row.number("angle")).abs() < 1e-3);
            assert!(force.distance(row.vec("fx", "fy")) < 1e-3, "force {force}");
            assert!(velocity.distance(row.vec("vx", "vy")) < 1e-3, "velocity {velocity}");
            assert!(position.distance(row.vec("px", "py")) < 1e-3, "position {position}");
            (velocity, position) = step(&view, force);
        }
    }

    /// The headings' turns in 10 s, in radians and counted round, of agents that set out along `heading`.
    fn turns(hz: f64, agents: u64, plane: SteeringPlane, heading: Vec3) -> Vec<f32> {
        let mut sim = Sim::new(hz).with_plane(plane);
        let agents: Vec<Entity> = (0..agents)
            .map(|id| {
                sim.moving(Vec3::ZERO, heading * 5.0, (Wander::new(), SteeringId(id + (hz as u64) * 100_000)))
            })
            .collect();
        let mut turned = vec![0.0; agents.len()];
        let mut last = vec![heading; agents.len()];
        for _ in 0..(hz * 10.0) as usize {
            sim.tick();
            for (i, &agent) in agents.iter().enumerate() {
                let now = sim.velocity(agent).normalize();
                let left = plane.left_of(last[i]);
                turned[i] += ops::atan2(now.dot(left), now.dot(last[i]));
                last[i] = now;
            }
        }
        turned
    }

    fn mean_and_deviation(values: &[f32]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
        (mean, (values.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n).sqrt())
    }

    #[test]
    fn case_49_the_spread_of_headings_does_not_depend_on_the_tick_rate() {
        // Standard deviation of the turn after 10 s; known to 1.8 % with 1,500 agents.
        let spread =
            [30.0, 60.0, 240.0].map(|hz| mean_and_deviation(&turns(hz, 1500, SteeringPlane::Xy, Vec3::X)).1);
        for one in spread {
            for other in spread {
                assert!((one / other - 1.0).abs() < 0.1, "spreads at 30, 60 and 240 Hz: {spread:?}");
            }
        }
        assert!((1.0..2.5).contains(&spread[1]), "they do turn: {spread:?}");
    }

    #[test]
    fn case_49_agents_turn_to_either_side_alike_whatever_way_they_set_out() {
        for (plane, heading) in
            [(SteeringPlane::Xy, Vec3::X), (SteeringPlane::Xy, Vec3::Y), (SteeringPlane::Xz, Vec3::Z)]
        {
            let (mean, deviation) = mean_and_deviation(&turns(60.0, 1000, plane, heading));
            let error = deviation / 1000_f64.sqrt();
            assert!(
                mean.abs() < 3.0 * error,
                "{plane:?} {heading}: mean turn {mean}, standard error {error}"
            );
        }
    }

    #[test]
    fn in_space_the_point_spreads_over_the_sphere_alike_about_each_axis() {
        let mut rng = AgentRng::seeded(SteeringSeed(1), SteeringId(1), 0);
        let (mut y, mut z) = (Vec::new(), Vec::new());
        for _ in 0..2000 {
            let mut direction = Vec3::X;
            for _ in 0..60 {
                let noise = Vec3::new(rng.signed(), rng.signed(), rng.signed());
                direction = wander_turn(SteeringPlane::Space, direction, noise, 0.2, 1.0 / 60.0);
            }
            assert!((direction.length() - 1.0).abs() < 1e-5);
            y.push(direction.y);
            z.push(direction.z);
        }
        for axis in [y, z] {
            let (mean, deviation) = mean_and_deviation(&axis);
            assert!(mean.abs() < 3.0 * 0.2 / 2000_f64.sqrt(), "mean {mean}");
            assert!((deviation - 0.2).abs() < 0.02, "jitter 0.2 rad/√s after 1 s: {deviation}");
        }
    }

    #[test]
    fn one_id_has_one_path_and_another_id_another() {
        let run = |ids: [u64; 2]| {
            let mut sim = Sim::new(60.0).with_plane(SteeringPlane::Space);
            let agents = ids.map(|id| sim.agent(Vec3::ZERO, (Wander::new(), SteeringId(id))));
            sim.ticks(300);
            agents.map(|agent| sim.position(agent))
        };
        let [one, two] = run([1, 2]);
        assert_eq!(run([2, 1]), [two, one]);
        assert!(one.distance(two) > 0.1);
        assert!(one.length() > 5.0 && two.length() > 5.0, "they go somewhere: {one} {two}");
    }

    #[test]
    fn case_25b_it_does_not_keep_an_agent_from_arriving() {
        let mut sim = Sim::new(60.0);
        sim.count_events::<crate::events::Arrived>();
        let agent = sim.agent(Vec3::ZERO, (Arrive::new(Vec3::X * 12.0), Wander::new()));
        let roaming = sim.agent(Vec3::Y * 50.0, Wander::new());
        sim.seconds(20.0);
        assert_eq!(sim.velocity(agent), Vec3::ZERO);
        assert!(sim.position(agent).distance(Vec3::X * 12.0) <= 0.05);
        assert_eq!(sim.count::<crate::events::Arrived>(agent), 1);
        assert!(sim.velocity(roaming).length() > 4.0);
    }

    #[test]
    fn values_that_make_no_sense_are_named_and_finite() {
        let mut sim = Sim::new(60.0);
        for bad in [f32::NAN, -1.0, f32::INFINITY] {
            sim.agent(Vec3::ZERO, Wander { radius: bad, distance: bad, jitter: bad, ..default() });
        }
        let good = sim.agent(Vec3::ZERO, Wander::new());
        sim.ticks(60);
        assert_eq!(sim.warnings(), ["Wander.radius"; 3]);
        let all =
            sim.app.world_mut().query::<&Transform>().iter(sim.app.world()).copied().collect::<Vec<_>>();
        assert!(all.iter().all(|t| t.translation.is_finite()));
        assert!(sim.velocity(good).length() > 4.0);
    }
}
