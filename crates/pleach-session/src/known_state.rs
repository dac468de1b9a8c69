//! [`KnownState`]: the values that a copy of a session needs in addition to the events.

use foldhash::HashMap;
use std::sync::Arc;

use pleach_core::{Event, EventId, Map, Scope, Session, SessionHead};

use crate::{REDACTIONS, SessionResult, SessionService, is_state_redacted};

/// Values that a session's own state still has, although the events that set them were redacted. Nothing has set
/// their keys since.
///
/// A copy that only appended the events would set such keys to `"[redacted]"`.
#[derive(Clone, Debug, Default)]
pub struct KnownState {
    of_events: HashMap<EventId, Map>,
}

impl KnownState {
    /// Finds the values of a session that was loaded with all its events.
    #[must_use]
    pub fn of(session: &Session) -> Self {
        let mut last: HashMap<&str, &Event> = HashMap::default();
        for event in &session.events {
            last.extend(event.actions().state_delta().keys().map(|key| (&**key, &**event)));
        }
        let mut known = Self::default();
        for (key, event) in last {
            let is_lost = is_state_redacted(event, key) && Scope::split(key).0 == Scope::Session;
            if let Some(value) = session.state.get(key).filter(|_| is_lost) {
                known.of_events.entry(event.id().clone()).or_default().insert(key.to_owned(), value.clone());
            }
        }
        known
    }

    /// Returns the values that an event set; `None` for most events.
    #[must_use]
    pub fn values(&self, event: &EventId) -> Option<&Map> {
        self.of_events.get(event)
    }

    /// Appends a copy of an event to another session. The event is appended with these values, so that they get into
    /// the session's state, and is then redacted like the original.
    ///
    /// # Errors
    /// The errors of [`SessionService::append`] and [`SessionService::redact_event`].
    ///
    /// # Cancel safety
    /// When the future is dropped, the event is stored whole or not at all, but the stored event may still hold the
    /// values. Delete such a copy.
    pub async fn append<S: SessionService + ?Sized>(
        &self,
        to: &S,
        head: &mut SessionHead,
        event: Arc<Event>,
    ) -> SessionResult<Arc<Event>> {
        let Some(values) = self.values(event.id()) else { return to.append(head, event).await };
        let mut whole = Event::clone(&event);
        whole.actions_mut().state_delta_mut().extend(values.clone());
        let metadata = whole.custom_metadata().cloned().map(|mut metadata| {
            metadata.remove(REDACTIONS);
            metadata
        });
        whole.set_custom_metadata(metadata.filter(|metadata| !metadata.is_empty()));
        to.append(head, Arc::new(whole)).await?;
        to.redact_event(head, Arc::clone(&event), event.timestamp()).await?;
        Ok(event)
    }
}
