//! Appending to a whole [`Session`] object.

use std::sync::Arc;

use pleach_core::{Event, EventId, IdGen as _, Map, RandomIds, Session, apply, take_temp};

use crate::{SessionResult, SessionService};

/// What callers that hold a whole [`Session`] want beside the trait's own operations.
pub trait SessionServiceExt: SessionService {
    /// Stores `event` and applies it to `session` (S14, S34). ADK: `BaseSessionService.append_event`.
    ///
    /// The delta's `temp:` keys go into `session.state` and are not stored; the rest of the delta and the event follow.
    /// A partial event comes back untouched and changes nothing. An event without an id gets a UUID.
    /// Other than in google-adk `session` is changed only on success.
    ///
    /// # Errors
    /// Those of [`SessionService::append`]; `session` is then unchanged.
    ///
    /// # Cancel safety
    /// When the future is dropped the event is stored whole or not at all, and `session` is unchanged.
    fn append_event(
        &self,
        session: &mut Session,
        mut event: Event,
    ) -> impl Future<Output = SessionResult<Arc<Event>>> + Send {
        async move {
            if event.is_partial() {
                return Ok(Arc::new(event));
            }
            if event.id().is_empty() {
                event.set_id(EventId::from(RandomIds.uuid()));
            }
            let temp = temp_of(&mut event);
            let loaded = session.revision();
            let stored = self.append(&mut session.head, Arc::new(event)).await?;
            apply(&mut session.state, &temp);
            // An unmoved revision means the event was stored before this session was loaded: it is in there already.
            if session.revision() != loaded {
                session.apply(&stored);
            }
            Ok(stored)
        }
    }
}

impl<S: SessionService + ?Sized> SessionServiceExt for S {}

fn temp_of(event: &mut Event) -> Map {
    // Asking for the mutable map would allocate one for the many events that have no delta.
    if event.actions().state_delta().is_empty() {
        return Map::new();
    }
    take_temp(event.actions_mut().state_delta_mut()).unwrap_or_default()
}
