//! [`Fault`]: the reasons why a command fails, and their exit codes.

use std::path::PathBuf;

use pleach::{ConnectError, RedactionFault, SessionError, SessionKey};

/// Why a command fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Artifact(#[from] pleach::ArtifactError),
    #[error(
        "session {session}: large values of event {event} are stored outside the database. Pass their folder with `--payloads` (`--from-payloads` in `migrate`)"
    )]
    Outside { session: SessionKey, event: String },
    #[error("{}; each is named above", left_out(*sessions, *values))]
    LeftOut { sessions: usize, values: usize },
    #[error("{whose}: the value of state key {key:?} is left out, because it cannot be read: {reason}")]
    UnreadableState { whose: String, key: String, reason: String },
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: std::io::Error },
    #[error("line {line} of the file is not a session: {error}")]
    Line { line: usize, error: serde_json::Error },
    #[error("there is no session {id:?}{of}")]
    NoSession { id: String, of: String },
    #[error("several sessions have the id {id:?}: {}; choose one with `--app` and `--user`", list(keys))]
    Ambiguous { id: String, keys: Vec<SessionKey> },
    #[error(
        "session {0} already exists in the database and was not changed. Pass `--skip-existing` to skip such sessions"
    )]
    Exists(SessionKey),
    /// The reason why an answer is not stored.
    #[error(transparent)]
    Run(#[from] pleach::RunError),
    #[error("{0}; nothing was stored")]
    Changed(SessionError),
    #[error("the inspector did not end in order: {0}")]
    Closing(pleach::RunError),
    #[error(transparent)]
    Server(#[from] pleach::server::ServerError),
    #[error(transparent)]
    Picture(#[from] pleach::inspect::PictureError),
    #[error("session {session} has no {what}")]
    Missing { session: SessionKey, what: String },
    #[error("several invocations ask with the id {id:?}: {}; choose one with `--invocation`", invocations.join(", "))]
    AmbiguousQuestion { id: String, invocations: Vec<String> },
    #[error(
        "invocation {invocation} may still be running: its last event is neither a question nor an end. An answer now would make that process fail. Stop it first, or pass `--force`"
    )]
    MayRun { invocation: String },
    #[error(
        "{address} can be reached from other machines, which could read all sessions. Use a loopback address, or put authentication in front and pass `--expose`"
    )]
    Exposed { address: std::net::SocketAddr },
    #[error(
        "{name:?} is not a valid project name. Use letters, digits, - and _, start with a letter, and avoid Rust keywords and the names of crates that the project uses"
    )]
    ProjectName { name: String },
    #[error("{} already exists; nothing was written. Choose another name, or remove the folder", folder.display())]
    FolderExists { folder: PathBuf },
    #[error("{} has no crate `pleach`: pass the folder of its Cargo.toml", folder.display())]
    NoPleach { folder: PathBuf },
    #[error("nothing was {what}. Pass `--yes` to confirm")]
    Unconfirmed { what: &'static str },
    #[error("{} of what was copied differs: {}", differences.len(), differences.join("; "))]
    Differs { differences: Vec<String> },
}

impl Fault {
    /// The exit codes of `docs/cli.md`. Code 2 is for a wrong command line.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::NoSession { .. }
            | Self::Ambiguous { .. }
            | Self::Missing { .. }
            | Self::AmbiguousQuestion { .. }
            | Self::Picture(_)
            | Self::Run(pleach::RunError::UnknownQuestion { .. }) => 3,
            Self::Session(SessionError::Redaction(error)) => match error.fault {
                RedactionFault::UnknownEvent | RedactionFault::Absent => 3,
                _ => 5,
            },
            Self::Differs { .. } => 4,
            Self::MayRun { .. } | Self::Run(_) | Self::Changed(_) => 5,
            Self::Unconfirmed { .. } | Self::Exposed { .. } | Self::ProjectName { .. } | Self::NoPleach { .. } => 2,
            _ => 1,
        }
    }
}

fn left_out(sessions: usize, values: usize) -> String {
    let mut parts = Vec::new();
    if sessions > 0 {
        parts.push(format!("sessions left out, because values of them are missing or cannot be read: {sessions}"));
    }
    if values > 0 {
        parts.push(format!("values of states left out, because they cannot be read: {values}"));
    }
    parts.join("; ")
}

fn list(keys: &[SessionKey]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
