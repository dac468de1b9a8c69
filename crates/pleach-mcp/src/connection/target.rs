//! [`McpServer`]: a server and its transport. [`Target`]: a server that was checked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pleach_http::{Clients, Headers, Secrets};

use crate::endpoint::{CheckedEndpoint, HeaderProvider};
use crate::error::McpError;
use crate::{McpCommand, McpEndpoint, McpSetupError};

/// A server with its transport. Convert an [`McpCommand`] or an [`McpEndpoint`] into it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum McpServer {
    /// A child process.
    Command(McpCommand),
    /// A server over streamable HTTP.
    Http(McpEndpoint),
}

impl McpServer {
    /// Returns the default name of a toolset.
    pub(crate) fn default_name(&self) -> String {
        match self {
            Self::Command(command) => command.server_name().to_owned(),
            Self::Http(endpoint) => endpoint.host().unwrap_or_else(|| "mcp".to_owned()),
        }
    }

    /// Checks the server as far as possible without reaching it.
    pub(crate) fn check(self, name: &str, connect: Duration) -> Result<Target, McpSetupError> {
        let (secrets, way) = match self {
            Self::Command(command) => {
                command.check(name)?;
                (command.secrets(), Way::Command(command))
            }
            Self::Http(endpoint) => {
                let mut checked = endpoint.check(name)?;
                let clients = Clients::new(connect, checked.endpoint.is_https())
                    .map_err(|reason| McpSetupError::Tls { server: name.to_owned(), reason })?;
                let client = clients.of(&checked.endpoint).clone();
                (std::mem::take(&mut checked.secrets), Way::Http(Box::new(checked), client))
            }
        };
        Ok(Target { name: name.into(), way, secrets })
    }
}

impl From<McpCommand> for McpServer {
    fn from(command: McpCommand) -> Self {
        Self::Command(command)
    }
}

impl From<McpEndpoint> for McpServer {
    fn from(endpoint: McpEndpoint) -> Self {
        Self::Http(endpoint)
    }
}

/// A server that was checked.
pub(crate) struct Target {
    pub(crate) name: Arc<str>,
    pub(super) way: Way,
    secrets: Secrets,
}

/// The transport of a server.
pub(super) enum Way {
    Command(McpCommand),
    Http(Box<CheckedEndpoint>, reqwest::Client),
}

impl Target {
    /// Returns the function that returns the headers of a session, if there is one.
    pub(super) fn provider(&self) -> Option<&HeaderProvider> {
        match &self.way {
            Way::Http(endpoint, _) => endpoint.session_headers.as_ref(),
            Way::Command(_) => None,
        }
    }

    /// Returns the headers that every session has.
    pub(super) fn headers(&self) -> Headers {
        match &self.way {
            Way::Http(endpoint, _) => endpoint.headers.clone(),
            Way::Command(_) => Headers::default(),
        }
    }

    /// Returns the values that are hidden in the messages of a session with these headers.
    pub(super) fn secrets(&self, headers: &Headers) -> Secrets {
        let mut secrets = self.secrets.clone();
        headers.add_to(&mut secrets);
        secrets
    }

    pub(crate) fn name(&self) -> String {
        self.name.as_ref().to_owned()
    }

    pub(super) fn closed(&self) -> McpError {
        McpError::Closed { server: self.name() }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("name", &self.name).finish_non_exhaustive()
    }
}
