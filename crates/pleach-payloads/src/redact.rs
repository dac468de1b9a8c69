//! Redacting events whose values are payloads.

use std::sync::Arc;

use pleach_core::{Event, SessionHead};
use pleach_session::{GetSessionConfig, SessionError, SessionResult, prepare};

use crate::PayloadSessions;
use crate::note::Note;
use crate::place::large_places;

impl PayloadSessions {
    pub(crate) async fn redact(&self, head: &mut SessionHead, event: Arc<Event>, time: f64) -> SessionResult<()> {
        let stored = self.inner.get_session(head.key(), GetSessionConfig::all()).await?;
        let stored = stored.ok_or_else(|| SessionError::NotFound(head.key().clone()))?;
        let key = Arc::clone(stored.head.shared_key());
        let old = stored.events.iter().find(|stored| stored.id() == event.id()).and_then(|stored| Note::of(stored));
        let places = large_places(&event, self.threshold);
        if places.is_empty() && old.is_none() && !Note::is_on(&event) {
            return self.inner.redact_event(head, event, time).await;
        }
        let mut event = Arc::unwrap_or_clone(prepare::event_to_store(&key, event)?);
        let old = old.into_iter().flat_map(Note::into_names).collect();
        self.take_out(&key, &mut event, places, old).await?;
        let (id, gone) = (event.id().clone(), Note::of(&event).map(|note| note.gone).unwrap_or_default());
        self.inner.redact_event(head, Arc::new(event), time).await?;
        self.vault.delete(&key, gone).await.map_err(|error| SessionError::Unavailable {
            what: format!("the folder of the payloads of session {key}, whose event {id} is redacted,"),
            source: error.into(),
        })
    }
}
