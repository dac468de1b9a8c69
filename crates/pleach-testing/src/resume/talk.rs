//! [`Talk`]: how far a conversation is, and what comes next.

use std::collections::BTreeMap;

use pleach_core::{InvocationId, Question};
use pleach_runner::{RunEnd, RunProgress, SessionStatus};

/// How the ids of invocations begin: `message-1`, `message-2`, …
const PREFIX: &str = "message-";

/// How far a conversation is.
#[derive(Debug, Default)]
pub(super) struct Talk {
    /// The message that was sent last, from 0.
    pub(super) message: usize,
    /// How each message ended.
    pub(super) ends: BTreeMap<usize, String>,
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
    pub(super) end: Option<String>,
    pub(super) next: Next,
}

impl Turn {
    /// Continues with the same message.
    pub(super) fn next(message: usize, next: Next) -> Self {
        Self { message, end: None, next }
    }

    /// A message has ended.
    pub(super) fn ended(message: usize, end: impl Into<String>, messages: usize) -> Self {
        let next = if message + 1 < messages { Next::Send(message + 1) } else { Next::Over };
        Self { message, end: Some(end.into()), next }
    }

    /// What a new process finds.
    pub(super) fn found(status: &SessionStatus, messages: usize) -> Self {
        let Some((invocation, message)) = status.invocation.as_ref().and_then(|id| Some((id, place(id)?))) else {
            return Self::next(0, Next::Send(0));
        };
        match &status.progress {
            RunProgress::Done => Self::ended(message, "done", messages),
            RunProgress::Aborted => Self::ended(message, "aborted", messages),
            RunProgress::Waiting => Self::next(message, Next::Answer),
            // The error may be that of an attempt behind which there is another one.
            RunProgress::Failed { .. } | RunProgress::Unfinished => {
                Self::next(message, Next::Resume(invocation.clone()))
            }
            // Fired by the Runner at a deadline.
            _ => Self::next(message, Next::Look),
        }
    }
}

pub(super) fn invocation(message: usize) -> InvocationId {
    InvocationId::from(format!("{PREFIX}{}", message + 1))
}

/// The message that an invocation is about, from 0.
fn place(invocation: &InvocationId) -> Option<usize> {
    invocation.as_str().strip_prefix(PREFIX)?.parse::<usize>().ok()?.checked_sub(1)
}

/// How a run ended; `None` when it waits.
pub(super) fn end_text(end: &RunEnd) -> Option<String> {
    match end {
        RunEnd::Waiting => None,
        // A dead end of the run is one of its recorded result, too.
        RunEnd::Done | RunEnd::DoneWithDeadEnds(_) => Some("done".to_owned()),
        RunEnd::Aborted => Some("aborted".to_owned()),
        RunEnd::Failed { code, message } => Some(failed_text(code, message)),
        other => Some(format!("{other:?}")),
    }
}

pub(super) fn failed_text(code: &str, message: &str) -> String {
    format!("failed with {code}: {message}")
}
