//! Path following: waypoint after waypoint.

use bevy::prelude::*;

use crate::{
    accumulator::BehaviorId,
    agent::{AgentView, SteeringAgent},
    behavior::{DEFAULT_WEIGHT, Fault, GOAL, Steerer, SteererItem, Steering, SteeringBehavior, check},
    behaviors::{
        arrive::{SlowingRadius, TOLERANCE, can_rest, safe_tolerance},
        path_progress::{PathMode, PathProgress, look_ahead, mode_for},
    },
    priority::SteeringPriority,
};

/// Seeks waypoints in turn and arrives at the last: `desired = direction to waypoint × max_speed × min(1, rest of the path /
/// slowing radius)`.
///
/// A waypoint counts as reached within `arrival_radius`, or once the agent is past it, beyond the plane through the waypoint
/// at a right angle to the leg that leads there. So an agent that is pushed aside or very fast goes on and never turns back
/// for a waypoint. [`WaypointReached`](crate::WaypointReached) is sent for each, in order, also where one tick passes
/// several.
///
/// At the end of a path that is followed [`Once`](PathMode::Once) the agent rests as with [`Arrive`](crate::Arrive), within
/// 0.05; [`PathCompleted`](crate::PathCompleted) is sent when it does. In [`Loop`](PathMode::Loop) it is sent each time the
/// agent is back at the first waypoint, in [`PingPong`](PathMode::PingPong) at both ends, and there is no slowing down.
///
/// Paths come from the game or a path finder and can be replaced at any time, see [`PathProgress`]. A path of one point is
/// an arrival, an empty one does nothing.
///
/// Source: C. Reynolds, *Steering Behaviors for Autonomous Characters*, 1999.
#[derive(Component, Reflect, Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[require(SteeringAgent, PathProgress)]
#[type_path = "bevy_steer"]
pub struct PathFollow {
    /// The way, in world units.
    pub waypoints: Vec<Vec3>,
    /// What happens at its end; [`Once`](PathMode::Once) by default.
    pub mode: PathMode,
    /// Distance in units at which a waypoint counts as reached; 0.6 by default.
    #[reflect(@0.05_f32..=5.0_f32)]
    pub arrival_radius: f32,
    /// Where before the end to begin to slow down, measured along the path.
    pub slowing_radius: SlowingRadius,
    /// Factor on its force; 1 by default.
    #[reflect(@0.0_f32..=5.0_f32)]
    pub weight: f32,
    /// Level; [`GOAL`](SteeringPriority::GOAL) by default.
    pub priority: SteeringPriority,
}

impl Default for PathFollow {
    fn default() -> Self {
        Self::new([])
    }
}

impl PathFollow {
    /// Follows the waypoints once.
    #[must_use]
    pub fn new(waypoints: impl Into<Vec<Vec3>>) -> Self {
        Self {
            waypoints: waypoints.into(),
            mode: PathMode::Once,
            arrival_radius: 0.6,
            slowing_radius: SlowingRadius::Auto,
            weight: DEFAULT_WEIGHT,
            priority: GOAL,
        }
    }

    /// The same with another end.
    #[must_use]
    pub fn with_mode(self, mode: PathMode) -> Self {
        Self { mode, ..self }
    }

    /// The same with another arrival radius in units.
    #[must_use]
    pub fn with_arrival_radius(self, radius: f32) -> Self {
        Self { arrival_radius: radius, ..self }
    }

    /// The same with a fixed slowing radius in units.
    #[must_use]
    pub fn with_slowing_radius(self, radius: f32) -> Self {
        Self { slowing_radius: SlowingRadius::Fixed(radius), ..self }
    }

    /// The same with another weight.
    #[must_use]
    pub fn with_weight(self, weight: f32) -> Self {
        Self { weight, ..self }
    }
}

impl SteeringBehavior for PathFollow {
    const NAME: &'static str = "PathFollow";

    fn fault(&self) -> Option<Fault> {
        check::weight(self.weight)
            .or_else(|| {
                self.waypoints.iter().find(|w| !w.is_finite()).map(|w| Fault {
                    field: "waypoints",
                    value: w.x + w.y + w.z,
                    consequence: "a waypoint is not finite; the path is ignored",
                })
            })
            .or_else(|| {
                check::not_negative(
                    "arrival_radius",
                    self.arrival_radius,
                    "must be finite and not negative; taken as 0",
                )
            })
            .or_else(|| self.slowing_radius.fault())
    }
}

