//! `steer bench`: what a tick costs, beside the least that it could cost.

use std::time::{Duration, Instant};

use bevy::{prelude::*, utils::Parallel};
use bevy_steer::{
    AgentRng, ComputeRunner, SteeringId, SteeringSeed,
    grid::{Falloff, FlockKernel, FlockQuery, FlockSums, Grid, Item, Layout, Runner},
    prelude::*,
};
use serde::Serialize;
use stats_alloc::{INSTRUMENTED_SYSTEM, Stats};

use crate::run::{Progress, bare_app, finish, tick};

/// What to measure: a flock of agents with the default [`FlockMember`], about 24 flockmates in reach of each.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchOptions {
    /// Number of agents.
    pub agents: usize,
    /// Ticks that are measured, after a sixth as many to warm up.
    pub ticks: usize,
    /// Threads of the compute pool; all cores by default.
    pub threads: Option<usize>,
    /// In free flight instead of in a plane.
    pub space: bool,
    /// Whether to show progress on standard error, if that is a terminal.
    pub progress: bool,
}

/// What was measured. Times are medians over the ticks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchReport {
    /// Number of agents.
    pub agents: usize,
    /// Threads of the compute pool.
    pub threads: usize,
    /// Mean number of flockmates in reach.
    pub neighbors_per_agent: f64,
    /// Milliseconds of a whole tick.
    pub tick_ms: f64,
    /// The same for one agent, in nanoseconds.
    pub ns_per_agent: f64,
    /// Milliseconds of the bare loop: build the grid and compute the flock sums, from arrays to an array, on the same
    /// threads.
    pub bare_ms: f64,
    /// `tick_ms / bare_ms`.
    pub ratio_to_bare: f64,
    /// Heap allocations of a tick.
    pub allocs_per_tick: f64,
    /// Heap memory that the world grew by, for each agent.
    pub bytes_per_agent: f64,
    /// The parts of a tick, in order.
    pub stages: Vec<Stage>,
}

/// A part of a tick.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stage {
    /// What it does.
    pub name: &'static str,
    /// Milliseconds.
    pub ms: f64,
    /// Nanoseconds for one agent.
    pub ns_per_agent: f64,
    /// Share of the bare loop's time.
    pub ratio_to_bare: f64,
    /// Heap allocations of a tick.
    pub allocs_per_tick: f64,
}

/// A moment in a tick.
#[derive(Debug, Clone, Copy)]
struct Mark {
    time: Instant,
    allocations: usize,
}

impl Mark {
    fn now() -> Self {
        Self { time: Instant::now(), allocations: allocations() }
    }
}

const STAGES: [&str; 4] = ["sense", "steer: FlockMember", "avoid", "integrate"];

/// The beginning of the first stage and the ends of all.
#[derive(Resource)]
struct Marks([Mark; STAGES.len() + 1]);

fn mark<const AT: usize>(mut marks: ResMut<Marks>) {
    marks.0[AT] = Mark::now();
}

/// Allocations so far; 0 for ever unless the binary counts them.
fn allocations() -> usize {
    let Stats { allocations, reallocations, .. } = INSTRUMENTED_SYSTEM.stats();
    allocations + reallocations
}

fn bytes() -> usize {
    let stats = INSTRUMENTED_SYSTEM.stats();
    stats.bytes_allocated.wrapping_sub(stats.bytes_deallocated)
}

