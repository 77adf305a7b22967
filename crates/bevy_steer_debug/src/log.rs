//! Keeps what behaviours contributed, which integration throws away.

use bevy::prelude::*;
use bevy_steer::{
    AgentView, BehaviorId, Contribution, ContributionKind, SteeringAccumulator, SteeringAgent,
    SteeringDefaults, SteeringPlane, SteeringPriority, SteeringStep, SteeringVelocity,
};

/// One contribution of the last tick.
#[derive(Reflect, Debug, Clone, Copy, PartialEq)]
pub struct LoggedContribution {
    /// Who wrote it.
    pub behavior: BehaviorId,
    /// What it is.
    pub kind: ContributionKind,
    /// The desired velocity in units/s, or the force.
    pub value: Vec3,
    /// Its factor.
    pub weight: f32,
    /// Its level.
    pub priority: SteeringPriority,
    /// The force that it counts as before anything is clamped, in units/s² at mass 1, its weight included.
    pub force: Vec3,
}

/// What an agent's behaviours contributed in the last tick. Only agents that are shown have one:
/// [`SteeringOverlayPlugin`](crate::SteeringOverlayPlugin) adds and removes it.
#[derive(Component, Reflect, Debug, Clone, PartialEq, Default)]
#[reflect(Component, Default, Debug, Clone, PartialEq)]
pub struct ContributionLog {
    /// The contributions, sorted by level and behaviour.
    pub entries: Vec<LoggedContribution>,
    /// Where the agent was heading, and the distance that was near enough.
    pub goal: Option<(Vec3, f32)>,
    /// The tick that they belong to; 0 before the first.
    pub tick: u64,
}

impl ContributionLog {
    /// The sum of the forces that one behaviour asked for.
    #[must_use]
    pub fn force_of(&self, behavior: BehaviorId) -> Vec3 {
        self.entries.iter().filter(|e| e.behavior == behavior).map(|e| e.force).sum()
    }
}

fn logged(contribution: &Contribution, view: &AgentView) -> LoggedContribution {
    let value = view.plane.project(contribution.value());
    let force = match contribution.kind() {
        ContributionKind::Push => value,
        ContributionKind::Desired | ContributionKind::Rest | ContributionKind::Approach => {
            view.force_towards(value)
        }
    };
    LoggedContribution {
        behavior: contribution.behavior(),
        kind: contribution.kind(),
        value: contribution.value(),
        weight: contribution.weight(),
        priority: contribution.priority(),
        force: force * contribution.weight(),
    }
}

/// Runs when everything has been written and nothing has been integrated.
pub(crate) fn record(
    step: Res<SteeringStep>,
    defaults: Res<SteeringDefaults>,
    mut shown: Query<(
        &mut ContributionLog,
        &SteeringAccumulator,
        &SteeringAgent,
        &Transform,
        &SteeringVelocity,
        Option<&SteeringPlane>,
    )>,
) {
    for (mut log, accumulator, agent, transform, velocity, plane) in &mut shown {
        let plane = plane.copied().unwrap_or(defaults.plane);
        let view = AgentView::new(agent, transform.translation, velocity.0, plane, step.dt);
        log.entries.clear();
        log.entries.extend(accumulator.contributions().iter().map(|c| logged(c, &view)));
        log.entries.sort_by_key(|entry| (entry.priority, entry.behavior));
        log.goal = accumulator.goal().map(|goal| (goal.position, goal.tolerance));
        log.tick = step.tick;
    }
}
