//! What is drawn over the world, and for whom.

use bevy::{
    gizmos::{AppGizmoBuilder, GizmoPlugin, config::GizmoConfigGroup, config::GizmoLineConfig},
    prelude::*,
};
use bevy_steer::{SteeringAgent, SteeringSchedule, SteeringSystems};

use crate::{
    draw,
    log::{ContributionLog, record},
    select::{self, SteeringSelection},
};

/// The gizmo group that the overlays are drawn in: line width and depth are set in
/// [`GizmoConfigStore`], and switching the group off switches all of them off.
#[derive(Default, Reflect, GizmoConfigGroup, Debug, Clone, Copy)]
pub struct SteeringGizmos;

/// Shows the overlays of this agent whoever is selected.
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
pub struct ShowSteering;

/// Whose overlays are drawn.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[reflect(Default, Debug, PartialEq)]
pub enum OverlayScope {
    /// The selected agent, and those with [`ShowSteering`].
    #[default]
    Selected,
    /// All agents, up to [`SteeringOverlays::max_agents`].
    All,
}

/// The overlays by name.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OverlayKind {
    /// Where the agent moves.
    Velocity,
    /// The force that was applied.
    Force,
    /// The velocity that the force is after.
    Desired,
    /// One arrow for each contribution, in its behaviour's colour.
    Contributions,
    /// The way that a feeler looks along, its whisker, its side, and what it hits.
    Feelers,
    /// The agent's own radius, and those of flocking, separation and slowing down.
    Radii,
    /// Links to the neighbours that the selected agent looks at.
    Neighbors,
    /// Waypoints.
    Paths,
    /// What each behaviour is after.
    Targets,
    /// Cells of the neighbour grid round the selected agent.
    Cells,
}

impl OverlayKind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Velocity,
        Self::Force,
        Self::Desired,
        Self::Contributions,
        Self::Feelers,
        Self::Radii,
        Self::Neighbors,
        Self::Paths,
        Self::Targets,
        Self::Cells,
    ];
}

/// Which overlays are drawn. All are off by default but the ring round the selected agent.
#[derive(Resource, Reflect, Debug, Clone, PartialEq)]
#[reflect(Resource, Default, Debug, PartialEq)]
pub struct SteeringOverlays {
    /// Whose overlays; those of the selected agent by default.
    pub scope: OverlayScope,
    /// A ring round the selected agent.
    pub selection: bool,
    /// See [`OverlayKind::Velocity`].
    pub velocity: bool,
    /// See [`OverlayKind::Force`].
    pub force: bool,
    /// See [`OverlayKind::Desired`].
    pub desired: bool,
    /// See [`OverlayKind::Contributions`].
    pub contributions: bool,
    /// See [`OverlayKind::Feelers`].
    pub feelers: bool,
    /// See [`OverlayKind::Radii`].
    pub radii: bool,
    /// See [`OverlayKind::Neighbors`].
    pub neighbors: bool,
    /// See [`OverlayKind::Paths`].
    pub paths: bool,
    /// See [`OverlayKind::Targets`].
    pub targets: bool,
    /// See [`OverlayKind::Cells`].
    pub cells: bool,
    /// Seconds of travel that a velocity arrow spans; 0.6 by default. The force `max_force` has the length of
    /// `max_speed`, and longer arrows of contributions are cut at twice that.
    #[reflect(@0.1_f32..=3.0_f32)]
    pub arrow_seconds: f32,
    /// How many agents at most are drawn; 500 by default.
    pub max_agents: usize,
}

impl Default for SteeringOverlays {
    fn default() -> Self {
        Self {
            scope: OverlayScope::Selected,
            selection: true,
            velocity: false,
            force: false,
            desired: false,
            contributions: false,
            feelers: false,
            radii: false,
            neighbors: false,
            paths: false,
            targets: false,
            cells: false,
            arrow_seconds: 0.6,
            max_agents: 500,
        }
    }
}

impl SteeringOverlays {
    /// Every overlay for the selected agent.
    #[must_use]
    pub fn everything() -> Self {
        let mut overlays = Self::default();
        for kind in OverlayKind::ALL {
            *overlays.switch(kind) = kind != OverlayKind::Cells;
        }
        overlays
    }

