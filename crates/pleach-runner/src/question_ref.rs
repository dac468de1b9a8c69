//! How a caller names a question, and the options of an answer.

use pleach_core::{InvocationId, Question};

/// A question, by its id, or by the invocation that asked and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuestionRef {
    /// The one open question of the session with this id, else the last one that was asked under it.
    Only(String),
    /// The question of this invocation.
    Of(InvocationId, String),
}

impl QuestionRef {
    /// The question's id.
    #[must_use]
    pub fn id(&self) -> &str {
        let (Self::Only(id) | Self::Of(_, id)) = self;
        id
    }

    /// The invocation, when it is named.
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

/// How answers are taken: see [`Runner::answer_with`](crate::Runner::answer_with).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerOptions {
    /// Whether an answer to a question that is answered already is an error, even if it is the same.
    pub only_if_open: bool,
    /// Whether to wait for a detached run of the same session instead of failing with
    /// [`RunError::Busy`](crate::RunError::Busy).
    pub queue: bool,
}

impl AnswerOptions {
    /// The options of [`Runner::answer`](crate::Runner::answer): neither is set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether an answer to a question that is answered already is an error, even if it is the same.
    #[must_use]
    pub fn only_if_open(mut self, yes: bool) -> Self {
        self.only_if_open = yes;
        self
    }

    /// Sets whether to wait for the end of a detached run that keeps the session busy. Waiting answers take their turns in
    /// the order in which their runs were first polled; dropping a run gives its turn up.
    #[must_use]
    pub fn queue(mut self, yes: bool) -> Self {
        self.queue = yes;
        self
    }
}

/// What [`Runner::answer`](crate::Runner::answer) adds to a message with answers.
#[derive(Clone, Debug)]
pub(crate) struct AnswerChecks {
    /// The questions, in the order of the message's parts.
    pub(crate) questions: Vec<QuestionRef>,
    pub(crate) options: AnswerOptions,
}
