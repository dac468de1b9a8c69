//! Finds the agent that continues a conversation.
// L142, L143

use std::sync::Arc;

use pleach_context::{AgentMode, AgentSpec, Node};
use pleach_core::{Event, InvocationId};
use pleach_session::{ABORTED, newest_effective_events};
use pleach_workflow::transfer_step;
use smol_str::SmolStr;

/// Returns the names of the agents from the root agent down to the agent that runs, without the root. Each agent is a
/// sub-agent of the previous one. The list is empty if the root itself runs.
///
/// If the invocation has begun, the agent that began it runs, and a replay repeats its transfers.
pub(crate) fn agent_to_run(root: &dyn Node, events: &[Arc<Event>], begun: Option<&InvocationId>) -> Vec<SmolStr> {
    let Some(root) = root.agent().filter(|root| root.is_llm && root.mode != Some(AgentMode::Task)) else {
        return Vec::new();
    };
    if root.sub_agents.is_empty() {
        return Vec::new();
    }
    let first = begun.and_then(|begun| events.iter().position(|event| event.invocation_id() == begun));
    let earlier = &events[..first.unwrap_or(events.len())];
    for event in newest_effective_events(earlier).filter(|event| shows_speaker(event)) {
        if let Some(target) = event.actions().transfer_to_agent()
            && may_transfer(root, event.author(), target)
            && let Some(way) = names_to(root, target).filter(|way| can_return(root, way))
        {
            return way;
        }
        if let Some(way) = names_to(root, event.author()).filter(|way| way.is_empty() || can_return(root, way)) {
            return way;
        }
    }
    Vec::new()
}

/// Returns `true` if the author of an event is the agent that speaks with the user, or has transferred to it.
fn shows_speaker(event: &Event) -> bool {
    let actions = event.actions();
    let is_error = event.error_code().is_some_and(|code| code == ABORTED || event.content().is_none());
    !event.is_from_user() && !is_error && actions.agent_state().is_none() && actions.end_of_agent() != Some(true)
}

/// Returns the names on the way from the root to the first agent with this name. The list is empty for the root itself.
fn names_to(root: &AgentSpec, name: &str) -> Option<Vec<SmolStr>> {
    if root.name == name { Some(Vec::new()) } else { names_below(root, name) }
}

/// Returns the names on the way from an agent down to the first agent with this name below it.
fn names_below(from: &AgentSpec, name: &str) -> Option<Vec<SmolStr>> {
    from.sub_agents.iter().filter_map(|node| node.agent()).find_map(|sub| {
        let below = if sub.name == name { Some(Vec::new()) } else { names_below(sub, name) };
        below.map(|below| std::iter::once(sub.name.clone()).chain(below).collect())
    })
}

/// Returns `true` if the author of an event may transfer to an agent. A refused transfer does not change which agent
/// speaks with the user.
fn may_transfer(root: &Arc<AgentSpec>, author: &str, target: &str) -> bool {
    let way = names_to(root, author);
    let mut agents = vec![root];
    for name in way.iter().flatten() {
        let below = agents.last().and_then(|agent| agent.sub_agent(name)).and_then(|node| node.agent());
        agents.extend(below);
    }
    way.is_some() && transfer_step(&agents, target).is_ok()
}

/// Returns `true` if the user speaks directly with each agent on the way, and the root and these agents can transfer
/// back to their parents.
fn can_return(root: &Arc<AgentSpec>, way: &[SmolStr]) -> bool {
    let mut agent = Arc::clone(root);
    !root.disallow_transfer_to_parent
        && way.iter().all(|name| {
            let Some(sub) = agent.sub_agent(name).and_then(|node| node.agent()).cloned() else { return false };
            agent = sub;
            agent.is_llm && !agent.disallow_transfer_to_parent && !agent.is_delegated()
        })
}