    /// The switch of one overlay.
    pub const fn switch(&mut self, kind: OverlayKind) -> &mut bool {
        match kind {
            OverlayKind::Velocity => &mut self.velocity,
            OverlayKind::Force => &mut self.force,
            OverlayKind::Desired => &mut self.desired,
            OverlayKind::Contributions => &mut self.contributions,
            OverlayKind::Feelers => &mut self.feelers,
            OverlayKind::Radii => &mut self.radii,
            OverlayKind::Neighbors => &mut self.neighbors,
            OverlayKind::Paths => &mut self.paths,
            OverlayKind::Targets => &mut self.targets,
            OverlayKind::Cells => &mut self.cells,
        }
    }
}

/// Draws [`SteeringOverlays`] with gizmos, in each agent's own plane, where it is drawn. Reads the simulation and changes
/// nothing in it. Add it after [`SteeringPlugins`](bevy_steer::SteeringPlugins); without `GizmoPlugin` nothing is drawn.
#[derive(Debug, Clone, Copy, Default)]
pub struct SteeringOverlayPlugin;

impl Plugin for SteeringOverlayPlugin {
    fn build(&self, app: &mut App) {
        select::ensure(app);
        let schedule = app.world_mut().get_resource_or_init::<SteeringSchedule>().0;
        app.init_resource::<SteeringOverlays>()
            .register_type::<SteeringOverlays>()
            .register_type::<ShowSteering>()
            .register_type::<ContributionLog>()
            .add_systems(PreUpdate, choose_shown)
            .add_systems(schedule, record.after(SteeringSystems::Avoid).before(SteeringSystems::Integrate))
            .add_systems(PostUpdate, draw::draw);
    }

    fn finish(&self, app: &mut App) {
        // A group without the plugin would panic.
        if app.is_plugin_added::<GizmoPlugin>() {
            let config = GizmoConfig {
                line: GizmoLineConfig { width: 2.0, ..default() },
                // In front of the agents.
                depth_bias: -1.0,
                ..default()
            };
            app.insert_gizmo_config(SteeringGizmos, config);
        }
    }
}

fn choose_shown(
    overlays: Res<SteeringOverlays>,
    selection: Res<SteeringSelection>,
    agents: Query<(Entity, Has<ShowSteering>, Has<ContributionLog>), With<SteeringAgent>>,
    strays: Query<Entity, (With<ContributionLog>, Without<SteeringAgent>)>,
    mut commands: Commands,
) {
    let mut room = if overlays.scope == OverlayScope::All { overlays.max_agents } else { 0 };
    for (entity, marked, logged) in &agents {
        let mut shown = marked || selection.entity == Some(entity);
        if !shown && room > 0 {
            room -= 1;
            shown = true;
        }
        if shown && !logged {
            commands.entity(entity).try_insert(ContributionLog::default());
        } else if !shown && logged {
            commands.entity(entity).try_remove::<ContributionLog>();
        }
    }
    for entity in &strays {
        commands.entity(entity).try_remove::<ContributionLog>();
    }
}

#[cfg(test)]
mod tests {
    use bevy::time::TimeUpdateStrategy;
    use bevy_steer::{
        Arrive, BehaviorId, ContributionKind, FlockMember, Obstacle, ObstacleFeeler, PathFollow, Seek,
        SteeringAccumulator, SteeringDefaults, SteeringPlane, SteeringPlugins, SteeringPriority,
        SteeringTarget,
    };

    use super::*;

