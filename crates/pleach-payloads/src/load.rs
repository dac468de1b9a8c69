//! Loading sessions whose payloads may be deleted during the load.

use std::ops::Range;

use pleach_core::{EventId, Session, SessionHead, SessionKey};
use pleach_session::{GetSessionConfig, SessionError, SessionResult, Since};

use crate::PayloadSessions;

/// One item for each time that a session is loaded again, because a redaction came between reading its events and
/// reading their payloads.
const TRIES: Range<usize> = 1..4;

impl PayloadSessions {
    pub(crate) async fn get(&self, key: &SessionKey, config: GetSessionConfig) -> SessionResult<Option<Session>> {
        let mut tries = TRIES;
        loop {
            let Some(session) = self.inner.get_session(key, config).await? else { return Ok(None) };
            if let Some(whole) = self.resolve_unless_changed(session, None, tries.next().is_some()).await? {
                return Ok(Some(whole));
            }
        }
    }

    /// Loads a session with the values of only one event.
    pub(crate) async fn get_to_redact(&self, key: &SessionKey, event: &EventId) -> SessionResult<Option<Session>> {
        let mut tries = TRIES;
        loop {
            let Some(session) = self.inner.session_to_redact(key, event).await? else { return Ok(None) };
            if let Some(whole) = self.resolve_unless_changed(session, Some(event), tries.next().is_some()).await? {
                return Ok(Some(whole));
            }
        }
    }

    pub(crate) async fn since(&self, seen: &SessionHead) -> SessionResult<Option<Since>> {
        let mut tries = TRIES;
        loop {
            let session = match self.inner.events_since(seen).await? {
                Some(Since::Events(session)) => session,
                other => return Ok(other),
            };
            if let Some(whole) = self.resolve_unless_changed(session, None, tries.next().is_some()).await? {
                return Ok(Some(Since::Events(whole)));
            }
        }
    }

    /// Replaces the references of all events, or of one event, by their values. Returns `None` if a payload is
    /// missing, but the session has changed since it was loaded, so that a redaction may have deleted the payload. The
    /// caller then loads the session again. If `may_try_again` is false, a missing payload is always an error.
    async fn resolve_unless_changed(
        &self,
        session: Session,
        only: Option<&EventId>,
        may_try_again: bool,
    ) -> SessionResult<Option<Session>> {
        let head = session.head.clone();
        let error = match self.resolve(session, only).await {
            Err(error @ SessionError::PayloadLost(_)) if may_try_again => error,
            resolved => return resolved.map(Some),
        };
        let now = self.inner.get_session(head.key(), GetSessionConfig::recent(0)).await?;
        if now.is_none_or(|now| now.revision() != head.revision()) { Ok(None) } else { Err(error) }
    }
}
