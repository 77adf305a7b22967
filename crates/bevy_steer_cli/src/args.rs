//! The command line.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use clap::{Args, Parser, Subcommand};

use crate::{
    bench::{BenchOptions, bench},
    error::Error,
    run::{Outcome, RunOptions, metrics_json, new_app, run},
    scene::load_scene,
};

/// Runs `bevy_steer` scenes without a window.
#[derive(Debug, Parser)]
#[command(name = "steer", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scene, write a trace, print metrics
    Run(Run),
    /// Read a scene and name everything that is wrong in it
    Check(Check),
    /// Measure what a tick of a flock costs, beside the bare loop over the same arrays
    Bench(Bench),
}

/// Arguments of `steer run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The scene, a Bevy .scn.ron file
    pub scene: PathBuf,
    /// Number of ticks
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(..=MOST_TICKS), allow_negative_numbers = true)]
    pub ticks: u64,
    /// Ticks per second [default: 60]
    #[arg(long, value_parser = parse_hz, conflicts_with = "dt", allow_negative_numbers = true)]
    pub hz: Option<Duration>,
    /// Length of a tick in seconds, instead of --hz
    #[arg(long, value_parser = parse_dt, allow_negative_numbers = true)]
    pub dt: Option<Duration>,
    /// Seed of all random draws, instead of the scene's
    #[arg(long, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Threads [default: all cores]; the result is the same
    #[arg(long, value_parser = parse_threads, allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Write a CSV row per agent and tick
    #[arg(long, value_name = "OUT.csv")]
    pub trace: Option<PathBuf>,
    /// Print metrics as one JSON object
    #[arg(long)]
    pub metrics: bool,
}

/// Arguments of `steer check`.
#[derive(Debug, Args)]
pub struct Check {
    /// The scene, a Bevy .scn.ron file
    pub scene: PathBuf,
}

/// Arguments of `steer bench`.
#[derive(Debug, Args)]
pub struct Bench {
    /// Number of agents
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=MOST_AGENTS), allow_negative_numbers = true)]
    pub agents: u64,
    /// Ticks to measure
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=MOST_TICKS), allow_negative_numbers = true)]
    pub ticks: u64,
    /// Threads [default: all cores]
    #[arg(long, value_parser = parse_threads, allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// In free flight instead of in a plane
    #[arg(long)]
    pub space: bool,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
}

/// More would not fit the memory of most machines.
const MOST_AGENTS: u64 = 100_000_000;
/// More would run for years.
const MOST_TICKS: u64 = 1_000_000_000;
const MOST_THREADS: usize = 1024;
/// Longest tick in seconds.
const LONGEST: f64 = 3600.0;

fn parse_dt(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    // NaN fails this too.
    if !(seconds > 0.0 && seconds <= LONGEST) {
        return Err(format!("a tick must be longer than 0 s and at most {LONGEST} s"));
    }
    let dt = Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())?;
    if dt.is_zero() { Err("a tick must be at least 1 ns".to_owned()) } else { Ok(dt) }
}

fn parse_hz(text: &str) -> Result<Duration, String> {
    let hz: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if !(1.0 / LONGEST..=1e9).contains(&hz) {
        return Err("must be ticks per second, above 0 and at most 1000000000".to_owned());
    }
    Ok(Duration::from_secs_f64(1.0 / hz).max(Duration::from_nanos(1)))
}

fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads) if (1..=MOST_THREADS).contains(&threads) => Ok(threads),
        _ => Err(format!("must be from 1 to {MOST_THREADS}")),
    }
}

/// Does what the command line says. 0 when all is well, 2 with one line on standard error when something is wrong.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let log = env_logger::Env::default().default_filter_or("warn");
    // A logger that is there already serves as well.
    let _ = env_logger::Builder::from_env(log).format_target(false).try_init();
    let result = match &cli.command {
        Command::Run(args) => run_command(args),
        Command::Check(args) => check_command(args),
        Command::Bench(args) => bench_command(args),
    };
    let Err(error) = result else { return ExitCode::SUCCESS };
    let lines = match &cli.command {
        Command::Run(_) | Command::Bench(_) => vec![error.to_string()],
        Command::Check(_) => error.lines(),
    };
    for line in lines {
        // Nobody is left to be told if this fails.
        let _ = writeln!(io::stderr(), "{line}");
    }
    ExitCode::from(2)
}

fn run_command(args: &Run) -> Result<(), Error> {
    let defaults = RunOptions::new(&args.scene);
    let options = RunOptions {
        ticks: args.ticks,
        dt: args.dt.or(args.hz).unwrap_or(defaults.dt),
        seed: args.seed,
        threads: args.threads,
        trace: args.trace.clone(),
        progress: true,
        ..defaults
    };
    let Outcome { metrics, .. } = run(&options)?;
    if args.metrics {
        let json = metrics_json(&metrics).map_err(|e| Error::Output { source: e.into() })?;
        print(&json)
    } else {
        let seconds = options.dt.as_secs_f64() * options.ticks as f64;
        print(&format!(
            "{}: {} agents, {} ticks, {seconds:.3} s, state {:016x}",
            options.scene.display(),
            metrics.agents,
            metrics.ticks,
            metrics.state_hash
        ))
    }
}

fn check_command(args: &Check) -> Result<(), Error> {
    let mut app = new_app(RunOptions::new("").dt, Some(1));
    let scene = load_scene(&mut app, &args.scene)?;
    print(&format!("{}: {} agents, no faults found", args.scene.display(), scene.agents.len()))
}

fn bench_command(args: &Bench) -> Result<(), Error> {
    let report = bench(&BenchOptions {
        agents: args.agents as usize,
        ticks: args.ticks as usize,
        threads: args.threads,
        space: args.space,
        progress: true,
    });
    if args.json {
        print(&serde_json::to_string(&report).map_err(|e| Error::Output { source: e.into() })?)
    } else {
        print(&report.table())
    }
}

/// Prints a line. A reader that has gone away, as `head` does, is no error.
fn print(line: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(source) => Err(Error::Output { source }),
        Ok(()) => Ok(()),
    }
}
