//! [`Tool`]: something that a model, or a graph, can call with named arguments.

use std::future::ready;
use std::sync::Arc;

use pleach_core::{BoxFuture, FunctionDeclaration, Map};
use serde_json::Value;

use crate::{Context, Need, NodeError};

/// The context of a tool call: that of the run that makes it. ADK: `ToolContext`.
pub type ToolContext = Context;

/// Something that can be called with named arguments: by the model of an agent, or as a node of a graph.
///
/// A tool is called between the tool hooks of the plugins, and after its confirmation gate. ADK: `BaseTool`.
///
/// # Example
/// A handler is a tool by `FunctionTool`. A tool of its own type:
/// ```
/// # use pleach_context::{NodeError, Tool, ToolContext};
/// # use pleach_core::{BoxFuture, Map};
/// # use serde_json::{Value, json};
/// struct Dice {
///     sides: u64,
/// }
///
/// impl Tool for Dice {
///     fn name(&self) -> &str {
///         "dice"
///     }
///
///     fn run<'a>(&'a self, args: &'a Map, _: &'a ToolContext) -> BoxFuture<'a, Result<Value, NodeError>> {
///         Box::pin(async move {
///             let Some(throw) = args.get("throw").and_then(Value::as_u64) else {
///                 return Ok(json!({ "error": "`throw` must be a number" }));
///             };
///             Ok(json!(throw % self.sides + 1))
///         })
///     }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// The name that calls use.
    fn name(&self) -> &str;

    /// What the tool does, for the model.
    fn description(&self) -> &str {
        ""
    }

    /// How the tool is called; a tool without a declaration is not offered to models. ADK: `_get_declaration`.
    fn declaration(&self) -> Option<&FunctionDeclaration> {
        None
    }

    /// Whether the tool only starts something whose result comes later. ADK: `is_long_running`.
    fn is_long_running(&self) -> bool {
        false
    }

    /// Whether a person must confirm this call before the tool runs.
    ///
    /// # Errors
    /// As [`run`](Tool::run).
    fn check_require_confirmation<'a>(
        &'a self,
        _args: &'a Map,
        _ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<bool, NodeError>> {
        Box::pin(ready(Ok(false)))
    }

    /// Answers a call; null is no result. The result reports what a model got wrong in the arguments, as
    /// `{"error": …}`, so that it can try again. ADK: `run_async`.
    ///
    /// # Errors
    /// What the tool failed with.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<Value, NodeError>>;

    /// Adds the app-provided values (see [`Shared`](crate::Shared)) that the tool cannot run without.
    fn needs(&self, _needs: &mut Vec<Need>) {}
}

impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn description(&self) -> &str {
        (**self).description()
    }

    fn declaration(&self) -> Option<&FunctionDeclaration> {
        (**self).declaration()
    }

    fn is_long_running(&self) -> bool {
        (**self).is_long_running()
    }

    fn check_require_confirmation<'a>(
        &'a self,
        args: &'a Map,
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<bool, NodeError>> {
        (**self).check_require_confirmation(args, ctx)
    }

    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<Value, NodeError>> {
        (**self).run(args, ctx)
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        (**self).needs(needs);
    }
}
