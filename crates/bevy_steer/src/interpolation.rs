//! Smooth drawing between fixed ticks (feature `interpolation`).

use bevy::prelude::*;
use bevy_transform_interpolation::prelude::*;

use crate::agent::SteeringAgent;

/// Draws every agent between its last two fixed ticks, so that motion is smooth at any frame rate.
///
/// Adds [`TransformInterpolation`] to every [`SteeringAgent`]; steering itself still reads and writes the true `Transform`,
/// which is put back before each tick. Add it before the first agent is spawned, and only with a fixed schedule.
#[derive(Debug, Clone, Copy, Default)]
pub struct SteeringInterpolationPlugin;

impl Plugin for SteeringInterpolationPlugin {
    fn build(&self, app: &mut App) {
        if !app.is_plugin_added::<TransformInterpolationPlugin>() {
            app.add_plugins(TransformInterpolationPlugin::default());
        }
        if let Err(error) = app.try_register_required_components::<SteeringAgent, TransformInterpolation>() {
            log::warn!("agents spawned before SteeringInterpolationPlugin are not interpolated: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use bevy::time::TimeUpdateStrategy;

    use super::*;
    use crate::*;

    #[test]
    fn agents_are_drawn_between_ticks_and_simulated_on_them() {
        let positions = |interpolate: bool| {
            let mut app = App::new();
            app.add_plugins((MinimalPlugins, TransformPlugin, SteeringPlugins::default()))
                .insert_resource(Time::<Fixed>::from_hz(10.0))
                .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(25)));
            if interpolate {
                app.add_plugins(SteeringInterpolationPlugin);
            }
            app.finish();
            app.cleanup();
            app.update();
            let agent = app.world_mut().spawn((SteeringAgent::default(), SteeringVelocity(Vec3::X))).id();
            app.world_mut().spawn((SteeringAgent::default(), Transform::from_xyz(0.0, 9.0, 0.0)));
            let drawn = (0..40).map(|_| {
                app.update();
                app.world().get::<Transform>(agent).map_or(0.0, |t| t.translation.x)
            });
            drawn.collect::<Vec<f32>>()
        };
        let steps = |drawn: &[f32]| {
            drawn[8..]
                .windows(2)
                .map(|w| w[1] - w[0])
                .fold((f32::MAX, f32::MIN), |(a, b), s| (a.min(s), b.max(s)))
        };
        let (least, most) = steps(&positions(true));
        assert!(least > 0.02 && most < 0.03, "even steps of 0.025: {least} to {most}");
        let (least, most) = steps(&positions(false));
        assert!(least == 0.0 && most > 0.09, "one jump per tick: {least} to {most}");
    }
}
