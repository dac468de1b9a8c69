//! [`ToolCall`]: one call of a tool with its hooks and its confirmation gate, by an agent or as a node.
// R852, L101–L103

use std::fmt;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use pleach_context::engine::{PluginManager, RunHandle, ToolRequests};
use pleach_context::{ConfirmationRequest, NodeError, Tool, ToolContext, ToolResult};
use pleach_core::{BoxFuture, Map};
use serde_json::{Value, json};

use super::kept::kept;
use crate::approval::rejected;
use crate::engine::panic_error;

/// The future of a callback; `None` if there is no callback.
pub type Callback<'a> = Option<BoxFuture<'a, Result<Option<Value>, NodeError>>>;

/// The callbacks of an agent around the calls of its tools. They run after the hooks of the plugins.
pub trait ToolCallbacks: Send + Sync {
    /// Called before the call; a returned value becomes its result.
    fn before_tool<'a>(&'a self, _tool: &'a dyn Tool, _args: &'a mut Map, _ctx: &'a ToolContext) -> Callback<'a> {
        None
    }

    /// Called after the call; a returned value replaces its result.
    fn after_tool<'a>(
        &'a self,
        _tool: &'a dyn Tool,
        _args: &'a Map,
        _ctx: &'a ToolContext,
        _result: &'a Value,
    ) -> Callback<'a> {
        None
    }

    /// Called after a failure; a returned value becomes the result instead.
    fn on_tool_error<'a>(
        &'a self,
        _tool: &'a dyn Tool,
        _args: &'a Map,
        _ctx: &'a ToolContext,
        _error: &'a NodeError,
    ) -> Callback<'a> {
        None
    }
}

impl ToolCallbacks for () {}

/// The outcome of a call.
#[derive(Debug)]
pub enum Called {
    /// The result of the call.
    Result(ToolResult),
    /// The tool needs an answer before it can return a result. Only for a context that keeps the requests of its tool.
    Asks(ToolRequests),
}

/// One call of a tool: the hooks of the plugins, the callbacks of the agent, the confirmation gate, the tool.
pub struct ToolCall<'a> {
    /// The tool.
    pub tool: &'a dyn Tool,
    /// The call, as a part of its agent's run or as the run of a tool node.
    pub run: &'a RunHandle,
    /// The callbacks of the agent.
    pub callbacks: &'a dyn ToolCallbacks,
}