/// Measures. The bare loop runs before each tick, on the agents as they are then.
#[must_use]
pub fn bench(options: &BenchOptions) -> BenchReport {
    let mut app = bare_app(Duration::from_secs_f64(1.0 / 60.0), options.threads);
    app.insert_resource(Marks([Mark::now(); STAGES.len() + 1]));
    use SteeringSystems::{Avoid, Integrate, Sense, Steer};
    app.add_systems(
        FixedUpdate,
        (
            mark::<0>.before(Sense),
            mark::<1>.after(Sense).before(Steer),
            mark::<2>.after(Steer).before(Avoid),
            mark::<3>.after(Avoid).before(Integrate),
            mark::<4>.after(Integrate),
        ),
    );
    if options.space {
        app.world_mut().resource_mut::<SteeringDefaults>().plane = SteeringPlane::Space;
    }
    finish(&mut app);
    tick(&mut app);

    let before = bytes();
    spawn(app.world_mut(), options);
    let mut bare = Bare::default();
    let mut agents = app.world_mut().query::<(&SteeringId, &Transform, &SteeringVelocity)>();
    let warm_up = options.ticks.div_ceil(6).max(3);
    let progress = Progress::new((warm_up + options.ticks) as u64, options.progress);
    let mut samples = Samples::default();
    let mut bytes_per_agent = 0.0;
    for n in 0..warm_up + options.ticks {
        if n + 1 == warm_up {
            let own = bare.bytes();
            bytes_per_agent = (bytes() - before - own) as f64 / options.agents as f64;
        }
        bare.look(agents.iter(app.world()), options.space);
        let bare_ms = bare.run();
        let start = Mark::now();
        tick(&mut app);
        let end = Mark::now();
        if n >= warm_up {
            samples.add(bare_ms, start, end, &app.world().resource::<Marks>().0);
        }
        progress.at(n as u64 + 1);
    }
    progress.end();
    samples.report(options, bare.neighbors(), bytes_per_agent)
}

/// Agents at random places, in no spatial order, with random velocities.
fn spawn(world: &mut World, options: &BenchOptions) {
    let n = options.agents;
    let reach = f64::from(FlockMember::default().reach());
    let mut rng = AgentRng::seeded(SteeringSeed(1), SteeringId(1), 1);
    // 24 others in a disc or ball of this radius.
    let (volume, plane) = if options.space {
        (n as f64 * 4.0 / 3.0 * core::f64::consts::PI * reach.powi(3) / 24.0, SteeringPlane::Space)
    } else {
        (n as f64 * core::f64::consts::PI * reach.powi(2) / 24.0, SteeringPlane::Xy)
    };
    let half = (if options.space { volume.cbrt() } else { volume.sqrt() } / 2.0) as f32;
    let flock: Vec<_> = (0..n)
        .map(|_| {
            let mut point = || plane.project(Vec3::new(rng.signed(), rng.signed(), rng.signed()));
            let (position, velocity) = (point() * half, point() * 5.0);
            (FlockMember::default(), SteeringVelocity(velocity), Transform::from_translation(position))
        })
        .collect();
    world.spawn_batch(flock);
}

/// The bare loop and its arrays.
#[derive(Default)]
struct Bare {
    items: Vec<Item>,
    grid: Grid,
    sums: Vec<FlockSums>,
    kernels: Parallel<FlockKernel>,
    layout: Layout,
}

impl Bare {
    /// Takes over the agents as they are now.
    fn look<'w>(
        &mut self,
        agents: impl Iterator<Item = (&'w SteeringId, &'w Transform, &'w SteeringVelocity)>,
        space: bool,
    ) {
        self.layout = if space { Layout::Spatial } else { Layout::Planar };
        self.items.clear();
        self.items.extend(agents.enumerate().map(|(n, (id, transform, velocity))| Item {
            position: transform.translation,
            velocity: velocity.0,
            id: id.0,
            radius: 0.5,
            tag: n as u32,
            ..Item::default()
        }));
        self.sums.resize(self.items.len(), FlockSums::default());
    }

    /// Builds the grid and computes all sums; in milliseconds.
    fn run(&mut self) -> f64 {
        const STRETCH: usize = 1024;
        let start = Instant::now();
        let query = FlockQuery::default();
        let runner = ComputeRunner::new(self.items.len(), SteeringDefaults::default().parallel_from);
        self.grid.build_on(&runner, self.layout, FlockMember::default().reach(), &self.items);
        let (grid, kernels) = (&self.grid, &self.kernels);
        runner.run(self.sums.chunks_mut(STRETCH).enumerate(), |(stretch, sums)| {
            let first = stretch * STRETCH;
            grid.for_each_flock_sums(
                first..first + sums.len(),
                &mut kernels.borrow_local_mut(),
                |_| Some(&query),
                |entry, answer| sums[entry - first] = *answer,
            );
        });
        start.elapsed().as_secs_f64() * 1e3
    }

