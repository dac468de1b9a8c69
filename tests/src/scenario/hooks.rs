//! Plugins whose hooks are bodies of the scenario.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use pleach::model::{LlmRequest, LlmResponse};
use pleach::{
    AgentSpec, BoxError, CallbackContext, Content, Context, Event, Hook, InvocationContext, Map, NodeError, Plugin,
    Tool, ToolContext,
};
use serde_json::Value;

use super::body::Body;
use super::env::Env;
use super::event::{content, typed};
use super::response::returned;
use super::vars::{self, Vars, said, shown_error, shown_event, with};
use super::world::World;

/// The hooks that a plugin can have.
const HOOKS: [&str; 14] = [
    "on_user_message",
    "before_run",
    "on_event",
    "before_agent",
    "after_agent",
    "on_agent_error",
    "before_model",
    "after_model",
    "on_model_error",
    "before_tool",
    "after_tool",
    "on_tool_error",
    "after_run",
    "on_run_error",
];

/// A plugin of the scenario. Every Runner of the scenario gets a clone, so it is cheap to clone.
#[derive(Clone)]
pub(crate) struct ScriptedPlugin {
    name: Arc<str>,
    hooks: Arc<BTreeMap<String, Body>>,
    world: Arc<World>,
}

impl ScriptedPlugin {
    /// Reads a PLUGIN object.
    pub(crate) fn read(value: &Value, world: &Arc<World>) -> anyhow::Result<Self> {
        let name = value.get("name").and_then(Value::as_str).context("a plugin has a name")?;
        let mut hooks = BTreeMap::new();
        for (kind, body) in value.get("hooks").and_then(Value::as_object).into_iter().flatten() {
            ensure!(HOOKS.contains(&kind.as_str()), "unknown plugin hook `{kind}`");
            hooks.insert(kind.clone(), Body::read(body, &format!("hook `{kind}` of plugin `{name}`"))?);
        }
        Ok(Self { name: name.into(), hooks: Arc::new(hooks), world: Arc::clone(world) })
    }

    /// Plays a hook's body and converts its value into the result of the hook. Returns `None` if there is no such hook.
    fn hook<'a, T: Send + 'a>(
        &'a self,
        kind: &str,
        ic: &'a InvocationContext,
        vars: impl FnOnce() -> Vars,
        read: fn(Value) -> Result<T, NodeError>,
    ) -> Hook<'a, Option<T>> {
        let body = self.hooks.get(kind)?.clone();
        let env = Env::of_hook(Arc::clone(&self.world), ic, vars());
        Some(Box::pin(async move { body.play(env, read).await.map_err(BoxError::from) }))
    }

    /// Like [`hook`](Self::hook), in a run: the hook sees the state and may change it.
    fn within<'a, T: Send + 'a>(
        &'a self,
        kind: &str,
        ctx: &Context,
        vars: impl FnOnce() -> Vars,
        read: impl FnOnce(Value) -> Result<T, NodeError> + Send + 'a,
    ) -> Hook<'a, Option<T>> {
        let body = self.hooks.get(kind)?.clone();
        let env = Env::of_run(Arc::clone(&self.world), ctx.clone(), Value::Null).with_vars(vars());
        Some(Box::pin(async move { body.play(env, read).await.map_err(BoxError::from) }))
    }

    /// Plays a hook around an agent.
    fn around_agent<'a>(&'a self, kind: &str, ctx: &Context) -> Hook<'a, Option<Content>> {
        self.within(kind, ctx, || vars::of_agent(ctx), |value| content(value, "model"))
    }

    /// Plays a hook around a call of a model.
    fn around_model<'a>(
        &'a self,
        kind: &str,
        ctx: &Context,
        vars: impl FnOnce() -> Vars,
    ) -> Hook<'a, Option<LlmResponse>> {
        self.within(kind, ctx, vars, |value| returned(&self.world, &value))
    }
}