impl ToolCall<'_> {
    /// Makes the call.
    ///
    /// # Errors
    /// The failure of the tool, unless a hook returns a result for it; the failure of a hook.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    pub async fn make(&self, args: &mut Map) -> Result<Called, NodeError> {
        let result = match self.before(args).await? {
            Some(answer) => answer.into(),
            None => match self.run(args).await? {
                Called::Result(result) => result,
                asks @ Called::Asks(_) => return Ok(asks),
            },
        };
        self.after(args, result).await.map(Called::Result)
    }

    /// Asks the plugins and the callbacks for a result before the tool is called.
    ///
    /// # Errors
    /// The failure of a hook.
    ///
    /// # Cancel safety
    /// Dropping the future drops the hook or the call that runs.
    pub async fn before(&self, args: &mut Map) -> Result<Option<Value>, NodeError> {
        let Self { tool, run: ctx, callbacks } = *self;
        let answer = match self.plugins().before_tool(tool, args, ctx).await? {
            Some(answer) => Some(answer),
            None => answered(callbacks.before_tool(tool, args, ctx)).await?,
        };
        Ok(answer.map(|answer| self.kept_value(answer)))
    }

    /// Calls the tool after its confirmation gate. A failure drops the requests of the tool.
    ///
    /// # Errors
    /// The failure of the tool, unless a hook returns a result for it.
    ///
    /// # Cancel safety
    /// Dropping the future drops the hook or the call that runs.
    pub async fn run(&self, args: &Map) -> Result<Called, NodeError> {
        let called = AssertUnwindSafe(self.gated(args)).catch_unwind().await;
        let called = called.unwrap_or_else(|panic| Err(panic_error("the tool", &*panic)));
        let asked = self.run.take_tool_requests();
        match called {
            Ok(_) if asked.confirmation.is_some() || asked.credential.is_some() => Ok(Called::Asks(asked)),
            Ok(result) => Ok(Called::Result(result)),
            Err(error) => {
                let instead = self.on_error(args, &error).await?.ok_or(error)?;
                Ok(Called::Result(instead.into()))
            }
        }
    }

    /// Asks the plugins and the callbacks for a result in place of a failure.
    ///
    /// # Errors
    /// The failure of a hook.
    ///
    /// # Cancel safety
    /// Dropping the future drops the hook or the call that runs.
    pub async fn on_error(&self, args: &Map, error: &NodeError) -> Result<Option<Value>, NodeError> {
        let Self { tool, run: ctx, callbacks } = *self;
        let answer = match self.plugins().on_tool_error(tool, args, ctx, error).await? {
            Some(answer) => Some(answer),
            None => answered(callbacks.on_tool_error(tool, args, ctx, error)).await?,
        };
        Ok(answer.map(|answer| self.kept_value(answer)))
    }

    /// Asks the plugins and the callbacks for another value, which replaces the whole result.
    ///
    /// # Errors
    /// The failure of a hook.
    ///
    /// # Cancel safety
    /// Dropping the future drops the hook or the call that runs.
    pub async fn after(&self, args: &Map, result: ToolResult) -> Result<ToolResult, NodeError> {
        let Self { tool, run: ctx, callbacks } = *self;
        let other = match self.plugins().after_tool(tool, args, ctx, &result.value).await? {
            Some(other) => Some(other),
            None => answered(callbacks.after_tool(tool, args, ctx, &result.value)).await?,
        };
        Ok(other.map_or(result, |other| self.kept_value(other).into()))
    }

    async fn gated(&self, args: &Map) -> Result<ToolResult, NodeError> {
        match confirmation_gate(self.tool, args, self.run).await? {
            Some(instead) => Ok(instead.into()),
            None => Ok(kept(self.tool.name(), self.tool.run(args, self.run).await?)),
        }
    }

    fn kept_value(&self, value: Value) -> Value {
        kept(self.tool.name(), value.into()).value
    }

    fn plugins(&self) -> &PluginManager {
        &self.run.invocation().services().plugins
    }
}

impl fmt::Debug for ToolCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall").field("tool", &self.tool.name()).finish_non_exhaustive()
    }
}

/// Waits for a callback. Null is treated as no answer.
async fn answered(callback: Callback<'_>) -> Result<Option<Value>, NodeError> {
    match callback {
        Some(callback) => Ok(callback.await?.filter(|value| !value.is_null())),
        None => Ok(None),
    }
}

/// Checks whether a person must confirm a call. Returns the call's result if the tool must not run, or `None` if it
/// may.
///
/// A call that needs an answer requests one, as
/// [`Context::request_confirmation`](pleach_context::Context::request_confirmation) does.
///
/// # Errors
/// The error of the tool's own check; a `ValueError` outside a tool call.
///
/// # Cancel safety
/// Dropping the future drops the tool's own check, and nothing is asked.
///
/// ADK: `apply_confirmation_gate`
pub async fn confirmation_gate(tool: &dyn Tool, args: &Map, ctx: &ToolContext) -> Result<Option<Value>, NodeError> {
    if !tool.check_require_confirmation(args, ctx).await? {
        return Ok(None);
    }
    match ctx.tool_confirmation() {
        Some(answer) if answer.confirmed => Ok(None),
        Some(_) => Ok(Some(rejected())),
        None => {
            let request = tool.confirmation(args, ctx).unwrap_or_else(|| {
                ConfirmationRequest::new(format!(
                    "Please approve or reject the tool call {}() by responding with a FunctionResponse with an expected ToolConfirmation payload.",
                    tool.name()
                ))
            });
            ctx.request_confirmation_with(request)?;
            RunHandle::of(ctx.clone()).skip_summarization_of_gate();
            Ok(Some(json!({"error": "This tool call requires confirmation, please approve or reject."})))
        }
    }
}
