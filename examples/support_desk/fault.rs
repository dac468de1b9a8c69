//! The errors that stop the program, and their texts.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use pleach::{BuildError, RunError, SessionError, SessionKey};

use crate::desk::is_elsewhere;

/// Why the program stops early. Everything that was stored before remains.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("{0}; `--help` shows the options")]
    Usage(String),
    #[error("cannot read {name}")]
    Unreadable { name: String, source: io::Error },
    #[error("{name}, line {line}: {reason}; nothing was stored")]
    Ticket { name: String, line: usize, reason: String },
    #[error("{name} contains no tickets")]
    NoTickets { name: String },
    #[error("there is no database {}: nothing has been run with it yet", .0.display())]
    NoDatabase(PathBuf),
    #[error("ticket {ticket} already belongs to {owner}; nothing was stored")]
    OtherOwner { ticket: String, owner: String },
    #[error("no question {id:?} is open; open questions: {}", listed(.open))]
    NotOpen { id: String, open: Vec<String> },
    #[error("ticket {ticket}: another process is working on it")]
    Elsewhere { ticket: String },
    #[error("session {session} was not written by this program")]
    Foreign { session: SessionKey, source: serde_json::Error },
    #[error(transparent)]
    Sessions(#[from] SessionError),
    #[error("{during}: {}", text_of(.error))]
    Run { during: String, error: Box<RunError> },
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("cannot write to the terminal")]
    Terminal(#[from] io::Error),
}

impl Fault {
    pub(crate) fn run(during: impl ToString, error: RunError) -> Self {
        match error {
            error if is_elsewhere(&error) => Self::Elsewhere { ticket: during.to_string() },
            RunError::Session(error) => Self::Sessions(error),
            error => Self::Run { during: during.to_string(), error: Box::new(error) },
        }
    }

    /// Returns the exit status: 1 if the workflow itself failed, 2 for faults that the caller can correct.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Run { .. } | Self::Build(_) => 1,
            _ => 2,
        }
    }

    /// Returns true if the reader of our output has closed the pipe, as `head` does. This is not an error.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Terminal(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns the message, followed by its causes.
    pub(crate) fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            // A driver's error repeats the text of its cause.
            if !text.ends_with(&error.to_string()) {
                text = format!("{text}: {error}");
            }
            cause = error.source();
        }
        text
    }
}

/// Returns the text for a failed run. If a node failed, the text names it: the session continues there next time.
fn text_of(error: &RunError) -> String {
    match error {
        RunError::Node { error, path } => format!("{path} failed with {}: {}", error.class(), error.message()),
        error => error.to_string(),
    }
}

fn listed(ids: &[String]) -> String {
    if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
}
