//! What all examples share: arguments, window or no window, camera, help, pause, screenshots.

#![allow(dead_code, unused_imports)] // each example uses its own part

mod args;
mod fence;
mod headless;
mod help;
mod look;

use bevy::{
    log::LogPlugin,
    prelude::*,
    render::{RenderPlugin, settings::WgpuSettings},
    window::{ExitCondition, PresentMode},
    winit::WinitPlugin,
};
use bevy_egui::EguiPlugin;
use bevy_steer::{SteeringInterpolationPlugin, prelude::*};
use bevy_steer_debug::{SteeringOverlayPlugin, SteeringPanelPlugin, SteeringTimePlugin};
use clap::Parser;

pub use args::Args;
pub use fence::{Fence, FencePlugin};
pub use headless::{Canvas, Summary};
pub use help::Pointer;
pub use look::{Look, Palette, cone_mesh};

/// Ticks per second of all examples.
pub const HZ: f64 = 60.0;

/// What one example has otherwise than the others.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Threads of the compute pool; as many as the machine has by default.
    pub threads: Option<usize>,
    /// Leaves out what looks at each agent in each tick or frame: interpolation, counted metrics, overlays.
    pub crowd: bool,
}

/// Runs an example: in a window, without one (`--headless`), or, where there is no graphics driver, just simulated.
pub fn run(name: &'static str, help: &'static str, build: impl FnOnce(&mut App)) -> AppExit {
    run_with(Args::parse(), Options::default(), name, help, build)
}

/// Runs an example that has arguments or options of its own.
pub fn run_with(
    args: Args,
    options: Options,
    name: &'static str,
    help: &'static str,
    build: impl FnOnce(&mut App),
) -> AppExit {
    let surface = args.surface();
    let mut app = App::new();
    let log = LogPlugin {
        filter: "warn,wgpu=error,naga=error,bevy_render=error,bevy_winit=error".into(),
        ..default()
    };
    let mut window = WindowPlugin {
        primary_window: Some(Window {
            title: format!("bevy_steer: {name}"),
            resolution: args.size().into(),
            present_mode: PresentMode::AutoVsync,
            ..default()
        }),
        ..default()
    };
    let mut render = RenderPlugin { synchronous_pipeline_compilation: true, ..default() };
    if surface != args::Surface::Window {
        window.primary_window = None;
        window.exit_condition = ExitCondition::DontExit;
    }
    if surface == args::Surface::Nothing {
        render.render_creation = WgpuSettings { backends: None, ..default() }.into();
    }
    // Half the machine and more for steering, also where there are few cores.
    let mut pools = TaskPoolOptions::default();
    (pools.io.max_threads, pools.async_compute.max_threads, pools.compute.min_threads) = (1, 1, 2);
    if let Some(threads) = options.threads {
        (pools.compute.min_threads, pools.compute.max_threads) = (threads, threads);
    }
    let plugins =
        DefaultPlugins.set(log).set(window).set(render).set(TaskPoolPlugin { task_pool_options: pools });
    if surface == args::Surface::Window {
        app.add_plugins(plugins);
    } else {
        app.add_plugins(plugins.disable::<WinitPlugin>());
    }
    app.add_plugins((
        EguiPlugin::default(),
        SteeringPlugins::default(),
        FencePlugin,
        SteeringTimePlugin,
        SteeringPanelPlugin,
    ))
    .insert_resource(Time::<Fixed>::from_hz(HZ))
    .insert_resource(ClearColor(Palette::BACKGROUND))
    .insert_resource(bevy_steer::SteeringSeed(args.seed));
    if !options.crowd {
        app.add_plugins((
            SteeringInterpolationPlugin,
            bevy_steer::SteeringMetricsPlugin,
            SteeringOverlayPlugin,
        ));
    }
    look::plugin(&mut app);
    help::plugin(&mut app, name, help);
    if surface == args::Surface::Window {
        app.init_resource::<Canvas>();
    } else {
        headless::plugin(&mut app, name, &args, surface);
    }
    build(&mut app);
    app.run()
}

/// Spawns a 2D camera that shows `height` world units.
pub fn camera_2d(commands: &mut Commands, canvas: &Canvas, height: f32) -> Entity {
    let projection = OrthographicProjection {
        scaling_mode: bevy::camera::ScalingMode::FixedVertical { viewport_height: height },
        ..OrthographicProjection::default_2d()
    };
    canvas.spawn(commands, (Camera2d, Projection::Orthographic(projection), Msaa::Sample4))
}

/// Spawns a 3D camera that looks from `eye` to `center`, a sun and some ambient light.
pub fn camera_3d(commands: &mut Commands, canvas: &Canvas, eye: Vec3, center: Vec3) -> Entity {
    commands.spawn((
        DirectionalLight { illuminance: 6_500.0, ..default() },
        Transform::default().looking_to(Vec3::new(-1.0, -2.5, -1.5), Vec3::Y),
    ));
    commands.insert_resource(GlobalAmbientLight { brightness: 350.0, ..default() });
    canvas.spawn(
        commands,
        (
            Camera3d::default(),
            bevy::core_pipeline::tonemapping::Tonemapping::None,
            Msaa::Sample4,
            Transform::from_translation(eye).looking_at(center, Vec3::Y),
        ),
    )
}

/// An evenly spread, reproducible point in the box ±`half`; the `n`th of a sequence.
pub fn scatter(n: usize, half: Vec3) -> Vec3 {
    // Fractional parts of multiples of the plastic-number family: a low-discrepancy sequence.
    let n = n as f32 + 1.0;
    let part = |step: f32| (0.5 + n * step).fract() * 2.0 - 1.0;
    half * Vec3::new(part(0.819_172_5), part(0.671_043_6), part(0.549_700_5))
}

/// A reproducible unit direction in the XY plane; the `n`th of a sequence.
pub fn heading(n: usize) -> Vec3 {
    let (sin, cos) = bevy::math::ops::sin_cos(n as f32 * 2.399_963);
    Vec3::new(cos, sin, 0.0)
}
