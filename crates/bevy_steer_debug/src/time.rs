//! Pause, single step and slow motion.

use bevy::{app::RunFixedMainLoopSystems, input::InputSystems, prelude::*};

use crate::select::SteeringInputFocus;

/// Slowest and fastest speed that [`set_speed`] sets.
const SPEEDS: core::ops::RangeInclusive<f32> = 0.05..=2.0;

/// Adds [`SteeringTimeControl`]: single steps, and keys for pause, step and slow motion if the game wants any.
///
/// Pause and speed are those of [`Time<Virtual>`], so that everything that changes them agrees.
#[derive(Debug, Clone, Copy, Default)]
pub struct SteeringTimePlugin;

impl Plugin for SteeringTimePlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<SteeringTimeControl>()
            .init_resource::<SteeringInputFocus>()
            .register_type::<SteeringTimeControl>()
            .add_systems(PreUpdate, read_keys.after(InputSystems))
            .add_systems(RunFixedMainLoop, run_step.in_set(RunFixedMainLoopSystems::BeforeFixedMainLoop));
    }
}

/// Which keys control time; none by default.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SteeringTimeKeys {
    /// Pauses, and goes on.
    pub pause: Option<KeyCode>,
    /// Pauses and runs one tick.
    pub step: Option<KeyCode>,
    /// Halves the speed.
    pub slower: Option<KeyCode>,
    /// Doubles the speed.
    pub faster: Option<KeyCode>,
}

impl SteeringTimeKeys {
    /// `P` pauses, `.` steps, `[` and `]` change the speed.
    pub const USUAL: Self = Self {
        pause: Some(KeyCode::KeyP),
        step: Some(KeyCode::Period),
        slower: Some(KeyCode::BracketLeft),
        faster: Some(KeyCode::BracketRight),
    };
}

/// Single steps and keys.
#[derive(Resource, Reflect, Debug, Clone, Default)]
#[reflect(Resource, Default)]
pub struct SteeringTimeControl {
    /// Keys; none by default. They rest while a text field of a panel has the keyboard.
    pub keys: SteeringTimeKeys,
    steps: u32,
}

impl SteeringTimeControl {
    /// Pauses, and runs exactly one fixed tick in the next frame. Several calls run as many ticks, one each frame.
    pub const fn step(&mut self) {
        self.steps += 1;
    }

    /// Steps asked for and not yet run.
    #[must_use]
    pub const fn pending_steps(&self) -> u32 {
        self.steps
    }
}

/// Sets the speed of the game's clock, 1 being real time; taken as 0.05 to 2, and left alone if it isn't a number.
pub fn set_speed(time: &mut Time<Virtual>, speed: f32) {
    if !speed.is_nan() {
        time.set_relative_speed(speed.clamp(*SPEEDS.start(), *SPEEDS.end()));
    }
}

fn run_step(
    mut control: ResMut<SteeringTimeControl>,
    mut game: ResMut<Time<Virtual>>,
    fixed: Res<Time<Fixed>>,
    mut time: ResMut<Time>,
) {
    if control.steps == 0 {
        return;
    }
    control.steps -= 1;
    game.pause();
    // What the fixed clock has left over is less than one tick, so one tick more runs once.
    game.advance_by(fixed.timestep());
    *time = game.as_generic();
}

