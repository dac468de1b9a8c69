//! Closes open confirmations when the user sends another message, in apps that have enabled this.

use std::collections::BTreeMap;
use std::sync::Arc;

use pleach_core::{InvocationId, QuestionKind, Session, SessionKey};
use pleach_session::{GetSessionConfig, open_questions};

use crate::app::inner::RunnerInner;
use crate::opening::open_task::open_task;
use crate::request::run_request::check_revision;
use crate::run::abort_events::abort_events;
use crate::run::event_writer::EventWriter;
use crate::run::question_count::report_closed;
use crate::{RunError, RunRequest};

impl RunnerInner {
    /// Aborts the invocations that wait only for confirmations, because the request has a message that begins a new invocation.
    /// Returns `true` if there were any, so that the session must be loaded again.
    ///
    /// # Errors
    /// The errors of the session service; a stale error if another process appends at the same time.
    pub(crate) async fn close_confirmations(
        &self,
        request: &mut RunRequest,
        key: &SessionKey,
    ) -> Result<bool, RunError> {
        let loaded = self.services.sessions.get_session(key, GetSessionConfig::all()).await?;
        let Some(session) = loaded else { return Ok(false) };
        check_revision(request.at, &session)?;
        // A message that will be refused must not close anything.
        self.check_state(request, &session)?;
        let closed = only_confirming(&session);
        if closed.is_empty() {
            return Ok(false);
        }
        let mut store = EventWriter::new(session.head);
        for invocation in closed {
            for mut event in abort_events(&session.events, &invocation, &self.root.spec().name) {
                store.set_id_and_time(&self.services, &mut event);
                self.services.sessions.append(&mut store.head, Arc::new(event)).await?;
            }
            report_closed(&session.events, &invocation);
            self.services.sent_credentials.forget(key, &invocation);
            self.timers.shared.keep_only(key, &invocation, &[]);
        }
        // The revision that the caller named has been checked.
        request.at = request.at.map(|_| store.head.revision());
        Ok(true)
    }
}

/// Returns the invocations whose open questions are all confirmations, except the invocation of a task that the message continues.
fn only_confirming(session: &Session) -> Vec<InvocationId> {
    let mut only_confirms: BTreeMap<InvocationId, bool> = BTreeMap::new();
    for question in open_questions(&session.events) {
        let is_confirmation = question.kind == QuestionKind::Confirmation;
        *only_confirms.entry(question.invocation_id).or_insert(true) &= is_confirmation;
    }
    let task = open_task(&session.events).map(|task| task.invocation);
    only_confirms.retain(|invocation, only| *only && task.as_ref() != Some(invocation));
    only_confirms.into_keys().collect()
}
