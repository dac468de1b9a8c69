//! [`ResumeFailure`]: why the property does not hold.

use std::fmt;

use pleach_context::NodeError;
use pleach_core::{BoxError, NodePath, Question, with_causes};
use pleach_runner::RunError;

use super::crash::CrashPoint;
use crate::Trace;
use crate::human::unanswered;

/// A run that violates the property: where it was cut off, and what is wrong. Its text is for people, including in
/// `unwrap`.
#[non_exhaustive]
pub struct ResumeFailure {
    /// The point at which the run was cut off; `None` if it was not cut off.
    pub crash: Option<Box<CrashPoint>>,
    /// The fault of the run.
    pub fault: ResumeFault,
    /// The events of the run.
    pub trace: Trace,
}

/// A fault of a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum ResumeFault {
    /// A message failed with this error, and [`ResumeProperty::may_fail`](crate::ResumeProperty::may_fail) is not set.
    Failed(String),
    /// Two uninterrupted runs differ, or a run differs before the point at which it was to be cut off.
    NotReproducible(Vec<Difference>),
    /// A run that was cut off and continued ended differently from the uninterrupted run.
    Differs(Vec<Difference>),
    /// These effects were done again although their results, or later events of the same runs, were stored.
    Repeated(Vec<String>),
    /// These runs of nodes have more than one output.
    SeveralOutputs(Vec<String>),
    /// These effects were recorded under other keys than `idempotency_key`, so repetitions could not be detected:
    /// `what (key)`.
    ForeignKeys(Vec<String>),
    /// [`ResumeProperty::effects`](crate::ResumeProperty::effects) is set, but the uninterrupted run has recorded no
    /// effects.
    NoEffects,
    /// The store acknowledged these events but has not stored them.
    Lost(Vec<String>),
    /// The script has no answer to a question.
    NoAnswer(Box<Question>),
    /// A run failed for a reason other than its nodes.
    Run(RunError),
    /// A new Runner does not know the root of the run: the app differs between processes.
    Changed {
        /// The error that names the difference.
        error: NodeError,
        /// The run that no longer fits.
        path: NodePath,
    },
    /// The store cannot be opened, already has the session or is not used at all, or the app cannot be built.
    Setup(BoxError),
    /// The conversation does not end.
    NoEnd,
}

/// One difference between two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The place of the difference: `output of shop/order`, `state 'total'`, `effect 'charge 12'`.
    pub place: String,
    /// The value in the uninterrupted run; several outputs are on separate lines.
    pub expected: Option<String>,
    /// The value in the other run.
    pub found: Option<String>,
}

impl ResumeFailure {
    pub(super) fn new(crash: Option<&CrashPoint>, fault: ResumeFault, trace: Trace) -> Self {
        Self { crash: crash.cloned().map(Box::new), fault, trace }
    }
}

impl fmt::Display for ResumeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.crash {
            Some(crash) => writeln!(f, "a run was cut off {crash}, and continued by a new Runner:")?,
            None => writeln!(f, "an uninterrupted run:")?,
        }
        write!(f, "{}", self.fault)?;
        write!(f, "\nits events:\n{}", self.trace)
    }
}

/// Debug output is the text, because `check().await.unwrap()` shows it.
impl fmt::Debug for ResumeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// The causes are in the text, so there is no `source()`.
impl std::error::Error for ResumeFailure {}

impl fmt::Display for ResumeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => {
                writeln!(f, "it failed with {error}; `.may_fail()` also compares runs that fail")
            }
            Self::NotReproducible(differences) => {
                writeln!(
                    f,
                    "it differs from another one with the same input. Ids and the time are the same in both if they come from the Runner; \
                     what differs on purpose is left out by `.ignore(…)`"
                )?;
                list(f, differences)
            }
            Self::Differs(differences) => {
                writeln!(f, "it differs from the uninterrupted run (-)")?;
                list(f, differences)
            }
            Self::Repeated(effects) => {
                let effects = effects.join(", ");
                writeln!(
                    f,
                    "done again, although the log has a later event of the same run: {effects}; do it in a step: `ctx.step(…)`"
                )
            }
            Self::ForeignKeys(effects) => {
                let effects = effects.join(", ");
                writeln!(
                    f,
                    "recorded under keys that do not belong to the run: {effects}; record with `ctx.idempotency_key()`, or with a key that contains it"
                )
            }
            Self::NoEffects => writeln!(
                f,
                "no effects were recorded: the code under test must record in a clone of the property's `Effects`"
            ),
            Self::SeveralOutputs(paths) => writeln!(f, "more than one output of {}", paths.join(", ")),
            Self::Lost(events) => {
                writeln!(f, "the store acknowledged these events but lost them: {}", events.join(", "))
            }
            Self::NoAnswer(question) => writeln!(f, "{}", unanswered(question)),
            Self::Run(error) => writeln!(f, "{}: {error}", error.code()),
            Self::Changed { error, path } => {
                let (class, message) = (error.class(), error.message());
                writeln!(f, "the app differs between two processes: {class} of {path}: {message}")
            }
            Self::Setup(error) => writeln!(f, "it cannot start: {}", with_causes(&**error)),
            Self::NoEnd => writeln!(f, "the conversation does not end: look for a loop that never ends"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.place)?;
        let (expected, found) = (lines(self.expected.as_ref()), lines(self.found.as_ref()));
        let same = |(one, other): &(&&str, &&str)| one == other;
        let start = expected.iter().zip(&found).take_while(same).count();
        let rest = expected.len().min(found.len()) - start;
        let end = expected.iter().rev().zip(found.iter().rev()).take(rest).take_while(same).count();
        for line in &expected[start.saturating_sub(1)..start] {
            writeln!(f, "      {line}")?;
        }
        for line in &expected[start..expected.len() - end] {
            writeln!(f, "    - {line}")?;
        }
        for line in &found[start..found.len() - end] {
            writeln!(f, "    + {line}")?;
        }
        for line in expected[expected.len() - end..].iter().take(1) {
            writeln!(f, "      {line}")?;
        }
        Ok(())
    }
}

fn lines(text: Option<&String>) -> Vec<&str> {
    text.map_or_else(|| vec!["(none)"], |text| text.lines().collect())
}

fn list(f: &mut fmt::Formatter<'_>, differences: &[Difference]) -> fmt::Result {
    differences.iter().try_for_each(|difference| write!(f, "{difference}"))
}
