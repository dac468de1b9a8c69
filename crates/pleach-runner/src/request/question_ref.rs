//! [`QuestionRef`] names a question; [`AnswerOptions`] are the options of an answer.

use pleach_context::RunConfig;
use pleach_core::{EventId, InvocationId, Question, Revision, UserId};

/// A reference to a question, by its id or by its invocation and id.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuestionRef {
    /// The only open question of the session with this id, or the last question asked with this id if none is open.
    Only(String),
    /// The question of this invocation.
    Of(InvocationId, String),
}

impl QuestionRef {
    /// Returns the question's id.
    #[must_use]
    pub fn id(&self) -> &str {
        let (Self::Only(id) | Self::Of(_, id)) = self;
        id
    }

    /// Returns the invocation, if the reference names one.
    #[must_use]
    pub fn invocation(&self) -> Option<&InvocationId> {
        match self {
            Self::Only(_) => None,
            Self::Of(invocation, _) => Some(invocation),
        }
    }
}

impl From<&str> for QuestionRef {
    fn from(id: &str) -> Self {
        Self::Only(id.to_owned())
    }
}

impl From<String> for QuestionRef {
    fn from(id: String) -> Self {
        Self::Only(id)
    }
}

impl From<&String> for QuestionRef {
    fn from(id: &String) -> Self {
        Self::Only(id.clone())
    }
}

impl From<&Question> for QuestionRef {
    fn from(question: &Question) -> Self {
        Self::Of(question.invocation_id.clone(), question.id.clone())
    }
}

impl From<Question> for QuestionRef {
    fn from(question: Question) -> Self {
        Self::Of(question.invocation_id, question.id)
    }
}

impl<I: Into<InvocationId>, Q: Into<String>> From<(I, Q)> for QuestionRef {
    fn from((invocation, id): (I, Q)) -> Self {
        Self::Of(invocation.into(), id.into())
    }
}

/// The options of [`Runner::answer_with`](crate::Runner::answer_with).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AnswerOptions {
    /// Whether answering a question again is an error, even with the same answer.
    pub only_if_open: bool,
    /// Whether to wait for a detached run of the same session instead of failing with
    /// [`RunError::Busy`](crate::RunError::Busy).
    pub queue: bool,
    /// The settings of the run that continues with the answers.
    pub config: RunConfig,
    /// The caller who answers, if it is known.
    pub caller: Option<UserId>,
    /// The revision that the session must have; `None` for any.
    pub at: Option<Revision>,
    /// The id of the event that stores the answers; `None` for a new one.
    pub event_id: Option<EventId>,
}

impl AnswerOptions {
    /// Returns the options of [`Runner::answer`](crate::Runner::answer): the defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether answering a question again is an error, even with the same answer.
    #[must_use]
    pub fn only_if_open(mut self, yes: bool) -> Self {
        self.only_if_open = yes;
        self
    }

    /// Sets whether to wait for the end of a detached run that keeps the session busy. See
    /// [`RunRequest::queue`](crate::RunRequest::queue).
    #[must_use]
    pub fn queue(mut self, yes: bool) -> Self {
        self.queue = yes;
        self
    }

    /// Stores the answers only if the session has this revision. See [`RunRequest::at`](crate::RunRequest::at).
    #[must_use]
    pub fn at(mut self, revision: Revision) -> Self {
        self.at = Some(revision);
        self
    }

    /// Sets the id of the event that stores the answers. See
    /// [`RunRequest::message_event_id`](crate::RunRequest::message_event_id).
    #[must_use]
    pub fn event_id(mut self, id: impl Into<EventId>) -> Self {
        self.event_id = Some(id.into());
        self
    }

    /// Names the caller who answers. [`MayAnswer`](crate::MayAnswer) decides whether this caller may answer. If no
    /// caller is named, the default rule allows every answer.
    #[must_use]
    pub fn caller(mut self, caller: impl Into<UserId>) -> Self {
        self.caller = Some(caller.into());
        self
    }

    /// Sets the settings of the run that continues with the answers, such as its labels or its limit of model calls.
    /// They have no effect if the same answer is already stored, because then the recorded result is returned.
    #[must_use]
    pub fn config(mut self, config: RunConfig) -> Self {
        self.config = config;
        self
    }
}

/// The checks that [`Runner::answer`](crate::Runner::answer) requests for a message with answers.
#[derive(Clone, Debug)]
pub(crate) struct AnswerChecks {
    /// The questions, in the order of the message's parts.
    pub(crate) questions: Vec<QuestionRef>,
    pub(crate) if_answered: IfAnswered,
}

/// The effect of an answer whose question already has an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfAnswered {
    /// It replaces an answer that no completed run has used.
    Replaces,
    /// It is accepted if it is the same: the question was open when the caller answered it, and another answer came first.
    IsAcceptedIfSame,
    /// It is refused.
    IsRefused,
}
