//! [`Talk`]: how far a conversation is, and what comes next.

use std::collections::BTreeMap;
use std::fmt;

use pleach_core::{InvocationId, Question};
use pleach_runner::{RunEnd, RunProgress, SessionStatus};

use super::failure::ResumeFault;

/// How the ids of invocations begin: `message-1`, `message-2`, …
const PREFIX: &str = "message-";

/// How far a conversation is.
#[derive(Debug, Default)]
pub(super) struct Talk {
    /// The message that was sent last, from 0.
    pub(super) message: usize,
    /// How each message ended.
    pub(super) ends: BTreeMap<usize, End>,
}

/// How a message ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    Done,
    Aborted,
    /// Questions stay open, and have no deadline.
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

    /// How a run ended; `None` when it waits.
    pub(super) fn of(end: &RunEnd) -> Option<Self> {
        match end {
            RunEnd::Waiting => None,
            // A dead end of the run is one of its recorded result, too.
            RunEnd::Done | RunEnd::DoneWithDeadEnds(_) => Some(Self::Done),
            RunEnd::Aborted => Some(Self::Aborted),
            RunEnd::Failed { code, message } => Some(Self::failed(code, message)),
            other => Some(Self::Other(format!("{other:?}"))),
        }
    }
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Next {
    /// Looks how far the session is.
    Look,
    Send(usize),
    Resume(InvocationId),
    Answer,
    /// Answers a question at its deadline.
    Fire(Box<Question>),
    Over,
}

/// What one step of a conversation has come to.
#[derive(Debug)]
pub(super) struct Turn {
    /// The message that it was about.
    pub(super) message: usize,
    /// How the message has ended.
    pub(super) end: Option<End>,
    pub(super) next: Next,
}

impl Turn {
    /// Continues with the same message.
    pub(super) fn next(message: usize, next: Next) -> Self {
        Self { message, end: None, next }
    }

    /// A message has ended.
    pub(super) fn ended(message: usize, end: End, messages: usize) -> Self {
        let next = if message + 1 < messages { Next::Send(message + 1) } else { Next::Over };
        Self { message, end: Some(end), next }
    }

    /// What a new process finds.
    pub(super) fn found(status: &SessionStatus, messages: usize) -> Result<Self, ResumeFault> {
        let Some((invocation, message)) = status.invocation.as_ref().and_then(|id| Some((id, place(id)?))) else {
            return Ok(Self::next(0, Next::Send(0)));
        };
        Ok(match &status.progress {
            RunProgress::Done => Self::ended(message, End::Done, messages),
            RunProgress::Aborted => Self::ended(message, End::Aborted, messages),
            RunProgress::Waiting => Self::next(message, Next::Answer),
            // The error may be that of an attempt behind which there is another one.
            RunProgress::Failed { .. } | RunProgress::Unfinished | RunProgress::MayBeDone => {
                Self::next(message, Next::Resume(invocation.clone()))
            }
            RunProgress::Changed { error, path } => {
                return Err(ResumeFault::Changed { error: error.clone(), path: path.clone() });
            }
            // Fired by the Runner at a deadline.
            _ => Self::next(message, Next::Look),
        })
    }
}

pub(super) fn invocation(message: usize) -> InvocationId {
    InvocationId::from(format!("{PREFIX}{}", message + 1))
}

/// The message that an invocation is about, from 0.
fn place(invocation: &InvocationId) -> Option<usize> {
    invocation.as_str().strip_prefix(PREFIX)?.parse::<usize>().ok()?.checked_sub(1)
}
