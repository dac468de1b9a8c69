//! Appending to a whole [`Session`] object.

use std::sync::Arc;

use pleach_core::{
    Event, EventId, IdGen as _, Map, RandomIds, Scope, Session, StateOp, apply, bounded_event, take_temp,
};

use crate::{GetSessionConfig, SessionError, SessionResult, SessionService, Since};

/// What callers that hold a whole [`Session`] want beside the trait's own operations.
pub trait SessionServiceExt: SessionService {
    /// Stores `event` and applies it to `session`. ADK: `BaseSessionService.append_event`.
    ///
    /// The delta's `temp:` keys go into `session.state` and are not stored; the rest of the delta and the event follow.
    /// A partial event comes back untouched and changes nothing. An event without an id gets a UUID, one without a time the
    /// system's.
    /// Other than in google-adk `session` is changed only on success.
    ///
    /// # Errors
    /// Those of [`SessionService::append`]; `session` is then unchanged.
    ///
    /// # Cancel safety
    /// When the future is dropped the event is stored whole or not at all, and `session` is unchanged.
    // S14, S34
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
            let mut event = bounded_event(event).map_err(|fault| SessionError::unstorable(session.key(), fault))?;
            let temp = temp_of(&mut event, session)?;
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

    /// Brings `session` up to date; true when events were added to it or it had to be loaded anew.
    ///
    /// Reads only what is new, where the service can tell, and puts it behind the events that are there; where it cannot, the
    /// whole session is loaded, also if only a part of it was held. The state becomes
    /// the stored one, without the `temp:` keys of the object.
    ///
    /// # Errors
    /// `NotFound` for a deleted session, and those of [`SessionService::events_since`]; `session` is then unchanged.
    ///
    /// # Cancel safety
    /// When the future is dropped, `session` is unchanged.
    fn refresh(&self, session: &mut Session) -> impl Future<Output = SessionResult<bool>> + Send {
        async move {
            let gone = || SessionError::NotFound(session.key().clone());
            match self.events_since(&session.head).await?.ok_or_else(gone)? {
                Since::Events(now) => {
                    let changed = !now.events.is_empty();
                    (session.head, session.state) = (now.head, now.state);
                    session.events.extend(now.events);
                    Ok(changed)
                }
                Since::Unknown => {
                    *session = self.get_session(session.key(), GetSessionConfig::all()).await?.ok_or_else(gone)?;
                    Ok(true)
                }
            }
        }
    }

    /// Stores `event` as [`append_event`](Self::append_event) does, and when `session` is stale brings it up to date and
    /// tries again, `retries` times at most.
    ///
    /// For events that do not depend on the history they are appended to. Never used by a run: two runs would interleave.
    ///
    /// # Errors
    /// Those of [`append_event`](Self::append_event) and [`refresh`](Self::refresh); `Stale` when every try was too late.
    ///
    /// # Cancel safety
    /// When the future is dropped the event is stored whole or not at all; `session` may be refreshed.
    fn append_with_reload(
        &self,
        session: &mut Session,
        mut event: Event,
        retries: usize,
    ) -> impl Future<Output = SessionResult<Arc<Event>>> + Send {
        async move {
            // The same id in every try: one that was stored is then not stored again.
            if event.id().is_empty() && !event.is_partial() {
                event.set_id(EventId::from(RandomIds.uuid()));
            }
            for _ in 0..retries {
                match self.append_event(session, event.clone()).await {
                    Err(error) if error.is_stale() => self.refresh(session).await?,
                    outcome => return outcome,
                };
            }
            self.append_event(session, event).await
        }
    }
}

impl<S: SessionService + ?Sized> SessionServiceExt for S {}

fn temp_of(event: &mut Event, session: &Session) -> SessionResult<Map> {
    // Asking for the mutable map would allocate one for the many events that have no delta.
    if event.actions().state_delta().is_empty() && event.actions().state_ops().is_empty() {
        return Ok(Map::new());
    }
    let mut temp = take_temp(event.actions_mut().state_delta_mut()).unwrap_or_default();
    let of_temp = event.actions().state_ops().iter().filter(|(key, _)| Scope::split(key).0 == Scope::Temp);
    for (key, ops) in of_temp {
        let value = StateOp::apply_all(ops, session.state.get(key));
        temp.insert(key.clone(), value.map_err(|reason| SessionError::state_operation(session.key(), key, reason))?);
    }
    Ok(temp)
}
