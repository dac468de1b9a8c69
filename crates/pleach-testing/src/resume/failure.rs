//! [`ResumeFailure`]: why the property does not hold.

use std::fmt;

use pleach_context::NodeError;
use pleach_core::{BoxError, NodePath, Question, with_causes};
use pleach_runner::RunError;

use super::crash::CrashPoint;
use crate::Trace;
use crate::human::unanswered;

/// A run that does not hold: where it was cut off, and why. Its text is for people, in `unwrap`, too.
#[non_exhaustive]
pub struct ResumeFailure {
    /// Where the run was cut off; `None` for one that was not.
    pub crash: Option<Box<CrashPoint>>,
    /// Why it does not hold.
    pub fault: ResumeFault,
    /// Its events.
    pub trace: Trace,
}

/// Why a run does not hold.
#[derive(Debug)]
#[non_exhaustive]
pub enum ResumeFault {
    /// A message failed with this error, and [`ResumeProperty::may_fail`](crate::ResumeProperty::may_fail) is not set.
    Failed(String),
    /// Two runs that nothing cut off differ, or a run that was to be cut off differs before that.
    NotReproducible(Vec<Difference>),
    /// The run that was cut off and continued ends in another way than the one that was not.
    Differs(Vec<Difference>),
    /// These effects were done again although their results, or later events of the same runs, were stored.
    Repeated(Vec<String>),
    /// These runs of nodes gave more than one output.
    SeveralOutputs(Vec<String>),
    /// These effects were recorded under keys of your own, so that no repetition could be found: `what (key)`.
    ForeignKeys(Vec<String>),
    /// [`ResumeProperty::effects`](crate::ResumeProperty::effects) is set, and the run that nothing cut off has recorded nothing in it.
    NoEffects,
    /// The store has acknowledged these events and does not hold them.
    Lost(Vec<String>),
    /// The script has no answer to a question.
    NoAnswer(Box<Question>),
    /// A run failed otherwise than by its nodes.
    Run(RunError),
    /// A new Runner does not know the root of the run: the app is another one in each process.
    Changed {
        /// What differs.
        error: NodeError,
        /// The run that no longer fits.
        path: NodePath,
    },
    /// The store cannot be opened, holds the session already or is not used at all; or the app cannot be built.
    Setup(BoxError),
    /// The conversation does not end.
    NoEnd,
}

/// One thing that two runs have differently.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Where: `output of shop/order`, `state 'total'`, `effect 'charge 12'`.
    pub place: String,
    /// What the run that nothing cut off has there; several outputs in lines.
    pub expected: Option<String>,
    /// What the other one has.
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
            None => writeln!(f, "a run that nothing cut off:")?,
        }
        write!(f, "{}", self.fault)?;
        write!(f, "\nits events:\n{}", self.trace)
    }
}

/// The text: `check().await.unwrap()` shows it.
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
                writeln!(f, "it failed with {error}; `.may_fail()` compares runs that fail")
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
                writeln!(f, "it differs from the run that nothing cut off (-)")?;
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
                    "recorded under keys that are not of the run: {effects}; record with `ctx.idempotency_key()`, or with a key that contains it"
                )
            }
            Self::NoEffects => writeln!(
                f,
                "nothing is recorded in the effects of the property: the code under test must record in a clone of them"
            ),
            Self::SeveralOutputs(paths) => writeln!(f, "more than one output of {}", paths.join(", ")),
            Self::Lost(events) => writeln!(f, "the store has acknowledged and lost: {}", events.join(", ")),
            Self::NoAnswer(question) => writeln!(f, "{}", unanswered(question)),
            Self::Run(error) => writeln!(f, "{}: {error}", error.code()),
            Self::Changed { error, path } => {
                let (class, message) = (error.class(), error.message());
                writeln!(f, "the app has changed between two processes: {class} of {path}: {message}")
            }
            Self::Setup(error) => writeln!(f, "it cannot start: {}", with_causes(&**error)),
            Self::NoEnd => writeln!(f, "the conversation does not end: does a loop of it?"),
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
