//! What models and nodes call, where it comes from, and what a node needs of its app.

use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pleach_core::{BoxFuture, FunctionDeclaration, Map};
use pleach_model::{LlmRequest, Model};
use smol_str::SmolStr;

use super::{ReadonlyContext, ToolContext};
use crate::{ConfirmationRequest, NeededType, NodeError, NodeFault, ToolResult};

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

/// A source of tools, for example a server of them. ADK: `BaseToolset`
///
/// An agent lists the tools when its model is first asked in an invocation. A toolset that cannot list them is left out with an
/// error in the log, and asked again for the next request; of a [required](Toolset::is_required) one the run fails. [`SharedToolset`](crate::SharedToolset) gives the names a prefix and chooses tools.
// L56, L57
#[doc(alias = "BaseToolset")]
pub trait Toolset: Send + Sync + 'static {
    /// The name in warnings.
    fn name(&self) -> &str;

    /// Returns the tools that the agent has now.
    ///
    /// # Errors
    /// The source cannot be reached.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the toolset as it was.
    fn tools<'a>(&'a self, ctx: &'a ReadonlyContext) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, NodeError>>;

    /// Returns whether the tools may be others for each request of an invocation, so that they are listed for each.
    fn changes_between_steps(&self) -> bool {
        false
    }

    /// Returns whether the agent's run fails when the tools cannot be listed, instead of doing without them.
    fn is_required(&self) -> bool {
        false
    }

    /// Changes the request before its tools do.
    ///
    /// # Errors
    /// What the request cannot be made without; the agent's run fails.
    fn process_request<'a>(
        &'a self,
        _ctx: &'a ToolContext,
        _request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        Box::pin(ready(Ok(())))
    }

    /// Closes connections and what else the toolset holds. Called once, by `Runner::close`; it may take ten seconds of the
    /// Runner's clock.
    ///
    /// # Errors
    /// What could not be closed; closing the Runner fails with it after everything else is closed.
    ///
    /// # Cancel safety
    /// The future is dropped when it takes too long.
    fn close(&self) -> BoxFuture<'_, Result<(), NodeError>> {
        Box::pin(ready(Ok(())))
    }
}

/// A toolset, with the choice of its tools that an agent gets. Cheap to clone: clones are the same toolset, for several agents.
///
/// It is closed once, with the Runner. Its tools are listed once in an invocation, unless
/// [`Toolset::changes_between_steps`].
///
/// ```
/// # use pleach_context::{SharedToolset, Toolset};
/// # fn example(drive: impl Toolset) {
/// let drive = SharedToolset::new(drive).prefix("drive");
/// let reader = drive.only(["read", "list"]); // its tools are `drive_read` and `drive_list`
/// # drop(reader);
/// # }
/// ```
#[derive(Clone)]
pub struct SharedToolset {
    pub(crate) source: Arc<Source>,
    pub(crate) choice: Arc<Choice>,
}

/// The toolset itself.
pub(crate) struct Source {
    pub(crate) set: Box<dyn Toolset>,
    pub(crate) is_closed: AtomicBool,
}

/// Which of its tools an agent gets, and by which names.
#[derive(Clone, Default)]
pub(crate) struct Choice {
    pub(crate) prefix: Option<String>,
    pub(crate) filter: Option<Arc<Filter>>,
    pub(crate) is_required: bool,
}

type Filter = dyn Fn(&dyn Tool, &ReadonlyContext) -> bool + Send + Sync;

/// The tools of a toolset in an invocation.
pub(crate) struct Listed {
    pub(crate) choice: Arc<Choice>,
    pub(crate) tools: Arc<[Arc<dyn Tool>]>,
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
