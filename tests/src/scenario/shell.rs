//! Builds the agents of a scenario that run other agents in a fixed way.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use pleach::{CallbackContext, LoopAgent, Node, ParallelAgent, SequentialAgent, ShellAgentBuilder};

use super::callbacks;
use super::described::{Described, Refusal};
use super::world::World;

/// Builds a sequential, parallel or loop agent.
pub(super) fn build(described: &Described<'_>, world: &Arc<World>) -> Result<Arc<dyn Node>, Refusal> {
    let name = described.name();
    Ok(match described.kind() {
        "sequential_agent" => Arc::new(fill(SequentialAgent::builder(name), described, world)?.build()?),
        "parallel_agent" => Arc::new(fill(ParallelAgent::builder(name), described, world)?.build()?),
        _ => {
            let mut agent = fill(LoopAgent::builder(name), described, world)?;
            if let Some(rounds) = described.get("max_iterations").filter(|rounds| !rounds.is_null()) {
                let rounds = rounds.as_u64().and_then(|rounds| u32::try_from(rounds).ok());
                agent = agent.max_iterations(rounds.context("`max_iterations` is a number of rounds")?);
            }
            Arc::new(agent.build()?)
        }
    })
}

fn fill<A>(
    mut agent: ShellAgentBuilder<A>,
    described: &Described<'_>,
    world: &Arc<World>,
) -> Result<ShellAgentBuilder<A>, Refusal> {
    if let Some(text) = described.text("description")? {
        agent = agent.description(text);
    }
    for (kind, callback) in callbacks::described_callbacks(described, world)? {
        agent = add(kind, callback, agent)?;
    }
    for sub in described.list("sub_agents") {
        agent = agent.sub_agent(world.build(sub, None)?);
    }
    Ok(agent)
}

fn add<A>(
    kind: &str,
    callback: callbacks::Callback,
    agent: ShellAgentBuilder<A>,
) -> anyhow::Result<ShellAgentBuilder<A>> {
    Ok(match kind {
        "before_agent" => agent.before_agent(move |ctx: CallbackContext| callback.clone().around_agent(ctx)),
        "after_agent" => agent.after_agent(move |ctx: CallbackContext| callback.clone().around_agent(ctx)),
        other => bail!("an agent without a model has no callback `{other}`"),
    })
}
