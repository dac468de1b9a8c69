//! [`Talk`]: the progress of a conversation, and its next step.

use std::collections::BTreeMap;
use std::fmt;

use pleach_core::{InvocationId, Question};
use pleach_runner::{RunEnd, RunProgress, SessionStatus};

use super::failure::ResumeFault;

/// The prefix of invocation ids: `message-1`, `message-2`, …
const PREFIX: &str = "message-";

/// The progress of a conversation.
#[derive(Debug, Default)]
pub(super) struct Talk {
    /// The number of the last message that was sent, from 0.
    pub(super) message: usize,
    /// How each message ended.
    pub(super) ends: BTreeMap<usize, End>,
}

/// How a message ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    Done,
    Aborted,
    /// Questions stay open and have no deadline.
    Waits(String),
    Failed(String),
    Other(String),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Aborted => f.write_str("aborted"),
            Self::Waits(questions) => write!(f, "waits for {questions}"),
            Self::Failed(error) => write!(f, "failed with {error}"),
            Self::Other(end) => f.write_str(end),
        }
    }
}

impl End {
    pub(super) fn failed(code: &str, message: &str) -> Self {
        Self::Failed(format!("{code}: {message}"))
    }

    /// Returns how a run ended; `None` if it waits.
    pub(super) fn of(end: &RunEnd) -> Option<Self> {
        match end {
            RunEnd::Waiting => None,
            // A dead end is also part of the recorded result.
            RunEnd::Done | RunEnd::DoneWithDeadEnds(_) => Some(Self::Done),
            RunEnd::Aborted => Some(Self::Aborted),
            RunEnd::Failed { code, message } => Some(Self::failed(code, message)),
            other => Some(Self::Other(format!("{other:?}"))),
        }
    }
}

/// The next step of a conversation.
#[derive(Debug)]
pub(super) enum Next {
    /// Check how far the session is.
    Look,
    Send(usize),
    Resume(InvocationId),
    Answer,
    /// Answer a question at its deadline.
    Fire(Box<Question>),
    Over,
}

/// The result of one step of a conversation.
#[derive(Debug)]
pub(super) struct Turn {
    /// The number of the step's message.
    pub(super) message: usize,
    /// How the message ended, if it did.
    pub(super) end: Option<End>,
    pub(super) next: Next,
}

impl Turn {
    /// Continues with the same message.
    pub(super) fn next(message: usize, next: Next) -> Self {
        Self { message, end: None, next }
    }

    /// Ends a message, and continues with the next one.
    pub(super) fn ended(message: usize, end: End, messages: usize) -> Self {
        let next = if message + 1 < messages { Next::Send(message + 1) } else { Next::Over };
        Self { message, end: Some(end), next }
    }

    /// Returns the next step for a new process, according to the stored status.
    pub(super) fn found(status: &SessionStatus, messages: usize) -> Result<Self, ResumeFault> {
        let Some((invocation, message)) = status.invocation.as_ref().and_then(|id| Some((id, place(id)?))) else {
            return Ok(Self::next(0, Next::Send(0)));
        };
        Ok(match &status.progress {
            RunProgress::Done => Self::ended(message, End::Done, messages),
            RunProgress::Aborted => Self::ended(message, End::Aborted, messages),
            RunProgress::Waiting => Self::next(message, Next::Answer),
            // The error may come from an attempt that another attempt follows.
            RunProgress::Failed { .. } | RunProgress::Unfinished | RunProgress::MayBeDone => {
                Self::next(message, Next::Resume(invocation.clone()))
            }
            RunProgress::Changed { error, path } => {
                return Err(ResumeFault::Changed { error: error.clone(), path: path.clone() });
            }
            // The Runner answers at a deadline.
            _ => Self::next(message, Next::Look),
        })
    }
}

pub(super) fn invocation(message: usize) -> InvocationId {
    InvocationId::from(format!("{PREFIX}{}", message + 1))
}

/// Returns the number of an invocation's message, from 0.
fn place(invocation: &InvocationId) -> Option<usize> {
    invocation.as_str().strip_prefix(PREFIX)?.parse::<usize>().ok()?.checked_sub(1)
}
