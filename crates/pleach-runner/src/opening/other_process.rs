//! Keeps a message from cutting off an invocation on which another process works.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::select;
use pleach_core::{InvocationId, Session, micros};

use crate::app::inner::RunnerInner;
use crate::run::state::RunState;
use crate::sessions::status::{failed, is_claimed, last_invocation};
use crate::{RunError, RunProgress, RunRequest};

impl RunnerInner {
    /// Returns `true` if the session must be read again, because the message has waited for another process that was working on it.
    ///
    /// A message that begins an invocation takes the session away from whoever works on it, and the earlier invocation is not the last
    /// one any more, so nobody would resume it. Without heartbeats nothing shows that another process is working.
    ///
    /// # Errors
    /// [`RunError::Busy`] if the request does not wait; [`RunError::Aborted`] or [`RunError::Cut`] if the run is stopped while it waits.
    pub(crate) async fn waited_for_other_process(
        self: &Arc<Self>,
        request: &RunRequest,
        session: &Session,
        run: &Arc<RunState>,
    ) -> Result<bool, RunError> {
        let Some(invocation) = self.invocation_elsewhere(session, run).await? else { return Ok(false) };
        let (true, Some(pause)) = (request.queue, self.heartbeat) else {
            return Err(RunError::Busy { session: session.key().clone(), invocation: Some(invocation) });
        };
        // The other process stores something within each period, or is treated as dead after three.
        select(self.services.clock.sleep(pause), pin!(request.abort.aborted())).await;
        if request.abort.is_aborted() {
            return Err(RunError::Aborted);
        }
        if run.stop.is_requested() {
            return Err(RunError::Cut { invocation: None });
        }
        Ok(true)
    }

    /// Returns the invocation on which another process works, as its heartbeats show.
    pub(crate) async fn invocation_elsewhere(
        self: &Arc<Self>,
        session: &Session,
        run: &Arc<RunState>,
    ) -> Result<Option<InvocationId>, RunError> {
        let (key, last_update_time) = (session.key(), session.last_update_time());
        if !self.is_alive(last_update_time) || self.active.was_cut(key, micros(last_update_time)) {
            return Ok(None);
        }
        let Some(invocation) = last_invocation(&session.events).filter(|_| !self.active.has_other(key, run)) else {
            return Ok(None);
        };
        // Boxed: this is rare and must not enlarge the future of all runs.
        let is_at_work = match Box::pin(self.replayed(session.clone(), &invocation)).await {
            // Only a heartbeat shows that a body has caught the failure and is still running.
            Ok((RunProgress::Unfinished, _)) if failed(&session.events, &invocation).is_some() => is_claimed(session),
            Ok((RunProgress::Unfinished, _)) => true,
            // A lane parallel to the questions may be at work.
            Ok((RunProgress::Waiting, rests)) => !rests,
            // Nothing shows that a node without a result has not ended. Most have.
            Ok(_) => false,
            // The invocation has failed, or this version of the program does not fit it.
            Err(RunError::Node { .. }) => false,
            Err(error) => return Err(error),
        };
        Ok(is_at_work.then_some(invocation))
    }
}
