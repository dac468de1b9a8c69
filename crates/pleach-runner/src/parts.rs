//! [`RunnerParts`]: what a Runner is made of.

use std::sync::Arc;
use std::time::Duration;

use pleach_context::Node;
use pleach_context::engine::Services;
use pleach_core::{AppName, Session, SessionKey};
use pleach_session::GetSessionConfig;

use crate::registry::ActiveRuns;
use crate::trace::OnSpan;
use crate::{EventsCompactionConfig, RunError, SessionRef};

/// What a Runner is made of. Its clones and its runs share it.
pub(crate) struct RunnerParts {
    pub(crate) app_name: AppName,
    pub(crate) root: Arc<dyn Node>,
    pub(crate) services: Arc<Services>,
    pub(crate) auto_create_session: bool,
    pub(crate) resumable: bool,
    pub(crate) compaction: Option<EventsCompactionConfig>,
    pub(crate) active: ActiveRuns,
    pub(crate) on_span: OnSpan,
    pub(crate) closing: Closing,
}

/// What becomes of the plugins when a Runner is closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    /// How long each of them may take.
    pub(crate) limit: Duration,
    /// Whether they are left open.
    pub(crate) skip: bool,
}

impl Default for Closing {
    fn default() -> Self {
        Self { limit: Duration::from_secs(5), skip: false }
    }
}

impl RunnerParts {
    /// Loads a session with all its events; it is never created.
    ///
    /// # Errors
    /// A blank id, no such session, what the session service said.
    pub(crate) async fn load_all(&self, key: &SessionKey) -> Result<Session, RunError> {
        check_ids(key)?;
        let session = self.services.sessions.get_session(key, GetSessionConfig::all()).await?;
        session.ok_or_else(|| RunError::SessionNotFound(key.clone()))
    }

    /// Finds the session that a request names.
    pub(crate) async fn session_key(&self, session: &SessionRef) -> Result<SessionKey, RunError> {
        let id = match session {
            SessionRef::Of(user, id) => return Ok(SessionKey::new(self.app_name.clone(), user.clone(), id.clone())),
            SessionRef::Key(key) if key.app_name == self.app_name => return Ok(key.clone()),
            SessionRef::Key(key) => {
                return Err(RunError::OtherApp { session: key.clone(), app: self.app_name.to_string() });
            }
            SessionRef::Only(id) => id,
        };
        check_id("session", id.as_str())?;
        let mut found = self.services.sessions.find_sessions(&self.app_name, id).await?;
        match found.len() {
            0 => Err(RunError::UnknownSession { app: self.app_name.to_string(), id: id.to_string() }),
            1 => Ok(found.remove(0)),
            _ => {
                let users = found.iter().map(|key| key.user_id.to_string()).collect();
                Err(RunError::AmbiguousSession { id: id.to_string(), users })
            }
        }
    }
}

/// Refuses blank ids.
///
/// # Errors
/// A blank user or session id.
pub(crate) fn check_ids(key: &SessionKey) -> Result<(), RunError> {
    check_id("user", key.user_id.as_str())?;
    check_id("session", key.session_id.as_str())
}

fn check_id(what: &'static str, id: &str) -> Result<(), RunError> {
    if id.trim().is_empty() { Err(RunError::BlankId(what)) } else { Ok(()) }
}
