//! Draws the overlays.

use bevy::{
    ecs::{system::SystemParam, world::EntityRef},
    prelude::*,
};
use bevy_steer::{
    AgentView, Arrive, FeelerMode, FeelerState, FlockMember, NeighborGrid, ObstacleFeeler, ObstacleIndex,
    PathFollow, PathMode, PathProgress, Separation, SlowingRadius, SteeringAgent, SteeringBehaviors,
    SteeringDefaults, SteeringOutput, SteeringPlane, SteeringStep, SteeringTarget, SteeringVelocity,
};

use crate::{
    color::{behavior_color, overlay_color},
    log::ContributionLog,
    overlay::{OverlayKind, SteeringGizmos, SteeringOverlays},
    select::SteeringSelection,
};

/// What drawing reads of the world.
#[derive(SystemParam)]
pub(crate) struct Sources<'w> {
    overlays: Res<'w, SteeringOverlays>,
    selection: Res<'w, SteeringSelection>,
    registry: Res<'w, AppTypeRegistry>,
    behaviors: Option<Res<'w, SteeringBehaviors>>,
    defaults: Option<Res<'w, SteeringDefaults>>,
    step: Option<Res<'w, SteeringStep>>,
    grid: Option<Res<'w, NeighborGrid>>,
    obstacles: Option<Res<'w, ObstacleIndex>>,
}

/// Draws in the plane of one agent.
struct Pen<'a, 'w, 's> {
    gizmos: &'a mut Gizmos<'w, 's, SteeringGizmos>,
    plane: SteeringPlane,
}

impl Pen<'_, '_, '_> {
    fn line(&mut self, from: Vec3, to: Vec3, color: Color) {
        self.gizmos.line(from, to, color);
    }

    fn arrow(&mut self, from: Vec3, along: Vec3, color: Color, tip: f32) {
        let Some(direction) = along.try_normalize() else { return };
        let end = from + along;
        let tip = tip.min(0.5 * along.length());
        let side = self.plane.left_of(direction) * (0.5 * tip);
        self.line(from, end, color);
        self.line(end, end - direction * tip + side, color);
        self.line(end, end - direction * tip - side, color);
    }

    /// A circle in the plane; in space one that is level and two upright ones.
    fn ring(&mut self, center: Vec3, radius: f32, color: Color) {
        if !(radius > 0.0 && radius.is_finite()) {
            return;
        }
        let turns: &[Quat] = match self.plane {
            SteeringPlane::Xy => &[Quat::IDENTITY],
            SteeringPlane::Xz => &[LEVEL],
            SteeringPlane::Space => &[Quat::IDENTITY, LEVEL, UPRIGHT],
        };
        for &turn in turns {
            self.gizmos.circle(Isometry3d::new(center, turn), radius, color).resolution(40);
        }
    }

    fn cross(&mut self, center: Vec3, size: f32, color: Color) {
        let (a, b) = match self.plane {
            SteeringPlane::Xy => (Vec3::X, Vec3::Y),
            SteeringPlane::Xz | SteeringPlane::Space => (Vec3::X, Vec3::Z),
        };
        for arm in [a + b, a - b] {
            self.line(center - arm * size, center + arm * size, color);
        }
    }

    fn dashes(&mut self, from: Vec3, to: Vec3, dash: f32, color: Color) {
        let length = from.distance(to);
        let pieces = (length / dash.max(1e-3)).clamp(1.0, 200.0) as u32;
        for i in (0..pieces).step_by(2) {
            let at = |i: u32| from.lerp(to, i as f32 / pieces as f32);
            self.line(at(i), at(i + 1), color);
        }
    }
}

/// A quarter turn about X, which lays a circle level.
const LEVEL: Quat =
    Quat::from_xyzw(core::f32::consts::FRAC_1_SQRT_2, 0.0, 0.0, core::f32::consts::FRAC_1_SQRT_2);
/// A quarter turn about Y.
const UPRIGHT: Quat =
    Quat::from_xyzw(0.0, core::f32::consts::FRAC_1_SQRT_2, 0.0, core::f32::consts::FRAC_1_SQRT_2);

