//! [`ServerError`]: why a server cannot be built or cannot listen.

use std::io;
use std::path::PathBuf;

use pleach_workflow::BuildError;

/// Why a server cannot be built or cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The server has no session service.
    #[error("the server has no session service: call `.sessions(…)`")]
    NoSessions,
    /// Two apps have the same name.
    #[error("the server has two apps named '{0}'; use different names")]
    DuplicateApp(String),
    /// The default app is not an app of the server.
    #[error("the default app '{0}' is not an app of the server: add it with `.app(…)`")]
    UnknownDefaultApp(String),
    /// The folder of the browser UI does not exist.
    #[error("the folder of the browser UI does not exist: {}; name a folder with its files", .0.display())]
    NoUi(PathBuf),
    /// The server has traces but no routes that show them.
    #[error("the server has traces, which only the development server shows: call `.dev(true)`")]
    TracesWithoutDev,
    /// An app cannot be run.
    #[error(transparent)]
    App(BuildError),
    /// An allowed origin is an invalid pattern.
    #[error("an entry of `allow_origins` is not a valid pattern: {0}. Use an origin, `regex:PATTERN` or `*`")]
    Origin(Box<regex::Error>),
    /// The server cannot listen at an address.
    #[error("cannot listen at {address}: {cause}; choose another address, or end the program that uses it")]
    Bind {
        /// The address.
        address: String,
        /// The error of the system.
        cause: io::Error,
    },
    /// The program cannot listen for the signals that end it.
    #[error("cannot listen for the signals that end the program: {cause}")]
    Signal {
        /// The error of the system.
        cause: io::Error,
    },
}
