//! The types and traits of this crate that refer to each other.
//!
//! A context holds its invocation, the invocation holds the services and the scheduler, the services hold plugins, and
//! plugins, tools, nodes and credential services are called with a context. Such types cannot be in files that import each
//! other in one direction only, so this file holds the definitions and other files hold what they do. The hooks of plugins are
//! in `plugin/hooks.rs`.

use std::fmt;
use std::future::ready;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

use foldhash::HashMap;
use pleach_artifact::ArtifactService;
use pleach_auth::AuthCredential;
use pleach_core::{
    AuthConfig, BoxFuture, Clock, Event, FunctionDeclaration, IdGen, InvocationId, Map, NodePath, SessionKey,
};
use pleach_memory::MemoryService;
use pleach_model::{LlmRequest, Model};
use pleach_session::SessionService;
use smol_str::SmolStr;

use crate::compaction::PromptCompaction;
use crate::credential::KeptCredentials;
use crate::engine::{EventQueue, GraphNames, GraphPosition, NodeEnd, OwnLane, RunState, WorkGate};
use crate::plugin::PluginManager;
use crate::scheduler::BackgroundChild;
use crate::session_state::SessionState;
use crate::toolset::Listed;
use crate::{
    AbortSignal, AgentSpec, AnswerType, DeadEnd, Flow, History, Need, NodeError, NodeInput, NodeKind, NodeSpec,
    Outline, Provided, ReadonlyContext, RunConfig, RunOptions, Schema, ToolResult,
};

/// The context of one node run. Cheap to clone: clones are the same run.
///
/// # Example
/// A handler that reads state, reports progress and asks a person. A node that asks in its body runs again when the answer
/// comes, so it is added with `rerun_on_resume(true)`.
/// ```
/// # use pleach_context::{Context, Input, NodeError};
/// # use pleach_core::Event;
/// async fn refund(ctx: Context, Input(cents): Input<i64>) -> Result<String, NodeError> {
///     let limit = ctx.state().try_get("app:refund_limit")?.unwrap_or(1_000);
///     if cents > limit && !ctx.ask::<bool>("approve", format!("Refund {cents}?")).await? {
///         return Ok("refused".to_owned());
///     }
///     ctx.emit(Event::message(format!("paying {cents}"))).await?;
///     ctx.state().add("app:refunded", cents)?;
///     Ok("paid".to_owned())
/// }
/// ```
///
/// ADK: `Context` (also `CallbackContext` and `ToolContext`).
// R201–R220
#[derive(Clone)]
pub struct Context {
    pub(crate) inner: Arc<ContextInner>,
    /// The call within the run that this is the context of; `None` for the body.
    pub(crate) lane: Option<Arc<OwnLane>>,
}

/// The fixed part of a context, and its [`RunState`].
pub(crate) struct ContextInner {
    pub(crate) invocation: Arc<InvocationContext>,
    pub(crate) parent: Option<Context>,
    pub(crate) path: NodePath,
    pub(crate) name: SmolStr,
    pub(crate) author: SmolStr,
    pub(crate) child_author: Option<SmolStr>,
    pub(crate) kind: NodeKind,
    pub(crate) rerun_on_resume: bool,
    pub(crate) attempt: u32,
    /// How many runs are above this one.
    pub(crate) depth: u32,
    pub(crate) output_schema: Option<Schema>,
    pub(crate) state_schema: Option<Schema>,
    pub(crate) resume_inputs: Option<Arc<Map>>,
    pub(crate) position: Option<GraphPosition>,
    /// The run, or one above it, is a background child.
    pub(crate) background: bool,
    pub(crate) graph: OnceLock<Arc<GraphNames>>,
    pub(crate) output_for: Option<Arc<[NodePath]>>,
    pub(crate) is_delegate: bool,
    /// How many children of each name earlier attempts of this run have started.
    pub(crate) earlier_children: Option<Box<HashMap<SmolStr, u32>>>,
    pub(crate) cell: Mutex<RunState>,
}

/// What all nodes of one invocation share: the session, the services, the settings and the event queue.
///
/// One per invocation, behind an `Arc`; the Runner makes it. ADK: `InvocationContext`.
// R201
pub struct InvocationContext {
    pub(crate) setup: InvocationSetup,
    /// The bits of an `f64`.
    pub(crate) last_update_time: AtomicU64,
    pub(crate) queue: EventQueue,
    pub(crate) work_gate: WorkGate,
    pub(crate) state: Mutex<SessionState>,
    pub(crate) events: Mutex<Vec<Arc<Event>>>,
    pub(crate) history: Mutex<HistoryCache>,
    pub(crate) has_history: AtomicBool,
    pub(crate) has_background: AtomicBool,
    pub(crate) llm_calls: AtomicU32,
    pub(crate) metadata: Mutex<Map>,
    pub(crate) has_metadata: AtomicBool,
    pub(crate) user_event: OnceLock<Arc<Event>>,
    pub(crate) dead_ends: Mutex<Vec<DeadEnd>>,
    pub(crate) listed_tools: Mutex<Vec<Listed>>,
}

