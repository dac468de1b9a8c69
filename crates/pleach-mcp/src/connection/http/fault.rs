//! [`HttpFault`]: the reasons why a POST gets no answer.

use pleach_http::causes;

/// The reason why a POST got no answer, or why a stream could not be opened. The texts contain no URL, but they may
/// contain secrets that a server repeats.
#[derive(Debug, thiserror::Error)]
pub(in crate::connection) enum HttpFault {
    /// The server refused the request with a status.
    #[error("HTTP {status}")]
    Status {
        status: u16,
        /// The text of its answer.
        reason: Option<String>,
    },
    /// No connection could be made.
    #[error("no connection: {0}")]
    NoConnection(String),
    /// The connection broke.
    #[error("{0}")]
    Broken(String),
    /// A message exceeds the limit.
    #[error("a message is too large")]
    TooLarge,
    /// The response contains no answer.
    #[error("{0}")]
    NoAnswer(&'static str),
}

impl HttpFault {
    /// Returns true if the server does not know the session. A restarted server answers 404. It answers 400 if it
    /// expects the first request of a new session.
    pub(super) fn is_of_session(&self) -> bool {
        matches!(self, Self::Status { status, .. } if is_of_session(*status))
    }

    /// Returns true if the session can still be used. An overloaded server keeps its sessions.
    pub(in crate::connection) fn keeps_session(&self) -> bool {
        match self {
            Self::Status { status, .. } => *status == 429 || *status >= 500,
            Self::TooLarge => true,
            Self::NoConnection(_) | Self::Broken(_) | Self::NoAnswer(_) => false,
        }
    }
}

/// Returns true if the status means that the server does not know the session.
pub(super) fn is_of_session(status: u16) -> bool {
    matches!(status, 400 | 404 | 410)
}

impl From<reqwest::Error> for HttpFault {
    fn from(error: reqwest::Error) -> Self {
        if error.is_connect() { Self::NoConnection(causes(error)) } else { Self::Broken(causes(error)) }
    }
}