pub(crate) fn draw(
    gizmos: Option<Gizmos<SteeringGizmos>>,
    sources: Sources,
    shown: Query<EntityRef, (With<ContributionLog>, With<SteeringAgent>)>,
    places: Query<&Transform>,
) {
    let Some(mut gizmos) = gizmos else { return };
    if !gizmos.config.enabled {
        return;
    }
    for entity in &shown {
        draw_agent(&mut gizmos, &sources, entity, &places);
    }
}

fn draw_agent(
    gizmos: &mut Gizmos<SteeringGizmos>,
    sources: &Sources,
    entity: EntityRef,
    places: &Query<&Transform>,
) {
    let overlays = &*sources.overlays;
    let (Some(agent), Some(transform), Some(log)) =
        (entity.get::<SteeringAgent>(), entity.get::<Transform>(), entity.get::<ContributionLog>())
    else {
        return;
    };
    let position = transform.translation;
    if !position.is_finite() {
        return;
    }
    let default_plane = sources.defaults.as_ref().map_or(SteeringPlane::Xy, |d| d.plane);
    let plane = entity.get::<SteeringPlane>().copied().unwrap_or(default_plane);
    let velocity = entity.get::<SteeringVelocity>().map_or(Vec3::ZERO, |v| v.0);
    let dt = sources.step.as_ref().map_or(1.0 / 60.0, |step| step.dt);
    let view = AgentView::new(agent, position, velocity, plane, dt);
    let selected = sources.selection.entity == Some(entity.id());
    let pen = &mut Pen { gizmos, plane };
    // Points of the plane at the agent's own height.
    let level = |p: Vec3| {
        let mut at = position;
        plane.write(&mut at, p);
        at
    };
    let tip = if view.radius > 0.0 { 0.5 * view.radius } else { 0.2 };
    let per_force = view.max_speed * overlays.arrow_seconds / view.max_force.max(f32::MIN_POSITIVE);

    if overlays.cells
        && selected
        && let Some(grid) = sources.grid.as_ref().and_then(|grid| grid.cells(plane))
    {
        draw_cells(pen, grid.cell_size(), &view, level);
    }
    if overlays.radii {
        draw_radii(pen, entity, &view, log, selected, level);
    }
    if overlays.neighbors
        && selected
        && let Some(grid) = &sources.grid
    {
        let reaches = [
            entity.get::<FlockMember>().map_or(0.0, FlockMember::reach),
            entity.get::<Separation>().map_or(0.0, |s| s.radius),
        ];
        let reach = reaches.into_iter().fold(0.0, f32::max);
        let reach = if reach > 0.0 { reach } else { 6.0 * view.radius };
        grid.for_each_neighbor(&view, entity.id(), reach, |neighbor| {
            let near = 1.0 - neighbor.distance_squared.sqrt() / reach;
            let color = overlay_color(OverlayKind::Neighbors).with_alpha(0.2 + 0.7 * near.max(0.0));
            // The snapshot is a tick old; the place where it is drawn is not.
            let at = places.get(neighbor.entity).map_or(neighbor.position, |t| t.translation);
            pen.line(position, level(at), color);
        });
    }
    if overlays.paths
        && let Some(path) = entity.get::<PathFollow>()
    {
        draw_path(pen, path, entity.get::<PathProgress>(), tip, level);
    }
    if overlays.targets {
        draw_targets(pen, sources, entity, &view, places, tip, level);
    }
    if overlays.feelers
        && let (Some(feeler), Some(state)) = (entity.get::<ObstacleFeeler>(), entity.get::<FeelerState>())
    {
        draw_feelers(pen, feeler, state, &view, sources.obstacles.as_deref(), tip, level);
    }
    if overlays.desired
        && let Some(output) = entity.get::<SteeringOutput>()
    {
        let along = plane.project(output.desired_velocity) * overlays.arrow_seconds;
        pen.dashes(position, position + along, tip * 0.5, overlay_color(OverlayKind::Desired));
        pen.ring(position + along, 0.25 * tip, overlay_color(OverlayKind::Desired));
    }
    if overlays.velocity {
        let along = view.velocity * overlays.arrow_seconds;
        pen.arrow(position, along, overlay_color(OverlayKind::Velocity), tip);
    }
    if overlays.contributions {
        let most = 2.0 * view.max_speed * overlays.arrow_seconds;
        for entry in &log.entries {
            let along = (entry.force * per_force).clamp_length_max(most);
            pen.arrow(position, along, behavior_color(entry.behavior), tip);
        }
    }
    if overlays.force
        && let Some(output) = entity.get::<SteeringOutput>()
    {
        let along = plane.project(output.force) * per_force;
        pen.arrow(position, along, overlay_color(OverlayKind::Force), tip);
    }
    if overlays.selection && selected {
        pen.ring(position, (1.5 * view.radius).max(0.1), Color::WHITE);
    }
}

