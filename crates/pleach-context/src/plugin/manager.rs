//! [`PluginManager`]: calls the hooks of plugins.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use pleach_core::{BoxError, Clock, Content, Event, Map};
use pleach_model::{LlmRequest, LlmResponse};
use serde_json::Value;

use crate::{
    AgentSpec, CallbackContext, Context, Hook, InvocationContext, NodeError, NodeInput, NodeSpec, Plugin, Tool,
    ToolContext,
};

/// The plugins of an app. ADK: `PluginManager`.
#[derive(Clone, Default)]
pub struct PluginManager {
    /// The plugins that may change something.
    plugins: Arc<[Arc<dyn Plugin>]>,
    observers: Arc<[Arc<dyn Plugin>]>,
}

impl PluginManager {
    /// Takes the plugins of an app.
    ///
    /// # Errors
    /// A `ValueError` if two plugins have the same name.
    pub fn new(plugins: Vec<Arc<dyn Plugin>>) -> Result<Self, NodeError> {
        for (index, plugin) in plugins.iter().enumerate() {
            if plugins[..index].iter().any(|earlier| earlier.name() == plugin.name()) {
                return Err(NodeError::value(format!("Plugin with name '{}' already registered.", plugin.name()))
                    .with_hint("give each plugin a name of its own"));
            }
        }
        let (observers, plugins): (Vec<_>, Vec<_>) = plugins.into_iter().partition(|plugin| plugin.observes());
        Ok(Self { plugins: plugins.into(), observers: observers.into() })
    }