    fn app() -> App {
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, TransformPlugin, SteeringPlugins::default(), SteeringOverlayPlugin))
            .insert_resource(Time::<Fixed>::from_hz(60.0))
            .insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
        app.finish();
        app.cleanup();
        app.update();
        app
    }

    #[test]
    fn the_log_copies_contributions_before_integration_clears_them() {
        const WIND: BehaviorId = BehaviorId::new("Wind");
        let mut app = app();
        app.add_systems(
            FixedUpdate,
            (|mut agents: Query<&mut SteeringAccumulator>| {
                for mut accumulator in &mut agents {
                    accumulator.push(WIND, Vec3::Y * 2.0, 1.5, SteeringPriority::SAFETY);
                }
            })
            .in_set(SteeringSystems::Steer),
        );
        let agent = app.world_mut().spawn(Seek::new(Vec3::X * 10.0)).id();
        let other = app.world_mut().spawn((Seek::new(Vec3::X), Transform::from_xyz(9.0, 9.0, 0.0))).id();
        app.world_mut().resource_mut::<SteeringSelection>().entity = Some(agent);
        app.update();
        let log = app.world().get::<ContributionLog>(agent).expect("the selected agent has a log");
        assert_eq!(log.tick, 1);
        assert_eq!(log.entries.len(), 2, "{log:?}");
        assert_eq!((log.entries[0].behavior, log.entries[0].force), (WIND, Vec3::Y * 3.0));
        assert_eq!(log.entries[1].kind, ContributionKind::Desired);
        assert_eq!(log.entries[1].value, Vec3::X * 5.0);
        let seek = log.force_of(BehaviorId::new("Seek"));
        assert!(seek.distance(Vec3::X * 20.0) < 1e-4, "5 units/s within 0.25 s are 20 units/s²: {seek}");
        assert!(app.world().get::<ContributionLog>(other).is_none(), "others have none");
        let accumulator = app.world().get::<SteeringAccumulator>(agent).expect("an accumulator");
        assert!(accumulator.contributions().is_empty(), "integration has cleared them");
    }

    #[test]
    fn logs_follow_selection_mark_and_scope() {
        let mut app = app();
        let agents: Vec<Entity> = (0..4)
            .map(|i| app.world_mut().spawn((Seek::default(), Transform::from_xyz(i as f32, 0.0, 0.0))).id())
            .collect();
        let logged = |app: &mut App| -> Vec<bool> {
            app.update();
            agents.iter().map(|&a| app.world().get::<ContributionLog>(a).is_some()).collect()
        };
        assert_eq!(logged(&mut app), [false; 4]);
        app.world_mut().resource_mut::<SteeringSelection>().entity = Some(agents[2]);
        app.world_mut().entity_mut(agents[0]).insert(ShowSteering);
        assert_eq!(logged(&mut app), [true, false, true, false]);
        app.world_mut().resource_mut::<SteeringOverlays>().scope = OverlayScope::All;
        assert_eq!(logged(&mut app), [true; 4]);
        app.world_mut().resource_mut::<SteeringOverlays>().max_agents = 1;
        assert_eq!(
            logged(&mut app).iter().filter(|x| **x).count(),
            3,
            "the selected, the marked and one more"
        );
        app.world_mut().resource_mut::<SteeringOverlays>().scope = OverlayScope::Selected;
        app.world_mut().despawn(agents[2]);
        app.update();
        assert_eq!(app.world().resource::<SteeringSelection>().entity, None);
    }

    #[test]
    fn overlays_change_nothing_and_draw_headless() {
        let run = |plane: SteeringPlane, overlays: Option<SteeringOverlays>, gizmos: bool| {
            let mut app = App::new();
            app.add_plugins((MinimalPlugins, TransformPlugin, SteeringPlugins::default()))
                .insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
            if gizmos {
                app.add_plugins((AssetPlugin::default(), bevy::mesh::MeshPlugin, GizmoPlugin));
            }
            if let Some(overlays) = overlays {
                app.add_plugins(SteeringOverlayPlugin).insert_resource(overlays);
            }
            app.finish();
            app.cleanup();
            app.update();
            app.world_mut().resource_mut::<SteeringDefaults>().plane = plane;
            let obstacle = Obstacle::Sphere { radius: 1.0 };
            app.world_mut().spawn((obstacle, Transform::from_xyz(6.0, 6.0, 6.0)));
            let mut first = None;
            for i in 0..20 {
                let feeler = if i % 2 == 0 { ObstacleFeeler::default() } else { ObstacleFeeler::point(2.0) };
                let agent = app.world_mut().spawn((
                    FlockMember::default(),
                    PathFollow::new(vec![Vec3::splat(5.0), Vec3::new(9.0, f32::NAN, 1.0)]),
                    Arrive::new(SteeringTarget::Nearest { group: 0, radius: 9.0 }),
                    feeler,
                    Transform::from_xyz(i as f32, (i % 3) as f32, (i % 4) as f32),
                ));
                first = first.or(Some(agent.id()));
            }
            if let Some(mut selection) = app.world_mut().get_resource_mut::<SteeringSelection>() {
                selection.entity = first;
            }
            for _ in 0..30 {
                app.update();
            }
            bevy_steer::steering_hash(app.world_mut())
        };
        let all =
            SteeringOverlays { scope: OverlayScope::All, cells: true, ..SteeringOverlays::everything() };
        for plane in SteeringPlane::ALL {
            let bare = run(plane, None, false);
            assert_eq!(run(plane, Some(all.clone()), false), bare, "{plane:?} without gizmos");
            assert_eq!(run(plane, Some(all.clone()), true), bare, "{plane:?} with gizmos");
        }
    }
}