    fn bytes(&self) -> usize {
        self.grid.memory_bytes()
            + self.items.capacity() * size_of::<Item>()
            + self.sums.capacity() * size_of::<FlockSums>()
    }

    /// Mean number of flockmates in reach.
    fn neighbors(&self) -> f64 {
        let query = FlockQuery { falloff: Falloff::Hard, ..FlockQuery::default() };
        let (mut kernel, mut sum) = (FlockKernel::default(), 0.0);
        let all = 0..self.grid.len();
        self.grid.for_each_flock_sums(
            all,
            &mut kernel,
            |_| Some(&query),
            |_, answer| {
                sum += f64::from(answer.cohesion_weight);
            },
        );
        sum / self.grid.len().max(1) as f64
    }
}

/// All measurements.
#[derive(Default)]
struct Samples {
    bare: Vec<f64>,
    tick: Vec<f64>,
    allocations: Vec<f64>,
    stages: [(Vec<f64>, Vec<f64>); STAGES.len()],
}

impl Samples {
    fn add(&mut self, bare_ms: f64, start: Mark, end: Mark, marks: &[Mark; STAGES.len() + 1]) {
        let between = |a: Mark, b: Mark| {
            ((b.time - a.time).as_secs_f64() * 1e3, (b.allocations - a.allocations) as f64)
        };
        self.bare.push(bare_ms);
        let (ms, allocations) = between(start, end);
        self.tick.push(ms);
        self.allocations.push(allocations);
        for (stage, ends) in self.stages.iter_mut().zip(marks.windows(2)) {
            let (ms, allocations) = between(ends[0], ends[1]);
            stage.0.push(ms);
            stage.1.push(allocations);
        }
    }

    fn report(self, options: &BenchOptions, neighbors: f64, bytes_per_agent: f64) -> BenchReport {
        let (bare_ms, tick_ms) = (median(self.bare), median(self.tick));
        let ns = |ms: f64| ms * 1e6 / options.agents as f64;
        let stages = STAGES.into_iter().zip(self.stages).map(|(name, (ms, allocations))| {
            let ms = median(ms);
            Stage {
                name,
                ms,
                ns_per_agent: ns(ms),
                ratio_to_bare: ms / bare_ms,
                allocs_per_tick: median(allocations),
            }
        });
        BenchReport {
            agents: options.agents,
            threads: bevy::tasks::ComputeTaskPool::get().thread_num(),
            neighbors_per_agent: neighbors,
            tick_ms,
            ns_per_agent: ns(tick_ms),
            bare_ms,
            ratio_to_bare: tick_ms / bare_ms,
            allocs_per_tick: median(self.allocations),
            bytes_per_agent,
            stages: stages.collect(),
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl BenchReport {
    /// For people.
    #[must_use]
    pub fn table(&self) -> String {
        let mut lines = vec![format!(
            "{} agents, {} threads, {:.1} neighbours each; medians\n\n{:20} {:>9} {:>9} {:>9} {:>8}",
            self.agents, self.threads, self.neighbors_per_agent, "", "ms", "ns/agent", "x bare", "allocs"
        )];
        let mut line = |name: &str, ms: f64, allocs: Option<f64>| {
            let (ns, ratio) = (ms * 1e6 / self.agents as f64, ms / self.bare_ms);
            let allocs = allocs.map_or(String::new(), |n| n.to_string());
            lines.push(format!("{name:20} {ms:9.3} {ns:9.1} {ratio:9.2} {allocs:>8}"));
        };
        for stage in &self.stages {
            line(stage.name, stage.ms, Some(stage.allocs_per_tick));
        }
        line("whole tick", self.tick_ms, Some(self.allocs_per_tick));
        line("bare loop", self.bare_ms, None);
        lines.push(format!("\n{:.0} bytes of heap for each agent", self.bytes_per_agent));
        lines.join("\n")
    }
}