    /// Returns `true` if there are no plugins.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.plugins.is_empty() && self.observers.is_empty()
    }

    /// Iterates over the names of the plugins in the order of registration, followed by the names of the observers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all().map(|plugin| plugin.name())
    }

    fn all(&self) -> impl Iterator<Item = &dyn Plugin> {
        self.plugins.iter().chain(&*self.observers).map(|plugin| &**plugin)
    }

    /// Asks the plugins for a user message to use instead of this one.
    ///
    /// # Errors
    /// A `RuntimeError` that names the plugin whose hook failed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not asked.
    pub async fn on_user_message(
        &self,
        ic: &InvocationContext,
        message: &Content,
    ) -> Result<Option<Content>, NodeError> {
        let other = self.first("on_user_message_callback", |plugin| plugin.on_user_message(ic, message)).await?;
        let last = other.as_ref().unwrap_or(message);
        self.observe("on_user_message", |plugin| plugin.on_user_message(ic, last)).await;
        Ok(other)
    }

    /// Asks the plugins for a content that ends the run before it begins.
    ///
    /// # Errors
    /// A `RuntimeError` that names the plugin whose hook failed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not asked.
    pub async fn before_run(&self, ic: &InvocationContext) -> Result<Option<Content>, NodeError> {
        self.decided("before_run_callback", |plugin| plugin.before_run(ic)).await
    }

    /// Asks the plugins for changes to an event. Observers see the changed event: see
    /// [`observe_event`](Self::observe_event).
    ///
    /// # Errors
    /// A `RuntimeError` that names the plugin whose hook failed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not asked.
    pub async fn on_event(&self, ic: &InvocationContext, event: &Event) -> Result<Option<Event>, NodeError> {
        self.first("on_event_callback", |plugin| plugin.on_event(ic, event)).await
    }

    /// Shows an event to the observers, after the plugins have made their changes.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later observers do not see the event.
    pub async fn observe_event(&self, ic: &InvocationContext, event: &Event) {
        self.observe("on_event", |plugin| plugin.on_event(ic, event)).await;
    }

    /// Asks the plugins for the output of a node. If a plugin returns one, the body does not run. Null is not an
    /// output.
    ///
    /// # Errors
    /// A `RuntimeError` that names the plugin whose hook failed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not asked.
    pub async fn before_node(
        &self,
        node: &NodeSpec,
        ctx: &Context,
        input: &NodeInput,
    ) -> Result<Option<Value>, NodeError> {
        self.decided("before_node_callback", |plugin| given(plugin.before_node(node, ctx, input))).await
    }

    /// Notifies all plugins that the body of a node has ended. Failures of the hooks are logged.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not notified.
    pub async fn after_node(&self, node: &NodeSpec, ctx: &Context, output: Option<&Value>) {
        self.notify("after_node", |plugin| plugin.after_node(node, ctx, output)).await;
    }

    /// Notifies all plugins that an attempt of a node has failed. Failures of the hooks are logged.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not notified.
    pub async fn on_node_error(&self, node: &NodeSpec, ctx: &Context, error: &NodeError) {
        self.notify("on_node_error", |plugin| plugin.on_node_error(node, ctx, error)).await;
    }

    /// Asks the plugins to answer a tool call, or to change its arguments. Null is not an answer.
    ///
    /// # Errors
    /// A `RuntimeError` that names the plugin whose hook failed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not asked. Changes to `args` stay.
    pub async fn before_tool(
        &self,
        tool: &dyn Tool,
        args: &mut Map,
        ctx: &ToolContext,
    ) -> Result<Option<Value>, NodeError> {
        let mut answer = None;
        for plugin in &*self.plugins {
            let asked = call(|| given(plugin.before_tool(tool, args, ctx))).await;
            answer = asked.map_err(|error| hook_error(&**plugin, "before_tool_callback", error))?.flatten();
            if answer.is_some() {
                break;
            }
        }
        for plugin in &*self.observers {
            let mut args = args.clone();
            logged(&**plugin, "before_tool", call(|| plugin.before_tool(tool, &mut args, ctx)).await);
        }
        Ok(answer)
    }

    /// Asks the plugins for a result to use instead of this one. Null is not a result.
    ///
    /// # Errors
    /// A `RuntimeError` that names the plugin whose hook failed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not asked.
    pub async fn after_tool(
        &self,
        tool: &dyn Tool,
        args: &Map,
        ctx: &ToolContext,
        result: &Value,
    ) -> Result<Option<Value>, NodeError> {
        let other =
            self.first("after_tool_callback", |plugin| given(plugin.after_tool(tool, args, ctx, result))).await?;
        let last = other.as_ref().unwrap_or(result);
        self.observe("after_tool", |plugin| plugin.after_tool(tool, args, ctx, last)).await;
        Ok(other)
    }

    /// Asks the plugins for a result to use instead of a tool's failure. Null is not a result.
    ///
    /// # Errors
    /// A `RuntimeError` that names the plugin whose hook failed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not asked.
    pub async fn on_tool_error(
        &self,
        tool: &dyn Tool,
        args: &Map,
        ctx: &ToolContext,
        error: &NodeError,
    ) -> Result<Option<Value>, NodeError> {
        self.decided("on_tool_error_callback", |plugin| given(plugin.on_tool_error(tool, args, ctx, error))).await
    }

    /// Asks the plugins for the answer of an agent. If a plugin returns one, the agent does not run.
    ///
    /// # Errors
    /// A `RuntimeError` that names the plugin whose hook failed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not asked.
    pub async fn before_agent(&self, agent: &AgentSpec, ctx: &CallbackContext) -> Result<Option<Content>, NodeError> {
        self.decided("before_agent_callback", |plugin| plugin.before_agent(agent, ctx)).await
    }

    /// Asks the plugins for one more content of an agent, at its end.
    ///
    /// # Errors
    /// A `RuntimeError` that names the plugin whose hook failed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not asked.
    pub async fn after_agent(&self, agent: &AgentSpec, ctx: &CallbackContext) -> Result<Option<Content>, NodeError> {
        self.decided("after_agent_callback", |plugin| plugin.after_agent(agent, ctx)).await
    }

    /// Asks the plugins for a response instead of the model's, or to change the request.
    ///
    /// # Errors
    /// A `RuntimeError` that names the plugin whose hook failed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not asked. Changes to `request` stay.
    pub async fn before_model(
        &self,
        ctx: &CallbackContext,
        request: &mut LlmRequest,
    ) -> Result<Option<LlmResponse>, NodeError> {
        let mut answer = None;
        for plugin in &*self.plugins {
            let asked = call(|| plugin.before_model(ctx, request)).await;
            answer = asked.map_err(|error| hook_error(&**plugin, "before_model_callback", error))?.flatten();
            if answer.is_some() {
                break;
            }
        }
        for plugin in &*self.observers {
            let mut request = request.clone();
            logged(&**plugin, "before_model", call(|| plugin.before_model(ctx, &mut request)).await);
        }
        Ok(answer)
    }

    /// Asks the plugins for a response to use instead of the model's.
    ///
    /// # Errors
    /// A `RuntimeError` that names the plugin whose hook failed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not asked.
    pub async fn after_model(
        &self,
        ctx: &CallbackContext,
        response: &LlmResponse,
    ) -> Result<Option<LlmResponse>, NodeError> {
        let other = self.first("after_model_callback", |plugin| plugin.after_model(ctx, response)).await?;
        let last = other.as_ref().unwrap_or(response);
        self.observe("after_model", |plugin| plugin.after_model(ctx, last)).await;
        Ok(other)
    }

    /// Asks the plugins for a response to use instead of a model's failure.
    ///
    /// # Errors
    /// A `RuntimeError` that names the plugin whose hook failed.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not asked.
    pub async fn on_model_error(
        &self,
        ctx: &CallbackContext,
        request: &LlmRequest,
        error: &NodeError,
    ) -> Result<Option<LlmResponse>, NodeError> {
        self.decided("on_model_error_callback", |plugin| plugin.on_model_error(ctx, request, error)).await
    }

    /// Notifies all plugins that an agent has failed. Failures of the hooks are logged.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not notified.
    pub async fn on_agent_error(&self, agent: &AgentSpec, ctx: &CallbackContext, error: &NodeError) {
        self.notify("on_agent_error", |plugin| plugin.on_agent_error(agent, ctx, error)).await;
    }

    /// Notifies all plugins that the run has ended.
    ///
    /// # Errors
    /// A `RuntimeError` that names the first plugin whose hook failed. Later plugins are not notified.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not notified.
    pub async fn after_run(&self, ic: &InvocationContext) -> Result<(), NodeError> {
        for plugin in &*self.plugins {
            let told = call(|| plugin.after_run(ic)).await;
            told.map_err(|error| hook_error(&**plugin, "after_run_callback", error))?;
        }
        self.observe("after_run", |plugin| plugin.after_run(ic)).await;
        Ok(())
    }

    /// Notifies all plugins that the run has failed. Failures of the hooks are logged.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook; later plugins are not notified.
    pub async fn on_run_error(&self, ic: &InvocationContext, error: &NodeError) {
        self.notify("on_run_error", |plugin| plugin.on_run_error(ic, error)).await;
    }

    /// Closes all plugins, one after the other, and collects the failures. Each plugin may take as long as `limit`,
    /// measured by `clock`. A plugin that takes longer is abandoned.
    ///
    /// # Errors
    /// A `RuntimeError` that lists the plugins that could not be closed.
    ///
    /// # Cancel safety
    /// If the future is dropped, plugins that are not closed yet stay open.
    pub async fn close(&self, clock: &dyn Clock, limit: Duration) -> Result<(), NodeError> {
        let mut failed = Vec::new();
        for plugin in self.all() {
            let closing = pin!(call(|| plugin.close()));
            // The hook is polled first, so a hook that needs no time is never late.
            let closed = match select(closing, clock.sleep(limit)).await {
                Either::Left((closed, _)) => closed,
                Either::Right(_) => Err(format!("it did not close within {limit:?}").into()),
            };
            if let Err(error) = closed {
                failed.push(format!("'{}': {error}", plugin.name()));
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        Err(NodeError::new("RuntimeError", format!("Failed to close plugins: {}", failed.join(", "))))
    }

    async fn first<'a, T>(
        &'a self,
        name: &str,
        hook: impl Fn(&'a dyn Plugin) -> Hook<'a, Option<T>>,
    ) -> Result<Option<T>, NodeError> {
        for plugin in &*self.plugins {
            let asked = call(|| hook(&**plugin)).await;
            let answer = asked.map_err(|error| hook_error(&**plugin, name, error))?.flatten();
            if answer.is_some() {
                return Ok(answer);
            }
        }
        Ok(None)
    }

    /// Like [`first`](Self::first), and then calls the hook of the observers as well.
    async fn decided<'a, T>(
        &'a self,
        name: &str,
        hook: impl Fn(&'a dyn Plugin) -> Hook<'a, Option<T>>,
    ) -> Result<Option<T>, NodeError> {
        let answer = self.first(name, &hook).await?;
        self.observe(name, hook).await;
        Ok(answer)
    }

    /// Calls a hook of all plugins and logs failures.
    async fn notify<'a>(&'a self, name: &str, hook: impl Fn(&'a dyn Plugin) -> Hook<'a, ()>) {
        for plugin in self.all() {
            logged(plugin, name, call(|| hook(plugin)).await);
        }
    }

    /// Calls a hook of the observers and logs failures.
    async fn observe<'a, T>(&'a self, name: &str, hook: impl Fn(&'a dyn Plugin) -> Hook<'a, T>) {
        for plugin in &*self.observers {
            logged(&**plugin, name, call(|| hook(&**plugin)).await);
        }
    }
}

fn logged<T>(plugin: &dyn Plugin, hook: &str, called: Result<Option<T>, BoxError>) {
    if let Err(failure) = called {
        tracing::warn!(plugin = plugin.name(), error = %failure, "{hook} hook failed");
    }
}

/// Makes a hook treat a null as no value.
fn given(hook: Hook<'_, Option<Value>>) -> Hook<'_, Option<Value>> {
    let hook = hook?;
    Some(Box::pin(async move { Ok(hook.await?.filter(|value| !value.is_null())) }))
}

/// Calls a hook and waits for it. Returns `None` if the plugin does not have the hook. A panic becomes its error, even
/// if it occurs before there is a future.
async fn call<'a, T>(hook: impl FnOnce() -> Hook<'a, T>) -> Result<Option<T>, BoxError> {
    let panicked = |_| BoxError::from("the hook panicked");
    match catch_unwind(AssertUnwindSafe(hook)).map_err(panicked)? {
        Some(called) => AssertUnwindSafe(called).catch_unwind().await.map_err(panicked)?.map(Some),
        None => Ok(None),
    }
}

fn hook_error(plugin: &dyn Plugin, hook: &str, error: BoxError) -> NodeError {
    let message = format!("Error in plugin '{}' during '{hook}' callback: {error}", plugin.name());
    NodeError::new("RuntimeError", message).with_source(error)
}

impl fmt::Debug for PluginManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
