//! How far along its path an agent has come: pure bookkeeping, without forces.

use bevy::prelude::*;

use crate::{agent::AgentView, events::Happening, plane::SteeringPlane, rng::mix};

/// What an agent does at the end of its path.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Debug, Clone, PartialEq, Default)]
#[type_path = "bevy_steer"]
pub enum PathMode {
    /// Arrives at the last waypoint and rests there.
    #[default]
    Once,
    /// Goes on from the last waypoint to the first.
    Loop,
    /// Goes back and forth.
    PingPong,
}

/// How far an agent has come along the waypoints of its [`PathFollow`](crate::PathFollow).
///
/// Replacing the waypoints by others starts from the first again; setting the same ones again changes nothing. Insert
/// `PathProgress::default()` to start again on the same path.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
#[type_path = "bevy_steer"]
pub struct PathProgress {
    /// The waypoints as a number, 0 before they have been looked at.
    key: u64,
    next: usize,
    back: bool,
    /// Where the leg to the next waypoint began.
    from: Option<Vec3>,
    /// Whether the first waypoint of a loop has been reached, so that reaching it again ends a lap.
    on_lap: bool,
    at_end: bool,
    completed: bool,
    unusable: bool,
}

impl PathProgress {
    /// Index of the waypoint that the agent is heading for.
    #[must_use]
    pub const fn waypoint(&self) -> usize {
        self.next
    }

    /// Whether the agent has come to rest at the end of a path that is followed once.
    #[must_use]
    pub const fn is_completed(&self) -> bool {
        self.completed
    }

    /// Whether the waypoints have been looked at.
    pub(super) const fn is_fresh(&self) -> bool {
        self.key == 0
    }

    /// Starts again if the waypoints are other ones than before.
    pub(super) fn notice(&mut self, waypoints: &[Vec3]) {
        let key = waypoints
            .iter()
            .flat_map(Vec3::to_array)
            .fold(waypoints.len() as u64, |key, x| mix(key ^ u64::from(x.to_bits())));
        // 0 is taken.
        let key = key.max(1);
        if self.key != key {
            let unusable = waypoints.is_empty() || !waypoints.iter().all(|w| w.is_finite());
            *self = Self { key, unusable, ..default() };
        }
    }

    /// Whether there is anything to follow: at least one waypoint, and all of them finite.
    pub(super) const fn is_usable(&self) -> bool {
        !self.unusable
    }

    /// Passes all waypoints that are reached: those within `radius`, and those beyond which the agent already is, as seen
    /// along the leg that leads to them. The last one of a path that is followed once is only reached within `radius`.
    ///
    /// At most one round of the path is passed at a time. `tell` hears of every waypoint once, in order.
    pub(super) fn advance(
        &mut self,
        waypoints: &[Vec3],
        mode: PathMode,
        plane: SteeringPlane,
        position: Vec3,
        radius: f32,
        mut tell: impl FnMut(Happening),
    ) {
        let count = waypoints.len();
        let from = self.from.get_or_insert(position);
        let mut from = *from;
        for _ in 0..count {
            let waypoint = plane.project(waypoints[self.next]);
            let last = mode == PathMode::Once && self.next + 1 == count;
            let near = position.distance_squared(waypoint) <= radius * radius;
            let beyond = (position - waypoint).dot(waypoint - from) >= 0.0;
            if !near && (last || !beyond) {
                break;
            }
            if last {
                self.reach_end(count, &mut tell);
                break;
            }
            tell(Happening::WaypointReached(self.next));
            let ends_lap = match mode {
                PathMode::Once => false,
                PathMode::Loop => self.next == 0 && core::mem::replace(&mut self.on_lap, true),
                PathMode::PingPong => self.next == if self.back { 0 } else { count - 1 },
            };
            if ends_lap {
                tell(Happening::PathCompleted);
            }
            self.step(count, mode);
            from = waypoint;
        }
        self.from = Some(from);
    }

    /// The end of a path that is followed once is reached.
    fn reach_end(&mut self, count: usize, tell: &mut impl FnMut(Happening)) {
        if !core::mem::replace(&mut self.at_end, true) {
            tell(Happening::WaypointReached(count - 1));
        }
    }

    /// The agent rests at the end of a path that is followed once.
    pub(super) fn complete(&mut self, count: usize, mut tell: impl FnMut(Happening)) {
        self.reach_end(count, &mut tell);
        if !core::mem::replace(&mut self.completed, true) {
            tell(Happening::PathCompleted);
        }
    }

    /// Heads for the waypoint after the next one.
    const fn step(&mut self, count: usize, mode: PathMode) {
        match mode {
            PathMode::Once => self.next = if self.next + 1 < count { self.next + 1 } else { self.next },
            PathMode::Loop => self.next = (self.next + 1) % count,
            PathMode::PingPong => {
                if self.next == 0 || self.next + 1 == count {
                    self.back = self.next > 0;
                }
                self.next = if self.back { self.next - 1 } else { self.next + 1 };
            }
        }
    }
}

/// How a path is followed: one without any length is a single point, at which agents arrive whatever the mode.
pub(super) fn mode_for(waypoints: &[Vec3], mode: PathMode) -> PathMode {
    let has_length = waypoints.iter().any(|&w| w != waypoints[0]);
    if has_length { mode } else { PathMode::Once }
}

