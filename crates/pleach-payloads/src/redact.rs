//! Redacting events whose values are payloads.

use std::sync::Arc;

use pleach_artifact::ArtifactError;
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
        let old = stored.events.iter().find(|stored| stored.id() == event.id()).map(|stored| payloads_of(stored));
        let old = old.unwrap_or_default();
        let places = large_places(&event, self.threshold);
        if places.is_empty() && old.is_empty() && !Note::is_on(&event) {
            return self.inner.redact_event(head, event, time).await;
        }
        let mut event = Arc::unwrap_or_clone(prepare::event_to_store(&key, event)?);
        self.take_out(&key, &mut event, places, old.clone()).await?;
        let kept = Note::take(&mut event.clone()).and_then(Result::ok).map(|note| note.taken).unwrap_or_default();
        let gone: Vec<_> = old.into_iter().filter(|name| kept.iter().all(|entry| entry.artifact != *name)).collect();
        let id = event.id().clone();
        self.inner.redact_event(head, Arc::new(event), time).await?;
        self.vault.delete(&key, gone).await.map_err(|error: ArtifactError| SessionError::Unavailable {
            what: format!("the folder of the payloads of session {key}, whose event {id} is redacted,"),
            source: error.into(),
        })
    }
}

/// Returns the names of the payloads that an event as it is stored refers to, or has referred to.
fn payloads_of(event: &Event) -> Vec<String> {
    match Note::take(&mut event.clone()) {
        Some(Ok(note)) => note.taken.into_iter().map(|entry| entry.artifact).chain(note.gone).collect(),
        // A list that cannot be read names none.
        Some(Err(_)) | None => Vec::new(),
    }
}
