//! [`Tool`]: what models and nodes call; and what nodes need of their app.

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
/// A handler is a tool by `FunctionTool`. A tool of its own type:
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

    /// What the tool does, for the model.
    fn description(&self) -> &str {
        ""
    }

    /// How the tool is called; a tool without a declaration is not offered to models. Requests share it, so make it once, with the
    /// tool. ADK: `_get_declaration`.
    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
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

    /// How a person is asked to confirm this call, if it must be confirmed. `None` asks in ADK's words, for any person and without end.
    fn confirmation(&self, _args: &Map, _ctx: &ToolContext) -> Option<ConfirmationRequest> {
        None
    }

    /// Answers a call. The result reports what a model got wrong in the arguments, as
    /// `{"error": …}`, so that it can try again. ADK: `run_async`.
    ///
    /// # Errors
    /// What the tool failed with.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>>;

    /// Whether the result is also a text for the user, where the model is not asked to put it into words
    /// (`skip_summarization`).
    // L111
    fn shows_result(&self) -> bool {
        false
    }

    /// Changes the request in which the tool is offered to a model. Declares the tool unless it is overridden.
    /// ADK: `process_llm_request`
    ///
    /// # Errors
    /// What the request cannot be made without; the agent's run fails.
    // L56
    fn process_request<'a>(
        &'a self,
        _ctx: &'a ToolContext,
        request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        request.append_tools(self.declaration().cloned());
        Box::pin(ready(Ok(())))
    }

    /// Adds what the tool needs of its app. See [`Node::needs`](super::Node::needs).
    fn needs(&self, _needs: &mut Vec<Need>) {}

    /// Adds what is wrong with the declaration of the tool, so that an agent with it is not built.
    fn faults(&self, _faults: &mut Vec<NodeFault>) {}
}

/// What a node needs of its app.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Need {
    /// A value, which the app must provide.
    Value(NeededType),
    /// A model, for an agent of this name that has none, and none above it.
    Model(SmolStr),
    /// A toolset, which is closed with the app's Runner.
    Toolset(SharedToolset),
    /// A model that meets what an agent demands.
    Demand(Arc<dyn ModelDemand>),
}

/// A demand that an agent makes of its model, for example that answers fit a schema.
pub trait ModelDemand: fmt::Debug + Send + Sync {
    /// Returns why the agent's model, or that of the app if it has none, does not meet the demand: a sentence that names the agent.
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
