//! [`McpToolset`]: the tools of a server.

use std::fmt;
use std::sync::Arc;

use pleach_context::{NodeError, ReadonlyContext, Tool, Toolset};
use pleach_core::BoxFuture;

use crate::McpTool;
use crate::connection::Session;
use crate::declared::{Listed, declare};
use crate::error::McpError;
use crate::tool::Shared;

/// The tools of an MCP server, as a toolset of agents; its resources and prompts by methods. Cheap to clone: clones are the same toolset.
///
/// - A session with the server is opened when it is first needed, and shared by all runs. It is closed with the Runner, or when the last
///   clone is dropped; a child process ends with it.
/// - The list of tools is kept until the server reports that it has changed.
/// - A server that ends or cannot be reached fails no run: a call gives the model an error, and the next call opens a new session. One that
///   hangs costs each call its time-out. After the third failure in a row the server is left alone for a second, and for up to 30 after more.
/// - When the tools cannot be listed, the agent has those that were listed last; if there were none yet, the toolset is left out of the request
///   with an error in the log, and asked again for the next one; the run fails instead where it is [required](crate::McpToolsetBuilder::required).
/// - Descriptions of tools reach the model between markers that the system instruction explains, so that a server cannot give it orders.
///
/// Debug output shows the name. ADK: `McpToolset`
///
/// ```
/// use pleach_mcp::{McpCommand, McpToolset};
///
/// # fn main() -> Result<(), pleach_mcp::McpSetupError> {
/// let server = McpCommand::new("npx").args(["-y", "@modelcontextprotocol/server-filesystem", "/srv/notes"]);
/// let files = McpToolset::builder(server).prefix("notes").only(["read_text_file", "list_directory"]).build()?;
/// # let _ = files;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct McpToolset {
    shared: Arc<Shared>,
}

impl McpToolset {
    pub(crate) fn new(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    /// Returns the tools that an agent has now: those that the filter lets through. `ctx` is what the headers of a session are made from, and
    /// what the filter sees; without it nothing is filtered.
    ///
    /// # Errors
    /// The server cannot be reached, and has listed no tools before.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the toolset as it was.
    pub async fn list_tools(&self, ctx: Option<&ReadonlyContext>) -> Result<Vec<McpTool>, McpError> {
        let listed = self.listed(ctx).await?;
        let tools = listed.iter().map(|declared| McpTool::new(declared, &self.shared));
        let (Some(filter), Some(ctx)) = (&self.shared.filter, ctx) else { return Ok(tools.collect()) };
        Ok(tools.filter(|tool| filter(tool, ctx)).collect())
    }

    async fn listed(&self, ctx: Option<&ReadonlyContext>) -> Result<Listed, McpError> {
        let link = self.shared.pool.link(ctx).await?;
        let listed = async {
            let declare = |tools| declare(self.shared.name(), self.shared.prefix.as_deref(), tools);
            link.session().await?.tools(declare).await
        };
        match listed.await {
            Ok(listed) => {
                link.keep_listed(&listed);
                Ok(listed)
            }
            Err(error @ McpError::Closed { .. }) => Err(error),
            Err(error) => {
                let last = link.last_listed().ok_or_else(|| error.clone())?;
                tracing::warn!(server = self.shared.name(), %error, "the tools of the MCP server are those that it listed last");
                Ok(last)
            }
        }
    }

    pub(crate) async fn session(&self, ctx: Option<&ReadonlyContext>) -> Result<Arc<Session>, McpError> {
        self.shared.pool.link(ctx).await?.session().await
    }

    pub(crate) fn server_name(&self) -> &str {
        self.shared.name()
    }

    pub(crate) fn fault(&self, reason: &'static str) -> McpError {
        McpError::Answer { server: self.shared.name().to_owned(), reason: reason.to_owned() }
    }
}

impl Toolset for McpToolset {
    fn name(&self) -> &str {
        self.shared.name()
    }

    fn tools<'a>(&'a self, ctx: &'a ReadonlyContext) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, NodeError>> {
        Box::pin(async move {
            let listed = self.list_tools(Some(ctx)).await;
            let tools = listed.map_err(|error| NodeError::new("McpError", error.to_string()))?;
            Ok(tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect())
        })
    }

    /// The list is kept here, until the server reports a change.
    fn changes_between_steps(&self) -> bool {
        true
    }

    fn is_required(&self) -> bool {
        self.shared.is_required
    }

    fn close(&self) -> BoxFuture<'_, Result<(), NodeError>> {
        Box::pin(async move {
            self.shared.pool.close().await;
            Ok(())
        })
    }
}

impl fmt::Debug for McpToolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpToolset").field("name", &self.shared.name()).finish_non_exhaustive()
    }
}