/// What the invocation has done so far, as far as it was read.
#[derive(Default)]
pub(crate) struct HistoryCache {
    pub(crate) history: Option<Arc<History>>,
    /// How many of the session's events have been read.
    pub(crate) read: usize,
}

/// What the Runner makes an [`InvocationContext`] from.
#[derive(Debug)]
pub struct InvocationSetup {
    /// The session that the invocation belongs to.
    pub session_key: Arc<SessionKey>,
    /// The id that all events of the invocation carry.
    pub invocation_id: InvocationId,
    /// The name of the root agent; `unknown` when the root is no agent.
    pub agent_name: SmolStr,
    /// The settings.
    pub run_config: Arc<RunConfig>,
    /// Whether the app records checkpoints.
    // R1030
    pub resumable: bool,
    /// The services of the app.
    pub services: Arc<Services>,
    /// Shortens the history before prompts, if the app asks for it.
    pub compaction: Option<Arc<dyn PromptCompaction>>,
    /// Runs dynamic nodes.
    pub scheduler: Arc<dyn NodeScheduler>,
    /// The caller's request to stop.
    pub abort: AbortSignal,
    /// The merged session state at the start.
    pub state: Map,
    /// The session's events at the start.
    pub events: Vec<Arc<Event>>,
    /// When the session was last changed before the invocation, in seconds since the epoch.
    pub last_update_time: f64,
}

/// Everything an app's invocations share. Made once by the Runner.
pub struct Services {
    /// Where sessions and their events are kept.
    pub sessions: Arc<dyn SessionService>,
    /// Where files are kept, if anywhere.
    pub artifacts: Option<Arc<dyn ArtifactService>>,
    /// Where earlier sessions are searched, if anywhere.
    pub memory: Option<Arc<dyn MemoryService>>,
    /// Where credentials are kept, if anywhere.
    pub credentials: Option<Arc<dyn CredentialService>>,
    /// What clients have sent to invocations under way.
    pub sent_credentials: KeptCredentials,
    /// The hooks around everything.
    pub plugins: PluginManager,
    /// The app's own values.
    pub provided: Provided,
    /// The model of agents that have none, and none above them.
    pub model: Option<Arc<dyn Model>>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The source of ids and randomness.
    pub ids: Arc<dyn IdGen>,
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("sessions", &self.sessions)
            .field("plugins", &self.plugins)
            .finish_non_exhaustive()
    }
}

/// Runs the dynamic children of contexts. Implemented by the workflow engine; cuts the cycle between the two.
pub trait NodeScheduler: fmt::Debug + Send + Sync + 'static {
    /// Starts a child of `parent`; the run id is fixed by this call, not by the first poll.
    ///
    /// The future fails with the child's failure as [`NodeError::child`], or with what is wrong with the call.
    // R703
    fn run_child<'a>(
        &'a self,
        parent: &'a Context,
        node: &'a dyn Node,
        input: NodeInput,
        options: RunOptions,
    ) -> BoxFuture<'a, Result<NodeEnd, NodeError>>;

    /// Makes a background child of `parent`; this call fixes its path.
    ///
    /// # Errors
    /// An input that does not fit the node.
    fn run_in_background(
        self: Arc<Self>,
        parent: Context,
        node: Arc<dyn Node>,
        input: NodeInput,
        options: RunOptions,
    ) -> Result<BackgroundChild, NodeError>;
}

