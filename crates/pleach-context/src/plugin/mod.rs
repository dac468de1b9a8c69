//! [`Plugin`]: the hooks around everything that an app runs, how they are called, and what they can change.

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

/// The return value of a hook: `None` if the plugin does not have the hook, which costs nothing, or otherwise a future.
pub type Hook<'a, T> = Option<BoxFuture<'a, Result<T, BoxError>>>;

/// Hooks around an app's invocations, called in the order of registration. Every hook has a default that does nothing.
///
/// For a hook that can return a value, the first plugin that returns one wins, and later plugins are not asked. An
/// error of such a hook ends the run. An error of a notification is only logged. A plugin that must see what the others
/// have decided, such as a recorder, is an [observer](Self::observes).
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
    /// The name of the plugin, unique in its app.
    fn name(&self) -> &str;

    /// Returns `true` if the plugin is an observer, which only watches. The default is false.
    ///
    /// An observer is called after the other plugins, even if one of them has answered. It gets what they have decided:
    /// the changed message, event, request, response or result. The values that its hooks return are ignored, their
    /// changes are dropped, and their errors are logged.
    fn observes(&self) -> bool {
        false
    }

    /// Called before the user's message is stored. A returned content replaces the message.
    fn on_user_message<'a>(&'a self, _ic: &'a InvocationContext, _message: &'a Content) -> Hook<'a, Option<Content>> {
        None
    }

    /// Called before the root node runs. A returned content ends the run with it.
    fn before_run<'a>(&'a self, _ic: &'a InvocationContext) -> Hook<'a, Option<Content>> {
        None
    }

    /// Called before an event is stored and handed out. The fields that the returned event sets replace the fields of
    /// the event. Downstream nodes still get the original output.
    // R1110
    fn on_event<'a>(&'a self, _ic: &'a InvocationContext, _event: &'a Event) -> Hook<'a, Option<Event>> {
        None
    }

    /// Called before the body of a node runs. A returned value is the node's output, and the body does not run. Null is
    /// not a value. The node's next event carries state changes made by the hook.
    ///
    /// The hook is called for the root, nodes of graphs, dynamic children and agents. It is called for each attempt,
    /// and again when a resume runs the body again. It is not called for runs that history answers, nor for a
    /// workflow that a resume or a retry continues. Agents within a `SequentialAgent`, `LoopAgent` or `ParallelAgent`
    /// run within its run: [`before_agent`](Self::before_agent) is called for them instead.
    fn before_node<'a>(
        &'a self,
        _node: &'a NodeSpec,
        _ctx: &'a Context,
        _input: &'a NodeInput,
    ) -> Hook<'a, Option<Value>> {
        None
    }

    /// Called after the body of a node has ended; a notification. `output` is `None` if the node has no output, or if
    /// its output is a message. The hook is not called for a run that waits for an answer, nor for a run that
    /// [`before_node`](Self::before_node) answered.
    ///
    /// The node's last event is not stored yet, and carries the state changes made by the hook. The nodes after this
    /// one wait for the hook.
    fn after_node<'a>(&'a self, _node: &'a NodeSpec, _ctx: &'a Context, _output: Option<&'a Value>) -> Hook<'a, ()> {
        None
    }

    /// Called after an attempt of a node has failed, before its error event is stored; a notification. If the nodes
    /// above do not catch the failure, they fail with it and the hook is called for them as well.
    fn on_node_error<'a>(&'a self, _node: &'a NodeSpec, _ctx: &'a Context, _error: &'a NodeError) -> Hook<'a, ()> {
        None
    }

    /// Called before a tool call, and before its confirmation gate. A returned value answers the call instead of the
    /// tool. Later plugins, the gate and the tool see changes that the hook makes in `args`.
    // R852, L101
    fn before_tool<'a>(
        &'a self,
        _tool: &'a dyn Tool,
        _args: &'a mut Map,
        _ctx: &'a ToolContext,
    ) -> Hook<'a, Option<Value>> {
        None
    }

    /// Called after a tool call has its result, from the tool or from a plugin. A returned value replaces the result.
    /// The hook is not called for a call that waits for a confirmation or a credential.
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

    /// Called after a tool has failed. A returned value is used as the result instead of the failure.
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

    /// Called before an agent runs. A returned content is the agent's answer, and the agent does not run.
    // L135
    fn before_agent<'a>(&'a self, _agent: &'a AgentSpec, _ctx: &'a CallbackContext) -> Hook<'a, Option<Content>> {
        None
    }

    /// Called after an agent has run. A returned content becomes one more event of the agent.
    fn after_agent<'a>(&'a self, _agent: &'a AgentSpec, _ctx: &'a CallbackContext) -> Hook<'a, Option<Content>> {
        None
    }

    /// Called before a model call. A returned response is used instead of the model's response.
    // L84
    fn before_model<'a>(
        &'a self,
        _ctx: &'a CallbackContext,
        _request: &'a mut LlmRequest,
    ) -> Hook<'a, Option<LlmResponse>> {
        None
    }

    /// Called after a model has answered, for every response and every fragment. A returned response replaces the
    /// model's.
    fn after_model<'a>(
        &'a self,
        _ctx: &'a CallbackContext,
        _response: &'a LlmResponse,
    ) -> Hook<'a, Option<LlmResponse>> {
        None
    }

    /// Called after a model call has failed. A returned response is used instead of the failure.
    // L133
    fn on_model_error<'a>(
        &'a self,
        _ctx: &'a CallbackContext,
        _request: &'a LlmRequest,
        _error: &'a NodeError,
    ) -> Hook<'a, Option<LlmResponse>> {
        None
    }

    /// Called after an agent has failed; a notification.
    fn on_agent_error<'a>(
        &'a self,
        _agent: &'a AgentSpec,
        _ctx: &'a CallbackContext,
        _error: &'a NodeError,
    ) -> Hook<'a, ()> {
        None
    }

    /// Called after the root node has run.
    fn after_run<'a>(&'a self, _ic: &'a InvocationContext) -> Hook<'a, ()> {
        None
    }

    /// Called after a failed run; a notification.
    fn on_run_error<'a>(&'a self, _ic: &'a InvocationContext, _error: &'a NodeError) -> Hook<'a, ()> {
        None
    }

    /// Called when the Runner is closed. The hook may take as long as the Runner's `plugin_close_timeout`.
    fn close(&self) -> Hook<'_, ()> {
        None
    }
}