fn draw_cells(pen: &mut Pen, size: f32, view: &AgentView, level: impl Fn(Vec3) -> Vec3) {
    const REACH: i32 = 3;
    if !(size > 0.0 && size.is_finite()) {
        return;
    }
    let color = overlay_color(OverlayKind::Cells).with_alpha(0.5);
    let (a, b) = match pen.plane {
        SteeringPlane::Xy => (Vec3::X, Vec3::Y),
        SteeringPlane::Xz | SteeringPlane::Space => (Vec3::X, Vec3::Z),
    };
    let corner = |v: Vec3, n: i32| ((view.position.dot(v) / size).floor() + n as f32) * size;
    // In space the cells at the agent's height.
    let rest = view.position - a * view.position.dot(a) - b * view.position.dot(b);
    for n in -REACH..=REACH + 1 {
        let (low, high) = (corner(b, -REACH), corner(b, REACH + 1));
        pen.line(level(rest + a * corner(a, n) + b * low), level(rest + a * corner(a, n) + b * high), color);
        let (low, high) = (corner(a, -REACH), corner(a, REACH + 1));
        pen.line(level(rest + b * corner(b, n) + a * low), level(rest + b * corner(b, n) + a * high), color);
    }
}

fn draw_radii(
    pen: &mut Pen,
    entity: EntityRef,
    view: &AgentView,
    log: &ContributionLog,
    selected: bool,
    level: impl Fn(Vec3) -> Vec3,
) {
    let here = level(view.position);
    pen.ring(here, view.radius, overlay_color(OverlayKind::Radii));
    let slowing = |radius: SlowingRadius| radius.get(view);
    if entity.contains::<Arrive>()
        && let (Some(arrive), Some((goal, _))) = (entity.get::<Arrive>(), log.goal)
    {
        let color = behavior_color(bevy_steer::BehaviorId::new("Arrive"));
        pen.ring(level(goal), slowing(arrive.slowing_radius), color.with_alpha(0.6));
        pen.ring(level(goal), arrive.tolerance, color);
    }
    if let Some(path) = entity.get::<PathFollow>()
        && path.mode == PathMode::Once
        && let Some(&end) = path.waypoints.last()
    {
        let color = behavior_color(bevy_steer::BehaviorId::new("PathFollow"));
        pen.ring(level(end), slowing(path.slowing_radius), color.with_alpha(0.6));
    }
    if !selected {
        return;
    }
    if let Some(flock) = entity.get::<FlockMember>() {
        let color = behavior_color(bevy_steer::BehaviorId::new("FlockMember"));
        pen.ring(here, flock.separation_radius, color);
        pen.ring(here, flock.alignment_radius, color.with_alpha(0.55));
        pen.ring(here, flock.cohesion_radius, color.with_alpha(0.3));
    }
    if let Some(separation) = entity.get::<Separation>() {
        let color = behavior_color(bevy_steer::BehaviorId::new("Separation"));
        pen.ring(here, separation.radius, color.with_alpha(0.8));
    }
}

