//! [`RunnerInner`]: everything that the clones of a Runner share.

use std::sync::Arc;
use std::time::Duration;

use pleach_context::engine::{PromptCompaction, Services};
use pleach_context::{Node, SharedToolset};
use pleach_core::{AppName, Session, SessionKey};
use pleach_session::GetSessionConfig;

use crate::answers::may_answer::AnswerRule;
use crate::deadlines::schedule::Timers;
use crate::run::registry::RunRegistry;
use crate::run::span::OnSpan;
use crate::sessions::ended_sessions::EndedSessions;
use crate::sessions::left_sessions::LeftSessions;
use crate::signals::turns::Turns;
use crate::{EventsCompactionConfig, RunError, SessionRef};

/// The parts of a Runner, shared by its clones and runs.
pub(crate) struct RunnerInner {
    pub(crate) app_name: AppName,
    pub(crate) root: Arc<dyn Node>,
    pub(crate) services: Arc<Services>,
    pub(crate) auto_create_session: bool,
    pub(crate) resumable: bool,
    /// Whether a run of the root can open a task: see [`may_open_tasks`](crate::opening::open_task::may_open_tasks).
    pub(crate) may_open_tasks: bool,
    /// The limit of model calls for runs whose config sets none.
    pub(crate) max_llm_calls: u32,
    /// The time that a run may store nothing before it claims its session.
    pub(crate) heartbeat: Option<Duration>,
    /// The number of recoveries without progress after which an invocation is left alone.
    pub(crate) max_recoveries: u32,
    /// The pause between two passes of the Runner's own recovery.
    pub(crate) recover_every: Option<Duration>,
    /// The maximum number of runs queued for a session.
    pub(crate) max_queued_runs: usize,
    pub(crate) compaction: Option<Arc<EventsCompactionConfig>>,
    pub(crate) active: RunRegistry,
    pub(crate) ended: EndedSessions,
    /// The sessions that a recovery has found not to be resumable.
    pub(crate) unresumable: EndedSessions,
    pub(crate) left: LeftSessions,
    /// The name of the program that judges which sessions have ended: see [`program_name`](crate::sessions::program::program_name).
    pub(crate) program: String,
    /// Lets signals to a session be stored one after the other.
    pub(crate) signals: Turns<SessionKey>,
    /// Lets signals with the same name to a session be sent one after the other. A signal keeps its turn while it waits
    /// for a run.
    pub(crate) signal_names: Turns<(SessionKey, String)>,
    /// The deadlines of questions.
    pub(crate) timers: Timers,
    pub(crate) on_span: OnSpan,
    pub(crate) closing: Closing,
    /// Whether a message that answers no question closes open confirmations.
    pub(crate) closes_confirmations: bool,
    /// Who may answer which question.
    pub(crate) answer_rule: AnswerRule,
    /// The toolsets of all agents below the root, each once.
    pub(crate) toolsets: Vec<SharedToolset>,
}

/// Settings for closing a Runner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    /// The time limit for closing each plugin.
    pub(crate) limit: Duration,
    /// Whether the plugins stay open.
    pub(crate) skip: bool,
    /// Whether the session service stays open.
    pub(crate) skip_sessions: bool,
}

impl Default for Closing {
    fn default() -> Self {
        Self { limit: Duration::from_secs(5), skip: false, skip_sessions: false }
    }
}

impl RunnerInner {
    /// Returns the compaction that shortens the history before prompts, if the app has configured one.
    pub(crate) fn prompt_compaction(&self) -> Option<Arc<dyn PromptCompaction>> {
        let config = self.compaction.as_ref().filter(|config| config.token_threshold.is_some())?;
        Some(Arc::clone(config) as _)
    }

    /// Loads an existing session with all its events.
    ///
    /// # Errors
    /// A blank id, an unknown session, or an error of the session service.
    pub(crate) async fn load_all(&self, key: &SessionKey) -> Result<Session, RunError> {
        self.load_some(key, GetSessionConfig::all()).await
    }

    /// Loads an existing session with the events that `config` selects.
    ///
    /// # Errors
    /// A blank id, an unknown session, or an error of the session service.
    pub(crate) async fn load_some(&self, key: &SessionKey, config: GetSessionConfig) -> Result<Session, RunError> {
        check_ids(key)?;
        let session = self.services.sessions.get_session(key, config).await?;
        session.ok_or_else(|| RunError::SessionNotFound(key.clone()))
    }

    /// Returns the key of the session that a request names.
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

pub(crate) fn check_id(what: &'static str, id: &str) -> Result<(), RunError> {
    if id.trim().is_empty() { Err(RunError::BlankId(what)) } else { Ok(()) }
}
