//! [`Fault`]: why a command fails, and with which exit code.

use std::path::PathBuf;

use pleach::{ConnectError, SessionError, SessionKey};

/// Why a command fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: std::io::Error },
    #[error("line {line} of the file holds no session: {error}")]
    Line { line: usize, error: serde_json::Error },
    #[error("there is no session {id:?}{of}")]
    NoSession { id: String, of: String },
    #[error("several sessions have the id {id:?}: {}; choose one with `--app` and `--user`", list(keys))]
    Ambiguous { id: String, keys: Vec<SessionKey> },
    #[error(
        "session {0} is in the database already: nothing of it was changed; `--skip-existing` leaves such sessions out"
    )]
    Exists(SessionKey),
    #[error("nothing is deleted: say `--yes`")]
    Unconfirmed,
    #[error("{} of what was copied differs: {}", differences.len(), differences.join("; "))]
    Differs { differences: Vec<String> },
}

impl Fault {
    /// The exit codes of `docs/cli.md`. Code 2 is that of a wrong command line.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::NoSession { .. } | Self::Ambiguous { .. } => 3,
            Self::Differs { .. } => 4,
            Self::Unconfirmed => 2,
            _ => 1,
        }
    }
}

fn list(keys: &[SessionKey]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
