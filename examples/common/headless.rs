//! Drawing without a display: into an image, of which the last frame is saved.

use std::{io::Write, path::PathBuf};

use bevy::{
    app::ScheduleRunnerPlugin,
    camera::RenderTarget,
    prelude::*,
    render::{
        render_resource::TextureFormat,
        view::screenshot::{Screenshot, ScreenshotCaptured},
    },
    time::TimeUpdateStrategy,
};

use super::args::{Args, Surface};

/// What cameras draw on: the window, or an image when there is none.
#[derive(Resource, Default)]
pub struct Canvas {
    image: Option<Handle<Image>>,
}

impl Canvas {
    /// Spawns a camera that draws here.
    pub fn spawn(&self, commands: &mut Commands, camera: impl Bundle) -> Entity {
        let mut entity = commands.spawn(camera);
        if let Some(image) = &self.image {
            entity.insert(RenderTarget::Image(image.clone().into()));
        }
        entity.id()
    }
}

/// A line of the example's own at the end.
#[derive(Resource, Clone, Copy)]
pub struct Summary(pub fn(&mut World) -> String);

#[derive(Resource)]
struct Session {
    frame: u32,
    frames: u32,
    path: PathBuf,
    draws: bool,
    stride: u32,
    tries: u32,
}

pub fn plugin(app: &mut App, name: &'static str, args: &Args, surface: Surface) {
    let (width, height) = args.size();
    let draws = surface == Surface::Image;
    let image = draws.then(|| {
        let target = Image::new_target_texture(width, height, TextureFormat::Rgba8UnormSrgb, None);
        app.world_mut().resource_mut::<Assets<Image>>().add(target)
    });
    let path = args.screenshot.clone().unwrap_or_else(|| format!("{name}.png").into());
    app.insert_resource(Canvas { image })
        .insert_resource(Session { frame: 0, frames: args.frames, path, draws, stride: 1, tries: 0 })
        .insert_resource(TimeUpdateStrategy::FixedTimesteps(1))
        .add_plugins(ScheduleRunnerPlugin::run_loop(core::time::Duration::ZERO))
        .add_systems(Last, drive);
}

/// Ticks that are run for each picture, but for the last ones: who cannot look needs no more.
const STRIDE: u32 = 10;

/// Counts frames, saves the last one, prints the metrics and ends. A frame is one tick, however long drawing takes.
fn drive(
    mut session: ResMut<Session>,
    canvas: Res<Canvas>,
    mut time: ResMut<Time<Virtual>>,
    mut commands: Commands,
) {
    session.frame += session.stride;
    session.stride = if session.frame + 3 * STRIDE < session.frames { STRIDE } else { 1 };
    commands.insert_resource(TimeUpdateStrategy::FixedTimesteps(session.stride));
    // The first update runs no tick.
    if session.frame <= session.frames {
        return;
    }
    time.pause();
    if session.draws {
        // Asked again while frames come out blank, as the first few do.
        let late = session.frame - session.frames;
        if session.tries != u32::MAX && late % 4 == 1 {
            let Some(image) = canvas.image.clone() else { return };
            commands.spawn(Screenshot::image(image)).observe(save);
        }
    } else {
        commands.queue(finish);
    }
}

fn save(captured: On<ScreenshotCaptured>, mut session: ResMut<Session>, mut commands: Commands) {
    if session.tries == u32::MAX {
        return;
    }
    session.tries += 1;
    let blank = captured.image.data.as_ref().is_none_or(|data| data.iter().all(|&byte| byte == 0));
    if blank && session.tries < 20 {
        return;
    }
    session.tries = u32::MAX;
    let saved = captured
        .image
        .clone()
        .try_into_dynamic()
        .map_err(|error| error.to_string())
        .and_then(|image| image.to_rgb8().save(&session.path).map_err(|error| error.to_string()));
    match saved {
        Ok(()) => {
            say(&format!("saved {}", session.path.display()));
            commands.queue(finish);
        }
        Err(error) => {
            eprintln!("cannot save {}: {error}", session.path.display());
            commands.write_message(AppExit::from_code(2));
        }
    }
}

/// Prints a line; who reads it may have gone away.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn finish(world: &mut World) {
    let line = super::help::metrics_line(world);
    say(&line);
    if let Some(&Summary(summary)) = world.get_resource() {
        say(&summary(world));
    }
    world.write_message(AppExit::Success);
}
