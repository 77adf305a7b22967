//! A hundred thousand flocking agents, drawn and steered, and what each part costs.
//!
//! `cargo run --release --example stress -- --agents 100000 --threads 8`
//!
//! The agents have no mesh and no visibility: they are one draw call that reads one buffer, 16 bytes for each
//! (`stress/draw.rs`). The usual way, a shared `Mesh2d` and material, is one draw call as well, but Bevy looks at the
//! visibility of every entity, extracts, sorts and batches it in every frame. For 100 000 agents on two cores of an AMD EPYC
//! the frame took, with software Vulkan,
//!
//! | | CPU time of Bevy's threads | whole frame |
//! |---|---|---|
//! | nothing drawn | 8 ms | 12 ms |
//! | one buffer | 10 ms | 51 ms |
//! | `Mesh2d` | 21 ms | 100 ms |
//!
//! of which 0.4 ms go into the buffer; the rest of the way to 51 ms is the software that stands in for a graphics card.
//!
//! At the start each agent has about 24 flockmates in reach. Flocks gather, so that later there are more, and ticks take
//! longer.

mod common;
#[path = "stress/crowd.rs"]
mod crowd;
#[path = "stress/display.rs"]
mod display;
#[path = "stress/draw.rs"]
mod draw;
#[path = "stress/measure.rs"]
mod measure;

use bevy::{
    input::mouse::{AccumulatedMouseMotion, AccumulatedMouseScroll},
    prelude::*,
    render::renderer::RenderAdapterInfo,
    window::{PresentMode, PrimaryWindow},
};
use bevy_steer::SteeringStep;
use clap::{CommandFactory, FromArgMatches, Parser};
use common::{Canvas, Options, Pointer, Summary, camera_2d};
use crowd::{Crowd, SHOWN_COUNTS};
use draw::Drawing;

const HELP: &str = "One flock; the colour is the heading. Up, Down: twice or half as many   D: drawing on and off\n\
                    Mouse wheel: zoom   right button: move the view";

/// Arguments of this example.
#[derive(Parser, Debug)]
struct StressArgs {
    #[command(flatten)]
    common: common::Args,
    /// Number of agents.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(
        i64::from(*crowd::COUNTS.start())..=i64::from(*crowd::COUNTS.end())
    ))]
    agents: u32,
    /// Threads that steer; those of the machine by default.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
}

impl StressArgs {
    fn parse_here() -> Self {
        // Software that stands in for a graphics card takes its time over so many triangles.
        let command = Self::command().mut_arg("frames", |frames| frames.default_value("120"));
        Self::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
    }
}

fn main() -> AppExit {
    let args = StressArgs::parse_here();
    let options = Options { threads: args.threads.map(usize::from), crowd: true };
    let frames = args.common.frames;
    common::run_with(args.common, options, "stress", HELP, |app| {
        let headless = !app.is_plugin_added::<bevy::winit::WinitPlugin>();
        app.insert_resource(Crowd::new(args.agents))
            .add_plugins((crowd::plugin, draw::plugin, display::plugin))
            .add_systems(Startup, setup)
            .add_systems(Update, (keys, move_view));
        measure::plugin(app, headless);
        if headless {
            app.insert_resource(Compare { last_tick: frames.into() })
                .insert_resource(Summary(measure::report))
                .add_systems(FixedFirst, compare);
        }
    })
}

fn setup(
    mut commands: Commands,
    canvas: Res<Canvas>,
    window: Option<Single<&mut Window, With<PrimaryWindow>>>,
    adapter: Option<Res<RenderAdapterInfo>>,
    fixed: Res<Time<Fixed>>,
    mut time: ResMut<Time<Virtual>>,
) {
    let camera = camera_2d(&mut commands, &canvas, 1.0);
    if adapter.is_some_and(|adapter| adapter.device_type == wgpu::DeviceType::Cpu) {
        // Smooth edges would take longer than everything else.
        commands.entity(camera).insert(Msaa::Off);
    }
    if let Some(mut window) = window {
        // Frames as fast as they come: waiting for the screen would hide what they cost.
        window.present_mode = PresentMode::AutoNoVsync;
        // At most one tick per frame: where that is too slow, the crowd moves slowly instead of in leaps.
        time.set_max_delta(fixed.timestep());
    }
}

fn keys(keys: Res<ButtonInput<KeyCode>>, mut crowd: ResMut<Crowd>, mut drawing: ResMut<Drawing>) {
    let (least, most) = (*SHOWN_COUNTS.start(), *SHOWN_COUNTS.end());
    if keys.just_pressed(KeyCode::ArrowUp) && crowd.wanted < most {
        crowd.wanted = (crowd.wanted * 2).clamp(least, most);
    }
    if keys.just_pressed(KeyCode::ArrowDown) && crowd.wanted > least {
        crowd.wanted = (crowd.wanted / 2).clamp(least, most);
    }
    if keys.just_pressed(KeyCode::KeyD) {
        drawing.on = !drawing.on;
    }
}

/// Shows the whole box of a new crowd; zooms where the mouse is, and follows it.
fn move_view(
    crowd: Res<Crowd>,
    pointer: Res<Pointer>,
    buttons: Res<ButtonInput<MouseButton>>,
    scroll: Res<AccumulatedMouseScroll>,
    motion: Res<AccumulatedMouseMotion>,
    camera: Single<(&Camera, &mut Transform, &mut Projection), With<Camera2d>>,
    mut shown: Local<Vec2>,
) {
    let (camera, mut transform, mut projection) = camera.into_inner();
    let Projection::Orthographic(projection) = &mut *projection else { return };
    let Some(size) = camera.logical_viewport_size() else { return };
    if *shown != crowd.half {
        *shown = crowd.half;
        transform.translation = Vec3::ZERO;
        projection.scale = 1.0;
        let height = (2.0 * crowd.half.y).max(2.0 * crowd.half.x * size.y / size.x) * 1.03;
        projection.scaling_mode = bevy::camera::ScalingMode::FixedVertical { viewport_height: height };
    }
    let pixel = projection.area.height() / size.y;
    if let Some(at) = pointer.world
        && scroll.delta.y != 0.0
    {
        let scale = (projection.scale * bevy::math::ops::exp(-0.15 * scroll.delta.y)).clamp(0.005, 2.0);
        let moved = (at - transform.translation.truncate()) * (1.0 - scale / projection.scale);
        transform.translation += moved.extend(0.0);
        projection.scale = scale;
    }
    if buttons.pressed(MouseButton::Right) && !pointer.over_panel {
        transform.translation += Vec3::new(-motion.delta.x, motion.delta.y, 0.0) * pixel;
    }
}

/// Without a window only the last ticks are drawn: enough for a picture and to see what drawing costs, and the other ticks
/// have the processor to themselves.
#[derive(Resource)]
struct Compare {
    last_tick: u64,
}

fn compare(compare: Res<Compare>, step: Res<SteeringStep>, mut drawing: ResMut<Drawing>) {
    drawing.on = drawing.possible && step.tick + 15 > compare.last_tick;
}
