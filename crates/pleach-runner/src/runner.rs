//! [`Runner`]: starts and resumes invocations of an app.

use std::fmt;
use std::sync::Arc;

use pleach_context::Node;
use pleach_context::engine::Services;
use pleach_core::{AppName, InvocationId, Session, SessionId, SessionKey, UserId};
use pleach_session::{GetSessionConfig, SessionService};
use serde::Serialize;

use crate::answer::response_part;
use crate::closing::Closing;
use crate::message::of_parts;
use crate::question_ref::Strict;
use crate::registry::ActiveRuns;
use crate::run::Run;
use crate::trace::OnSpan;
use crate::{
    AnswerOptions, EventsCompactionConfig, Message, QuestionRef, RunError, RunRequest, RunnerBuilder, SessionRef,
};

/// Starts and resumes invocations of an app. Cheap to clone; one serves any number of sessions at once.
///
/// ADK: `Runner`.
// R1101–R1116
#[derive(Clone)]
pub struct Runner {
    pub(crate) parts: Arc<RunnerParts>,
}

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

impl Runner {
    pub(crate) fn from_parts(parts: RunnerParts) -> Self {
        Self { parts: Arc::new(parts) }
    }

    /// A builder that starts with an app.
    #[must_use]
    pub fn app(app: crate::App) -> RunnerBuilder {
        RunnerBuilder::app(app)
    }

    /// The app's name.
    #[must_use]
    pub fn app_name(&self) -> &AppName {
        &self.parts.app_name
    }

    /// Where the app's sessions are kept.
    #[must_use]
    pub fn sessions(&self) -> &Arc<dyn SessionService> {
        &self.parts.services.sessions
    }

    /// Sends a user's message to a session. The run starts when it is first polled; dropping it cancels it.
    pub fn run(&self, user: impl Into<UserId>, session: impl Into<SessionId>, message: impl Into<Message>) -> Run {
        self.start(RunRequest::new((user, session)).message(message))
    }

    /// Starts or resumes what the request says. The run starts when it is first polled; dropping it cancels it.
    pub fn start(&self, request: RunRequest) -> Run {
        Run::new(Arc::clone(&self.parts), request)
    }

    /// Answers a question of a session, in any process and on any day; the invocation that asked goes on.
    ///
    /// The session is named by user and id, by its key, or by its id alone; the question by its id, by invocation and id, or by a
    /// [`Question`](pleach_core::Question). All checks are made when the run starts, and when one fails nothing is stored:
    ///
    /// - The answer must fit the question's schema and, where the node declares it by returning a `RequestInput<T>`, the type.
    ///   Results of long-running tools have no type that the Runner knows; they are stored as they come.
    /// - An id alone must be open in one invocation only ([`RunError::AmbiguousQuestion`]).
    /// - The same answer again is a success that stores nothing; the invocation is resumed if it was cut off.
    /// - Another answer replaces the first until a run that took the first has completed, and is an error then
    ///   ([`RunError::AlreadyAnswered`]). That is the run of a node: the one that asked, or one that started from its answer.
    ///   A node that has completed does not run again, so a newer answer could not change anything, even while other
    ///   lanes of the invocation continue. Completions in a lane beside the question's do not count.
    /// - The invocation must not be aborted ([`RunError::InvocationAborted`]).
    ///
    /// # Errors
    /// An answer that has no JSON form.
    pub fn answer(
        &self,
        session: impl Into<SessionRef>,
        question: impl Into<QuestionRef>,
        answer: impl Serialize,
    ) -> Result<Run, RunError> {
        self.answer_all(session, [(question, answer)])
    }

    /// Answers several questions of one invocation at once. See [`Runner::answer`].
    ///
    /// # Errors
    /// An answer that has no JSON form.
    pub fn answer_all(
        &self,
        session: impl Into<SessionRef>,
        answers: impl IntoIterator<Item = (impl Into<QuestionRef>, impl Serialize)>,
    ) -> Result<Run, RunError> {
        self.answer_with(session, answers, AnswerOptions::new())
    }

    /// Answers questions of one invocation with options. See [`Runner::answer`].
    ///
    /// # Errors
    /// An answer that has no JSON form.
    pub fn answer_with(
        &self,
        session: impl Into<SessionRef>,
        answers: impl IntoIterator<Item = (impl Into<QuestionRef>, impl Serialize)>,
        options: AnswerOptions,
    ) -> Result<Run, RunError> {
        let (mut questions, mut parts) = (Vec::new(), Vec::new());
        for (question, answer) in answers {
            let question = question.into();
            parts.push(response_part(question.id(), answer)?);
            questions.push(question);
        }
        let mut request = RunRequest::new(session).message(of_parts(parts));
        request.strict = (!questions.is_empty()).then_some(Strict { questions, options });
        Ok(self.start(request))
    }

    /// Goes on with an invocation that failed or was cut off: finished nodes are not run again.
    // R1025
    pub fn resume(
        &self,
        user: impl Into<UserId>,
        session: impl Into<SessionId>,
        invocation: impl Into<InvocationId>,
    ) -> Run {
        self.start(RunRequest::new((user, session)).invocation_id(invocation))
    }

    pub(crate) fn key(&self, user: impl Into<UserId>, session: impl Into<SessionId>) -> SessionKey {
        SessionKey::new(self.parts.app_name.clone(), user.into(), session.into())
    }
}

/// Refuses ids that nobody can mean.
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

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner")
            .field("app", &self.parts.app_name)
            .field("root", &self.parts.root.spec().name)
            .finish_non_exhaustive()
    }
}
