//! Builds the nodes that a scenario describes.

use std::sync::Arc;

use anyhow::Context as _;
use pleach::{JoinNode, Node};
use serde_json::Value;

use super::described::{Described, Refusal};
use super::world::World;
use super::{agent, function, graph, shell, tool};

/// Builds a node from its description, or from its key in the library. Library nodes are built once and shared.
///
/// `key` names a node that has no name of its own.
pub(crate) fn build(value: &Value, key: Option<&str>, world: &Arc<World>) -> Result<Arc<dyn Node>, Refusal> {
    if let Some(key) = value.as_str() {
        return from_library(key, world);
    }
    let described = Described::new(value, key)?;
    // This is the only place that distinguishes kinds. A new kind gets its arm here.
    match described.kind() {
        "function" => function::build(&described, world),
        "join" => join(&described),
        "workflow" => graph::build(&described, world),
        "tool" => tool::build(&described, world),
        "llm_agent" => agent::build(&described, world),
        "sequential_agent" | "parallel_agent" | "loop_agent" => shell::build(&described, world),
        unknown => Err(anyhow::anyhow!("unknown kind `{unknown}`").into()),
    }
}

fn from_library(key: &str, world: &Arc<World>) -> Result<Arc<dyn Node>, Refusal> {
    if let Some(node) = world.built(key) {
        return Ok(node);
    }
    let described = world.described(key).with_context(|| format!("the library has no `{key}`"))?;
    let node = build(described, Some(key), world)?;
    world.keep(key, Arc::clone(&node));
    Ok(node)
}

fn join(described: &Described<'_>) -> Result<Arc<dyn Node>, Refusal> {
    let mut node = JoinNode::new(described.name());
    if let Some(schema) = described.schema("input_schema")? {
        node = node.input_schema(schema);
    }
    Ok(Arc::new(node))
}
