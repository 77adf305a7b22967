//! The plugins.

use bevy::{
    app::PluginGroupBuilder,
    ecs::schedule::{InternedScheduleLabel, ScheduleLabel},
    prelude::*,
    reflect::GetTypeRegistration,
};

use crate::{
    accumulator::{BehaviorId, Contribution, SteeringAccumulator, SteeringGoal},
    agent::{SteeringAgent, SteeringDefaults, SteeringGroup, SteeringVelocity},
    behavior::{Fault, SteeringBehaviors, check_faults},
    behaviors,
    combine::SteeringCombine,
    events::{EventQueue, send_events},
    facing::FaceVelocity,
    faults::{warn_of_faults, watch_for_faults},
    gather::build_grid,
    integrate::{CustomIntegration, SteeringOutput, integrate},
    neighbors::NeighborGrid,
    obstacle::{Obstacle, ObstacleIndex, ObstaclePlugin},
    plane::SteeringPlane,
    rng::{NextSteeringId, SteeringId, SteeringSeed, number_early_agents},
    schedule::{SteeringSchedule, SteeringStep, SteeringSystems, begin_step},
    sensing::SteerEvery,
    smoothing::SteeringSmoothing,
    stall::StallWatch,
    turn_limit::TurnLimit,
    warnings::{SteeringWarnings, tell_warnings},
};

/// Everything that steering needs, in one line: `app.add_plugins(SteeringPlugins::default())`.
///
/// | plugin | what it does | without it |
/// |---|---|---|
/// | [`SteeringCorePlugin`] | types, resources, the order of the sets | nothing works |
/// | [`NeighborGridPlugin`] | rebuilds [`NeighborGrid`] in `Sense` | agents see no neighbours |
/// | [`ObstaclePlugin`] | keeps [`ObstacleIndex`](crate::ObstacleIndex) up to date in `Sense` | agents see no obstacles |
/// | [`SteeringBehaviorsPlugin`] | the built-in behaviours | only the game's own behaviours run |
/// | [`IntegrationPlugin`] | combines, moves, turns, sends events in `Integrate` | the game reads the accumulators itself |
///
/// Each can be replaced: `SteeringPlugins::default().build().disable::<IntegrationPlugin>()`.
#[derive(Debug, Clone, Copy)]
pub struct SteeringPlugins {
    schedule: InternedScheduleLabel,
}

impl SteeringPlugins {
    /// Steering in another schedule than `FixedUpdate`. In a variable one, such as `Update`, a step is at most
    /// [`MAX_VARIABLE_STEP`](crate::MAX_VARIABLE_STEP) long.
    #[must_use]
    pub fn new(schedule: impl ScheduleLabel) -> Self {
        Self { schedule: schedule.intern() }
    }
}

impl Default for SteeringPlugins {
    fn default() -> Self {
        Self::new(FixedUpdate)
    }
}

impl PluginGroup for SteeringPlugins {
    fn build(self) -> PluginGroupBuilder {
        PluginGroupBuilder::start::<Self>()
            .add(SteeringCorePlugin { schedule: self.schedule })
            .add(NeighborGridPlugin)
            .add(ObstaclePlugin)
            .add(SteeringBehaviorsPlugin)
            .add(IntegrationPlugin)
    }
}

/// Types, resources and the order of [`SteeringSystems`].
#[derive(Debug, Clone, Copy)]
pub struct SteeringCorePlugin {
    /// The schedule that steering runs in.
    pub schedule: InternedScheduleLabel,
}

impl Plugin for SteeringCorePlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(SteeringSchedule(self.schedule))
            .init_resource::<SteeringBehaviors>()
            .init_resource::<SteeringDefaults>()
            .init_resource::<SteeringSeed>()
            .init_resource::<SteeringStep>()
            .init_resource::<NextSteeringId>()
            .init_resource::<NeighborGrid>()
            .init_resource::<ObstacleIndex>()
            .init_resource::<EventQueue>()
            .init_resource::<SteeringWarnings>();
        number_early_agents(app.world_mut());

        app.register_type::<SteeringAgent>()
            .register_type::<SteeringVelocity>()
            .register_type::<SteeringGroup>()
            .register_type::<SteeringAccumulator>()
            .register_type::<BehaviorId>()
            .register_type::<Contribution>()
            .register_type::<SteeringGoal>()
            .register_type::<SteeringOutput>()
            .register_type::<CustomIntegration>()
            .register_type::<SteeringPlane>()
            .register_type::<SteeringCombine>()
            .register_type::<SteeringId>()
            .register_type::<SteerEvery>()
            .register_type::<SteeringSmoothing>()
            .register_type::<TurnLimit>()
            .register_type::<FaceVelocity>()
            .register_type::<StallWatch>()
            .register_type::<SteeringDefaults>()
            .register_type::<SteeringSeed>()
            .register_type::<SteeringStep>()
            .register_type::<NextSteeringId>()
            .register_type::<crate::events::Arrived>()
            .register_type::<crate::events::TargetLost>()
            .register_type::<crate::events::WaypointReached>()
            .register_type::<crate::events::PathCompleted>()
            .register_type::<crate::events::Stalled>();

        check(app, "SteeringAgent", SteeringAgent::fault);
        check(app, "SteerEvery", SteerEvery::fault);
        check(app, "SteeringSmoothing", SteeringSmoothing::fault);
        check(app, "TurnLimit", TurnLimit::fault);
        check(app, "FaceVelocity", FaceVelocity::fault);
        check(app, "StallWatch", StallWatch::fault);
        check(app, "Obstacle", Obstacle::fault);

        app.configure_sets(
            self.schedule,
            (
                SteeringSystems::Sense,
                SteeringSystems::Steer,
                SteeringSystems::Avoid,
                SteeringSystems::Integrate,
            )
                .chain(),
        )
        // Contributions are sorted before they are summed, so the order of writers leaves no trace.
        .allow_ambiguous_component::<SteeringAccumulator>()
        .add_systems(
            self.schedule,
            (
                begin_step.before(SteeringSystems::Sense),
                // It reads whatever a game may write; what it misses it finds in the next tick.
                (warn_of_faults.ambiguous_with_all(), tell_warnings)
                    .chain()
                    .after(SteeringSystems::Integrate),
            ),
        );
    }
}

/// Registers a component, and watches it for values that make no sense.
fn check<C: Component + Reflect + TypePath + GetTypeRegistration>(
    app: &mut App,
    name: &'static str,
    fault: fn(&C) -> Option<Fault>,
) {
    check_faults(app, fault);
    watch_for_faults(app.world_mut(), name, fault);
}

/// Rebuilds [`NeighborGrid`] each tick.
#[derive(Debug, Clone, Copy, Default)]
pub struct NeighborGridPlugin;

impl Plugin for NeighborGridPlugin {
    fn build(&self, app: &mut App) {
        let schedule = app.world().resource::<SteeringSchedule>().0;
        app.add_systems(schedule, build_grid.in_set(SteeringSystems::Sense));
    }
}

/// The built-in behaviours, registered by the call that a game uses for its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct SteeringBehaviorsPlugin;

impl Plugin for SteeringBehaviorsPlugin {
    fn build(&self, app: &mut App) {
        behaviors::register(app);
    }
}

/// Combines contributions and moves the agents.
#[derive(Debug, Clone, Copy, Default)]
pub struct IntegrationPlugin;

impl Plugin for IntegrationPlugin {
    fn build(&self, app: &mut App) {
        let schedule = app.world().resource::<SteeringSchedule>().0;
        app.add_systems(schedule, (integrate, send_events).chain().in_set(SteeringSystems::Integrate));
    }
}
