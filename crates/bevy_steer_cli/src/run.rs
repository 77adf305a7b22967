//! The app without a window, and a run of it.

use std::{
    fs,
    io::{ErrorKind, IsTerminal},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bevy::{
    app::{FixedMain, TaskPoolOptions, TaskPoolPlugin},
    ecs::reflect::ReflectComponent,
    prelude::*,
    reflect::{ReflectFromReflect, TypeRegistration},
    time::TimePlugin,
};
use bevy_steer::{SteeringMetrics, SteeringMetricsPlugin, SteeringPlugins, SteeringSeed, measure};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{
    error::Error,
    scene::{Scene, load_scene},
    trace::Trace,
};

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// The scene file.
    pub scene: PathBuf,
    /// Number of ticks; 600 by default.
    pub ticks: u64,
    /// Length of a tick, above 0; 1/60 s by default.
    pub dt: Duration,
    /// Instead of the scene's [`SteeringSeed`].
    pub seed: Option<u64>,
    /// Threads of the compute pool; all cores by default. The first app of a process decides. The result does not depend
    /// on it.
    pub threads: Option<usize>,
    /// Where to write a trace.
    pub trace: Option<PathBuf>,
    /// Whether to show progress on standard error, if that is a terminal.
    pub progress: bool,
}

impl RunOptions {
    /// A run of `scene` with defaults for the rest.
    pub fn new(scene: impl Into<PathBuf>) -> Self {
        Self {
            scene: scene.into(),
            ticks: 600,
            dt: Duration::from_secs_f64(1.0 / 60.0),
            seed: None,
            threads: None,
            trace: None,
            progress: false,
        }
    }
}

/// The end of a run.
pub struct Outcome {
    /// The app as it is now.
    pub app: App,
    /// The scene's entities.
    pub scene: Scene,
    /// How the agents move.
    pub metrics: SteeringMetrics,
}

/// An app that simulates without a window, its fixed clock advanced by [`tick`] alone.
///
/// `dt` must be above 0. All of `bevy_steer`'s types, `Transform`, `Name` and the hierarchy's are registered.
pub fn new_app(dt: Duration, threads: Option<usize>) -> App {
    let mut app = bare_app(dt, threads);
    app.add_plugins(SteeringMetricsPlugin)
        .register_type::<Name>()
        .register_type::<ChildOf>()
        .register_type::<Children>();
    read_transforms_strictly(&mut app);
    finish(&mut app);
    app
}

/// Nothing but time, transforms and steering; to be [finished](finish).
pub(crate) fn bare_app(dt: Duration, threads: Option<usize>) -> App {
    let threads = threads.or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    let mut options = TaskPoolOptions::default();
    for (policy, count) in
        [(&mut options.io, 1), (&mut options.async_compute, 1), (&mut options.compute, threads)]
    {
        (policy.min_threads, policy.max_threads) = (count, count);
    }
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin { task_pool_options: options }, TimePlugin, TransformPlugin))
        .add_plugins(SteeringPlugins::default())
        .insert_resource(Time::<Fixed>::from_duration(dt));
    app
}

/// Readies an app for its first tick.
pub(crate) fn finish(app: &mut App) {
    app.finish();
    app.cleanup();
    app.update();
}

/// `Transform` read by reflection, not by serde, so that a misspelt field is an error instead of a default.
fn read_transforms_strictly(app: &mut App) {
    let mut registration = TypeRegistration::of::<Transform>();
    registration.register_type_data::<ReflectComponent, Transform>();
    registration.register_type_data::<ReflectDefault, Transform>();
    registration.register_type_data::<ReflectFromReflect, Transform>();
    app.register_type::<Vec3>().register_type::<Quat>();
    app.world().resource::<AppTypeRegistry>().write().overwrite_registration(registration);
}

/// One fixed tick, without a frame.
pub fn tick(app: &mut App) {
    let world = app.world_mut();
    let dt = world.resource::<Time<Fixed>>().timestep();
    world.resource_mut::<Time<Fixed>>().advance_by(dt);
    let now = world.resource::<Time<Fixed>>().as_generic();
    *world.resource_mut::<Time>() = now;
    world.run_schedule(FixedMain);
    // As at the end of a frame; what was removed would be remembered for ever.
    world.clear_trackers();
}

