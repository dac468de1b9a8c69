//! Redacting events whose values are payloads.

use std::sync::Arc;

use pleach_artifact::ArtifactError;
use pleach_core::{Event, EventId, Session, SessionHead, SessionKey};
use pleach_session::{GetSessionConfig, SessionError, SessionResult, SessionService as _, check_redacted, prepare};

use crate::PayloadSessions;
use crate::note::Note;
use crate::place::large_places;
use crate::service::EarlierPayloads;

impl PayloadSessions {
    pub(crate) async fn redact(&self, head: &mut SessionHead, event: Arc<Event>, time: f64) -> SessionResult<()> {
        let stored = self.inner.session_to_redact(head.key(), event.id()).await?;
        let stored = stored.ok_or_else(|| SessionError::NotFound(head.key().clone()))?;
        let key = Arc::clone(stored.head.shared_key());
        check_current(head, &stored)?;
        let old = stored.events.iter().find(|stored| stored.id() == event.id()).and_then(|stored| Note::of(stored));
        let old = match old {
            Some(note) => {
                // The store below does not see the values that the references stand for.
                let whole = match self.resolve(stored, Some(event.id())).await {
                    Err(error @ SessionError::PayloadLost(_)) => {
                        // Another redaction may have deleted the payload in the meantime.
                        let now = self.inner.get_session(&key, GetSessionConfig::recent(0)).await?;
                        check_current(head, &now.ok_or_else(|| SessionError::NotFound((*key).clone()))?)?;
                        return Err(error);
                    }
                    resolved => resolved?,
                };
                let whole = whole.events.iter().find(|whole| whole.id() == event.id());
                check_redacted(&key, whole.map(|whole| &**whole), &event)?;
                self.earlier(&key, event.id(), note).await?
            }
            None => EarlierPayloads::default(),
        };
        let places = large_places(&event, self.threshold);
        if places.is_empty() && old.taken.is_empty() && old.left.is_empty() && !Note::is_on(&event) {
            return self.inner.redact_event(head, event, time).await;
        }
        let mut event = Arc::unwrap_or_clone(prepare::event_to_store(&key, event)?);
        self.take_out(&key, &mut event, places, old).await?;
        let id = event.id().clone();
        let gone = Note::of(&event).map(|note| note.gone).unwrap_or_default();
        self.inner.redact_event(head, Arc::new(event), time).await?;
        self.vault.delete(&key, gone).await.map_err(|error| left(&key, &id, error))
    }

    async fn earlier(&self, key: &SessionKey, event: &EventId, note: Note) -> SessionResult<EarlierPayloads> {
        let taken = note.taken.into_iter().map(|entry| entry.artifact).collect();
        if note.gone.is_empty() {
            return Ok(EarlierPayloads { taken, left: Vec::new() });
        }
        let there = self.vault.names(key).await.map_err(|error| left(key, event, error))?;
        Ok(EarlierPayloads { taken, left: note.gone.into_iter().filter(|name| there.contains(name)).collect() })
    }
}

/// Refuses a head that is no longer the newest, before anything is saved.
fn check_current(head: &SessionHead, stored: &Session) -> SessionResult<()> {
    let (stored, ours) = (stored.revision(), head.revision());
    if stored == ours { Ok(()) } else { Err(SessionError::Stale { key: head.key().clone(), stored, ours }) }
}

fn left(key: &SessionKey, event: &EventId, error: ArtifactError) -> SessionError {
    SessionError::Unavailable {
        what: format!("the payload folder of session {key}, whose event {event} is redacted,"),
        source: error.into(),
    }
}