/// One unit of work in a graph, or the root of a run.
///
/// The engine makes a [`Context`] for every run, calls [`run`](Node::run), and turns what comes back into events.
/// A node never stores anything itself: it returns its result, or emits with [`Context::emit`] before it.
///
/// # Example
/// A handler is a node by `FunctionNode`. A node of its own type:
/// ```
/// # use pleach_context::{Context, Flow, Node, NodeError, NodeInput, NodeSpec};
/// # use pleach_core::BoxFuture;
/// struct Double {
///     spec: NodeSpec,
/// }
///
/// impl Node for Double {
///     fn spec(&self) -> &NodeSpec {
///         &self.spec
///     }
///
///     fn run<'a>(&'a self, _: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
///         Box::pin(async move { Ok(Flow::output((input.parse::<i64>()? * 2).into())) })
///     }
/// }
///
/// let double = Double { spec: NodeSpec::new("double") };
/// assert_eq!(double.spec().name, "double");
/// ```
///
/// ADK: `BaseNode`.
// R301–R308
pub trait Node: Send + Sync + 'static {
    /// The declared properties of the node; the same on every call.
    fn spec(&self) -> &NodeSpec;

    /// Runs the node once. Dropping the future cancels the run.
    ///
    /// # Errors
    /// What the node failed with; the engine writes the error event and decides about a retry.
    fn run<'a>(&'a self, ctx: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>>;

    /// What the node is made of, down to the nodes inside.
    fn outline(&self) -> Outline {
        Outline::of(self.spec())
    }

    /// Checks that this node can resume from a history: it cannot when it was built differently before the run at `path` paused.
    /// Called before any part of a resumed invocation runs.
    ///
    /// # Errors
    /// What no longer fits, by name.
    fn fits(&self, _path: &NodePath, _history: &History) -> Result<(), NodeError> {
        Ok(())
    }

    /// Returns the type of the answers to the questions that a node asks: of this node for an empty `path`, else of the node
    /// inside that the names on `path` lead to. `None` when it is only known at run time, or not at all.
    fn answer_type(&self, _path: &[&str]) -> Option<AnswerType> {
        None
    }

    /// Returns the declaration of the node that the names on `path` lead to: this node's for an empty `path`. `None` for nodes
    /// that are only known at run time.
    fn spec_at(&self, path: &[&str]) -> Option<&NodeSpec> {
        path.is_empty().then(|| self.spec())
    }

    /// Adds what the node needs of its app: the values (see [`Shared`](crate::Shared)) that it cannot run without, and the toolsets
    /// to be closed with it.
    fn needs(&self, _needs: &mut Vec<crate::Need>) {}

    /// Returns whether the stored events of the run of `ctx` say that it has completed, so that a resume need not run it. Only
    /// asked of agents, which decide from their own events what they do next.
    fn has_completed(&self, _ctx: &Context) -> bool {
        false
    }

    /// Returns what the runtime knows of the node as an agent; `None` for a node that is none.
    fn agent(&self) -> Option<&Arc<AgentSpec>> {
        None
    }
}

/// The context of a tool call: that of the run that makes it. ADK: `ToolContext`.
pub type ToolContext = Context;

/// The context of a callback: that of the agent's run. ADK: `CallbackContext`.
pub type CallbackContext = Context;

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

    /// Adds what the tool needs of its app. See [`Node::needs`].
    fn needs(&self, _needs: &mut Vec<Need>) {}
}

/// A source of tools, for example a server of them. ADK: `BaseToolset`
///
/// An agent lists the tools when its model is first asked in an invocation. A toolset that cannot list them is left out with a
/// warning, and asked again for the next request. [`SharedToolset`](crate::SharedToolset) gives the names a prefix and chooses tools.
// L56, L57
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

/// Keeps credentials of users, each under the `credential_key` of its config.
///
/// A config that names no key has google-adk's, a digest of its scheme and its raw credential.
///
/// # Example
/// A tool takes the user's credential from the service, or asks for it.
/// ```
/// # use pleach_context::{NodeError, ToolContext};
/// # use pleach_core::AuthConfig;
/// async fn token(ctx: &ToolContext, config: &AuthConfig) -> Result<bool, NodeError> {
///     if ctx.load_credential(config).await?.is_some() {
///         return Ok(true);
///     }
///     ctx.request_credential(config.clone())?;
///     Ok(false)
/// }
/// ```
///
/// ADK: `BaseCredentialService`
// S85
pub trait CredentialService: fmt::Debug + Send + Sync + 'static {
    /// Loads the credential for the config and the user of `ctx`.
    ///
    /// # Errors
    /// The storage behind the service fails.
    fn load_credential<'a>(
        &'a self,
        config: &'a AuthConfig,
        ctx: &'a Context,
    ) -> BoxFuture<'a, Result<Option<AuthCredential>, NodeError>>;

    /// Saves the config's `exchanged_auth_credential`; a config without one removes the saved credential.
    ///
    /// # Errors
    /// A `ValidationError` when the config holds something else there, or the storage behind the service fails.
    ///
    /// # Cancel safety
    /// When the future is dropped, the credential is saved whole or not at all.
    fn save_credential<'a>(&'a self, config: &'a AuthConfig, ctx: &'a Context) -> BoxFuture<'a, Result<(), NodeError>>;
}
