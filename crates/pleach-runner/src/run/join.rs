//! Joins an active run with the same invocation id.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use pleach_core::{InvocationId, Map, SessionKey, StateRights, take_temp};

use crate::RunError;
use crate::run::outcome::Outcome;
use crate::run::state::RunState;
use crate::run::task::RunTask;

/// A joined caller's place among the readers of a run. Dropping it leaves the run.
pub(crate) struct JoinedReader {
    leader: Arc<RunState>,
    task: Arc<RunTask>,
    reader: u32,
}

impl JoinedReader {
    /// Joins a run; returns `None` if it has ended.
    pub(crate) fn of(leader: Arc<RunState>) -> Option<Self> {
        let task = leader.task()?;
        let reader = task.join()?;
        Some(Self { leader, task, reader })
    }

    pub(crate) fn leader(&self) -> &Arc<RunState> {
        &self.leader
    }
}

impl Drop for JoinedReader {
    fn drop(&mut self) {
        self.task.leave(self.reader);
    }
}

/// How a request to join an invocation differs from the request that started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    Message,
    State,
}

impl Difference {
    /// Finds how the request of a run that wants to join another one differs, as far as it is known. A request with a message is compared
    /// with the request that started the invocation, a request without one with the request of the run that it joins.
    pub(crate) fn between(leader: &RunState, run: &RunState) -> Option<Self> {
        let rights = run.state_rights();
        let state = stored_changes(run.state_delta(), rights);
        let first_state = match run.sent_message() {
            Some(message) => {
                let first = leader.first_request()?;
                if first.message.is_some_and(|first| first != message) {
                    return Some(Self::Message);
                }
                first.state_delta
            }
            None => leader.state_delta().clone(),
        };
        (!state.is_empty() && state != stored_changes(&first_state, rights)).then_some(Self::State)
    }

    pub(crate) fn error(self, session: SessionKey, invocation: InvocationId) -> RunError {
        match self {
            Self::Message => RunError::OtherMessage { session, invocation },
            Self::State => RunError::OtherState { session, invocation },
        }
    }
}

/// Returns the changes of state that are stored: without temporary keys, and without keys that the caller may not change.
pub(crate) fn stored_changes(state_delta: &Map, rights: StateRights) -> Map {
    let mut changes = state_delta.clone();
    take_temp(&mut changes);
    rights.strip(&mut changes);
    changes
}

/// Yields the events of the joined run to the reader of the caller's `run`. Returns the outcome of the joined run.
///
/// # Errors
/// The error of the joined run; [`Difference::error`] if it was started by a different request.
pub(crate) async fn forward_leader_events(share: JoinedReader, run: Arc<RunState>) -> Result<Outcome, RunError> {
    let leader = share.leader();
    let mut begun = Some(Box::pin(leader.begun()));
    let signal = run.abort_signal().clone();
    let mut aborted = Some(Box::pin(signal.aborted()));
    loop {
        let next = std::future::poll_fn(|cx| {
            run.stop.register(cx.waker());
            if run.stop.is_requested() {
                return Poll::Ready(None);
            }
            if let Some(asked) = &mut aborted
                && asked.as_mut().poll(cx).is_ready()
            {
                aborted = None;
                leader.abort();
            }
            let next = share.task.poll_next(share.reader, cx);
            if let Some(known) = &mut begun
                && pin!(known).poll(cx).is_ready()
            {
                begun = None;
                if let (Some(session), Some(invocation)) = (leader.key(), leader.invocation()) {
                    // If the leader resumes the invocation, the request that started it was unknown when the caller joined.
                    if let Some(difference) = Difference::between(leader, &run) {
                        return Poll::Ready(Some(Err(difference.error(session, invocation))));
                    }
                    run.begin(&invocation);
                }
            }
            next
        });
        match next.await {
            Some(item) => run.yield_event(item?).await,
            None => break,
        }
    }
    Ok(if run.stop.is_requested() { Outcome::Cut(leader.invocation()) } else { leader.outcome() })
}
