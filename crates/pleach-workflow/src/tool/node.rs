//! [`ToolNode`]: a tool as a node.
// R850–R853

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use pleach_context::engine::{Engine as _, PluginManager, credential_question};
use pleach_context::telemetry::{OpenSpan, SpanEnd, execute_tool};
use pleach_context::{
    Context, Dynamic, Flow, Need, Node, NodeError, NodeInput, NodeSpec, RetryConfig, Tool, ToolContext, TypedNode,
    Yield,
};
use pleach_core::{BoxFuture, Event, Map};
use serde_json::{Value, json};
use smol_str::SmolStr;
use tracing::Instrument as _;

use super::arguments::arguments;
use crate::approval::{confirmation_question, credential_id, rejected, take_confirmation, take_credential};
use crate::engine::panic_error;

/// A tool as a node, for graphs and for [`Context::run`].
///
/// The input holds the arguments: an object, a text that contains one, or the value of the only parameter or the only
/// required one. Missing required parameters are read from the state. The tool's result is the output. When the tool
/// requests a confirmation or a credential, the run pauses, and the tool is called again with the answer.
///
/// ADK: `ToolNode`
#[derive(Clone)]
pub struct ToolNode {
    spec: NodeSpec,
    tool: Arc<dyn Tool>,
}

/// The outcome of a call.
enum CallOutcome {
    Result(Value),
    /// The tool asks a question first.
    Asks(Yield),
}

impl ToolNode {
    /// Returns a node that calls `tool` and has its name.
    pub fn new(tool: impl Tool) -> Self {
        Self { spec: spec(tool.name().into(), &tool), tool: Arc::new(tool) }
    }

    /// Sets a name for the node that differs from the tool's.
    #[must_use]
    pub fn name(mut self, name: impl Into<SmolStr>) -> Self {
        let NodeSpec { retry, timeout, .. } = self.spec;
        self.spec = spec(name.into(), &*self.tool);
        (self.spec.retry, self.spec.timeout) = (retry, timeout);
        self
    }

    /// Sets the retry policy.
    #[must_use]
    pub fn retry(mut self, policy: RetryConfig) -> Self {
        self.spec.retry = Some(policy);
        self
    }

    /// Sets the time limit of one attempt.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.spec.timeout = Some(limit);
        self
    }

    async fn call(&self, ctx: Context, input: NodeInput) -> Result<Flow, NodeError> {
        let services = Arc::clone(ctx.invocation().engine().services());
        ctx.engine().begin_tool_call(services.ids.uuid().to_string());
        let mut args = arguments(self.tool.declaration(), &ctx, input)?;
        take_confirmation(&ctx)?;
        take_credential(&ctx, None)?;
        let span = OpenSpan::new(execute_tool(&*self.tool, &ctx));
        let called = self.hooked(&mut args, &ctx, &services.plugins).instrument(span.span().clone()).await;
        match &called {
            Ok(CallOutcome::Result(_)) => span.end(SpanEnd::Completed),
            Ok(CallOutcome::Asks(_)) => span.end(SpanEnd::Interrupted),
            Err(error) => span.fail(error.code()),
        }
        let item = match called? {
            CallOutcome::Asks(question) => question,
            // Without an event a replay would not see the call.
            CallOutcome::Result(Value::Null) => Yield::from(Event::new()),
            CallOutcome::Result(result) => Yield::from(Event::of(result)),
        };
        Ok(Flow::Done(Some(item)))
    }

    /// Calls the tool between the plugins' hooks.
    async fn hooked(&self, args: &mut Map, ctx: &Context, plugins: &PluginManager) -> Result<CallOutcome, NodeError> {
        let result = match plugins.before_tool(&*self.tool, args, ctx).await? {
            Some(answer) => answer,
            None => match self.outcome(args, ctx).await? {
                CallOutcome::Result(result) => result,
                asks => return Ok(asks),
            },
        };
        let other = plugins.after_tool(&*self.tool, args, ctx, &result).await?;
        Ok(CallOutcome::Result(other.unwrap_or(result)))
    }

    /// Calls the tool. A plugin may replace a failure; a failure drops the tool's requests.
    async fn outcome(&self, args: &Map, ctx: &Context) -> Result<CallOutcome, NodeError> {
        let called = AssertUnwindSafe(self.gated(args, ctx)).catch_unwind().await;
        let called = called.unwrap_or_else(|panic| Err(panic_error("the tool", &*panic)));
        let asked = ctx.engine().take_tool_requests();
        match called {
            Ok(_) if let Some(confirmation) = asked.confirmation => {
                // `temp:` values are never stored, so a question must not show them.
                let shown = args.iter().filter(|(name, _)| !name.starts_with("temp:"));
                let shown = shown.map(|(name, value)| (name.clone(), value.clone())).collect();
                let question = confirmation_question(ctx, self.tool.name(), shown, confirmation);
                Ok(CallOutcome::Asks(Yield::from(question)))
            }
            Ok(_) if let Some(config) = asked.credential => {
                Ok(CallOutcome::Asks(Yield::from(credential_question(ctx, &config, &credential_id(ctx))?)))
            }
            Ok(result) => Ok(CallOutcome::Result(result)),
            Err(error) => {
                let plugins = &ctx.invocation().engine().services().plugins;
                plugins.on_tool_error(&*self.tool, args, ctx, &error).await?.map(CallOutcome::Result).ok_or(error)
            }
        }
    }

    async fn gated(&self, args: &Map, ctx: &Context) -> Result<Value, NodeError> {
        match confirmation_gate(&*self.tool, args, ctx).await? {
            Some(instead) => Ok(instead),
            None => self.tool.run(args, ctx).await,
        }
    }
}

fn spec(name: SmolStr, tool: &dyn Tool) -> NodeSpec {
    let mut spec = NodeSpec::new(name).rerun_on_resume(true);
    spec.description = tool.description().to_owned();
    spec
}

/// Checks whether a person must confirm a call. Returns the call's result if the tool must not run, or `None` if it may.
///
/// A call that needs an answer requests one, as [`Context::request_confirmation`] does.
///
/// # Errors
/// The error of the tool's own check; a `ValueError` outside a tool call.
///
/// # Cancel safety
/// Dropping the future drops the tool's own check; nothing is asked then.
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
            let hint = format!(
                "Please approve or reject the tool call {}() by responding with a FunctionResponse with an expected ToolConfirmation payload.",
                tool.name()
            );
            ctx.request_confirmation(hint, None)?;
            Ok(Some(json!({"error": "This tool call requires confirmation, please approve or reject."})))
        }
    }
}

impl Node for ToolNode {
    fn spec(&self) -> &NodeSpec {
        &self.spec
    }

    fn run<'a>(&'a self, ctx: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
        Box::pin(self.call(ctx, input))
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        self.tool.needs(needs);
    }
}

impl TypedNode for ToolNode {
    type In = Dynamic;
    type Out = Dynamic;
}

impl fmt::Debug for ToolNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolNode")
            .field("name", &self.spec.name)
            .field("tool", &self.tool.name())
            .finish_non_exhaustive()
    }
}
