//! Arrive: to a target, and to rest there.

use bevy::{ecs::entity::MapEntities, prelude::*};

use crate::{
    accumulator::BehaviorId,
    agent::{AgentView, SteeringAgent},
    behavior::{DEFAULT_WEIGHT, Fault, GOAL, Steerer, SteererItem, Steering, SteeringBehavior, check},
    events::Happening,
    neighbors::NeighborGrid,
    priority::SteeringPriority,
    rng::mix,
    target::{SteeringTarget, TargetMemory, TargetView, Targets},
};

/// Heads for a target and comes to rest there: like [`Seek`](crate::Seek), but inside the slowing radius the desired speed
/// falls linearly to 0. A target that moves adds its velocity: `desired = target velocity + arrive term`.
///
/// Within `tolerance`, at a speed that one tick can shed, and with nothing but idle behaviours wanting otherwise, the
/// velocity becomes exactly 0 and the position keeps its bits; [`Arrived`](crate::Arrived) is sent once. In a crowd that
/// shares a target those who cannot get nearer settle around it, see [`ArriveState`].
///
/// Source: C. Reynolds, *Steering Behaviors for Autonomous Characters*, 1999.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(SteeringAgent, ArriveState, TargetMemory<Arrive>)]
#[type_path = "bevy_steer"]
pub struct Arrive {
    /// Where to come to rest.
    #[entities]
    pub target: SteeringTarget,
    /// Where to begin to slow down.
    pub slowing_radius: SlowingRadius,
    /// Distance in units that is near enough; 0.05 by default, and never less than a few steps of `f32`.
    #[reflect(@0.01_f32..=2.0_f32)]
    pub tolerance: f32,
    /// Factor on its force; 1 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub weight: f32,
    /// Level; [`GOAL`](SteeringPriority::GOAL) by default.
    pub priority: SteeringPriority,
}

impl Default for Arrive {
    fn default() -> Self {
        Self {
            target: SteeringTarget::default(),
            slowing_radius: SlowingRadius::Auto,
            tolerance: TOLERANCE,
            weight: DEFAULT_WEIGHT,
            priority: GOAL,
        }
    }
}

impl Arrive {
    /// Comes to rest at a point, an entity or the nearest of a group.
    #[must_use]
    pub fn new(target: impl Into<SteeringTarget>) -> Self {
        Self { target: target.into(), ..default() }
    }

    /// The same with a fixed slowing radius in units.
    #[must_use]
    pub const fn with_slowing_radius(mut self, radius: f32) -> Self {
        self.slowing_radius = SlowingRadius::Fixed(radius);
        self
    }

    /// The same with another tolerance in units.
    #[must_use]
    pub const fn with_tolerance(mut self, tolerance: f32) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// The same with another weight.
    #[must_use]
    pub const fn with_weight(mut self, weight: f32) -> Self {
        self.weight = weight;
        self
    }
}

impl SteeringBehavior for Arrive {
    const NAME: &'static str = "Arrive";

    fn fault(&self) -> Option<Fault> {
        check::weight(self.weight)
            .or_else(|| self.target.fault())
            .or_else(|| self.slowing_radius.fault())
            .or_else(|| {
                check::not_negative(
                    "tolerance",
                    self.tolerance,
                    "must be finite and not negative; taken as 0",
                )
            })
    }
}

/// Where [`Arrive`] begins to slow down.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Debug, Clone, PartialEq, Default)]
#[type_path = "bevy_steer"]
pub enum SlowingRadius {
    /// From the agent's limits, see [`auto_slowing_radius`]: no overshoot from outside.
    #[default]
    Auto,
    /// Units. Below `4 · max_speed · mass · reaction_time` the agent overshoots.
    Fixed(#[reflect(@0.0_f32..=20.0_f32)] f32),
}

impl SlowingRadius {
    /// What is wrong with the values, if anything.
    #[must_use]
    pub fn fault(self) -> Option<Fault> {
        let radius = match self {
            Self::Auto => 0.0,
            Self::Fixed(radius) => radius,
        };
        check::not_negative("slowing_radius", radius, "must be finite and not negative; Auto is used")
    }

