//! [`Runner::load`]: the current load of a Runner.

use std::sync::Arc;

use crate::Runner;

/// The current load of a Runner and its clones. See [`Runner::load`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunnerLoad {
    /// The number of active runs, detached ones included.
    pub active: usize,
    /// The number of active runs that are detached.
    pub detached: usize,
    /// The number of runs that wait for a busy session, see [`RunRequest::queue`](crate::RunRequest::queue).
    pub queued: usize,
    /// The number of deadlines in memory: the deadlines of this Runner's questions and sleeps, and near ones of other processes.
    pub deadlines: usize,
}

impl Runner {
    /// Returns the current load of this Runner and its clones, for gauges of a metrics system. The call only reads
    /// memory, and its cost grows with the number of active runs.
    ///
    /// ADK: none.
    #[must_use]
    pub fn load(&self) -> RunnerLoad {
        let mut load = RunnerLoad { deadlines: self.parts.timers.shared.len(), ..RunnerLoad::default() };
        self.parts.active.each(|run| match run.key() {
            Some(_) => {
                load.active += 1;
                load.detached += usize::from(run.is_detached());
            }
            None => load.queued += usize::from(run.is_queued()),
        });
        load
    }

    /// Returns a function that reads the [`load`](Self::load) of this Runner and its clones but does not keep the
    /// Runner alive. Use it with a metrics system that reads gauges in its own thread. The function returns `None`
    /// after the last clone is dropped.
    ///
    /// ADK: none.
    pub fn load_reader(&self) -> impl Fn() -> Option<RunnerLoad> + Send + Sync + 'static {
        let parts = Arc::downgrade(&self.parts);
        move || parts.upgrade().map(|parts| Runner { parts }.load())
    }
}
