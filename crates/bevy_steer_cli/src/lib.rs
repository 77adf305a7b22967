//! Runs `bevy_steer` scenes without a window: the library behind the `steer` binary, for tests and tools.
//!
//! ```no_run
//! use bevy_steer_cli::{RunOptions, run};
//!
//! let outcome = run(&RunOptions { ticks: 60, ..RunOptions::new("flock.scn.ron") })?;
//! println!("{} agents, hash {:016x}", outcome.metrics.agents, outcome.metrics.state_hash);
//! # Ok::<(), bevy_steer_cli::Error>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `args` | the command line |
//! | `ron_text` | a scene file cut into pieces |
//! | `scene` | reading a scene file, finding what is wrong in it, spawning it |
//! | `run` | the app without a window, its ticks, metrics |
//! | `bench` | what a tick costs |
//! | `trace` | the CSV file of `--trace` |
//! | `error` | everything that can go wrong, and where |

pub mod args;
mod bench;
mod error;
mod ron_text;
mod run;
mod scene;
mod trace;

pub use crate::{
    bench::{BenchOptions, BenchReport, Stage, bench},
    error::{Error, Place, Problem, SceneFault},
    run::{Outcome, RunOptions, metrics_json, new_app, run, tick},
    scene::{Scene, SceneAgent, load_scene, read_scene},
    trace::Trace,
};
