//! Work on the compute pool.

use std::sync::{Mutex, PoisonError};

use bevy::tasks::ComputeTaskPool;
use bevy_steer_grid::Runner;

/// Agents that are handled in one go: enough to make the fetching of a job cheap, few enough to share out a few thousand.
pub(crate) const BATCH: usize = 512;

/// Runs jobs on Bevy's compute pool, or, below a threshold or where the pool has one thread, on this thread: how steering
/// works on all agents, and what builds a [`Grid`](bevy_steer_grid::Grid) of your own on the same threads.
#[derive(Debug, Clone, Copy)]
pub struct ComputeRunner {
    threads: usize,
}

impl ComputeRunner {
    /// For work on `agents` agents, parallel from `parallel_from` on.
    #[must_use]
    pub fn new(agents: usize, parallel_from: usize) -> Self {
        let parallel = agents >= parallel_from;
        let threads =
            if parallel { ComputeTaskPool::try_get().map_or(1, |pool| pool.thread_num()) } else { 1 };
        Self { threads: threads.max(1) }
    }
}

impl Runner for ComputeRunner {
    fn parts(&self) -> usize {
        self.threads
    }

    fn run<J: Send>(&self, mut jobs: impl Iterator<Item = J> + Send, job: impl Fn(J) + Sync) {
        match ComputeTaskPool::try_get() {
            Some(pool) if self.threads > 1 => {
                // One job is not worth waking anybody.
                let Some(first) = jobs.next() else { return };
                let Some(second) = jobs.next() else { return job(first) };
                let jobs = Mutex::new([first, second].into_iter().chain(jobs));
                // Each thread fetches jobs as it comes to them, so that no thread waits while there is work.
                let work = || {
                    loop {
                        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some(next) = next else { break };
                        job(next);
                    }
                };
                pool.scope(|scope| {
                    for _ in 1..self.threads {
                        scope.spawn(async { work() });
                    }
                    work();
                });
            }
            _ => jobs.for_each(job),
        }
    }
}
