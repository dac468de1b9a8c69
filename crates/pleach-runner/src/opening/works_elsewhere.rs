//! Keeps a request from cutting off an invocation on which another process works.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::select;
use pleach_core::{InvocationId, Session, SessionKey};
use pleach_session::GetSessionConfig;

use crate::app::inner::RunnerInner;
use crate::run::state::RunState;
use crate::sessions::resting_fork::resting_source;
use crate::sessions::status::{is_claimed, last_invocation};
use crate::{RunError, RunProgress, RunRequest};

impl RunnerInner {
    /// Returns the invocation on which another process works, unless the request continues that one (`target`).
    ///
    /// The first event of a request takes the session away from whoever works on it. If the request continues another invocation, the
    /// earlier one would be lost: it is not the last one any more, so no recovery would find it. Heartbeats show that a process is at
    /// work. A request that names a revision comes from a caller who has already looked.
    ///
    /// # Errors
    /// The errors of the session service.
    pub(crate) async fn invocation_elsewhere(
        &self,
        request: &RunRequest,
        target: Option<&InvocationId>,
        session: &Session,
    ) -> Result<Option<InvocationId>, RunError> {
        let (key, last_update_time) = (session.key(), session.last_update_time());
        if request.at.is_some()
            || !self.is_alive(last_update_time)
            || self.left.changed_last(key, last_update_time)
            || self.active.executing(key).is_some()
        {
            return Ok(None);
        }
        // Boxed: this is rare and must not enlarge the future of all runs.
        Box::pin(self.find_at_work(request, target, session)).await
    }

    async fn find_at_work(
        &self,
        request: &RunRequest,
        target: Option<&InvocationId>,
        session: &Session,
    ) -> Result<Option<InvocationId>, RunError> {
        let is_whole = request.config.get_session_config == GetSessionConfig::all() || target.is_some();
        let loaded = if is_whole { None } else { Some(self.load_all(session.key()).await?) };
        let session = loaded.as_ref().unwrap_or(session);
        let Some(invocation) = last_invocation(&session.events) else { return Ok(None) };
        // If the last event belongs to no invocation, such as a rewind, nobody works on one.
        let last = session.events.iter().rev().find(|event| event.actions().compaction().is_none());
        let is_its_last = last.is_some_and(|last| *last.invocation_id() == invocation);
        if target == Some(&invocation) || resting_source(session).is_some() || !(is_its_last || is_claimed(session)) {
            return Ok(None);
        }
        match self.logged_progress(session, &invocation).await {
            // A body may have caught the failure and still be running.
            Ok((RunProgress::RunsElsewhere, _) | (RunProgress::Failed { .. }, false)) => Ok(Some(invocation)),
            // This version of the program does not fit the invocation.
            Ok(_) | Err(RunError::Node { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts a run back into the queue of its session for one period: another process that is at work stores something within it, or is
    /// treated as dead after three.
    ///
    /// # Errors
    /// [`RunError::Aborted`] or [`RunError::Cut`] if the run is stopped while it waits.
    pub(crate) async fn wait_for_other_process(
        &self,
        request: &RunRequest,
        run: &Arc<RunState>,
        key: &SessionKey,
    ) -> Result<(), RunError> {
        let Some(period) = self.heartbeat else { return Ok(()) };
        // The run has had its place in the queue before.
        self.active.queue(run, key, usize::MAX)?;
        let (stop, abort) = (pin!(run.stop.requested()), pin!(request.abort.aborted()));
        select(self.services.clock.sleep(period), select(stop, abort)).await;
        if run.stop.is_requested() {
            return Err(RunError::Cut { invocation: None });
        }
        if request.abort.is_aborted() {
            return Err(RunError::Aborted);
        }
        Ok(())
    }
}
