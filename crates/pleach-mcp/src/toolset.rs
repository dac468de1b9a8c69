//! [`McpToolset`]: the tools of a server, as a toolset of agents.

use std::fmt;
use std::sync::Arc;

use pleach_context::{NodeError, ReadonlyContext, Tool, Toolset};
use pleach_core::BoxFuture;

use crate::McpTool;
use crate::connection::Session;
use crate::declared::{Listed, declare};
use crate::error::McpError;
use crate::tool::Shared;

/// A toolset for agents whose tools are the tools of an MCP server. Its methods also return the server's resources and
/// prompts. It is cheap to clone; clones share everything.
///
/// - A session with the server is opened when it is first needed, and shared by all runs. It ends when the Runner is
///   closed or the last clone is dropped. A child process ends with it.
/// - The list of tools is kept until the server reports that it has changed.
/// - A server that ends or cannot be reached does not fail a run: the model gets an error as the result of the call,
///   and the next call opens a new session. If the server hangs, each call fails at its time-out. After the third
///   failure in a row, the next attempt waits a second; after more failures, it waits up to 30 seconds.
/// - If the tools cannot be listed, the agent has the tools of the last listing. If there was no listing, an error is
///   logged, the request is sent without the toolset, and the next request tries again. A
///   [required](crate::McpToolsetBuilder::required) toolset fails the run instead.
/// - Descriptions of tools are sent to the model between markers. The system instruction explains the markers, and says
///   that the model must not follow orders in the text between them.
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

    /// Returns the tools that an agent has now, after the filter. `ctx` is passed to the filter and to the function
    /// that returns the headers of the session. Without a context, nothing is filtered.
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

    /// The toolset itself keeps the list until the server reports a change.
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
