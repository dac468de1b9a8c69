//! Loading sessions whose payloads may be deleted meanwhile.

use pleach_core::{Session, SessionHead, SessionKey};
use pleach_session::{GetSessionConfig, SessionError, SessionResult, Since};

use crate::PayloadSessions;

/// How often a session is loaded again because a redaction came between its events and their payloads.
const TRIES: usize = 4;

impl PayloadSessions {
    pub(crate) async fn get(&self, key: &SessionKey, config: GetSessionConfig) -> SessionResult<Option<Session>> {
        let mut tries = 1..TRIES;
        loop {
            let Some(session) = self.inner.get_session(key, config).await? else { return Ok(None) };
            let head = session.head.clone();
            match self.resolve(session).await {
                Err(error) if tries.next().is_some() && self.may_be_redacted(&head, &error).await? => {}
                resolved => return resolved.map(Some),
            }
        }
    }

    pub(crate) async fn since(&self, seen: &SessionHead) -> SessionResult<Option<Since>> {
        let mut tries = 1..TRIES;
        loop {
            let session = match self.inner.events_since(seen).await? {
                Some(Since::Events(session)) => session,
                other => return Ok(other),
            };
            let head = session.head.clone();
            match self.resolve(session).await {
                Err(error) if tries.next().is_some() && self.may_be_redacted(&head, &error).await? => {}
                resolved => return resolved.map(Since::Events).map(Some),
            }
        }
    }

    /// Returns whether a payload is missing and the session has changed since `head`: a redaction may have deleted it.
    async fn may_be_redacted(&self, head: &SessionHead, error: &SessionError) -> SessionResult<bool> {
        if !matches!(error, SessionError::PayloadLost(_)) {
            return Ok(false);
        }
        let now = self.inner.get_session(head.key(), GetSessionConfig::recent(0)).await?;
        Ok(now.is_none_or(|now| now.revision() != head.revision()))
    }
}
