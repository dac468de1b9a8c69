//! Decides whether the log must note how a run ended, for Runners with heartbeats.

use pleach_context::engine::InvocationHandle;
use pleach_core::Session;

use crate::app::inner::RunnerInner;
use crate::run::event_writer::EventWriter;
use crate::run::outcome::Outcome;
use crate::sessions::run_end_notes::NotedEnd;
use crate::sessions::status::is_claimed;
use crate::{RunError, RunProgress};

impl RunnerInner {
    /// Stores a note of how a run ended, if the log does not show it otherwise.
    pub(crate) async fn note_end(
        &self,
        ic: &InvocationHandle,
        store: &mut EventWriter,
        ended: &Result<Outcome, RunError>,
    ) {
        let end = match ended {
            Ok(Outcome::Done(..) | Outcome::Replied(_)) => NotedEnd::Done,
            Ok(Outcome::Elsewhere { .. }) => return,
            // Another process has the session, or the storage refuses what the run stores. A recovery tries again, and counts: a note
            // would hide that it makes no progress.
            Err(RunError::Session(_)) => return,
            // The closed calls show it.
            Ok(Outcome::Aborted) => return,
            Ok(Outcome::Waiting(_)) => NotedEnd::Waiting,
            Ok(Outcome::Cut(_)) => NotedEnd::Cut,
            Err(error) => NotedEnd::Failed { code: error.code().to_owned(), message: error.message() },
        };
        if !self.shows_end(ic, store, &end).await {
            store.note_end(ic, &end).await;
        }
    }

    /// Returns `true` if another process learns from the log that the run has ended.
    async fn shows_end(&self, ic: &InvocationHandle, store: &EventWriter, end: &NotedEnd) -> bool {
        let mut session = Session::new(store.head.clone(), ic.state()).with_unreadable(ic.unreadable_keys().clone());
        session.events = ic.events();
        if *end == NotedEnd::Cut || is_claimed(&session) {
            return false;
        }
        match self.logged_progress(&session, ic.invocation_id()).await {
            Ok((RunProgress::Done, _)) => *end == NotedEnd::Done,
            Ok((RunProgress::Waiting, rests)) => *end == NotedEnd::Waiting && rests,
            Ok((RunProgress::Failed { .. }, rests)) => matches!(end, NotedEnd::Failed { .. }) && rests,
            _ => false,
        }
    }
}