pub(crate) fn steer(steering: Steering, mut agents: Query<(Steerer, Ref<PathFollow>, &mut PathProgress)>) {
    steering.for_each(&mut agents, |(mut me, path, mut progress)| {
        // Also while contributions are held: a change must not be missed.
        if path.is_changed() || progress.is_fresh() {
            progress.notice(&path.waypoints);
        }
        if progress.is_usable()
            && let Some(view) = steering.view(&me)
        {
            follow(&mut me, &path, &mut progress, &view, &steering);
        }
    });
}

fn follow(
    me: &mut SteererItem,
    path: &PathFollow,
    progress: &mut PathProgress,
    view: &AgentView,
    steering: &Steering,
) {
    const ID: BehaviorId = PathFollow::ID;
    let (weight, priority) = (path.weight, path.priority);
    let waypoints = &path.waypoints[..];
    let mode = mode_for(waypoints, path.mode);
    let radius = check::or_zero(path.arrival_radius);
    let mut order = 0;
    let mut tell = |happening| {
        steering.send(me, order, happening);
        order += 1;
    };
    progress.advance(waypoints, mode, view.plane, view.position, radius, &mut tell);

    let target = view.plane.project(waypoints[progress.waypoint()]);
    let offset = target - view.position;
    let distance = offset.length();
    let last = mode == PathMode::Once && progress.waypoint() + 1 == waypoints.len();
    let tolerance = safe_tolerance(TOLERANCE, view.position, target);
    if last && can_rest(view, distance, tolerance) {
        progress.complete(waypoints.len(), &mut tell);
        me.accumulator.rest(ID, weight, priority);
        return;
    }
    let slowing_radius = path.slowing_radius.get(view);
    let ahead = look_ahead(waypoints, mode, *progress, view, slowing_radius);
    me.accumulator.set_goal(ID, priority, ahead.goal, if last { tolerance } else { 0.0 });
    let direction = offset.normalize_or_zero();
    if mode == PathMode::Once && ahead.length <= slowing_radius {
        // What is left of the path counts, not the distance to the waypoint, which may be one of many in a row.
        let share = if slowing_radius > 0.0 { (ahead.length / slowing_radius).min(1.0) } else { 1.0 };
        me.accumulator.approach(ID, direction * (view.max_speed * share), weight, priority);
    } else {
        me.accumulator.desire(ID, direction * view.max_speed, weight, priority);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        behaviors::{Arrive, Wander},
        events::{Arrived, PathCompleted, WaypointReached},
        plane::SteeringPlane,
        testing::*,
    };

    #[derive(Resource, Default)]
    struct Log(Vec<(Entity, usize)>);

    /// Writes every reached waypoint down.
    fn log_waypoints(sim: &mut Sim) {
        sim.app.init_resource::<Log>().add_observer(|event: On<WaypointReached>, mut log: ResMut<Log>| {
            log.0.push((event.entity, event.waypoint));
        });
        sim.count_events::<PathCompleted>();
    }

    fn reached(sim: &Sim, agent: Entity) -> Vec<usize> {
        let log = &sim.app.world().resource::<Log>().0;
        log.iter().filter(|(entity, _)| *entity == agent).map(|&(_, waypoint)| waypoint).collect()
    }

    fn corner() -> PathFollow {
        PathFollow::new([Vec3::X * 4.0, Vec3::new(4.0, 4.0, 0.0)]).with_slowing_radius(2.0)
    }

    #[test]
    fn reference_trace() {
        let mut sim = Sim::new(5.0).with_agent_defaults(5.0, 10.0, 1.0);
        let agent = sim.agent(Vec3::ZERO, corner());
        let other = sim.agent(Vec3::Y * 50.0, PathFollow::new([Vec3::Y * 60.0]));
        for (step, row) in read_reference("path_follow.csv").iter().enumerate() {
            let waypoint = sim.get::<PathProgress>(agent).waypoint();
            let expected = row.number("waypoint") as usize;
            // The table counts a waypoint as reached when the next step is taken.
            let to = corner().waypoints[expected].distance(sim.position(agent));
            assert!((to - row.number("distance")).abs() < 1e-3, "step {step}: {to} from the waypoint");
            assert!(waypoint == expected, "step {step}: heads for {waypoint}");
            assert!(sim.position(agent).distance(row.vec("px", "py")) < 1e-3, "step {step}");
            sim.tick();
        }
        assert!(sim.position(other).y > 55.0);
    }

    #[test]
    fn case_05_paths_of_no_one_and_two_equal_points() {
        for plane in SteeringPlane::ALL {
            for mode in [PathMode::Once, PathMode::Loop, PathMode::PingPong] {
                let mut sim = Sim::new(60.0).with_plane(plane);
                log_waypoints(&mut sim);
                sim.count_events::<Arrived>();
                let place = plane.project(Vec3::new(6.0, 3.0, -2.0));
                let [none, one, two] = [vec![], vec![place], vec![place; 2]].map(|waypoints| {
                    sim.moving(Vec3::ZERO, Vec3::X * 2.0, PathFollow::new(waypoints).with_mode(mode))
                });
                let arrive = sim.moving(Vec3::ZERO, Vec3::X * 2.0, Arrive::new(place));
                for _ in 0..720 {
                    sim.tick();
                    assert_eq!(sim.position(one), sim.position(arrive), "one point behaves as arrive");
                }
                assert_eq!(sim.velocity(none), Vec3::X * 2.0, "no path does nothing");
                assert_eq!(sim.velocity(one), Vec3::ZERO);
                assert_eq!(sim.position(two), sim.position(one), "{plane:?} {mode:?}");
                assert_eq!((reached(&sim, one), reached(&sim, two)), (vec![0], vec![0, 1]));
                assert_eq!([none, one, two].map(|agent| sim.count::<PathCompleted>(agent)), [0, 1, 1]);
            }
        }
    }

    #[test]
    fn case_13_a_fast_agent_stops_at_the_end() {
        let mut sim = Sim::new(60.0).with_agent_defaults(8.0, 20.0, 0.25);
        log_waypoints(&mut sim);
        let end = Vec3::new(10.0, 10.0, 0.0);
        let path = PathFollow::new([Vec3::ZERO, Vec3::X * 10.0, end]).with_arrival_radius(1.0);
        let agent = sim.agent(Vec3::ZERO, (path.clone(), Wander::new()));
        let second = sim.moving(Vec3::ZERO, Vec3::X * 8.0, path);
        let mut furthest = f32::MIN;
        for _ in 0..900 {
            sim.tick();
            furthest = furthest.max(sim.position(agent).y).max(sim.position(second).y);
        }
        assert!(furthest - 10.0 <= 0.3, "{} past the end", furthest - 10.0);
        for agent in [agent, second] {
            assert_eq!(sim.velocity(agent), Vec3::ZERO);
            assert!(sim.position(agent).distance(end) <= 0.05);
            assert_eq!((reached(&sim, agent), sim.count::<PathCompleted>(agent)), (vec![0, 1, 2], 1));
        }
    }

    #[test]
    fn case_15_several_waypoints_a_tick_are_passed_once_and_in_order() {
        let mut sim = Sim::new(60.0).with_agent_defaults(50.0, 100.0, 0.25);
        log_waypoints(&mut sim);
        let waypoints: Vec<Vec3> = (1..=600).map(|i| Vec3::X * (i as f32 * 0.5)).collect();
        let agent = sim.moving(Vec3::ZERO, Vec3::X * 50.0, PathFollow::new(waypoints.clone()));
        let aside = sim.moving(Vec3::Y * 0.3, Vec3::X * 50.0, PathFollow::new(waypoints));
        let mut most = 0;
        for _ in 0..1500 {
            let before = reached(&sim, agent).len();
            sim.tick();
            most = most.max(reached(&sim, agent).len() - before);
            for agent in [agent, aside] {
                assert!(sim.velocity(agent).x >= 0.0, "it turns back at {}", sim.position(agent));
            }
        }
        assert!(most >= 2, "several waypoints in one tick: {most}");
        for agent in [agent, aside] {
            assert_eq!(reached(&sim, agent), (0..600).collect::<Vec<_>>());
            assert_eq!(sim.count::<PathCompleted>(agent), 1);
            assert_eq!(sim.velocity(agent), Vec3::ZERO);
        }
    }

    #[test]
    fn case_54_a_figure_of_eight_is_followed_vertex_by_vertex_in_even_laps() {
        let mut sim = Sim::new(60.0);
        log_waypoints(&mut sim);
        // Both lobes meet in the origin.
        let eight: Vec<Vec3> = [(0, 0), (6, 6), (12, 0), (6, -6), (0, 0), (-6, 6), (-12, 0), (-6, -6)]
            .map(|(x, y)| Vec3::new(x as f32, y as f32, 0.0))
            .into();
        let path = PathFollow::new(eight).with_mode(PathMode::Loop);
        let agent = sim.moving(Vec3::ZERO, Vec3::new(3.0, 3.0, 0.0), path.clone());
        let still = sim.agent(Vec3::X * -3.0, path);
        let mut laps = vec![0];
        for tick in 1..4000 {
            sim.tick();
            if sim.count::<PathCompleted>(agent) >= laps.len() {
                laps.push(tick);
            }
        }
        for agent in [agent, still] {
            let order = reached(&sim, agent);
            assert!(order.len() > 24 && order.iter().enumerate().all(|(i, w)| i % 8 == *w), "{order:?}");
        }
        let times: Vec<i32> = laps.windows(2).map(|lap| lap[1] - lap[0]).collect();
        let (shortest, longest) = (times[..3].iter().min().unwrap(), times[..3].iter().max().unwrap());
        assert!(*longest as f32 <= 1.05 * *shortest as f32, "lap times within 5 %: {times:?}");
    }

    #[test]
    fn case_55_pushed_aside_past_a_waypoint_it_goes_on() {
        for plane in SteeringPlane::ALL {
            let mut sim = Sim::new(60.0).with_plane(plane);
            log_waypoints(&mut sim);
            let path = PathFollow::new([5.0, 10.0, 15.0, 20.0].map(|x| Vec3::X * x));
            let pushed = sim.moving(Vec3::ZERO, Vec3::X * 5.0, path.clone());
            let other = sim.moving(Vec3::ZERO, Vec3::X * 5.0, path);
            while sim.get::<PathProgress>(pushed).waypoint() < 2 {
                sim.tick();
            }
            let x = sim.position(pushed).x;
            sim.get_mut::<Transform>(pushed).translation +=
                plane.left_of(Vec3::X) * 5.0 + Vec3::X * (15.1 - x);
            sim.tick();
            assert_eq!(sim.get::<PathProgress>(pushed).waypoint(), 3, "{plane:?}");
            for _ in 0..900 {
                sim.tick();
                assert!(sim.position(pushed).x >= 15.1, "{plane:?}: it turns back");
            }
            for agent in [pushed, other] {
                assert_eq!(reached(&sim, agent), [0, 1, 2, 3], "{plane:?}");
                assert!(sim.position(agent).distance(Vec3::X * 20.0) <= 0.05, "{plane:?}");
            }
        }
    }

    #[test]
    fn paths_can_be_replaced_and_bad_ones_are_named() {
        let mut sim = Sim::new(60.0);
        log_waypoints(&mut sim);
        let agent = sim.agent(Vec3::ZERO, PathFollow::new([Vec3::X * 3.0]));
        let bad = sim.agent(Vec3::ZERO, PathFollow::new([Vec3::X, Vec3::NAN]));
        sim.seconds(8.0);
        assert_eq!(sim.count::<PathCompleted>(agent), 1);
        // Another weight is not another path.
        sim.get_mut::<PathFollow>(agent).weight = 2.0;
        sim.seconds(1.0);
        assert_eq!(sim.count::<PathCompleted>(agent), 1);
        sim.get_mut::<PathFollow>(agent).waypoints = vec![Vec3::X * -3.0];
        sim.seconds(8.0);
        assert!(sim.position(agent).distance(Vec3::X * -3.0) <= 0.05);
        assert_eq!(sim.count::<PathCompleted>(agent), 2);
        assert_eq!(sim.position(bad), Vec3::ZERO);
        assert_eq!(sim.warnings(), ["PathFollow.waypoints"]);
    }

    #[test]
    fn back_and_forth_tells_of_each_end() {
        let mut sim = Sim::new(60.0);
        log_waypoints(&mut sim);
        let path = PathFollow::new([0.0, 5.0, 10.0].map(|x| Vec3::X * x)).with_mode(PathMode::PingPong);
        let agent = sim.agent(Vec3::ZERO, path.clone());
        let other = sim.agent(Vec3::Y * 3.0, path);
        sim.seconds(20.0);
        for agent in [agent, other] {
            let order = reached(&sim, agent);
            assert_eq!(order[..7], [0, 1, 2, 1, 0, 1, 2], "{order:?}");
            assert!(sim.count::<PathCompleted>(agent) >= 3);
            assert!(sim.velocity(agent).length() > 1.0);
        }
    }
}