/// A hook whose result is not used.
fn notify<'a, T: Send + 'a>(hook: Hook<'a, Option<T>>) -> Hook<'a, ()> {
    let hook = hook?;
    Some(Box::pin(async move { hook.await.map(|_| ()) }))
}

impl Plugin for ScriptedPlugin {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_user_message<'a>(&'a self, ic: &'a InvocationContext, message: &'a Content) -> Hook<'a, Option<Content>> {
        let vars = || with(Vars::new(), "text", said(Some(message)).into());
        self.hook("on_user_message", ic, vars, |value| content(value, "user"))
    }

    fn before_run<'a>(&'a self, ic: &'a InvocationContext) -> Hook<'a, Option<Content>> {
        self.hook("before_run", ic, Vars::new, |value| content(value, "model"))
    }

    fn on_event<'a>(&'a self, ic: &'a InvocationContext, event: &'a Event) -> Hook<'a, Option<Event>> {
        let vars = || with(Vars::new(), "event", shown_event(event));
        self.hook("on_event", ic, vars, changed)
    }

    fn before_tool<'a>(
        &'a self,
        tool: &'a dyn Tool,
        args: &'a mut Map,
        ctx: &'a ToolContext,
    ) -> Hook<'a, Option<Value>> {
        self.within("before_tool", ctx, || vars::of_call(tool, args, ctx), Ok)
    }

    fn after_tool<'a>(
        &'a self,
        tool: &'a dyn Tool,
        args: &'a Map,
        ctx: &'a ToolContext,
        result: &'a Value,
    ) -> Hook<'a, Option<Value>> {
        self.within("after_tool", ctx, || with(vars::of_call(tool, args, ctx), "result", result.clone()), Ok)
    }

    fn on_tool_error<'a>(
        &'a self,
        tool: &'a dyn Tool,
        args: &'a Map,
        ctx: &'a ToolContext,
        error: &'a NodeError,
    ) -> Hook<'a, Option<Value>> {
        self.within("on_tool_error", ctx, || with(vars::of_call(tool, args, ctx), "error", shown_error(error)), Ok)
    }

    fn before_agent<'a>(&'a self, _: &'a AgentSpec, ctx: &'a CallbackContext) -> Hook<'a, Option<Content>> {
        self.around_agent("before_agent", ctx)
    }

    fn after_agent<'a>(&'a self, _: &'a AgentSpec, ctx: &'a CallbackContext) -> Hook<'a, Option<Content>> {
        self.around_agent("after_agent", ctx)
    }

    fn before_model<'a>(
        &'a self,
        ctx: &'a CallbackContext,
        request: &'a mut LlmRequest,
    ) -> Hook<'a, Option<LlmResponse>> {
        self.around_model("before_model", ctx, || vars::of_request(ctx, request))
    }

    fn after_model<'a>(&'a self, ctx: &'a CallbackContext, response: &'a LlmResponse) -> Hook<'a, Option<LlmResponse>> {
        self.around_model("after_model", ctx, || vars::of_response(ctx, response))
    }

    fn on_model_error<'a>(
        &'a self,
        ctx: &'a CallbackContext,
        request: &'a LlmRequest,
        error: &'a NodeError,
    ) -> Hook<'a, Option<LlmResponse>> {
        self.around_model("on_model_error", ctx, || with(vars::of_request(ctx, request), "error", shown_error(error)))
    }

    fn on_agent_error<'a>(&'a self, _: &'a AgentSpec, ctx: &'a CallbackContext, error: &'a NodeError) -> Hook<'a, ()> {
        let vars = || with(vars::of_agent(ctx), "error", shown_error(error));
        notify(self.within("on_agent_error", ctx, vars, |_| Ok(())))
    }

    fn after_run<'a>(&'a self, ic: &'a InvocationContext) -> Hook<'a, ()> {
        notify(self.hook("after_run", ic, Vars::new, |_| Ok(())))
    }

    fn on_run_error<'a>(&'a self, ic: &'a InvocationContext, error: &'a NodeError) -> Hook<'a, ()> {
        let vars = || with(Vars::new(), "error", shown_error(error));
        notify(self.hook("on_run_error", ic, vars, |_| Ok(())))
    }
}

/// Reads `{"message"?, "custom_metadata"?}`, the fields of an event to replace.
fn changed(value: Value) -> Result<Event, NodeError> {
    let mut event = Event::new();
    if let Some(message) = value.get("message") {
        event = event.with_content(content(message.clone(), "model")?);
    }
    if let Some(metadata) = value.get("custom_metadata") {
        event = event.with_custom_metadata(typed(metadata.clone())?);
    }
    Ok(event)
}

impl fmt::Debug for ScriptedPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScriptedPlugin").field(&self.name).finish()
    }
}