fn read_keys(
    keys: Option<Res<ButtonInput<KeyCode>>>,
    focus: Res<SteeringInputFocus>,
    mut control: ResMut<SteeringTimeControl>,
    mut time: ResMut<Time<Virtual>>,
) {
    let Some(keys) = keys.filter(|_| !focus.keyboard) else { return };
    let pressed = |key: Option<KeyCode>| key.is_some_and(|key| keys.just_pressed(key));
    if pressed(control.keys.pause) {
        if time.is_paused() { time.unpause() } else { time.pause() }
    }
    if pressed(control.keys.step) {
        control.step();
    }
    for (key, factor) in [(control.keys.slower, 0.5), (control.keys.faster, 2.0)] {
        if pressed(key) {
            let speed = time.relative_speed() * factor;
            set_speed(&mut time, speed);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use bevy::time::TimeUpdateStrategy;
    use bevy_steer::{SteeringPlugins, SteeringStep};

    use super::*;

    fn app(frame: Duration) -> App {
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, TransformPlugin, SteeringPlugins::default(), SteeringTimePlugin))
            .insert_resource(Time::<Fixed>::from_hz(64.0))
            .insert_resource(TimeUpdateStrategy::ManualDuration(frame));
        app.finish();
        app.cleanup();
        app.update();
        app
    }

    fn ticks(app: &App) -> u64 {
        app.world().resource::<SteeringStep>().tick
    }

    #[test]
    fn a_step_advances_exactly_one_tick_whatever_the_frame_rate() {
        for frame in [1, 7, 16, 40, 100].map(Duration::from_millis) {
            let mut app = app(frame);
            for _ in 0..5 {
                app.update();
            }
            app.world_mut().resource_mut::<Time<Virtual>>().pause();
            app.update();
            for _ in 0..10 {
                let before = ticks(&app);
                app.world_mut().resource_mut::<SteeringTimeControl>().step();
                app.update();
                assert_eq!(ticks(&app), before + 1, "one tick for one step at {frame:?} a frame");
                app.update();
                app.update();
                assert_eq!(ticks(&app), before + 1, "and none after it");
            }
        }
    }

    #[test]
    fn a_step_while_running_pauses() {
        let mut app = app(Duration::from_millis(16));
        app.world_mut().resource_mut::<SteeringTimeControl>().step();
        app.update();
        assert!(app.world().resource::<Time<Virtual>>().is_paused());
        let tick = ticks(&app);
        app.world_mut().resource_mut::<SteeringTimeControl>().step();
        app.world_mut().resource_mut::<SteeringTimeControl>().step();
        app.update();
        assert_eq!(ticks(&app), tick + 1, "two steps take two frames");
        app.update();
        app.update();
        assert_eq!(ticks(&app), tick + 2);
    }

    #[test]
    fn slow_motion_is_clamped_and_slows_the_ticks() {
        let mut app = app(Duration::from_millis(125));
        let mut speed = |speed| {
            let mut time = app.world_mut().resource_mut::<Time<Virtual>>();
            set_speed(&mut time, speed);
            time.relative_speed()
        };
        assert_eq!([speed(0.0), speed(9.0), speed(f32::NAN), speed(0.5)], [0.05, 2.0, 2.0, 0.5]);
        let before = ticks(&app);
        for _ in 0..8 {
            app.update();
        }
        assert_eq!(ticks(&app) - before, 32, "half of the 64 ticks of a second");
    }

    #[test]
    fn keys_work_unless_a_text_field_has_the_keyboard() {
        let mut app = app(Duration::from_millis(16));
        app.init_resource::<ButtonInput<KeyCode>>();
        app.world_mut().resource_mut::<SteeringTimeControl>().keys = SteeringTimeKeys::USUAL;
        let press = |app: &mut App, key| {
            app.world_mut().resource_mut::<ButtonInput<KeyCode>>().press(key);
            app.update();
            app.world_mut().resource_mut::<ButtonInput<KeyCode>>().reset_all();
            app.world().resource::<Time<Virtual>>().is_paused()
        };
        app.world_mut().resource_mut::<SteeringInputFocus>().keyboard = true;
        assert!(!press(&mut app, KeyCode::KeyP));
        app.world_mut().resource_mut::<SteeringInputFocus>().keyboard = false;
        assert!(press(&mut app, KeyCode::KeyP));
        let tick = ticks(&app);
        assert!(press(&mut app, KeyCode::Period));
        assert_eq!(ticks(&app), tick + 1);
        assert!(!press(&mut app, KeyCode::KeyP));
        press(&mut app, KeyCode::BracketLeft);
        assert_eq!(app.world().resource::<Time<Virtual>>().relative_speed(), 0.5);
    }
}
