//! [`McpTool`]: a tool of a server.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use pleach_context::{NodeError, ReadonlyContext, Tool, ToolContext, ToolResult, has_big_integer, has_big_number};
use pleach_core::{BoxFuture, FunctionDeclaration, Map};
use pleach_model::LlmRequest;
use serde_json::{Value, json};

use crate::connection::{Pool, Report};
use crate::declared::Declared;
use crate::error::McpError;
use crate::{McpProgress, McpToolAnnotations, fence, result};

/// A tool of an MCP server. [`McpToolset`](crate::McpToolset) creates it.
///
/// A successful call returns the server's result, with `content`, `structuredContent` and `isError`, and images, sounds
/// and files as media. On every failure, such as a missing session, a late answer or an error of the protocol, the
/// model gets the result `{"error": …}`.
/// ADK: `McpTool`
#[derive(Clone)]
pub struct McpTool {
    declared: Arc<Declared>,
    shared: Arc<Shared>,
}

/// The parts that all tools of a toolset share.
pub(crate) struct Shared {
    pub(crate) pool: Pool,
    pub(crate) prefix: Option<String>,
    pub(crate) filter: Option<Filter>,
    pub(crate) confirm: Option<Condition>,
    pub(crate) on_progress: Option<OnProgress>,
    pub(crate) is_required: bool,
}

/// Decides whether an agent gets a tool.
pub(crate) type Filter = Arc<dyn Fn(&McpTool, &ReadonlyContext) -> bool + Send + Sync>;

/// Decides whether a person must approve a call.
pub(crate) type Condition = Arc<dyn Fn(&McpTool, &Map, &ToolContext) -> bool + Send + Sync>;

/// A function that gets reports of progress.
pub(crate) type OnProgress = Arc<dyn Fn(&ToolContext, McpProgress) + Send + Sync>;

impl Shared {
    pub(crate) fn name(&self) -> &str {
        &self.pool.target.name
    }
}

impl McpTool {
    pub(crate) fn new(declared: &Arc<Declared>, shared: &Arc<Shared>) -> Self {
        Self { declared: Arc::clone(declared), shared: Arc::clone(shared) }
    }

    /// Returns the server's name for the tool. Models call the tool with the name that [`Tool::name`] returns.
    #[must_use]
    pub fn server_name(&self) -> &str {
        &self.declared.tool.name
    }

    /// Returns the name for people.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.declared.tool.title.as_deref()
    }

    /// Returns the JSON schema of the arguments.
    #[must_use]
    pub fn input_schema(&self) -> &Map {
        &self.declared.tool.input_schema
    }

    /// Returns the JSON schema of `structuredContent` in results.
    #[must_use]
    pub fn output_schema(&self) -> Option<&Map> {
        self.declared.tool.output_schema.as_ref()
    }

    /// Returns the effects of the tool that the server declares.
    #[must_use]
    pub fn annotations(&self) -> McpToolAnnotations {
        self.declared.tool.annotations
    }

    async fn call(&self, args: &Map, ctx: &ToolContext) -> Result<ToolResult, McpError> {
        if let Some(name) = self.big_number_in(args) {
            return Ok(too_big(name));
        }
        let link = self.shared.pool.link(Some(&ReadonlyContext::new(ctx.clone()))).await?;
        let session = link.session().await?;
        let mut last = f64::NEG_INFINITY;
        let report = |report: Report| {
            if report.progress > last {
                last = report.progress;
                self.report(report, ctx);
            }
        };
        let answer = session.call(self.server_name(), args.clone(), ctx.invocation().clock(), report).await?;
        result::of(answer)
            .map_err(|reason| McpError::Answer { server: self.shared.pool.target.name(), reason: reason.to_owned() })
    }

    /// Returns the first argument that contains an integer of more than 64 bits where the schema has a number.
    fn big_number_in<'a>(&self, args: &'a Map) -> Option<&'a str> {
        if !args.values().any(has_big_integer) {
            return None;
        }
        let root = Value::Object(self.input_schema().clone());
        let schema = |name: &str| root.get("properties").and_then(|all| all.get(name));
        let mut big =
            args.iter().filter(|(name, value)| schema(name).is_some_and(|of| has_big_number(&root, of, value)));
        big.next().map(|(name, _)| name.as_str())
    }

    fn report(&self, report: Report, ctx: &ToolContext) {
        let Report { progress, total, message } = report;
        tracing::debug!(
            server = self.shared.name(),
            tool = self.name(),
            progress,
            total,
            "a call of an MCP server has come further"
        );
        if let Some(on_progress) = &self.shared.on_progress {
            on_progress(ctx, McpProgress { tool: self.name().to_owned(), progress, total, message });
        }
    }
}

/// Returns the result for an argument with an integer that the client's messages cannot hold.
fn too_big(argument: &str) -> ToolResult {
    let range = "an integer that is sent to this server must be from -9223372036854775808 to 18446744073709551615";
    json!({"error": format!("the argument `{argument}` has an integer of more than 64 bits: {range}")}).into()
}

impl Tool for McpTool {
    fn name(&self) -> &str {
        self.declared.name()
    }

    fn description(&self) -> &str {
        self.declared.tool.description.as_deref().unwrap_or_default()
    }

    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
        Some(&self.declared.declaration)
    }

    fn check_require_confirmation<'a>(
        &'a self,
        args: &'a Map,
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<bool, NodeError>> {
        let is_required = self.shared.confirm.as_ref().is_some_and(|condition| condition(self, args, ctx));
        Box::pin(ready(Ok(is_required)))
    }

    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        Box::pin(async move {
            let failed = |error: McpError| {
                tracing::warn!(
                    server = self.shared.name(),
                    tool = self.name(),
                    kind = error.kind(),
                    "a call of an MCP server failed"
                );
                json!({"error": error.to_string()}).into()
            };
            Ok(self.call(args, ctx).await.unwrap_or_else(failed))
        })
    }

    fn process_request<'a>(
        &'a self,
        _ctx: &'a ToolContext,
        request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        request.append_tools([Arc::clone(&self.declared.fenced)]);
        fence::explain(request);
        Box::pin(ready(Ok(())))
    }
}

impl fmt::Debug for McpTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpTool").field("name", &self.name()).finish_non_exhaustive()
    }
}