/// What lies ahead on the path.
pub(super) struct Ahead {
    /// Length of the path from the agent on, as far as it has been looked at.
    pub(super) length: f32,
    /// The last waypoint that lies straight ahead: where feelers need look no further.
    pub(super) goal: Vec3,
}

/// Waypoints that are looked at for the goal; more only where the slowing radius asks for it.
const GOAL_WAYPOINTS: usize = 16;
/// Cosine of the angle (15°) up to which a waypoint lies straight ahead.
const STRAIGHT: f32 = 0.965_926;

/// Looks along the path, until it is longer than `enough`.
pub(super) fn look_ahead(
    waypoints: &[Vec3],
    mode: PathMode,
    mut progress: PathProgress,
    view: &AgentView,
    enough: f32,
) -> Ahead {
    let mut at = view.plane.project(waypoints[progress.waypoint()]);
    let direction = (at - view.position).normalize_or_zero();
    let mut ahead = Ahead { length: view.position.distance(at), goal: at };
    let mut straight = true;
    let most = if mode == PathMode::Once { waypoints.len() } else { waypoints.len().min(GOAL_WAYPOINTS) };
    for _ in 1..most {
        if ahead.length > enough || (mode == PathMode::Once && progress.waypoint() + 1 == waypoints.len()) {
            break;
        }
        progress.step(waypoints.len(), mode);
        let next = view.plane.project(waypoints[progress.waypoint()]);
        ahead.length += at.distance(next);
        straight &= (next - view.position).normalize_or_zero().dot(direction) >= STRAIGHT;
        if straight {
            ahead.goal = next;
        }
        at = next;
    }
    ahead
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told when an agent goes through `positions`.
    fn told(waypoints: &[Vec3], mode: PathMode, positions: &[Vec3]) -> Vec<Happening> {
        let mut progress = PathProgress::default();
        progress.notice(waypoints);
        let mut all = Vec::new();
        for &position in positions {
            progress.advance(waypoints, mode, SteeringPlane::Space, position, 0.5, |h| all.push(h));
        }
        all
    }

    fn on_line(xs: &[f32]) -> Vec<Vec3> {
        xs.iter().map(|&x| Vec3::X * x).collect()
    }

    #[test]
    fn waypoints_are_passed_when_near_or_behind() {
        use Happening::WaypointReached;
        let path = on_line(&[4.0, 8.0, 12.0]);
        assert_eq!(told(&path, PathMode::Once, &on_line(&[0.0, 3.4])), []);
        assert_eq!(told(&path, PathMode::Once, &on_line(&[0.0, 3.6])), [WaypointReached(0)]);
        let aside = [Vec3::ZERO, Vec3::new(8.1, 5.0, 0.0)];
        assert_eq!(told(&path, PathMode::Once, &aside), [WaypointReached(0), WaypointReached(1)]);
        let past = told(&path, PathMode::Once, &on_line(&[0.0, 20.0]));
        assert_eq!(past, [WaypointReached(0), WaypointReached(1)], "the last one must be reached itself");
    }

    #[test]
    fn a_leg_back_is_not_passed_by_overshooting_the_turn() {
        let path = [Vec3::X * 10.0, Vec3::ZERO, Vec3::X * 10.0];
        let all = told(&path, PathMode::Once, &on_line(&[5.0, 12.0, 8.0, 1.0]));
        assert_eq!(all, [Happening::WaypointReached(0)]);
    }

    #[test]
    fn laps_and_legs_are_told() {
        use Happening::{PathCompleted, WaypointReached};
        let path = [Vec3::ZERO, Vec3::X * 4.0, Vec3::Y * 4.0];
        let round = told(&path, PathMode::Loop, &[path[0], path[1], path[2], path[0], path[1]]);
        let expected = [0, 1, 2, 0].map(WaypointReached);
        assert_eq!(round[..4], expected);
        assert_eq!(round[4..], [PathCompleted, WaypointReached(1)]);
        let there = told(&path, PathMode::PingPong, &[path[0], path[1], path[2], path[1], path[0], path[1]]);
        assert_eq!(there[..4], [WaypointReached(0), WaypointReached(1), WaypointReached(2), PathCompleted]);
        assert_eq!(there[4..], [WaypointReached(1), WaypointReached(0), PathCompleted, WaypointReached(1)]);
    }

    #[test]
    fn other_waypoints_start_again_and_the_same_ones_do_not() {
        let (one, other) = (on_line(&[0.0, 4.0, 8.0]), on_line(&[0.0, 4.0, 8.5]));
        let mut progress = PathProgress::default();
        progress.notice(&one);
        for position in [Vec3::ZERO, Vec3::X * 4.0] {
            progress.advance(&one, PathMode::Once, SteeringPlane::Xy, position, 0.5, |_| {});
        }
        assert_eq!(progress.waypoint(), 2);
        progress.notice(&one.clone());
        assert_eq!(progress.waypoint(), 2);
        progress.notice(&other);
        assert_eq!(progress.waypoint(), 0);
    }
}