    /// The radius in units for an agent.
    #[must_use]
    pub fn get(self, view: &AgentView) -> f32 {
        match self {
            Self::Fixed(radius) if radius.is_finite() && radius >= 0.0 => radius,
            Self::Auto | Self::Fixed(_) => auto_slowing_radius(view),
        }
    }
}

/// `max(4·v·T, 0.6·v²·m/F + v·T)` with v = `max_speed`, F = `max_force`, m = mass, T = `max(m · reaction_time, dt)`.
///
/// The first term makes the linear slowing critically damped, the second leaves room to brake with the force there is.
#[must_use]
pub fn auto_slowing_radius(view: &AgentView) -> f32 {
    let (v, t) = (view.max_speed, view.response_time());
    if view.max_force <= 0.0 || !view.mass.is_finite() {
        return 0.0;
    }
    (4.0 * v * t).max(0.6 * v * v * view.mass / view.max_force + v * t)
}

/// The velocity that brings the agent to rest at a target `offset` away that moves with `target_velocity`.
#[inline]
#[must_use]
pub fn arrive(view: &AgentView, offset: Vec3, target_velocity: Vec3, slowing_radius: f32) -> Vec3 {
    let distance = offset.length();
    let share = if slowing_radius > 0.0 { (distance / slowing_radius).min(1.0) } else { 1.0 };
    target_velocity + offset.normalize_or_zero() * (view.max_speed * share)
}

/// Distance that is near enough by default.
pub(super) const TOLERANCE: f32 = 0.05;

/// `tolerance` made safe: never less than a few steps of `f32` at the coordinates in question.
#[inline]
#[must_use]
pub(super) fn safe_tolerance(tolerance: f32, position: Vec3, target: Vec3) -> f32 {
    let scale = target.abs().max(position.abs()).max_element();
    check::or_zero(tolerance).max(4.0 * f32::EPSILON * scale)
}

/// Whether an agent that is `distance` from where it wants to rest can stop there now: near enough, and no faster than one
/// tick can shed.
#[inline]
#[must_use]
pub(super) fn can_rest(view: &AgentView, distance: f32, tolerance: f32) -> bool {
    distance <= tolerance && view.velocity.length() <= view.speed_per_tick() * (1.0 + 1e-5)
}

/// How far an agent's [`Arrive`] has come.
///
/// An agent settles when it rests at the target. In a crowd with the same target it also settles
/// when it is within 1.1 diameters of a settled agent that is nearer to the target; or when, inside its slowing radius and
/// with another of the crowd within two diameters, it has gained less than a tenth of its radius in
/// `max(0.5 s, 2·√(radius · mass / max_force))`. A settled agent wants velocity 0. It wakes when the target moves away by
/// more than the tolerance, or when it has been pushed two diameters away (where nobody of the crowd is that near: twice
/// the tolerance). [`Arrived`](crate::Arrived) is sent again for another target, for one that has moved, and after the
/// agent has been more than four diameters away or without an [`Arrive`].
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct ArriveState {
    settled: bool,
    told: bool,
    #[entities]
    aim: Aim,
    target: Vec3,
    place: Vec3,
    nearest: f32,
    stuck: f32,
}

impl ArriveState {
    /// Whether the agent has come to rest at its target, or in the crowd around it.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        self.settled
    }

    /// The target as a number, equal for agents with the same target; never 0 once a target is known.
    pub(crate) fn key(&self) -> u32 {
        match self.aim {
            Aim::Nothing => 0,
            Aim::Entity(entity) => (mix(entity.to_bits()) as u32).max(1),
            Aim::Point(bits) => bits,
        }
    }

    fn settle(&mut self, view: &AgentView, target: Vec3) {
        (self.settled, self.target, self.place) = (true, target, view.position);
    }
}

