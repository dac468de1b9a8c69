//! [`Runner::abort`]: ends an invocation from outside, even if another process runs it.

use std::sync::Arc;

use pleach_core::SessionKey;

use crate::app::inner::RunnerInner;
use crate::run::abort_events::abort_events;
use crate::run::event_writer::EventWriter;
use crate::run::outcome::RunEnd;
use crate::run::question_count::report_closed;
use crate::signals::send::wait_before_retry;
use crate::{RunError, RunProgress, Runner, SessionRef};

impl Runner {
    /// Aborts the last invocation of a session. Its questions are closed, its sleeps and deadlines are dropped, and it
    /// can no longer be resumed. Returns `false` if there was nothing to abort because the last invocation has ended.
    ///
    /// If a run of this Runner or its clones is active, it is stopped where it is, as by
    /// [`Detached::abort`](crate::Detached::abort), and the call waits for its end. A run whose reader does not poll it
    /// does not end. An invocation that waits, was cut off or has failed is closed in the log. If another process runs
    /// the invocation, it is closed in the log as well. The run in that process fails with
    /// [`SessionError::Stale`](pleach_session::SessionError::Stale) at its next event or
    /// [heartbeat](crate::RunnerBuilder::heartbeat); steps that it has begun are not undone. Messages that are queued
    /// for the session run afterwards.
    ///
    /// ```
    /// # use pleach_runner::{RunError, Runner};
    /// # async fn cancel(runner: Runner) -> Result<(), RunError> {
    /// if !runner.abort(("ana", "order-17")).await? {
    ///     tracing::info!("the order has ended already");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// If a workflow must undo its work, let it wait for a [signal](Runner::signal) and end by itself instead.
    ///
    /// # Errors
    /// The errors of [`Runner::questions`]; [`RunError::Session`] with a stale error if other processes keep appending to the session.
    ///
    /// # Cancel safety
    /// If the future is dropped, the invocation may or may not be aborted. If it has several open questions, perhaps
    /// only some of them are closed; another call closes the rest.
    ///
    /// ADK: none.
    pub async fn abort(&self, session: impl Into<SessionRef>) -> Result<bool, RunError> {
        let key = self.parts.session_key(&session.into()).await?;
        let mut tries = 1;
        loop {
            if let Some(run) = self.parts.active.run_of_session(&key).filter(|run| !run.has_ended()) {
                run.abort();
                run.ended().await;
                if matches!(run.end(), Some(RunEnd::Aborted)) {
                    return Ok(true);
                }
            }
            match self.parts.abort_stored(&key).await {
                Err(RunError::Session(error)) if error.is_stale() && wait_before_retry(&mut tries).await => {}
                Err(RunError::Busy { .. }) if wait_before_retry(&mut tries).await => {}
                aborted => return aborted,
            }
        }
    }
}

impl RunnerInner {
    /// Closes the last invocation of a session that this Runner is not running; returns `true` if the invocation was
    /// open.
    async fn abort_stored(self: &Arc<Self>, key: &SessionKey) -> Result<bool, RunError> {
        let session = self.load_all(key).await?;
        let (status, _) = self.status_and_rest(session.clone()).await?;
        let Some(invocation) = status.invocation else { return Ok(false) };
        let asks = status.questions.iter().any(|question| question.invocation_id == invocation);
        match status.progress {
            RunProgress::New | RunProgress::Done => return Ok(false),
            RunProgress::Aborted if !asks => return Ok(false),
            RunProgress::RunsHere => {
                return Err(RunError::Busy { session: key.clone(), invocation: Some(invocation) });
            }
            _ => {}
        }
        let mut store = EventWriter::new(session.head);
        for mut event in abort_events(&session.events, &invocation, &self.root.spec().name) {
            store.set_id_and_time(&self.services, &mut event);
            self.services.sessions.append(&mut store.head, Arc::new(event)).await?;
        }
        report_closed(&session.events, &invocation);
        self.services.sent_credentials.forget(key, &invocation);
        self.timers.shared.keep_only(key, &invocation, &[]);
        Ok(true)
    }
}