fn draw_path(
    pen: &mut Pen,
    path: &PathFollow,
    progress: Option<&PathProgress>,
    tip: f32,
    level: impl Fn(Vec3) -> Vec3,
) {
    let color = overlay_color(OverlayKind::Paths);
    let closing = (path.mode == PathMode::Loop).then(|| path.waypoints.first()).flatten();
    let points = || path.waypoints.iter().chain(closing).map(|p| level(*p));
    for (from, to) in points().zip(points().skip(1)) {
        if from.is_finite() && to.is_finite() {
            pen.line(from, to, color.with_alpha(0.6));
        }
    }
    let next = progress.map(PathProgress::waypoint);
    for (i, waypoint) in path.waypoints.iter().enumerate().filter(|(_, p)| p.is_finite()) {
        let at = level(*waypoint);
        if next == Some(i) {
            pen.ring(at, path.arrival_radius, Color::WHITE);
            pen.cross(at, 0.5 * tip, Color::WHITE);
        } else {
            pen.ring(at, path.arrival_radius, color);
        }
    }
}

/// A dashed line from the agent to what each of its behaviours is after, found by reflection so that a game's own count.
fn draw_targets(
    pen: &mut Pen,
    sources: &Sources,
    entity: EntityRef,
    view: &AgentView,
    places: &Query<&Transform>,
    tip: f32,
    level: impl Fn(Vec3) -> Vec3,
) {
    let Some(behaviors) = &sources.behaviors else { return };
    let registry = sources.registry.read();
    for (id, _) in behaviors.sorted() {
        let target = behaviors
            .component(id)
            .and_then(|component| registry.get_type_data::<ReflectComponent>(component))
            .and_then(|component| component.reflect(entity))
            .and_then(|value| value.path::<SteeringTarget>("target").ok());
        let at = match target {
            Some(SteeringTarget::Point(point)) => Some(*point),
            Some(SteeringTarget::Entity(target)) => places.get(*target).ok().map(|t| t.translation),
            Some(SteeringTarget::Nearest { group, radius }) => sources.grid.as_ref().and_then(|grid| {
                let nearest = grid.nearest_of_group(view, entity.id(), *group, *radius)?;
                Some(places.get(nearest.entity).map_or(nearest.position, |t| t.translation))
            }),
            None => None,
        };
        if let Some(at) = at.filter(|at| at.is_finite()) {
            let (at, color) = (level(at), behavior_color(id));
            pen.dashes(level(view.position), at, tip, color.with_alpha(0.5));
            pen.cross(at, 0.6 * tip, color);
        }
    }
}

fn draw_feelers(
    pen: &mut Pen,
    feeler: &ObstacleFeeler,
    state: &FeelerState,
    view: &AgentView,
    obstacles: Option<&ObstacleIndex>,
    tip: f32,
    level: impl Fn(Vec3) -> Vec3,
) {
    let color = overlay_color(OverlayKind::Feelers);
    let here = level(view.position);
    match feeler.mode {
        FeelerMode::Point { length } => {
            let end = here + view.heading() * length;
            pen.line(here, end, color);
            pen.ring(end, view.radius, if state.is_engaged() { color } else { color.with_alpha(0.4) });
        }
        FeelerMode::Swept { .. } => {
            let ahead = state.look_ahead();
            let mut looks = vec![view.heading()];
            looks.extend(state.way().try_normalize());
            for (i, &direction) in looks.iter().enumerate() {
                // The way that it chose is drawn brighter than the one that it moves along.
                let color = if i > 0 { Color::srgb(0.53, 0.83, 0.42) } else { color };
                let hit =
                    obstacles.and_then(|o| o.sweep(view.plane, view.position, direction, ahead, view.radius));
                let reach = hit.map_or(ahead, |hit| hit.distance);
                let side = pen.plane.left_of(direction) * view.radius;
                let end = here + direction * reach;
                for side in [side, -side] {
                    pen.line(here + side, end + side, color.with_alpha(0.7));
                }
                pen.ring(end, view.radius, color.with_alpha(if hit.is_some() { 1.0 } else { 0.5 }));
                if let Some(hit) = hit {
                    pen.arrow(level(hit.point), hit.normal * (2.0 * tip), color, tip);
                }
            }
            if state.is_engaged() {
                pen.arrow(here, state.side() * (2.0 * view.radius), color, tip);
            }
        }
    }
}