/// What an agent is arriving at: what makes a crowd of those who share it. An entity is kept as such, so that it is still
/// the same after saving and loading.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Default, MapEntities)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[type_path = "bevy_steer"]
enum Aim {
    #[default]
    Nothing,
    Entity(#[entities] Entity),
    /// A point, as a number.
    Point(u32),
}

/// Sums of two agents' radii at which one counts as next to the other.
const NEXT_TO: f32 = 1.1;
/// Sums of two agents' radii within which others count as company.
const COMPANY: f32 = 2.0;

/// Calls `visit` with every neighbour that has the same target and is within `reach` sums of radii.
fn for_each_companion(
    key: u32,
    view: &AgentView,
    me: Entity,
    grid: &NeighborGrid,
    mut visit: impl FnMut(crate::Neighbor, f32),
) {
    // Companions much larger than the agent itself are seen late; they are as far from settling as it is.
    grid.for_each_neighbor(view, me, 2.0 * COMPANY * view.radius, |neighbor| {
        let radii = view.radius + neighbor.radius;
        if neighbor.arrive_key == key && neighbor.distance_squared <= (COMPANY * radii) * (COMPANY * radii) {
            visit(neighbor, radii);
        }
    });
}

fn aim_at(target: &SteeringTarget, seen: &TargetView) -> Aim {
    match (target, seen.entity) {
        (_, Some(entity)) => Aim::Entity(entity),
        (SteeringTarget::Point(p), None) => {
            let bits = p.to_array().iter().fold(1, |hash, x| mix(hash ^ u64::from(x.to_bits())));
            Aim::Point((bits as u32).max(1))
        }
        (_, None) => Aim::Nothing,
    }
}

/// Whether others keep this agent from coming nearer, so that where it is counts as arrived.
fn settles_in_crowd(
    state: &mut ArriveState,
    view: &AgentView,
    me: Entity,
    distance: f32,
    slowing_radius: f32,
    grid: &NeighborGrid,
) -> bool {
    if distance < state.nearest - 0.1 * view.radius || state.nearest == 0.0 {
        (state.nearest, state.stuck) = (distance, 0.0);
    } else {
        state.stuck += view.dt.max(view.sense_interval);
    }
    let patience = (2.0 * (view.radius * view.mass / view.max_force).sqrt()).max(0.5);
    let stuck = state.stuck >= patience && distance <= slowing_radius;
    let mut settles = false;
    for_each_companion(state.key(), view, me, grid, |neighbor, radii| {
        let next_to = neighbor.distance_squared <= (NEXT_TO * radii) * (NEXT_TO * radii);
        let nearer = neighbor.position.distance_squared(state.target) < distance * distance;
        settles |= (neighbor.settled && nearer && next_to) || stuck;
    });
    settles
}

pub(crate) fn steer(
    steering: Steering,
    targets: Targets,
    mut agents: Query<(Steerer, &Arrive, &mut ArriveState, &mut TargetMemory<Arrive>)>,
) {
    steering.for_each(&mut agents, |(mut me, behavior, mut state, mut memory)| {
        if let Some(view) = steering.view(&me)
            && let Some(target) = targets.resolve(&behavior.target, &mut memory, &me, &view, &steering)
        {
            let aim = aim_at(&behavior.target, &target);
            if state.aim != aim {
                *state = ArriveState { aim, ..default() };
            }
            update(&mut me, behavior, &mut state, &view, &target, &steering);
        }
    });
}

/// An `Arrive` that is added again is a new errand.
pub(crate) fn forget(removed: On<Remove, Arrive>, mut states: Query<&mut ArriveState>) {
    if let Ok(mut state) = states.get_mut(removed.entity) {
        *state = ArriveState::default();
    }
}

fn update(
    me: &mut SteererItem,
    behavior: &Arrive,
    state: &mut ArriveState,
    view: &AgentView,
    target: &TargetView,
    steering: &Steering,
) {
    const ID: BehaviorId = Arrive::ID;
    let offset = target.position - view.position;
    let distance = offset.length();
    let scale = target.position.abs().max(view.position.abs()).max_element();
    let tolerance = safe_tolerance(behavior.tolerance, view.position, target.position);
    let slowing_radius = behavior.slowing_radius.get(view);
    // A target that leaves the tolerance within a second is worth following.
    let follows = target.velocity.length() > tolerance;

    if state.settled {
        let pushed = view.position.distance(state.place);
        let woken = follows
            || target.position.distance(state.target) > tolerance
            || pushed > (4.0 * view.radius).max(2.0 * tolerance)
            || (distance > 2.0 * tolerance
                && pushed > 2.0 * tolerance
                && !in_company(state, view, me, steering));
        if woken {
            let moved = follows || target.position.distance(state.target) > tolerance;
            let told = state.told && !moved;
            *state = ArriveState { aim: state.aim, told, place: state.place, ..default() };
        }
    }
    // Jostled in a crowd it is still there; carried off or sent elsewhere, it arrives anew.
    if !state.settled && view.position.distance(state.place) > 8.0 * view.radius + 4.0 * tolerance {
        state.told = false;
    }
    if !state.settled && !follows {
        state.target = target.position;
        if can_rest(view, distance, tolerance)
            || (view.max_force > 0.0
                && settles_in_crowd(state, view, me.entity, distance, slowing_radius, steering.grid()))
        {
            state.settle(view, target.position);
            if !state.told {
                state.told = true;
                steering.send(me, 0, Happening::Arrived);
            }
        }
    }
    if state.settled {
        me.accumulator.rest(ID, behavior.weight, behavior.priority);
    } else {
        me.accumulator.set_goal(ID, behavior.priority, target.position, tolerance);
        let mut desired = arrive(view, offset, target.velocity, slowing_radius);
        if distance <= 4.0 * f32::EPSILON * scale && !follows {
            // As near as numbers go here: a speed that changes nothing would only keep it from resting.
            desired = Vec3::ZERO;
        } else if distance > tolerance && view.dt > 0.0 && !follows {
            // Far from the origin a slow agent would not get from one `f32` to the next.
            let step = (2.0 * f32::EPSILON * scale).min(distance);
            desired = desired.clamp_length_min((step / view.dt).min(view.max_speed));
        }
        if distance <= slowing_radius && !follows {
            me.accumulator.approach(ID, desired, behavior.weight, behavior.priority);
        } else {
            me.accumulator.desire(ID, desired, behavior.weight, behavior.priority);
        }
    }
}

/// Whether anybody with the same target is near.
fn in_company(state: &ArriveState, view: &AgentView, me: &SteererItem, steering: &Steering) -> bool {
    let mut company = false;
    for_each_companion(state.key(), view, me.entity, steering.grid(), |_, _| company = true);
    company
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TurnLimit, testing::*};

