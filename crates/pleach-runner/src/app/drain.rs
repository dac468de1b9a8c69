//! Drains a Runner before its process ends.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, select};
use pleach_core::{InvocationId, SessionKey};

use crate::run::state::RunState;
use crate::{RunEnd, Runner};

/// The treatment of runs that are still active at the deadline of a drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overdue {
    /// Stops the runs where they are. Finished nodes are stored, and [`Runner::resume`] executes the rest in a later
    /// process. This suits a redeployment.
    #[default]
    Cut,
    /// Aborts the runs: their open calls are answered and they cannot be resumed.
    // R1130
    Abort,
}

/// The options of [`Runner::drain`]. A [`Duration`] converts into options with that deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DrainOptions {
    /// How long active runs may take to end by themselves.
    pub deadline: Duration,
    /// The treatment of runs that are still active at the deadline.
    pub overdue: Overdue,
    /// How long these runs may take to stop after the deadline: they store pending events, answer open calls and run
    /// the plugins' hooks.
    pub grace: Duration,
}

impl DrainOptions {
    /// Returns options with this deadline. Runs that are still active then are cut off, and have five seconds to stop.
    #[must_use]
    pub fn new(deadline: Duration) -> Self {
        Self { deadline, overdue: Overdue::default(), grace: Duration::from_secs(5) }
    }

    /// Sets what happens to the runs that are active at the deadline.
    #[must_use]
    pub fn overdue(mut self, overdue: Overdue) -> Self {
        self.overdue = overdue;
        self
    }

    /// Sets how long runs may take to stop after the deadline.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}

impl From<Duration> for DrainOptions {
    fn from(deadline: Duration) -> Self {
        Self::new(deadline)
    }
}

/// The result of a drain: the runs that were active when it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// The runs, by session.
    pub runs: Vec<DrainedRun>,
}

/// One run of a [`Drained`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DrainedRun {
    /// The session; `None` if it was not known yet.
    pub session: Option<SessionKey>,
    /// The invocation, for [`Runner::resume`]; `None` if its message was not stored yet.
    pub invocation: Option<InvocationId>,
    /// How the run ended; `None` if it did not stop in time, for example because its reader does not poll it.
    pub end: Option<RunEnd>,
}

impl Drained {
    /// Returns `true` if every run ended by itself, so the drain neither stopped nor aborted a run, and no run is still
    /// active.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.runs.iter().all(|run| !matches!(run.end, None | Some(RunEnd::Cut | RunEnd::Aborted)))
    }
}

impl Runner {
    /// Drains the Runner: refuses new runs, waits for active ones until the deadline, and stops the rest.
    ///
    /// From this call on, every new run of this Runner or a clone fails with
    /// [`RunError::Draining`](crate::RunError::Draining), including answers and resumes. This cannot be undone.
    /// Reading, following, rewinding and forking still work. Close the Runner afterwards.
    ///
    /// A run with a reader makes progress only while its reader polls it. If a run is not polled, the drain waits for it until the
    /// grace period ends. All waits use the Runner's clock. ADK has no such call.
    ///
    /// # Cancel safety
    /// If the future is dropped, new runs stay refused and active ones continue.
    pub async fn drain(&self, options: impl Into<DrainOptions>) -> Drained {
        let options = options.into();
        self.parts.timers.close();
        let runs = self.parts.active.drain();
        if !self.all_ended(&runs, options.deadline).await {
            for run in runs.iter().filter(|run| !run.has_ended()) {
                match options.overdue {
                    Overdue::Cut => run.cut(),
                    Overdue::Abort => run.abort(),
                }
            }
            self.all_ended(&runs, options.grace).await;
        }
        let mut runs: Vec<DrainedRun> = runs.iter().map(|run| DrainedRun::of(run)).collect();
        runs.sort_by(|a, b| (&a.session, &a.invocation).cmp(&(&b.session, &b.invocation)));
        Drained { runs }
    }

    /// Waits at most `at_most` until all runs have ended; returns `true` if they have.
    async fn all_ended(&self, runs: &[Arc<RunState>], at_most: Duration) -> bool {
        let ended = std::pin::pin!(join_all(runs.iter().map(|run| run.ended())));
        // The runs are polled first, so runs that have already ended are seen even if `at_most` is zero.
        select(ended, self.parts.services.clock.sleep(at_most)).await;
        runs.iter().all(|run| run.has_ended())
    }
}

impl DrainedRun {
    fn of(run: &RunState) -> Self {
        Self { session: run.key(), invocation: run.invocation(), end: run.end() }
    }
}
