//! [`McpSetupError`]: the reasons why a toolset cannot be built.

/// The reason why a toolset for an MCP server cannot be built. No error shows a header's or a variable's value, or a
/// URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpSetupError {
    /// The command cannot be started.
    #[error("the command of the MCP server `{server}` {reason}")]
    Command {
        /// The toolset's name.
        server: String,
        /// The reason.
        reason: &'static str,
    },
    /// An environment variable cannot be set.
    #[error("the MCP server `{server}` cannot get the variable `{variable}`: {reason}")]
    Variable {
        /// The toolset's name.
        server: String,
        /// The variable.
        variable: String,
        /// The reason.
        reason: &'static str,
    },
    /// The URL cannot be used.
    #[error("the URL of the MCP server `{server}` {reason}")]
    Url {
        /// The toolset's name.
        server: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// Headers or the query of the URL would be sent without encryption.
    #[error(
        "the MCP server `{server}` would get headers or a query at `{host}` without encryption: use https, or call `.allow_plain_http()`"
    )]
    PlainHttp {
        /// The toolset's name.
        server: String,
        /// The host of the URL.
        host: String,
    },
    /// A header cannot be sent.
    #[error("the MCP server `{server}` cannot get the header `{header}`: {reason}")]
    Header {
        /// The toolset's name.
        server: String,
        /// The header's name.
        header: String,
        /// The reason.
        reason: &'static str,
    },
    /// The prefix makes names that models refuse.
    #[error("the prefix `{prefix}` for the tools of the MCP server `{server}` {reason}")]
    Prefix {
        /// The toolset's name.
        server: String,
        /// The prefix.
        prefix: String,
        /// The reason.
        reason: &'static str,
    },
    /// Encrypted connections cannot be made.
    #[error(
        "the MCP server `{server}` cannot be reached with TLS: {reason}; install the CA certificates of your system"
    )]
    Tls {
        /// The toolset's name.
        server: String,
        /// The cause.
        reason: String,
    },
}

impl pleach_core::SetupError for McpSetupError {}
