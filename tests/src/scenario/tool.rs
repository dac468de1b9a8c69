//! Tools: function tools whose bodies are steps.

use std::sync::Arc;

use anyhow::Context as _;
use pleach::{
    AgentTool, Args, Context, Dynamic, FieldType, FunctionTool, LlmAgentBuilder, Map, Node, NodeError, NodeTool,
    Schema, ToolNode, tool,
};
use serde_json::{Value, json};

use super::described::{Described, Refusal};
use super::env::{Env, Failure};
use super::run::{End, play};
use super::step::{Step, emits, steps};
use super::world::World;
use super::{function, graph};

/// The data that every call of a tool needs.
struct Body {
    world: Arc<World>,
    steps: Vec<Step>,
    params: Map,
}

/// Builds a tool as a node.
pub(super) fn build(described: &Described<'_>, world: &Arc<World>) -> Result<Arc<dyn Node>, Refusal> {
    Ok(Arc::new(ToolNode::new(function_tool(described, world)?)))
}

/// Adds a tool to an agent.
pub(super) fn give(spec: &Value, agent: LlmAgentBuilder, world: &Arc<World>) -> Result<LlmAgentBuilder, Refusal> {
    if let Some(called) = spec.get("agent_tool") {
        let tool = AgentTool::new(world.build(called, None)?);
        let skips = spec.get("skip_summarization").and_then(Value::as_bool) == Some(true);
        return Ok(agent.tool(if skips { tool.skip_summarization() } else { tool }));
    }
    if spec.get("kind").and_then(Value::as_str) == Some("node_tool") {
        let node = spec.get("node").context("a node tool has a `node`")?;
        return Ok(agent.tool(NodeTool::new(called_node(node, world)?)));
    }
    Ok(agent.tool(function_tool(&Described::new(spec, None)?, world)?))
}

/// Builds a node that is called as a tool. If it is a function, the arguments of the call are its parameters. If it is
/// a workflow, they are the input of its first node.
fn called_node(node: &Value, world: &Arc<World>) -> Result<Arc<dyn Node>, Refusal> {
    let node = node.as_str().and_then(|key| world.described(key)).unwrap_or(node);
    let described = Described::new(node, None)?;
    match described.kind() {
        "function" if !described.has("input_schema") && !described.has("parallel_worker") => {
            function::build_called(&described, world)
        }
        "workflow" if !described.has("input_schema") && graph::takes_object(&described) => {
            graph::build_with_input(&described, Schema::json(json!({"type": "object"})), world)
        }
        _ => world.build(node, None),
    }
}

/// Builds a function tool.
fn function_tool(described: &Described<'_>, world: &Arc<World>) -> Result<FunctionTool, Refusal> {
    let steps = described.get("steps").map_or_else(|| Ok(Vec::new()), steps)?;
    if emits(&steps) {
        return Err(anyhow::anyhow!("the tool `{}` must not emit", described.name()).into());
    }
    let (schema, params) = parameters(described)?;
    let body = Arc::new(Body { world: Arc::clone(world), steps, params });
    let description = described.get("description").and_then(Value::as_str).unwrap_or_default();
    let handler = move |Args(args): Args<Map>, ctx: Context| Arc::clone(&body).call(args, ctx);
    let mut tool = tool(described.name(), description, handler).parameters(schema);
    if described.has("require_confirmation") {
        tool = tool.require_confirmation();
    }
    Ok(if described.has("long_running") { tool.long_running() } else { tool })
}

/// The JSON schema of `params`, and their defaults, which are null for parameters without a default.
fn parameters(described: &Described<'_>) -> anyhow::Result<(Value, Map)> {
    let (mut properties, mut required, mut params) = (Map::new(), Vec::new(), Map::new());
    for param in described.get("params").and_then(Value::as_array).into_iter().flatten() {
        let name = param.get("name").and_then(Value::as_str).with_context(|| format!("{param} has no name"))?;
        let kind = param.get("type").and_then(Value::as_str).unwrap_or("str");
        let kind = FieldType::parse(kind).with_context(|| format!("{name} has the unknown type {kind}"))?;
        properties.insert(name.to_owned(), json!({"type": kind.json_type()}));
        if param.get("default").is_none() {
            required.push(name);
        }
        params.insert(name.to_owned(), param.get("default").cloned().unwrap_or_default());
    }
    Ok((json!({"type": "object", "properties": properties, "required": required}), params))
}

impl Body {
    async fn call(self: Arc<Self>, args: Map, ctx: Context) -> Result<Dynamic, NodeError> {
        let mut input = self.params.clone();
        input.extend(args.into_iter().filter(|(name, _)| self.params.contains_key(name)));
        let mut env = Env::of_run(Arc::clone(&self.world), ctx, input.into());
        let end = play(&self.steps, &mut env).await.map_err(|Failure { error, .. }| error)?;
        match end {
            End::Through | End::Stopped => Ok(Dynamic::default()),
            End::Returned(value) => Ok(Dynamic(value)),
            End::ReturnedEvent(_) => Err(env.fault("a tool returns no events").error),
        }
    }
}
