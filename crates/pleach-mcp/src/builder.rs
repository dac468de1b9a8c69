//! [`McpToolsetBuilder`]: the tools that agents get, and the limits of the server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pleach_context::{ReadonlyContext, SystemClock, ToolContext};
use pleach_core::{Clock, Map};

use crate::connection::Pool;
use crate::limits::Limits;
use crate::tool::{Condition, Filter, OnProgress, Shared};
use crate::{McpProgress, McpServer, McpSetupError, McpTool, McpToolset, names};

/// Chooses the tools that agents get, and sets the limits of the server. [`McpToolset::builder`] returns it.
#[must_use]
pub struct McpToolsetBuilder {
    server: McpServer,
    name: Option<String>,
    prefix: Option<String>,
    filter: Option<Filter>,
    confirm: Option<Condition>,
    on_progress: Option<OnProgress>,
    is_required: bool,
    limits: Limits,
}

impl McpToolset {
    /// Returns a builder for the tools of a server: an [`McpCommand`](crate::McpCommand) or an
    /// [`McpEndpoint`](crate::McpEndpoint).
    pub fn builder(server: impl Into<McpServer>) -> McpToolsetBuilder {
        McpToolsetBuilder::new(server.into())
    }
}

impl McpToolsetBuilder {
    fn new(server: McpServer) -> Self {
        Self {
            server,
            name: None,
            prefix: None,
            filter: None,
            confirm: None,
            on_progress: None,
            is_required: false,
            limits: Limits::new(Arc::new(SystemClock)),
        }
    }

    /// Sets the name in errors, logs and pictures of apps. The default is the host, the program, or the server that a
    /// launcher such as `npx` or `uvx` starts.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Makes runs of agents fail if the server cannot be reached or started. Otherwise they continue without its tools.
    pub fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// Names the tools `<prefix>_<name>`. ADK: `tool_name_prefix`
    #[doc(alias = "tool_name_prefix")]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Leaves out the tools for which `filter` returns false. It is called whenever an agent lists the tools.
    /// ADK: `tool_filter`
    #[doc(alias = "tool_filter")]
    pub fn filter(mut self, filter: impl Fn(&McpTool, &ReadonlyContext) -> bool + Send + Sync + 'static) -> Self {
        let before = self.filter.take();
        self.filter = Some(Arc::new(move |tool, ctx| {
            before.as_ref().is_none_or(|before| before(tool, ctx)) && filter(tool, ctx)
        }));
        self
    }

    /// Leaves out all tools but these. The names are the server's names, without a prefix. ADK: `tool_filter`
    pub fn only<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        self.filter(move |tool, _| names.iter().any(|name| name == tool.server_name()))
    }

    /// Asks a person to approve every call. ADK: `require_confirmation`
    pub fn require_confirmation(self) -> Self {
        self.confirm_if(|_, _, _| true)
    }

    /// Asks a person to approve the calls for which `condition` is true.
    pub fn confirm_if(
        mut self,
        condition: impl Fn(&McpTool, &Map, &ToolContext) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.confirm = Some(Arc::new(condition));
        self
    }

    /// Sets a function that gets the progress of a call. It is called within the run that waits for the call.
    /// ADK: `progress_callback`
    #[doc(alias = "progress_callback")]
    pub fn on_progress(mut self, take: impl Fn(&ToolContext, McpProgress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(take));
        self
    }

    /// Sets how long opening a session may take, including the start of a child process. The default is 30 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.limits.connect = timeout;
        self
    }

    /// Sets how long the server may take to list or read tools, resources and prompts. The default is 30 seconds.
    pub fn list_timeout(mut self, timeout: Duration) -> Self {
        self.limits.list = timeout;
        self
    }

    /// Sets how long a call may take, by the clock of its invocation. The default is 5 minutes. A call that takes
    /// longer is cancelled.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.limits.call = timeout;
        self
    }

    /// Sets the maximum size of a message of the server, in bytes. The result of a call is a message as well. The
    /// default is 16 MiB. A child process that sends a larger message is ended.
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.limits.message_bytes = bytes;
        self
    }

    /// Sets how many bytes the server may send until it answers a request: notices, requests of its own, log lines and
    /// the answer itself. The default is 64 MiB. The limit is at least [`max_message_bytes`](Self::max_message_bytes).
    /// A server that sends more is disconnected. While no request waits, the limit applies to each minute.
    pub fn max_exchange_bytes(mut self, bytes: usize) -> Self {
        self.limits.exchange_bytes = bytes;
        self
    }

    /// Sets how many notices and requests of its own, such as reports of progress, log messages and pings, the server
    /// may send until it answers a request. The default is 100,000. A server that sends more is disconnected. While no
    /// request waits, the limit applies to each minute.
    pub fn max_server_messages(mut self, count: usize) -> Self {
        self.limits.server_messages = count;
        self
    }

    /// Sets how many requests of the server, such as pings, may wait for an answer of this client at the same time. The
    /// default is 256. A server that exceeds the limit, for example because it does not read the answers, is
    /// disconnected.
    pub fn max_server_requests(mut self, count: usize) -> Self {
        self.limits.server_requests = count;
        self
    }

    /// Sets the clock of sessions, for tests. It measures opening, listing, waits and closing. The default is the
    /// system's clock. The duration of a call is measured by the clock of its invocation.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.limits.clock = clock;
        self
    }

    /// Builds the toolset, without starting or reaching the server.
    ///
    /// # Errors
    /// A command, variable, URL, header or prefix cannot be used.
    pub fn build(self) -> Result<McpToolset, McpSetupError> {
        let name = self.name.unwrap_or_else(|| self.server.default_name());
        if let Some((prefix, reason)) = self.prefix.as_ref().and_then(|p| Some((p, names::fault_of_prefix(p)?))) {
            return Err(McpSetupError::Prefix { server: name, prefix: prefix.clone(), reason });
        }
        let target = self.server.check(&name, self.limits.connect)?;
        Ok(McpToolset::new(Shared {
            pool: Pool::new(target, self.limits),
            prefix: self.prefix,
            filter: self.filter,
            confirm: self.confirm,
            on_progress: self.on_progress,
            is_required: self.is_required,
        }))
    }
}

impl fmt::Debug for McpToolsetBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpToolsetBuilder").field("server", &self.server).finish_non_exhaustive()
    }
}
