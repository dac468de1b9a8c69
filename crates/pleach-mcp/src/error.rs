//! [`McpError`]: why a server did not answer.

use std::time::Duration;

/// Why an MCP server did not do what it was asked for. A model sees the text of a failed call.
///
/// No error shows the value of a header or of an environment variable of the server, or its URL: they are hidden in what the server says. A part of the URL that the
/// server repeats is not, so a key belongs in a header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The child process could not be started.
    #[error("the MCP server `{server}` cannot be started: {reason}")]
    Start {
        /// The toolset's name.
        server: String,
        /// What failed.
        reason: String,
    },
    /// No session could be opened with the server.
    #[error("the MCP server `{server}` cannot be reached: {reason}")]
    Connect {
        /// The toolset's name.
        server: String,
        /// What failed.
        reason: String,
    },
    /// Connecting failed several times in a row: the server is left alone for a while.
    #[error("the MCP server `{server}` is not tried again for {} s; before that: {reason}", wait.as_secs_f64().ceil())]
    Waiting {
        /// The toolset's name.
        server: String,
        /// How long.
        wait: Duration,
        /// What failed last.
        reason: String,
    },
    /// The server did not answer in time.
    #[error("the MCP server `{server}` did not {what} within {} s", limit.as_secs_f64())]
    Timeout {
        /// The toolset's name.
        server: String,
        /// The request.
        what: &'static str,
        /// How long it had.
        limit: Duration,
    },
    /// The connection broke before the server answered. What it was asked for may have happened.
    #[error("the MCP server `{server}` ended the connection before it answered: {reason}")]
    Lost {
        /// The toolset's name.
        server: String,
        /// What broke.
        reason: String,
    },
    /// The server sent a message above the limit.
    #[error("the MCP server `{server}` sent more than {limit} bytes in one message: ask for less")]
    TooLarge {
        /// The toolset's name.
        server: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The server sent more than it may before it answered. The connection was ended; what it was asked for may have happened.
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
    /// The server answered with something that has no meaning here.
    #[error("the MCP server `{server}` {reason}")]
    Answer {
        /// The toolset's name.
        server: String,
        /// The answer. For a message that cannot be read: the id of the request, and the start of the message.
        reason: String,
    },
    /// The server began a message and wrote no more of it. The session was given up: the next request opens another one.
    #[error("the MCP server `{server}` began a message and did not end it: it did not {what} within {} s", limit.as_secs_f64())]
    Unfinished {
        /// The toolset's name.
        server: String,
        /// The request.
        what: &'static str,
        /// How long it had.
        limit: Duration,
    },
    /// The function that makes the headers of a session failed.
    #[error("the headers for the MCP server `{server}` cannot be made: {reason}")]
    Headers {
        /// The toolset's name.
        server: String,
        /// What failed.
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
    /// Returns the name of its kind, for spans and events that must not hold what a server says.
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
