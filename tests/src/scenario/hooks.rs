//! Plugins whose hooks are bodies of the scenario.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use pleach::{
    BoxError, BoxFuture, Content, Context, Event, Hook, InvocationContext, Map, NodeError, Plugin, Tool, ToolContext,
};
use serde_json::{Value, json};

use super::described::not_yet;
use super::env::{Env, Failure};
use super::event::{content, typed};
use super::run::{End, play};
use super::step::{Step, emits, steps};
use super::value::{content_value, text_of};
use super::world::World;

/// The hooks that need no agent.
const HOOKS: [&str; 8] = [
    "on_user_message",
    "before_run",
    "on_event",
    "before_tool",
    "after_tool",
    "on_tool_error",
    "after_run",
    "on_run_error",
];

/// The hooks around agents and models.
const AGENT_HOOKS: [&str; 6] =
    ["before_agent", "after_agent", "on_agent_error", "before_model", "after_model", "on_model_error"];

/// A plugin of the scenario. Cheap to clone: every Runner of the scenario gets one.
#[derive(Clone)]
pub(crate) struct ScriptedPlugin {
    name: Arc<str>,
    hooks: Arc<BTreeMap<String, Vec<Step>>>,
    world: Arc<World>,
}

type Vars = Map;

impl ScriptedPlugin {
    /// Reads a PLUGIN object.
    pub(crate) fn read(value: &Value, world: &Arc<World>) -> anyhow::Result<Self> {
        let name = value.get("name").and_then(Value::as_str).context("a plugin has a name")?;
        let mut hooks = BTreeMap::new();
        for (kind, body) in value.get("hooks").and_then(Value::as_object).into_iter().flatten() {
            let body = steps(body).with_context(|| format!("hook `{kind}` of plugin `{name}`"))?;
            match kind.as_str() {
                kind if AGENT_HOOKS.contains(&kind) => bail!(not_yet(&format!("plugin hook `{kind}`"))),
                kind if !HOOKS.contains(&kind) => bail!("unknown plugin hook `{kind}`"),
                _ if emits(&body) => bail!("hook `{kind}` of plugin `{name}` must not emit"),
                _ => hooks.insert(kind.clone(), body),
            };
        }
        Ok(Self { name: name.into(), hooks: Arc::new(hooks), world: Arc::clone(world) })
    }

    /// Plays a hook's body and turns what it returns into what the hook gives; `None` when there is no such hook.
    fn hook<'a, T: Send + 'a>(
        &'a self,
        kind: &str,
        ic: &'a InvocationContext,
        vars: impl FnOnce() -> Vars,
        result: fn(Value) -> Result<T, NodeError>,
    ) -> Hook<'a, Option<T>> {
        let body = self.hooks.get(kind)?;
        Some(self.played(body, Env::of_hook(Arc::clone(&self.world), ic, vars()), result))
    }

    /// The same around a tool call: the hook sees the call's run.
    fn around_tool<'a>(
        &'a self,
        kind: &str,
        (tool, args, ctx): (&dyn Tool, &Map, &Context),
        more: Option<(&str, Value)>,
    ) -> Hook<'a, Option<Value>> {
        let body = self.hooks.get(kind)?;
        let mut env = Env::of_run(Arc::clone(&self.world), ctx.clone(), Value::Null);
        let vars = [("agent", ctx.agent_name().into()), ("tool", tool.name().into()), ("args", args.clone().into())];
        for (name, value) in vars.into_iter().chain(more) {
            env.keep(Some(&name.to_owned()), value);
        }
        Some(self.played(body, env, Ok))
    }

    fn played<'a, T: Send + 'a>(
        &'a self,
        body: &'a [Step],
        mut env: Env,
        result: fn(Value) -> Result<T, NodeError>,
    ) -> BoxFuture<'a, Result<Option<T>, BoxError>> {
        Box::pin(async move {
            let end = play(body, &mut env).await.map_err(|Failure { error, .. }| BoxError::from(error))?;
            match end {
                End::Through | End::Stopped | End::Returned(Value::Null) => Ok(None),
                End::Returned(value) => Ok(Some(result(value)?)),
                End::ReturnedEvent(_) => Err(env.fault("a hook returns no events").error.into()),
            }
        })
    }

    /// A hook whose result is not used.
    fn notify<'a>(&'a self, kind: &str, ic: &'a InvocationContext, vars: impl FnOnce() -> Vars) -> Hook<'a, ()> {
        let hook = self.hook(kind, ic, vars, |_| Ok(()))?;
        Some(Box::pin(async move { hook.await.map(|_| ()) }))
    }
}

impl Plugin for ScriptedPlugin {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_user_message<'a>(&'a self, ic: &'a InvocationContext, message: &'a Content) -> Hook<'a, Option<Content>> {
        let vars = || Vars::from_iter([("text".to_owned(), text_of(&content_value(message)).into())]);
        self.hook("on_user_message", ic, vars, |value| content(value, "user"))
    }

    fn before_run<'a>(&'a self, ic: &'a InvocationContext) -> Hook<'a, Option<Content>> {
        self.hook("before_run", ic, Vars::new, |value| content(value, "model"))
    }

    fn on_event<'a>(&'a self, ic: &'a InvocationContext, event: &'a Event) -> Hook<'a, Option<Event>> {
        let vars = || Vars::from_iter([("event".to_owned(), shown(event))]);
        self.hook("on_event", ic, vars, changed)
    }

    fn before_tool<'a>(
        &'a self,
        tool: &'a dyn Tool,
        args: &'a mut Map,
        ctx: &'a ToolContext,
    ) -> Hook<'a, Option<Value>> {
        self.around_tool("before_tool", (tool, args, ctx), None)
    }

    fn after_tool<'a>(
        &'a self,
        tool: &'a dyn Tool,
        args: &'a Map,
        ctx: &'a ToolContext,
        result: &'a Value,
    ) -> Hook<'a, Option<Value>> {
        self.around_tool("after_tool", (tool, args, ctx), Some(("result", result.clone())))
    }

    fn on_tool_error<'a>(
        &'a self,
        tool: &'a dyn Tool,
        args: &'a Map,
        ctx: &'a ToolContext,
        error: &'a NodeError,
    ) -> Hook<'a, Option<Value>> {
        self.around_tool("on_tool_error", (tool, args, ctx), Some(("error", shown_error(error))))
    }

    fn after_run<'a>(&'a self, ic: &'a InvocationContext) -> Hook<'a, ()> {
        self.notify("after_run", ic, Vars::new)
    }

    fn on_run_error<'a>(&'a self, ic: &'a InvocationContext, error: &'a NodeError) -> Hook<'a, ()> {
        self.notify("on_run_error", ic, || Vars::from_iter([("error".to_owned(), shown_error(error))]))
    }
}

fn shown_error(error: &NodeError) -> Value {
    json!({ "type": error.class(), "message": error.message() })
}

/// What `on_event` sees of an event.
fn shown(event: &Event) -> Value {
    json!({
        "author": event.author(),
        "text": event.content().map_or_else(String::new, |said| text_of(&content_value(said))),
        "output": event.output(),
        "partial": event.is_partial(),
        "path": event.path().as_str(),
    })
}

/// `{"message"?, "custom_metadata"?}`: the fields of an event to replace.
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
