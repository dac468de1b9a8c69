//! [`EventWriter`]: completes and stores the events of an invocation.
// R1107

use std::sync::Arc;

use pleach_context::engine::{InvocationHandle, Services};
use pleach_core::{DISTINCT_TIMES, Event, EventId, InvocationId, SessionHead, micros, next_time, seconds};

use pleach_session::Since;

use crate::RunError;
use crate::answers::check_message::warn_unenforced;
use crate::run::heartbeat::has_lost;
use crate::run::question_count::QuestionCount;
use crate::run::state::RunState;
use crate::sessions::run_end_notes::{NotedEnd, end_note};

/// The valid range of times that nodes set on their events, in seconds: every backend and google-adk can read them, and later events, which
/// must have later times, still fit. Other times are replaced by the time of the clock.
const TIMES: std::ops::Range<f64> = f64::MIN_POSITIVE..DISTINCT_TIMES;

/// The maximum number of tries to close an aborted invocation while others append to its session.
const CLOSING_TRIES: usize = 10;

/// Stores the events of one invocation in order.
pub(crate) struct EventWriter {
    pub(crate) head: SessionHead,
    /// The run that publishes stored events to its followers.
    run: Option<Arc<RunState>>,
    /// The time of the last event, in seconds. The times of a session's events are unique.
    // S48
    last: f64,
    has_stored: bool,
}

/// A stored event.
pub(crate) struct Stored {
    /// The event as the caller receives it.
    pub(crate) shown: Arc<Event>,
    /// The event as its node receives it: without the changes of plugins.
    // R1110
    pub(crate) original: Arc<Event>,
}

impl EventWriter {
    pub(crate) fn new(head: SessionHead) -> Self {
        let last = head.last_update_time();
        Self { head, run: None, last, has_stored: false }
    }

    /// Publishes stored events to the followers of `run`.
    pub(crate) fn publishing_to(mut self, run: &Arc<RunState>) -> Self {
        self.run = Some(Arc::clone(run));
        self
    }

    fn publish(&self, event: &Arc<Event>) {
        if let Some(run) = &self.run {
            run.publish(event);
        }
    }

    /// Adds metadata to an event, passes the event to the plugins and stores it.
    ///
    /// # Errors
    /// The error of a plugin or the session service; the event is not stored then.
    pub(crate) async fn store_event(
        &mut self,
        ic: &InvocationHandle,
        mut event: Arc<Event>,
    ) -> Result<Stored, RunError> {
        let metadata = ic.custom_metadata_if_any();
        if let Some(mut merged) = metadata {
            let event = Arc::make_mut(&mut event);
            merged.extend(event.custom_metadata().cloned().unwrap_or_default());
            event.set_custom_metadata(Some(merged));
        }
        self.set_id_and_time(ic.services(), Arc::make_mut(&mut event));
        let original = ic.apply_event_hooks(&mut event).await.map_err(RunError::Plugin)?;
        let shown = if event.is_partial() {
            self.publish(&event);
            event
        } else {
            self.append(ic, event).await?
        };
        let original = original.unwrap_or_else(|| Arc::clone(&shown));
        Ok(Stored { shown, original })
    }

    /// Stores an event that closes an aborted invocation. If another writer has appended to the session in the meantime, the event is
    /// stored after that writer's events: otherwise a call without an answer would stay in the history of all later invocations.
    ///
    /// # Errors
    /// The errors of [`append`](Self::append); the session is stale if another run continues the invocation.
    // R128
    pub(crate) async fn store_closing_event(
        &mut self,
        ic: &InvocationHandle,
        event: Arc<Event>,
    ) -> Result<Arc<Event>, RunError> {
        let mut tries = 1;
        loop {
            match self.store_event(ic, Arc::clone(&event)).await {
                Err(RunError::Session(error)) if error.is_stale() && tries < CLOSING_TRIES => {
                    if !self.catch_up(ic).await? {
                        return Err(RunError::Session(error));
                    }
                }
                stored => return stored.map(|stored| stored.shown),
            }
            tries += 1;
        }
    }

    /// Reads the newer events of the session and moves the head past them. Returns `false` if one of them belongs to this invocation, which
    /// another run continues then.
    async fn catch_up(&mut self, ic: &InvocationHandle) -> Result<bool, RunError> {
        let Some(Since::Events(session)) = ic.services().sessions.events_since(&self.head).await? else {
            return Ok(false);
        };
        if session.events.iter().any(|event| event.invocation_id() == ic.invocation_id()) {
            return Ok(false);
        }
        self.head = session.head;
        self.last = self.last.max(self.head.last_update_time());
        Ok(true)
    }

