//! [`McpError`]: the reasons why a request to a server fails.

use std::time::Duration;

/// The reason why a request to an MCP server failed. A model sees the text of a failed call.
///
/// No error shows the URL, or the value of a header or an environment variable of the server. If the server repeats
/// such a value, it is hidden. A part of the URL's path is not hidden, so put keys into headers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The child process could not be started.
    #[error("the MCP server `{server}` cannot be started: {reason}")]
    Start {
        /// The toolset's name.
        server: String,
        /// The cause.
        reason: String,
    },
    /// No session could be opened with the server.
    #[error("the MCP server `{server}` cannot be reached: {reason}")]
    Connect {
        /// The toolset's name.
        server: String,
        /// The cause.
        reason: String,
    },
    /// Connecting failed several times in a row, so the next attempt has to wait.
    #[error("the MCP server `{server}` is not tried again for {} s; before that: {reason}", wait.as_secs_f64().ceil())]
    Waiting {
        /// The toolset's name.
        server: String,
        /// The wait until the next attempt.
        wait: Duration,
        /// The last failure.
        reason: String,
    },
    /// The server did not answer in time.
    #[error("the MCP server `{server}` did not {what} within {} s", limit.as_secs_f64())]
    Timeout {
        /// The toolset's name.
        server: String,
        /// The request.
        what: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// The connection broke before the server answered. The request may have taken effect.
    #[error("the MCP server `{server}` ended the connection before it answered: {reason}")]
    Lost {
        /// The toolset's name.
        server: String,
        /// The cause.
        reason: String,
    },
    /// The server sent a message that exceeds the limit.
    #[error("the MCP server `{server}` sent more than {limit} bytes in one message: ask for less")]
    TooLarge {
        /// The toolset's name.
        server: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The server exceeded a limit before it answered. The connection was closed; the request may have taken effect.
    #[error("the MCP server `{server}` was disconnected: it exceeded `{option}`, which is {limit}")]
    Exceeded {
        /// The toolset's name.
        server: String,
        /// The option of [`McpToolsetBuilder`](crate::McpToolsetBuilder) that sets the limit.
        option: &'static str,
        /// The limit: bytes for `max_exchange_bytes`, a number of messages otherwise.
        limit: usize,
    },
    /// The server answered with an error of the protocol.
    #[error("the MCP server `{server}` refused: {message} ({code})")]
    Refused {
        /// The toolset's name.
        server: String,
        /// The code of JSON-RPC, for example -32602 for wrong parameters.
        code: i32,
        /// The server's message.
        message: String,
    },
    /// The server sent an answer that cannot be used.
    #[error("the MCP server `{server}` {reason}")]
    Answer {
        /// The toolset's name.
        server: String,
        /// A description of the answer. For an unreadable message it has the id of the request and the start of the
        /// message.
        reason: String,
    },
    /// The server began a message and did not complete it. The session is closed, and the next request opens a new one.
    #[error("the MCP server `{server}` began a message and did not end it: it did not {what} within {} s", limit.as_secs_f64())]
    Unfinished {
        /// The toolset's name.
        server: String,
        /// The request.
        what: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// The function that returns the headers of a session failed.
    #[error("the headers for the MCP server `{server}` cannot be made: {reason}")]
    Headers {
        /// The toolset's name.
        server: String,
        /// The cause.
        reason: String,
    },
    /// The toolset is closed.
    #[error("the toolset of the MCP server `{server}` is closed")]
    Closed {
        /// The toolset's name.
        server: String,
    },
}

impl McpError {
    /// Returns the name of the kind, for spans and events. They must not contain messages of a server.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start",
            Self::Connect { .. } => "connect",
            Self::Waiting { .. } => "waiting",
            Self::Timeout { .. } => "timeout",
            Self::Lost { .. } => "lost",
            Self::TooLarge { .. } => "too_large",
            Self::Exceeded { .. } => "exceeded",
            Self::Refused { .. } => "refused",
            Self::Answer { .. } => "answer",
            Self::Unfinished { .. } => "unfinished",
            Self::Headers { .. } => "headers",
            Self::Closed { .. } => "closed",
        }
    }
}
