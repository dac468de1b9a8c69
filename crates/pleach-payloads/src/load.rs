//! Loading sessions whose payloads may be deleted meanwhile.

use pleach_core::{Session, SessionHead, SessionKey};
use pleach_session::{GetSessionConfig, SessionError, SessionResult, Since};

use crate::PayloadSessions;

/// How often a session is loaded when a redaction comes between its events and their payloads.
const TRIES: usize = 4;

impl PayloadSessions {
    pub(crate) async fn get(&self, key: &SessionKey, config: GetSessionConfig) -> SessionResult<Option<Session>> {
        for left in (0..TRIES).rev() {
            let Some(session) = self.inner.get_session(key, config).await? else { break };
            if let Some(whole) = self.resolve_unless_redacted(session, left).await? {
                return Ok(Some(whole));
            }
        }
        Ok(None)
    }

    pub(crate) async fn since(&self, seen: &SessionHead) -> SessionResult<Option<Since>> {
        for left in (0..TRIES).rev() {
            let session = match self.inner.events_since(seen).await? {
                Some(Since::Events(session)) => session,
                other => return Ok(other),
            };
            if let Some(whole) = self.resolve_unless_redacted(session, left).await? {
                return Ok(Some(Since::Events(whole)));
            }
        }
        Ok(Some(Since::Unknown))
    }

    /// Replaces the references of all events by their values. `None` when a payload is missing, the session has changed since, so
    /// that a redaction may have deleted it, and tries are left.
    async fn resolve_unless_redacted(&self, session: Session, left: usize) -> SessionResult<Option<Session>> {
        let head = session.head.clone();
        let error = match self.resolve(session).await {
            Err(error @ SessionError::PayloadLost(_)) if left > 0 => error,
            resolved => return resolved.map(Some),
        };
        let now = self.inner.get_session(head.key(), GetSessionConfig::recent(0)).await?;
        if now.is_none_or(|now| now.revision() != head.revision()) { Ok(None) } else { Err(error) }
    }
}