    /// Stores a complete event and records it in the invocation.
    ///
    /// # Errors
    /// The error of the session service; nothing is stored then.
    pub(crate) async fn append(
        &mut self,
        ic: &InvocationHandle,
        mut event: Arc<Event>,
    ) -> Result<Arc<Event>, RunError> {
        let state = ic.before_store(&mut event);
        let has_ops = !event.actions().state_ops().is_empty();
        let asked = ic.fence().unanswered();
        let questions = QuestionCount::before(ic, &event);
        let stored = ic.services().sessions.append(&mut self.head, event).await?;
        self.note_change();
        if has_ops && !stored.actions().has_resolved_state_ops() {
            return Err(RunError::OperationsIgnored { event: stored.id().clone() });
        }
        ic.after_store(&stored, &state, self.head.last_update_time());
        questions.into_iter().for_each(|questions| questions.report(ic));
        self.has_stored = true;
        asked.into_iter().for_each(|asked| ic.fence().passed(asked));
        if stored.is_interrupt() {
            warn_unenforced(&stored);
        }
        self.publish(&stored);
        Ok(stored)
    }

    /// Stores a summary. It does not belong to a run: plugins do not see it and callers do not receive it.
    ///
    /// # Errors
    /// The errors of [`append`](Self::append).
    pub(crate) async fn append_summary(
        &mut self,
        ic: &InvocationHandle,
        mut summary: Event,
    ) -> Result<Arc<Event>, RunError> {
        let services = ic.services();
        if summary.invocation_id().is_empty() {
            summary.set_invocation_id(InvocationId::of_uuid(services.ids.uuid()));
        }
        self.set_id_and_time(services, &mut summary);
        summary.replace_nul();
        self.append(ic, Arc::new(summary)).await
    }

    /// Stores a note of how the run ended. If that fails, other processes wait until the heartbeats have stopped.
    pub(crate) async fn note_end(&mut self, ic: &InvocationHandle, end: &NotedEnd) {
        let mut event = end_note(ic.invocation_id(), end);
        self.set_id_and_time(ic.services(), &mut event);
        if let Err(error) = self.append(ic, Arc::new(event)).await {
            tracing::debug!(session = %self.head.key(), %error, "the end of a run was not noted");
        }
    }

    /// Notes on the run that the session's last change is its own.
    fn note_change(&self) {
        if let Some(run) = &self.run {
            run.note_change(micros(self.head.last_update_time()));
        }
    }

    /// Returns `true` if the run has stored anything.
    pub(crate) fn has_stored(&self) -> bool {
        self.has_stored
    }

    /// Claims the session: as a heartbeat, and before a first body runs if the run has stored nothing yet.
    ///
    /// # Errors
    /// The error of the session service, such as a stale head when another writer has the session.
    pub(crate) async fn claim(&mut self, ic: &InvocationHandle) -> Result<(), RunError> {
        let services = ic.services();
        services.sessions.claim(&mut self.head, services.clock.now()).await?;
        self.note_change();
        self.last = self.last.max(self.head.last_update_time());
        ic.work_gate().open();
        Ok(())
    }

    /// Checks whether the run still has the session, and answers the steps that ask.
    ///
    /// # Errors
    /// The error of the session service, such as a stale head when another writer has the session.
    pub(crate) async fn check(&self, ic: &InvocationHandle) -> Result<(), RunError> {
        let fence = ic.fence();
        if let Some(asked) = fence.unanswered() {
            ic.services().sessions.check_head(&self.head).await?;
            fence.passed(asked);
        }
        Ok(())
    }

    /// Claims the session of a run that has stored nothing for a while. The run does not end if the storage does not respond.
    ///
    /// # Errors
    /// [`RunError::Session`] if another writer has the session, or it was deleted.
    pub(crate) async fn write_heartbeat(&mut self, ic: &InvocationHandle) -> Result<(), RunError> {
        match self.claim(ic).await {
            Err(RunError::Session(error)) if !has_lost(&error) => {
                tracing::warn!(session = %self.head.key(), %error, "a heartbeat was not stored");
                Ok(())
            }
            claimed => claimed,
        }
    }

    /// Sets the id and time of an event.
    pub(crate) fn set_id_and_time(&mut self, services: &Services, event: &mut Event) {
        if event.id().is_empty() {
            event.set_id(EventId::from(services.ids.uuid()));
        }
        self.last = event_time(self.last, event.timestamp(), || services.clock.now());
        event.set_timestamp(self.last);
    }
}

/// Returns the time of an event, in seconds: its own time if it is valid, otherwise the time of the clock, but always later than the
/// last event of the session.
fn event_time(last: f64, own: f64, now: impl Fn() -> f64) -> f64 {
    let time = if TIMES.contains(&own) { own } else { now() };
    seconds(micros(time)).max(next_time(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s48_times_are_valid_and_increase() {
        for (rule, last, own, expected) in [
            ("its own time", 0.0, 5.0, 5.0),
            ("no time: the clock's", 0.0, 0.0, 9.0),
            ("not a number: the clock's", 0.0, f64::NAN, 9.0),
            ("before the epoch: the clock's", 0.0, -1.0, 9.0),
            ("too far ahead for microseconds: the clock's", 0.0, DISTINCT_TIMES, 9.0),
            ("not after the last event", 7.0, 5.0, 7.000_001),
            ("a clock that went back", 12.0, 0.0, 12.000_001),
            ("the last event is too far ahead for microseconds", 9e10, 5.0, 90_000_000_001.0),
        ] {
            assert_eq!(event_time(last, own, || 9.0), expected, "{rule}");
        }
    }
}
