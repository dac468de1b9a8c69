//! Appending to a whole [`Session`] object.

use std::sync::Arc;

use pleach_core::{
    Event, EventId, IdGen as _, Map, RandomIds, Scope, Session, SessionKey, StateOp, apply, bound_event, take_temp,
};

use crate::{GetSessionConfig, Redaction, SessionError, SessionResult, SessionService, Since};

/// Operations on a whole [`Session`] object, available for every [`SessionService`].
pub trait SessionServiceExt: SessionService {
    /// Stores `event` and applies it to `session`. ADK: `BaseSessionService.append_event`.
    ///
    /// The delta's `temp:` keys are applied to `session.state` but not stored. Then the rest of the delta and the event
    /// are applied. A partial event is returned unchanged and changes nothing. An event without an id gets a UUID, and
    /// one without a time gets the system's time. Unlike in google-adk, `session` is changed only on success.
    ///
    /// # Errors
    /// The errors of [`SessionService::append`]; `session` is then unchanged.
    ///
    /// # Cancel safety
    /// When the future is dropped, the event is stored whole or not at all, and `session` is unchanged.
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
            bound_event(&mut event).map_err(|fault| SessionError::unstorable(session.key(), fault))?;
            let temp = take_temp_values(&mut event, session)?;
            let loaded = session.revision();
            let stored = self.append(&mut session.head, Arc::new(event)).await?;
            apply(&mut session.state, &temp);
            // An unchanged revision means that the event was stored before this session was loaded, so the session
            // contains it.
            if session.revision() != loaded {
                session.apply(&stored);
            }
            Ok(stored)
        }
    }

    /// Updates `session` from the store. Returns `true` if events were added or the whole session was loaded again.
    ///
    /// Only new events are read and added to `session`. If the service cannot determine them, the whole session is
    /// loaded, even if `session` held only a part of it. The state becomes the stored one, without `temp:` keys.
    ///
    /// # Errors
    /// `NotFound` for a deleted session, and the errors of [`SessionService::events_since`]; `session` is then
    /// unchanged.
    ///
    /// # Cancel safety
    /// When the future is dropped, `session` is unchanged.
    fn refresh(&self, session: &mut Session) -> impl Future<Output = SessionResult<bool>> + Send {
        async move {
            let gone = || SessionError::NotFound(session.key().clone());
            match self.events_since(&session.head).await?.ok_or_else(gone)? {
                Since::Events(now) => {
                    let changed = !now.events.is_empty();
                    (session.head, session.state, session.unreadable) = (now.head, now.state, now.unreadable);
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

    /// Stores `event` like [`append_event`](Self::append_event). If `session` is stale, refreshes it and tries again,
    /// at most `retries` times.
    ///
    /// Use it for events that do not depend on the earlier history. A run never uses it, because the events of two runs
    /// would interleave.
    ///
    /// # Errors
    /// The errors of [`append_event`](Self::append_event) and [`refresh`](Self::refresh); `Stale` if every attempt was
    /// stale.
    ///
    /// # Cancel safety
    /// When the future is dropped, the event is stored whole or not at all; `session` may have been refreshed.
    fn append_with_reload(
        &self,
        session: &mut Session,
        mut event: Event,
        retries: usize,
    ) -> impl Future<Output = SessionResult<Arc<Event>>> + Send {
        async move {
            // Every attempt uses one id, so an event that was stored is not stored again.
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

    /// Removes values from a stored event and returns the event as it is stored afterwards. Repeating the call changes
    /// nothing.
    ///
    /// Only the event changes. The session's state keeps the values that the event set: to remove them, append an event
    /// that sets the keys again. From now on, a resume reads `"[redacted]"`, for example as the output of a node that
    /// it does not run again. A run in progress ends at its next event with a stale error.
    ///
    /// The call loads the session, and starts again if another writer comes first. ADK has no such call.
    ///
    /// # Errors
    /// [`SessionError::Redaction`] names the path. It is also returned if the redaction would change which questions
    /// are open, or if a run still reads the value. `NotFound`; the errors of [`SessionService::redact_event`]. Nothing
    /// is changed on failure.
    ///
    /// # Cancel safety
    /// When the future is dropped, the event is redacted whole or not at all.
    fn redact(
        &self,
        key: &SessionKey,
        event: &EventId,
        redaction: &Redaction,
    ) -> impl Future<Output = SessionResult<Arc<Event>>> + Send {
        async move {
            let mut tries = 1..REDACTIONS;
            loop {
                let session = self.session_to_redact(key, event).await?;
                let mut session = session.ok_or_else(|| SessionError::NotFound(key.clone()))?;
                let redacted = Arc::new(redaction.apply_to(&session, event)?);
                match self.redact_event(&mut session.head, Arc::clone(&redacted), redaction.time_or_now()).await {
                    Err(error) if error.is_stale() && tries.next().is_some() => {}
                    outcome => return outcome.map(|()| redacted),
                }
            }
        }
    }
}

/// The number of times that a redaction is tried when other writers come first.
const REDACTIONS: usize = 8;

impl<S: SessionService + ?Sized> SessionServiceExt for S {}

fn take_temp_values(event: &mut Event, session: &Session) -> SessionResult<Map> {
    // `state_delta_mut` would allocate a map for the many events that have no delta.
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