/// Loads a scene and runs it.
///
/// # Errors
///
/// [`Error`]; nothing is written unless the scene is right.
pub fn run(options: &RunOptions) -> Result<Outcome, Error> {
    let mut app = new_app(options.dt, options.threads);
    let scene = load_scene(&mut app, &options.scene)?;
    if let Some(seed) = options.seed {
        app.insert_resource(SteeringSeed(seed));
    }
    let mut trace = match &options.trace {
        Some(path) => Some((path, open_trace(path, &options.scene)?)),
        None => None,
    };
    let failed = |path: &Path, source| Error::Trace { path: path.to_owned(), source };
    let progress = Progress::new(options.ticks, options.progress);
    for now in 0..=options.ticks {
        if now > 0 {
            tick(&mut app);
            progress.at(now);
        }
        if let Some((path, trace)) = &mut trace {
            let seconds = options.dt.as_nanos() as f64 * now as f64 / 1e9;
            match trace.write(app.world(), &scene, now, seconds) {
                // A pipe whose reader has had enough, as `head` does.
                Err(e) if e.kind() == ErrorKind::BrokenPipe => break,
                written => written.map_err(|e| failed(path, e))?,
            }
        }
    }
    progress.end();
    if let Some((path, trace)) = trace {
        match trace.finish() {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {}
            finished => drop(finished.map_err(|e| failed(path, e))?),
        }
    }
    let metrics = measure(app.world_mut());
    Ok(Outcome { app, scene, metrics })
}

fn open_trace(path: &Path, scene: &Path) -> Result<Trace<std::io::BufWriter<fs::File>>, Error> {
    if let (Ok(a), Ok(b)) = (fs::canonicalize(path), fs::canonicalize(scene))
        && a == b
    {
        return Err(Error::TraceIsScene { path: path.to_owned() });
    }
    Trace::create(path).map_err(|source| Error::Trace { path: path.to_owned(), source })
}

/// The metrics as one JSON object. The hash is a string of 16 hexadecimal digits, since many readers of JSON keep only
/// 53 bits of a number.
///
/// # Errors
///
/// Those of the serializer; there are none to expect.
pub fn metrics_json(metrics: &SteeringMetrics) -> serde_json::Result<String> {
    /// The keys in their documented order, floats in the shortest form that reads back.
    #[derive(serde::Serialize)]
    struct Json {
        agents: usize,
        ticks: u64,
        mean_speed: f32,
        max_speed: f32,
        polarization: f32,
        min_separation: Option<f32>,
        overlaps: usize,
        arrived: usize,
        heading_reversals: u64,
        non_finite: usize,
        state_hash: String,
    }
    serde_json::to_string(&Json {
        agents: metrics.agents,
        ticks: metrics.ticks,
        mean_speed: metrics.mean_speed,
        max_speed: metrics.max_speed,
        polarization: metrics.polarization,
        min_separation: metrics.min_separation,
        overlaps: metrics.overlaps,
        arrived: metrics.arrived,
        heading_reversals: metrics.heading_reversals,
        non_finite: metrics.non_finite,
        state_hash: format!("{:016x}", metrics.state_hash),
    })
}

/// A bar on the terminal, from the second second on.
pub(crate) struct Progress {
    bar: ProgressBar,
    start: Instant,
    shown: bool,
}

impl Progress {
    pub(crate) fn new(ticks: u64, wanted: bool) -> Self {
        let shown = wanted && std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(Some(ticks), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} ticks, {per_sec}, {eta} left") {
            bar.set_style(style);
        }
        Self { bar, start: Instant::now(), shown }
    }

    pub(crate) fn at(&self, tick: u64) {
        if self.shown {
            if self.bar.is_hidden() && self.start.elapsed() > Duration::from_secs(1) {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            self.bar.set_position(tick);
        }
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
