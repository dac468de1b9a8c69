//! [`Runner`]: starts and resumes invocations of an app.

use std::fmt;
use std::sync::Arc;

use pleach_context::Node;
use pleach_core::{AppName, EventId, InvocationId, SessionId, SessionKey, UserId};
use pleach_session::SessionService;
use serde::Serialize;

use crate::answers::check_message::response_part;
use crate::app::inner::RunnerInner;
use crate::run::stream::Run;
use crate::{AnswerOptions, Follow, FollowOptions, Message, QuestionRef, RunError, RunRequest, SessionRef};

/// Starts and resumes invocations of an app. Cheap to clone; one Runner serves any number of sessions concurrently.
///
/// # Example
/// ```
/// # use pleach_context::Node;
/// # use pleach_runner::RunnerBuilder;
/// # use pleach_session::SessionService;
/// # async fn example(sessions: impl SessionService, workflow: impl Node) -> Result<(), Box<dyn std::error::Error>> {
/// let runner = RunnerBuilder::new("shop").root(workflow).sessions(sessions).build()?;
/// let reply: String = runner.run("ana", "session-1", "Where is my parcel?").output().await?;
/// for question in runner.questions(("ana", "session-1")).await? {
///     println!("{}: {}", question.id, question.message);
/// }
/// # drop(reply);
/// # Ok(())
/// # }
/// ```
///
/// ADK: `Runner`.
// R1101–R1116
#[derive(Clone)]
pub struct Runner {
    pub(crate) parts: Arc<RunnerInner>,
}

impl Runner {
    pub(crate) fn from_parts(parts: RunnerInner) -> Self {
        Self { parts: Arc::new(parts) }
    }

    /// Returns the app's name.
    #[must_use]
    pub fn app_name(&self) -> &AppName {
        &self.parts.app_name
    }

    /// Returns the session service.
    #[must_use]
    pub fn sessions(&self) -> &Arc<dyn SessionService> {
        &self.parts.services.sessions
    }

    /// Returns the root node.
    #[must_use]
    pub fn root(&self) -> &Arc<dyn Node> {
        &self.parts.root
    }

    /// Returns `true` if checkpoints and completed runs are recorded. See [`App::resumable`](crate::App::resumable).
    #[must_use]
    pub fn is_resumable(&self) -> bool {
        self.parts.resumable
    }

    /// Iterates over the names of the plugins, in the order of registration.
    pub fn plugin_names(&self) -> impl Iterator<Item = &str> {
        self.parts.services.plugins.names()
    }

    /// Returns a run that sends a user's message to a session. It starts when it is first polled; dropping it cancels it.
    #[doc(alias = "run_async")]
    pub fn run(&self, user: impl Into<UserId>, session: impl Into<SessionId>, message: impl Into<Message>) -> Run {
        self.start(RunRequest::new((user, session)).message(message))
    }

    /// Returns a run for a request. It starts when it is first polled; dropping it cancels it.
    pub fn start(&self, request: RunRequest) -> Run {
        Run::new(Arc::clone(&self.parts), request)
    }

    /// Answers a question of a session; the invocation that asked continues. The call works at any time and in any
    /// process.
    ///
    /// Name the session by user and id, by its key, or by its id alone. Name the question by its id, by invocation and id, or by
    /// a [`Question`](pleach_core::Question). All checks are made when the run starts; if one fails, nothing is stored:
    ///
    /// - The answer must fit the question's schema. If the node returns a `RequestInput<T>`, the answer must also fit
    ///   the type `T`. Results of long-running tools have no declared type and are stored unchecked.
    /// - A question named by its id alone must be open in only one invocation ([`RunError::AmbiguousQuestion`]).
    /// - Repeating the stored answer succeeds and stores nothing. If the invocation was interrupted after the first
    ///   answer, it is resumed. If two processes send the same answer at once, one stores it and continues the
    ///   invocation. The other run ends as [`RunEnd::Elsewhere`](crate::RunEnd::Elsewhere), or with the recorded result
    ///   if there is one.
    /// - A different answer replaces the first one until a node run that used the first one has completed: the run that
    ///   asked, or a run that the answer started. After that, a different answer is refused
    ///   ([`RunError::AlreadyAnswered`]), because a completed node does not run again. Runs that complete in parallel
    ///   lanes do not matter.
    /// - The invocation must not be aborted ([`RunError::InvocationAborted`]).
    ///
    /// # Errors
    /// An answer that cannot be written as JSON.
    pub fn answer(
        &self,
        session: impl Into<SessionRef>,
        question: impl Into<QuestionRef>,
        answer: impl Serialize,
    ) -> Result<Run, RunError> {
        self.answer_all(session, [(question, answer)])
    }

    /// Answers several questions of one invocation in one message. See [`Runner::answer`].
    ///
    /// # Errors
    /// An answer that cannot be written as JSON.
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
    /// An answer that cannot be written as JSON.
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
        Ok(self.start(RunRequest::answering(session, questions, parts, options)))
    }

    /// Resumes an invocation that failed or was interrupted. Completed nodes do not run again.
    // R1025
    pub fn resume(
        &self,
        user: impl Into<UserId>,
        session: impl Into<SessionId>,
        invocation: impl Into<InvocationId>,
    ) -> Run {
        self.start(RunRequest::new((user, session)).invocation_id(invocation))
    }

    /// Returns a reader of a session: first the stored events after an event, or all of them, and then the events of
    /// the active run until it ends. Use it for a client that has lost its connection.
    ///
    /// `after` is the id of the last complete event that the client has. A server sends it as the `id:` of a server-sent event
    /// and receives it back as `Last-Event-ID`. Fragments are not stored, so their ids are not positions in the log.
    ///
    /// Checkpoints and echoes are left out; [`Runner::follow_with`] can include them, and can follow across pauses.
    ///
    /// Any run of this Runner and its clones can be followed, detached or not. If several runs are active in the
    /// session, the detached run is followed, or the run that began last if none is detached;
    /// [`Detached::follow`](crate::Detached::follow) picks a specific run. The call waits for a detached run that has
    /// not created its session yet. If no run is active, the stream ends after the stored events, and
    /// [`Follow::status`] returns [`FollowStatus::NotHere`](crate::FollowStatus::NotHere). ADK has no such call.
    ///
    /// # Errors
    /// [`RunError::UnknownEvent`] if the session has no event `after`; [`RunError::SessionNotFound`],
    /// [`RunError::UnknownSession`], [`RunError::AmbiguousSession`], [`RunError::BlankId`]; [`RunError::Session`] if the
    /// storage fails.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect on the run.
    pub async fn follow(&self, session: impl Into<SessionRef>, after: Option<EventId>) -> Result<Follow, RunError> {
        self.follow_with(session, FollowOptions::new().after(after)).await
    }

    /// Follows a session like [`Runner::follow`], with options.
    ///
    /// # Errors
    /// The errors of [`Runner::follow`].
    ///
    /// # Cancel safety
    /// Dropping the future has no effect on the run.
    pub async fn follow_with(
        &self,
        session: impl Into<SessionRef>,
        options: FollowOptions,
    ) -> Result<Follow, RunError> {
        self.parts.follow_session(&session.into(), options).await
    }

    pub(crate) fn key(&self, user: impl Into<UserId>, session: impl Into<SessionId>) -> SessionKey {
        SessionKey::new(self.parts.app_name.clone(), user.into(), session.into())
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
