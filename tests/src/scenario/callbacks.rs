//! The callbacks of an agent, whose bodies are steps.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use pleach::model::{LlmRequest, LlmResponse};
use pleach::{CallbackContext, LlmAgentBuilder, Map, NodeError, Tool, ToolContext};
use serde_json::Value;

use super::body::Body;
use super::described::Described;
use super::env::Env;
use super::event::content;
use super::response::returned;
use super::vars::{self, Vars, shown_error, with};
use super::world::World;

/// One callback.
#[derive(Clone)]
pub(super) struct Callback {
    body: Body,
    world: Arc<World>,
}

/// Adds all callbacks that an agent describes.
pub(super) fn add(
    described: &Described<'_>,
    mut agent: LlmAgentBuilder,
    world: &Arc<World>,
) -> anyhow::Result<LlmAgentBuilder> {
    for (kind, callback) in described_callbacks(described, world)? {
        agent = add_one(kind, callback, agent)?;
    }
    Ok(agent)
}

/// The callbacks of an agent with their kinds, in the order of each kind.
pub(super) fn described_callbacks<'a>(
    described: &Described<'a>,
    world: &Arc<World>,
) -> anyhow::Result<Vec<(&'a str, Callback)>> {
    let mut callbacks = Vec::new();
    for (kind, bodies) in described.get("callbacks").and_then(Value::as_object).into_iter().flatten() {
        for body in bodies.as_array().with_context(|| format!("`{kind}` is a list of bodies"))? {
            let what = format!("callback `{kind}` of agent `{}`", described.name());
            callbacks.push((kind.as_str(), Callback { body: Body::read(body, &what)?, world: Arc::clone(world) }));
        }
    }
    Ok(callbacks)
}

fn add_one(kind: &str, callback: Callback, agent: LlmAgentBuilder) -> anyhow::Result<LlmAgentBuilder> {
    Ok(match kind {
        "before_agent" => agent.before_agent(move |ctx: CallbackContext| callback.clone().around_agent(ctx)),
        "after_agent" => agent.after_agent(move |ctx: CallbackContext| callback.clone().around_agent(ctx)),
        "before_model" => agent.before_model(move |ctx: CallbackContext, request: &mut LlmRequest| {
            let vars = vars::of_request(&ctx, request);
            callback.clone().around_model(ctx, vars)
        }),
        "after_model" => agent.after_model(move |ctx: CallbackContext, response: &LlmResponse| {
            let vars = vars::of_response(&ctx, response);
            callback.clone().around_model(ctx, vars)
        }),
        "on_model_error" => {
            agent.on_model_error(move |ctx: CallbackContext, request: &LlmRequest, error: &NodeError| {
                let vars = with(vars::of_request(&ctx, request), "error", shown_error(error));
                callback.clone().around_model(ctx, vars)
            })
        }
        "before_tool" => agent.before_tool(move |tool: &dyn Tool, args: &mut Map, ctx: ToolContext| {
            let vars = vars::of_call(tool, args, &ctx);
            callback.clone().around_tool(ctx, vars)
        }),
        "after_tool" => agent.after_tool(move |tool: &dyn Tool, args: &Map, ctx: ToolContext, result: &Value| {
            let vars = with(vars::of_call(tool, args, &ctx), "result", result.clone());
            callback.clone().around_tool(ctx, vars)
        }),
        "on_tool_error" => {
            agent.on_tool_error(move |tool: &dyn Tool, args: &Map, ctx: ToolContext, error: &NodeError| {
                let vars = with(vars::of_call(tool, args, &ctx), "error", shown_error(error));
                callback.clone().around_tool(ctx, vars)
            })
        }
        unknown => bail!("unknown callback `{unknown}`"),
    })
}

impl Callback {
    /// Plays a callback before or after an agent.
    pub(super) async fn around_agent(self, ctx: CallbackContext) -> Result<Option<pleach::Content>, NodeError> {
        let vars = vars::of_agent(&ctx);
        let env = self.env(ctx, vars);
        self.body.play(env, |value| content(value, "model")).await
    }

    async fn around_model(self, ctx: CallbackContext, vars: Vars) -> Result<Option<LlmResponse>, NodeError> {
        let env = self.env(ctx, vars);
        self.body.play(env, |value| returned(&self.world, &value)).await
    }

    async fn around_tool(self, ctx: ToolContext, vars: Vars) -> Result<Option<Value>, NodeError> {
        let env = self.env(ctx, vars);
        self.body.play(env, Ok).await
    }

    fn env(&self, ctx: CallbackContext, vars: Vars) -> Env {
        Env::of_run(Arc::clone(&self.world), ctx, Value::Null).with_vars(vars)
    }
}
