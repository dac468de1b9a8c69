//! [`Plugin`]: the hooks around everything that an app runs; how they are called, and what they change.

mod change;
mod manager;

use std::fmt;

use pleach_core::{BoxError, BoxFuture, Content, Event, Map};
use pleach_model::{LlmRequest, LlmResponse};
use serde_json::Value;

use crate::{
    AgentSpec, CallbackContext, Context, InvocationContext, NodeError, NodeInput, NodeSpec, Tool, ToolContext,
};

pub(crate) use change::apply_plugin_change;
pub use manager::PluginManager;

/// What a hook gives back: `None` when the plugin has no such hook (which costs nothing), else a future.
pub type Hook<'a, T> = Option<BoxFuture<'a, Result<T, BoxError>>>;

/// Hooks around an app's invocations, in the order of registration. Every hook has a default that does nothing.
///
/// Of the hooks that give a value, the first plugin that returns one wins and the later ones are not asked.
/// An error of such a hook ends the run; an error of a notification is only logged. A plugin that must see what the others have
/// decided, such as a recorder, is an [observer](Self::observes).
///
/// # Example
/// ```
/// # use pleach_context::{Hook, InvocationContext, NodeError, Plugin};
/// #[derive(Debug)]
/// struct Failures;
///
/// impl Plugin for Failures {
///     fn name(&self) -> &str {
///         "failures"
///     }
///
///     fn on_run_error<'a>(&'a self, ic: &'a InvocationContext, error: &'a NodeError) -> Hook<'a, ()> {
///         Some(Box::pin(async move {
///             eprintln!("{}: {error}", ic.invocation_id());
///             Ok(())
///         }))
///     }
/// }
/// ```
///
/// ADK: `BasePlugin`.
// R1111
#[doc(alias = "BasePlugin")]
pub trait Plugin: fmt::Debug + Send + Sync + 'static {
    /// The name, unique in an app.
    fn name(&self) -> &str;

    /// Returns `true` if the plugin only watches: false by default. An observer is called behind the other plugins, also when one of them has
    /// answered, and gets what they have decided: the changed message, event, request, response or result. What its hooks return is
    /// ignored, what they change is dropped, and their errors are logged.
    fn observes(&self) -> bool {
        false
    }

    /// Before the user's message is stored; a returned content replaces it.
    fn on_user_message<'a>(&'a self, _ic: &'a InvocationContext, _message: &'a Content) -> Hook<'a, Option<Content>> {
        None
    }

    /// Before the root node runs; a returned content ends the run with it.
    fn before_run<'a>(&'a self, _ic: &'a InvocationContext) -> Hook<'a, Option<Content>> {
        None
    }

    /// Before an event is stored and handed out. The fields that the returned event sets replace those of the event;
    /// downstream nodes still get the original output.
    // R1110
    fn on_event<'a>(&'a self, _ic: &'a InvocationContext, _event: &'a Event) -> Hook<'a, Option<Event>> {
        None
    }

    /// Before the body of a node runs; a returned value is the node's output, and the body does not run. Null is no value. What
    /// it changes in the state rides on the node's next event.
    ///
    /// Called for the root, the nodes of graphs, dynamic children and agents, for each attempt, and again when a resume runs the
    /// body again; neither for runs that history answers nor for a workflow that a resume or a retry continues. Agents within a
    /// `SequentialAgent`, `LoopAgent` or `ParallelAgent` run within its run, and have [`before_agent`](Self::before_agent) only.
    fn before_node<'a>(
        &'a self,
        _node: &'a NodeSpec,
        _ctx: &'a Context,
        _input: &'a NodeInput,
    ) -> Hook<'a, Option<Value>> {
        None
    }

    /// After the body of a node has ended; a notification. `output` is `None` for a node that gives none, or a message. Not
    /// called for a run that waits for an answer, nor for one that [`before_node`](Self::before_node) answered.
    ///
    /// The node's last event is not stored yet, and what the hook changes in the state rides on it. The nodes behind
    /// this one wait for the hook.
    fn after_node<'a>(&'a self, _node: &'a NodeSpec, _ctx: &'a Context, _output: Option<&'a Value>) -> Hook<'a, ()> {
        None
    }

    /// After an attempt of a node has failed, before its error event is stored; a notification. A failure that the nodes above
    /// do not catch is theirs, too.
    fn on_node_error<'a>(&'a self, _node: &'a NodeSpec, _ctx: &'a Context, _error: &'a NodeError) -> Hook<'a, ()> {
        None
    }

    /// Before a tool is called, and before its confirmation gate; a returned value answers the call instead. Later
    /// plugins, the gate and the tool see what it changes in `args`.
    // R852, L101
    fn before_tool<'a>(
        &'a self,
        _tool: &'a dyn Tool,
        _args: &'a mut Map,
        _ctx: &'a ToolContext,
    ) -> Hook<'a, Option<Value>> {
        None
    }

    /// After a tool call has its result, from the tool or a plugin; a returned value replaces the result. Not called for a call
    /// that waits for a confirmation or a credential.
    // R852
    fn after_tool<'a>(
        &'a self,
        _tool: &'a dyn Tool,
        _args: &'a Map,
        _ctx: &'a ToolContext,
        _result: &'a Value,
    ) -> Hook<'a, Option<Value>> {
        None
    }

    /// After a tool has failed; a returned value is the result instead of the failure.
    // R852
    fn on_tool_error<'a>(
        &'a self,
        _tool: &'a dyn Tool,
        _args: &'a Map,
        _ctx: &'a ToolContext,
        _error: &'a NodeError,
    ) -> Hook<'a, Option<Value>> {
        None
    }

    /// Before an agent runs; a returned content is its answer, and the agent does not run.
    // L135
    fn before_agent<'a>(&'a self, _agent: &'a AgentSpec, _ctx: &'a CallbackContext) -> Hook<'a, Option<Content>> {
        None
    }

    /// After an agent has run; a returned content is one more event of it.
    fn after_agent<'a>(&'a self, _agent: &'a AgentSpec, _ctx: &'a CallbackContext) -> Hook<'a, Option<Content>> {
        None
    }

    /// Before a model is called; a returned response is used instead of the model's.
    // L84
    fn before_model<'a>(
        &'a self,
        _ctx: &'a CallbackContext,
        _request: &'a mut LlmRequest,
    ) -> Hook<'a, Option<LlmResponse>> {
        None
    }

    /// After a model has answered, for every response and every fragment; a returned response replaces it.
    fn after_model<'a>(
        &'a self,
        _ctx: &'a CallbackContext,
        _response: &'a LlmResponse,
    ) -> Hook<'a, Option<LlmResponse>> {
        None
    }

    /// After a call of a model has failed; a returned response is used instead of the failure.
    // L133
    fn on_model_error<'a>(
        &'a self,
        _ctx: &'a CallbackContext,
        _request: &'a LlmRequest,
        _error: &'a NodeError,
    ) -> Hook<'a, Option<LlmResponse>> {
        None
    }

    /// After an agent has failed; a notification.
    fn on_agent_error<'a>(
        &'a self,
        _agent: &'a AgentSpec,
        _ctx: &'a CallbackContext,
        _error: &'a NodeError,
    ) -> Hook<'a, ()> {
        None
    }

    /// After the root node has run.
    fn after_run<'a>(&'a self, _ic: &'a InvocationContext) -> Hook<'a, ()> {
        None
    }

    /// After a failed run; a notification.
    fn on_run_error<'a>(&'a self, _ic: &'a InvocationContext, _error: &'a NodeError) -> Hook<'a, ()> {
        None
    }

    /// When the Runner is closed. It may take as long as the Runner's `plugin_close_timeout`.
    fn close(&self) -> Hook<'_, ()> {
        None
    }
}