    #[test]
    fn reference_trace() {
        let mut sim = Sim::new(5.0).with_agent_defaults(5.0, 10.0, 1.0);
        let agent = sim.agent(Vec3::ZERO, Arrive::new(Vec3::X * 10.0).with_slowing_radius(5.0));
        sim.agent(Vec3::Y * 50.0, Arrive::new(Vec3::Y * 50.0));
        sim.follow("arrive.csv", agent, |row| (row.vec("px", ""), Some(row.vec("vx", ""))));
    }

    #[test]
    fn comes_to_rest_exactly_and_says_so_once() {
        let mut sim = Sim::new(60.0);
        sim.count_events::<crate::Arrived>();
        let far = sim.agent(Vec3::ZERO, Arrive::new(Vec3::X * 10.0));
        let there = sim.agent(Vec3::Y * 50.0, Arrive::new(Vec3::Y * 50.0));
        sim.seconds(12.0);
        for agent in [far, there] {
            let before = sim.position(agent);
            assert_eq!(sim.velocity(agent), Vec3::ZERO);
            sim.ticks(100);
            assert_eq!(sim.position(agent), before, "position keeps its bits");
            assert_eq!(sim.count::<crate::Arrived>(agent), 1);
        }
        assert!(sim.position(far).distance(Vec3::X * 10.0) <= 0.05);
    }

