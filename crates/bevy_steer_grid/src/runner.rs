//! Who does the work of a build: one thread or several.

/// Runs jobs, on one thread or on several. The grid is the same to the bit, whatever the runner.
///
/// ```
/// use std::sync::Mutex;
///
/// use bevy_steer_grid::{Grid, Item, Layout, Runner};
///
/// /// On so many threads of their own; a game would use the pool that it has.
/// struct Threads(usize);
///
/// impl Runner for Threads {
///     fn parts(&self) -> usize {
///         self.0
///     }
///
///     fn run<J: Send>(&self, jobs: impl Iterator<Item = J> + Send, job: impl Fn(J) + Sync) {
///         let jobs = Mutex::new(jobs);
///         std::thread::scope(|scope| {
///             for _ in 0..self.0 {
///                 scope.spawn(|| loop {
///                     let next = jobs.lock().unwrap().next();
///                     let Some(next) = next else { break };
///                     job(next);
///                 });
///             }
///         });
///     }
/// }
///
/// let items = vec![Item::default(); 100];
/// let mut grid = Grid::default();
/// grid.build_on(&Threads(2), Layout::Planar, 6.0, &items);
/// assert_eq!(grid.len(), 100);
/// ```
pub trait Runner: Sync {
    /// Into about how many jobs work is worth dividing; 1 keeps everything on this thread.
    fn parts(&self) -> usize;

    /// Calls `job` with each of `jobs`, in any order and possibly at the same time, and returns when all are done.
    fn run<J: Send>(&self, jobs: impl Iterator<Item = J> + Send, job: impl Fn(J) + Sync);
}

/// Everything on this thread, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Serial;

impl Runner for Serial {
    fn parts(&self) -> usize {
        1
    }

    fn run<J: Send>(&self, jobs: impl Iterator<Item = J> + Send, job: impl Fn(J) + Sync) {
        jobs.for_each(job);
    }
}
