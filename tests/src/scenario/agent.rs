//! Builds the agents of a scenario.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use pleach::{
    AgentMode, IncludeContents, Instruction, LlmAgent, LlmAgentBuilder, Node, NodeError, ParallelWorker,
    ReadonlyContext,
};
use serde_json::Value;

use super::body::Body;
use super::described::{Described, Refusal};
use super::env::Env;
use super::model::ScriptedLlm;
use super::value::to_text;
use super::world::World;
use super::{callbacks, tool};

/// Builds an agent with a model.
pub(super) fn build(described: &Described<'_>, world: &Arc<World>) -> Result<Arc<dyn Node>, Refusal> {
    let mut agent = settings(described, world)?;
    for spec in described.list("tools") {
        agent = tool::give(spec, agent, world)?;
    }
    for sub in described.list("sub_agents") {
        agent = agent.sub_agent(world.build(sub, None)?);
    }
    let agent = agent.build()?;
    Ok(if described.has("parallel_worker") { Arc::new(ParallelWorker::new(agent)) } else { Arc::new(agent) })
}

fn settings(described: &Described<'_>, world: &Arc<World>) -> anyhow::Result<LlmAgentBuilder> {
    let responses = described.get("model").and_then(|model| model.get("responses")).and_then(Value::as_array);
    let model = ScriptedLlm::new(described.name(), responses.map_or(&[], Vec::as_slice), world);
    let mut agent = LlmAgent::builder(described.name()).model(model);
    if let Some(text) = described.text("description")? {
        agent = agent.description(text);
    }
    if let Some(instruction) = instruction(described, world)? {
        agent = agent.instruction(instruction);
    }
    if let Some(text) = described.text("global_instruction")? {
        agent = agent.global_instruction(text);
    }
    if let Some(text) = described.text("static_instruction")? {
        agent = agent.static_instruction(text);
    }
    if let Some(key) = described.text("output_key")? {
        agent = agent.output_key(key);
    }
    if let Some(schema) = described.schema("output_schema")? {
        agent = agent.output_json_schema(schema);
    }
    if let Some(schema) = described.schema("input_schema")? {
        agent = agent.input_json_schema(schema);
    }
    conduct(described, callbacks::add(described, agent, world)?)
}

/// Sets how the agent takes part in the conversation (contents, mode, transfers), and its settings as a node.
fn conduct(described: &Described<'_>, mut agent: LlmAgentBuilder) -> anyhow::Result<LlmAgentBuilder> {
    if let Some(include) = described.text("include_contents")? {
        agent = agent.include_contents(match include {
            "default" => IncludeContents::Default,
            "none" => IncludeContents::None,
            other => bail!("unknown `include_contents`: `{other}`"),
        });
    }
    if let Some(mode) = described.text("mode")? {
        agent = agent.mode(match mode {
            "chat" => AgentMode::Chat,
            "task" => AgentMode::Task,
            "single_turn" => AgentMode::SingleTurn,
            other => bail!("unknown mode `{other}`"),
        });
    }
    agent = agent.disallow_transfer_to_parent(described.has("disallow_transfer_to_parent"));
    agent = agent.disallow_transfer_to_peers(described.has("disallow_transfer_to_peers"));
    if let Some(policy) = described.retry()? {
        agent = agent.retry(policy);
    }
    Ok(match described.timeout()? {
        Some(limit) => agent.timeout(limit),
        None => agent,
    })
}

/// The text of the instruction, or the body that makes it.
fn instruction(described: &Described<'_>, world: &Arc<World>) -> anyhow::Result<Option<Instruction>> {
    let Some(steps) = described.get("instruction_steps") else {
        return Ok(described.text("instruction")?.map(Instruction::from));
    };
    let (body, world) = (Body::read(steps, "the instruction").context("`instruction_steps`")?, Arc::clone(world));
    Ok(Some(Instruction::provider(move |ctx: ReadonlyContext| {
        let (body, env) = (body.clone(), Env::of_reader(Arc::clone(&world), ctx));
        async move { Ok::<_, NodeError>(body.play(env, |text| Ok(to_text(&text))).await?.unwrap_or_default()) }
    })))
}