    #[test]
    fn far_from_the_origin_it_arrives_as_well() {
        for (hz, far) in [(60.0, 1e5), (144.0, 1e5), (60.0, 1e6), (144.0, 1e6)] {
            let mut sim = Sim::new(hz);
            let target = Vec3::new(far, -far, 0.0);
            let agent = sim.agent(target - Vec3::X * 12.0, Arrive::new(target));
            sim.agent(Vec3::ZERO, Arrive::new(Vec3::ZERO));
            sim.seconds(30.0);
            let left = sim.position(agent).distance(target);
            assert!(left <= (4.0 * f32::EPSILON * far).max(0.05), "{hz} Hz at {far}: {left} left");
            assert_eq!(sim.velocity(agent), Vec3::ZERO, "{hz} Hz at {far}");
        }
    }

    #[test]
    fn a_vehicle_comes_to_rest_at_any_rate() {
        for hz in [20.0, 60.0, 144.0] {
            for start in [Vec3::X * -8.0, Vec3::Y * 5.0, Vec3::new(3.0, -4.0, 0.0)] {
                let mut sim = Sim::new(hz);
                let vehicle =
                    sim.moving(start, Vec3::X * 3.0, (Arrive::new(Vec3::ZERO), TurnLimit::new(1.5)));
                sim.agent(Vec3::Y * 50.0, Arrive::new(Vec3::Y * 50.0));
                sim.seconds(30.0);
                assert_eq!(sim.velocity(vehicle), Vec3::ZERO, "{hz} Hz from {start}");
                assert!(sim.position(vehicle).length() <= 0.05, "{hz} Hz: {}", sim.position(vehicle));
            }
        }
    }

    #[test]
    fn every_errand_ends_with_an_event_of_its_own() {
        let mut sim = Sim::new(60.0);
        sim.count_events::<crate::Arrived>();
        let agent = sim.agent(Vec3::ZERO, Arrive::new(Vec3::X * 6.0));
        sim.agent(Vec3::Y * 50.0, Arrive::new(Vec3::Y * 50.0));
        sim.seconds(8.0);
        assert_eq!(sim.count::<crate::Arrived>(agent), 1);
        // The same place again, by a new component.
        sim.app.world_mut().entity_mut(agent).remove::<Arrive>();
        sim.tick();
        sim.app.world_mut().entity_mut(agent).insert(Arrive::new(Vec3::X * 6.0));
        sim.seconds(1.0);
        assert_eq!(sim.count::<crate::Arrived>(agent), 2, "added again");
        // Carried off, it comes back.
        sim.get_mut::<Transform>(agent).translation = Vec3::ZERO;
        sim.seconds(8.0);
        assert_eq!(sim.count::<crate::Arrived>(agent), 3, "carried off");
        // Nudged, it was there all the time.
        sim.get_mut::<Transform>(agent).translation.x += 0.3;
        sim.seconds(8.0);
        assert_eq!(sim.count::<crate::Arrived>(agent), 3, "nudged");
    }

    #[test]
    fn follows_a_moving_target_without_lag() {
        let mut sim = Sim::new(60.0);
        let hare = sim.moving(Vec3::X * 5.0, Vec3::Y * 2.0, ());
        let agent = sim.agent(Vec3::ZERO, Arrive::new(hare));
        sim.seconds(15.0);
        assert!(sim.position(agent).distance(sim.position(hare)) < 0.1, "{}", sim.position(agent));
    }

    #[test]
    fn case_25b_wander_does_not_keep_it_from_resting() {
        let mut sim = Sim::new(60.0);
        let agent = sim.agent(Vec3::ZERO, Arrive::new(Vec3::X * 12.0));
        sim.agent(Vec3::Y * 90.0, ());
        let restless = |mut q: Query<&mut crate::SteeringAccumulator>| {
            for mut accumulator in &mut q {
                accumulator.desire(BehaviorId::new("Restless"), Vec3::Y * 5.0, 1.0, SteeringPriority::IDLE);
            }
        };
        sim.app.add_systems(FixedUpdate, restless.in_set(crate::SteeringSystems::Steer));
        sim.seconds(20.0);
        assert!(sim.velocity(agent).length() < 0.01, "{}", sim.velocity(agent));
        assert!(sim.position(agent).distance(Vec3::X * 12.0) <= 0.05);
    }
}
