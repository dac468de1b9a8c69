//! [`MayAnswer`]: who may answer which question.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use pleach_core::{BoxFuture, Question, SessionKey, UserId};

use crate::RunError;

/// An answer that is about to be stored.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GivenAnswer<'a> {
    /// The caller who answers, as named by [`RunRequest::caller`](crate::RunRequest::caller) or
    /// [`AnswerOptions::caller`](crate::AnswerOptions::caller); `None` if the program names none.
    pub caller: Option<&'a UserId>,
    /// The session that the question is asked in.
    pub session: &'a SessionKey,
    /// The question. It may have been answered before.
    pub question: &'a Question,
}

impl GivenAnswer<'_> {
    /// Returns `true` if the question has no assignee, or the caller is the assignee, or the caller is not known.
    #[must_use]
    pub fn is_of_assignee(&self) -> bool {
        match (self.caller, &self.question.assignee) {
            (Some(caller), Some(assignee)) => caller.as_str() == assignee,
            (None, _) | (_, None) => true,
        }
    }
}

/// A rule that decides who may answer which question. The Runner calls the rule before it stores a person's answer, and
/// also if a caller repeats a stored answer. The rule is not called for sleeps, signals and the default answers of
/// deadlines.
///
/// A closure that takes a [`GivenAnswer`] decides at once; an implementation of the trait may wait, for example for a list of
/// roles. The default rule of a Runner is [`GivenAnswer::is_of_assignee`].
///
/// ```
/// # use pleach_runner::{GivenAnswer, RunnerBuilder};
/// # fn leads(_: &str) -> bool { true }
/// let runner = RunnerBuilder::new("refunds").may_answer(|given: &GivenAnswer<'_>| {
///     match (&given.question.assignee, given.caller) {
///         (Some(role), Some(caller)) if role == "team-lead" => leads(caller.as_str()),
///         _ => given.is_of_assignee(),
///     }
/// });
/// # drop(runner);
/// ```
pub trait MayAnswer: Send + Sync + 'static {
    /// Returns `true` if the answer may be stored.
    fn may_answer<'a>(&'a self, given: GivenAnswer<'a>) -> BoxFuture<'a, bool>;
}

impl<F: Fn(&GivenAnswer<'_>) -> bool + Send + Sync + 'static> MayAnswer for F {
    fn may_answer<'a>(&'a self, given: GivenAnswer<'a>) -> BoxFuture<'a, bool> {
        Box::pin(ready(self(&given)))
    }
}

/// The rule of a Runner.
#[derive(Clone, Default)]
pub(crate) struct AnswerRule(Option<Arc<dyn MayAnswer>>);

impl AnswerRule {
    pub(crate) fn new(rule: impl MayAnswer) -> Self {
        Self(Some(Arc::new(rule)))
    }

    /// Checks whether the caller may answer these questions. Sleeps and signals are not for people, so a request that
    /// names a caller may not answer them.
    ///
    /// # Errors
    /// [`RunError::MayNotAnswer`] with the first question that the caller may not answer.
    pub(crate) async fn check(
        &self,
        caller: Option<&UserId>,
        session: &SessionKey,
        questions: &[Question],
    ) -> Result<(), RunError> {
        for question in questions {
            let given = GivenAnswer { caller, session, question };
            let may = match &self.0 {
                _ if !question.kind.is_for_people() => caller.is_none(),
                Some(rule) => rule.may_answer(given).await,
                None => given.is_of_assignee(),
            };
            if !may {
                return Err(RunError::MayNotAnswer { id: question.id.clone(), assignee: question.assignee.clone() });
            }
        }
        Ok(())
    }
}

impl fmt::Debug for AnswerRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerRule")
    }
}
