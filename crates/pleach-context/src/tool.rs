//! [`Tool`]: a function that models and nodes call. Also [`Need`]: a requirement of a node on its app.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use pleach_core::{BoxFuture, FunctionDeclaration, Map};
use pleach_model::{LlmRequest, Model};
use smol_str::SmolStr;

use crate::{ConfirmationRequest, NeededType, NodeError, NodeFault, SharedToolset, ToolContext, ToolResult};

/// Something that can be called with named arguments: by the model of an agent, or as a node of a graph.
///
/// A tool is called between the tool hooks of the plugins, and after its confirmation gate. ADK: `BaseTool`.
///
/// # Example
/// `FunctionTool` makes a tool from a handler. This is a tool with a type of its own:
/// ```
/// # use pleach_context::{NodeError, Tool, ToolContext, ToolResult};
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
///     fn run<'a>(&'a self, args: &'a Map, _: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
///         Box::pin(async move {
///             let Some(throw) = args.get("throw").and_then(Value::as_u64) else {
///                 return Ok(json!({ "error": "`throw` must be a number" }).into());
///             };
///             Ok(json!(throw % self.sides + 1).into())
///         })
///     }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// The name that calls use.
    fn name(&self) -> &str;

    /// Returns the description of the tool for the model.
    fn description(&self) -> &str {
        ""
    }

    /// Returns the declaration of the tool; a tool without one is not offered to models. Requests share the
    /// declaration, so make it once, together with the tool. ADK: `_get_declaration`.
    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
        None
    }

    /// Returns true if the tool only starts something whose result arrives later. ADK: `is_long_running`.
    fn is_long_running(&self) -> bool {
        false
    }

    /// Returns true if a person must confirm this call before the tool runs.
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

    /// Returns the confirmation request for this call, if the call must be confirmed. With `None`, any person is
    /// asked, in ADK's words and without a time limit.
    fn confirmation(&self, _args: &Map, _ctx: &ToolContext) -> Option<ConfirmationRequest> {
        None
    }

    /// Answers a call. If a model passed wrong arguments, the result reports them as `{"error": …}`, so that the model
    /// can try again. ADK: `run_async`.
    ///
    /// # Errors
    /// The failure of the tool.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>>;

    /// Returns true if the result is also a text for the user, so that the model is not asked to put it into words
    /// (`skip_summarization`).
    // L111
    fn shows_result(&self) -> bool {
        false
    }

    /// Changes the request that offers the tool to a model. The default declares the tool.
    /// ADK: `process_llm_request`
    ///
    /// # Errors
    /// An error if the request cannot be made; the agent's run fails with it.
    // L56
    fn process_request<'a>(
        &'a self,
        _ctx: &'a ToolContext,
        request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        request.append_tools(self.declaration().cloned());
        Box::pin(ready(Ok(())))
    }

    /// Adds the tool's needs. See [`Node::needs`](super::Node::needs).
    fn needs(&self, _needs: &mut Vec<Need>) {}

    /// Adds the faults of the tool's declaration. Building an agent with a faulty tool fails.
    fn faults(&self, _faults: &mut Vec<NodeFault>) {}
}

/// A requirement of a node on its app.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Need {
    /// A value, which the app must provide.
    Value(NeededType),
    /// A model, for the agent with this name, if neither the agent nor one above it has one.
    Model(SmolStr),
    /// A toolset, which the app's Runner closes.
    Toolset(SharedToolset),
    /// A demand that the model of an agent must meet.
    Demand(Arc<dyn ModelDemand>),
}

/// A demand that an agent makes of its model, for example that answers fit a schema.
pub trait ModelDemand: fmt::Debug + Send + Sync {
    /// Returns a sentence, with the agent's name, that says why the model does not meet the demand; `None` if it
    /// does. The model is the agent's, or the app's model `of_app` if the agent has none.
    fn unmet(&self, of_app: Option<&Arc<dyn Model>>) -> Option<String>;
}

impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn description(&self) -> &str {
        (**self).description()
    }

    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
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

    fn confirmation(&self, args: &Map, ctx: &ToolContext) -> Option<ConfirmationRequest> {
        (**self).confirmation(args, ctx)
    }

    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        (**self).run(args, ctx)
    }

    fn shows_result(&self) -> bool {
        (**self).shows_result()
    }

    fn process_request<'a>(
        &'a self,
        ctx: &'a ToolContext,
        request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        (**self).process_request(ctx, request)
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        (**self).needs(needs);
    }

    fn faults(&self, faults: &mut Vec<NodeFault>) {
        (**self).faults(faults);
    }
}

impl Need {
    /// The need for a `T`.
    #[must_use]
    pub fn of<T: 'static>() -> Self {
        Self::Value(NeededType::of::<T>())
    }
}
