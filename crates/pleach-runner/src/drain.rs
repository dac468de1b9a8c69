//! Letting a Runner come to rest before its process ends.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, select};
use pleach_core::{InvocationId, SessionKey};

use crate::active::ActiveRun;
use crate::{RunEnd, Runner};

/// What becomes of the runs that are still under way at the deadline of a drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overdue {
    /// They are cut off where they are: finished nodes are stored, and [`Runner::resume`] goes on with the rest in the
    /// process that comes after this one. Right when it is redeployed.
    #[default]
    Cut,
    /// They are aborted: their open calls are answered and they are over. For runs that will not be resumed.
    // R1130
    Abort,
}

/// How a Runner is drained. Made from a [`Duration`] where only the deadline matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DrainOptions {
    /// How long running invocations may take to end by themselves.
    pub deadline: Duration,
    /// What becomes of those that do not.
    pub overdue: Overdue,
    /// How long those then have to stop: to store what is on its way, to answer open calls, to run the plugins' hooks.
    pub grace: Duration,
}

impl DrainOptions {
    /// Gives running invocations this long, cuts off those that remain and gives them five seconds to stop.
    #[must_use]
    pub fn new(deadline: Duration) -> Self {
        Self { deadline, overdue: Overdue::default(), grace: Duration::from_secs(5) }
    }

    /// Sets what becomes of the runs that are under way at the deadline.
    #[must_use]
    pub fn overdue(mut self, overdue: Overdue) -> Self {
        self.overdue = overdue;
        self
    }

    /// Sets how long those have to stop.
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

/// What became of the runs that were under way when a drain began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// The runs, by session.
    pub runs: Vec<DrainedRun>,
}

/// One run of a [`Drained`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DrainedRun {
    /// The session; `None` when the run had not found it yet.
    pub session: Option<SessionKey>,
    /// The invocation, for [`Runner::resume`]; `None` when its message was not stored yet.
    pub invocation: Option<InvocationId>,
    /// How it ended; `None` when it did not stop in time, for example because its reader does not ask for its next event.
    pub end: Option<RunEnd>,
}

impl Drained {
    /// Whether every run came to its own end: nothing was cut off or aborted, and nothing is still under way.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.runs.iter().all(|run| !matches!(run.end, None | Some(RunEnd::Cut | RunEnd::Aborted)))
    }
}

impl Runner {
    /// Comes to rest: takes no new runs, lets those under way end until the deadline, and stops the rest.
    ///
    /// From the call on, every run that begins through this Runner or a clone fails with
    /// [`RunError::Draining`](crate::RunError::Draining); that is never taken back. Answers and resumes are runs, too.
    /// Reading, following, rewinding and forking go on. Then close the Runner.
    ///
    /// A run that is read by someone is stopped like a detached one, but only moves when its reader asks for its next
    /// event; one that nobody reads is not waited for longer than the grace. The waits are the Runner's clock's. ADK has
    /// no such call.
    ///
    /// # Cancel safety
    /// When the future is dropped, new runs stay refused and those under way go on.
    pub async fn drain(&self, options: impl Into<DrainOptions>) -> Drained {
        let options = options.into();
        let runs = self.parts.active.drain();
        if !self.all_ended(&runs, options.deadline).await {
            for run in runs.iter().filter(|run| run.end().is_none()) {
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

    /// Waits until all runs have ended, but no longer than `at_most`; whether they have.
    async fn all_ended(&self, runs: &[Arc<ActiveRun>], at_most: Duration) -> bool {
        let ended = std::pin::pin!(join_all(runs.iter().map(|run| run.ended())));
        // The runs are asked first: what has ended by now counts.
        select(ended, self.parts.services.clock.sleep(at_most)).await;
        runs.iter().all(|run| run.end().is_some())
    }
}

impl DrainedRun {
    fn of(run: &ActiveRun) -> Self {
        Self { session: run.key(), invocation: run.invocation(), end: run.end() }
    }
}
