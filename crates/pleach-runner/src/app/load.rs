//! [`Runner::load`]: how much a Runner has to do.

use std::sync::Arc;

use crate::Runner;

/// How much a Runner and its clones have to do at the moment. See [`Runner::load`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunnerLoad {
    /// The runs that work, detached ones included.
    pub active: usize,
    /// The detached ones among them.
    pub detached: usize,
    /// The runs that wait for a busy session, see [`RunRequest::queue`](crate::RunRequest::queue).
    pub queued: usize,
    /// The deadlines that are kept in memory: those of this Runner's questions and sleeps, and near ones of other processes.
    pub deadlines: usize,
}

impl Runner {
    /// Returns how much this Runner and its clones have to do at the moment, for gauges of a metrics system. It reads memory only,
    /// and costs a look at each active run.
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

    /// Returns a function that reads the [`load`](Self::load) of this Runner and its clones without keeping them alive, for a metrics system
    /// that reads gauges from a thread of its own. `None` when the last clone is gone.
    ///
    /// ADK: none.
    pub fn load_reader(&self) -> impl Fn() -> Option<RunnerLoad> + Send + Sync + 'static {
        let parts = Arc::downgrade(&self.parts);
        move || parts.upgrade().map(|parts| Runner { parts }.load())
    }
}
