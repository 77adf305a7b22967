//! What is measured: ticks, frames, and what the CPU does for drawing.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use bevy::{prelude::*, tasks::ComputeTaskPool};
use bevy_steer::{SteeringStep, prelude::*};

use super::{crowd::Crowd, draw::Drawing};

/// Length of the plot.
pub const SHOWN: Duration = Duration::from_secs(10);
/// What medians are over.
const RECENT: Duration = Duration::from_secs(1);

/// Milliseconds, and when they were measured.
#[derive(Default)]
pub struct Series(VecDeque<(Instant, f32)>);

impl Series {
    fn push(&mut self, ms: f32) {
        let now = Instant::now();
        while self.0.front().is_some_and(|&(at, _)| now.duration_since(at) > SHOWN) {
            self.0.pop_front();
        }
        self.0.push_back((now, ms));
    }

    fn recent(&self) -> impl Iterator<Item = f32> {
        let now = Instant::now();
        self.0.iter().rev().take_while(move |(at, _)| now.duration_since(*at) < RECENT).map(|&(_, ms)| ms)
    }

    /// Median over the last second; `None` when nothing was measured in it.
    pub fn median(&self) -> Option<f32> {
        quantile(self.recent().collect(), 0.5)
    }

    /// How many in the last second.
    pub fn per_second(&self) -> usize {
        self.recent().count()
    }

    /// The longest of each slice of `slice` seconds, as points (seconds from now, ms).
    pub fn longest(&self, slice: f64) -> Vec<[f64; 2]> {
        let now = Instant::now();
        let mut points: Vec<[f64; 2]> = Vec::new();
        for &(at, ms) in &self.0 {
            let x = -(now.duration_since(at).as_secs_f64() / slice).floor() * slice;
            match points.last_mut().filter(|point| point[0] == x) {
                Some(point) => point[1] = point[1].max(f64::from(ms)),
                None => points.push([x, ms.into()]),
            }
        }
        points
    }
}

/// The value below which `share` of them lie.
fn quantile(mut values: Vec<f32>, share: f32) -> Option<f32> {
    values.sort_unstable_by(f32::total_cmp);
    let at = (values.len() as f32 * share) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied()
}

/// What was measured.
#[derive(Resource)]
pub struct Meter {
    /// From the start of `Sense` to the end of `Integrate`.
    pub ticks: Series,
    /// From one frame's start to the next.
    pub frames: Series,
    /// Writing the instance buffer.
    pub draws: Series,
    tick_start: Instant,
    /// What the report is about; filled only where there is one.
    report: Option<Report>,
}

#[derive(Default)]
struct Report {
    /// Ticks while nothing is drawn, and while the crowd is.
    ticks: [Vec<f32>; 2],
    /// Frames of one tick, likewise.
    frames: [Vec<f32>; 2],
    draws: Vec<f32>,
    /// Tick and drawing of the last frame, and how many frames it has been like that.
    last: (u64, bool, u32),
}

/// Counts everything; `report` keeps what the line at the end is about.
pub fn plugin(app: &mut App, report: bool) {
    app.insert_resource(Meter {
        ticks: default(),
        frames: default(),
        draws: default(),
        tick_start: Instant::now(),
        report: report.then(default),
    })
    .add_systems(First, frame)
    .add_systems(
        FixedUpdate,
        (
            (|mut meter: ResMut<Meter>| meter.tick_start = Instant::now()).before(SteeringSystems::Sense),
            end_tick.after(SteeringSystems::Integrate),
        ),
    );
}

fn end_tick(mut meter: ResMut<Meter>, drawing: Res<Drawing>) {
    let ms = meter.tick_start.elapsed().as_secs_f32() * 1e3;
    meter.ticks.push(ms);
    if let Some(report) = &mut meter.report {
        report.ticks[usize::from(drawing.on)].push(ms);
    }
}

fn frame(
    mut meter: ResMut<Meter>,
    drawing: Res<Drawing>,
    step: Res<SteeringStep>,
    mut start: Local<Option<Instant>>,
) {
    let now = Instant::now();
    let Some(before) = start.replace(now) else { return };
    let ms = now.duration_since(before).as_secs_f32() * 1e3;
    let meter = &mut *meter;
    meter.frames.push(ms);
    if drawing.on {
        meter.draws.push(drawing.cost_ms());
    }
    if let Some(report) = &mut meter.report {
        let (tick, on, same) = report.last;
        let same = if on == drawing.on { same + 1 } else { 0 };
        // Rendering lags a frame or two behind.
        if step.tick == tick + 1 && same > 2 {
            report.frames[usize::from(on)].push(ms);
            if on {
                report.draws.push(drawing.cost_ms());
            }
        }
        report.last = (step.tick, drawing.on, same);
    }
}

/// Ticks left out at the start: buffers grow, and the agents find their distances.
const WARM_UP: usize = 20;

/// One line about the whole run. Software that stands in for a graphics card takes the processor from the ticks, so those
/// while nothing is drawn stand first.
pub fn report(world: &mut World) -> String {
    let agents = world.resource::<Crowd>().wanted;
    let Some(report) = world.resource_mut::<Meter>().report.take() else { return String::new() };
    let [mut ticks, drawn_ticks] = report.ticks;
    ticks.drain(..WARM_UP.min(ticks.len() / 2));
    let [frames, drawn_frames] = report.frames;
    let ms = |values: &[f32], share| {
        quantile(values.to_vec(), share).map(|ms| (f64::from(ms) * 100.0).round() / 100.0)
    };
    serde_json::json!({
        "agents": agents,
        "threads": ComputeTaskPool::get().thread_num(),
        "tick_median_ms": ms(&ticks, 0.5),
        "tick_p95_ms": ms(&ticks, 0.95),
        "tick_while_drawing_ms": ms(&drawn_ticks, 0.5),
        "frame_without_drawing_ms": ms(&frames, 0.5),
        "frame_ms": ms(&drawn_frames, 0.5),
        "draw_cpu_ms": ms(&report.draws, 0.5),
    })
    .to_string()
}
