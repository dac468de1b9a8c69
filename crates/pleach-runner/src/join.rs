//! Joins an active run with the same invocation id.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use pleach_core::{InvocationId, SessionKey};

use crate::RunError;
use crate::active::ActiveRun;
use crate::outcome::Outcome;

/// A joined caller's place among the readers of a run. Dropping it leaves the run.
pub(crate) struct Share {
    leader: Arc<ActiveRun>,
    reader: u32,
}

impl Share {
    /// Joins a run, or returns `None` when it has ended.
    pub(crate) fn of(leader: Arc<ActiveRun>) -> Option<Self> {
        let reader = leader.seat.join()?;
        Some(Self { leader, reader })
    }

    pub(crate) fn leader(&self) -> &Arc<ActiveRun> {
        &self.leader
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.leader.seat.leave(self.reader);
    }
}

/// What a request that wants an invocation which has begun asks for otherwise than the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    Message,
    State,
}

impl Difference {
    /// Finds what a run that wants to join another one asks for otherwise. A plugin may have replaced the message that is known
    /// of a run that was resumed.
    pub(crate) fn between(leader: &ActiveRun, run: &ActiveRun) -> Option<Self> {
        if let (Some(first), Some(message)) = (leader.message(), run.message())
            && first != message
        {
            return Some(Self::Message);
        }
        (!run.state_delta().is_empty() && run.state_delta() != leader.state_delta()).then_some(Self::State)
    }

    pub(crate) fn error(self, session: SessionKey, invocation: InvocationId) -> RunError {
        match self {
            Self::Message => RunError::OtherMessage { session, invocation },
            Self::State => RunError::OtherState { session, invocation },
        }
    }
}

/// Yields the events of the joined run to the reader of the caller's `run`.
///
/// # Errors
/// The error of the joined run.
pub(crate) async fn joined(share: Share, run: Arc<ActiveRun>) -> Result<(), RunError> {
    let leader = share.leader();
    let mut begun = Some(Box::pin(leader.begun()));
    let signal = run.abort_signal().clone();
    let mut aborted = Some(Box::pin(signal.aborted()));
    loop {
        let next = std::future::poll_fn(|cx| {
            run.stopper.register(cx.waker());
            if run.is_closing() {
                run.set_outcome(Outcome::Cut(leader.invocation()));
                return Poll::Ready(None);
            }
            if let Some(asked) = &mut aborted
                && asked.as_mut().poll(cx).is_ready()
            {
                aborted = None;
                leader.abort();
            }
            let next = leader.seat.poll_next(share.reader, cx);
            if let Some(known) = &mut begun
                && pin!(known).poll(cx).is_ready()
            {
                begun = None;
                leader.invocation().iter().for_each(|id| run.begin(id));
            }
            next
        });
        match next.await {
            Some(item) => run.seat.show(item?).await,
            None => break,
        }
    }
    if !run.is_closing()
        && let Some(outcome) = leader.outcome()
    {
        run.set_outcome(outcome);
    }
    Ok(())
}
