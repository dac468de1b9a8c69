//! [`program_name`]: a name for the program that determines the status of a session from its events.

use std::fmt::Write as _;

use pleach_context::engine::stable_uuid;
use pleach_context::{AgentSpec, Node, Outline};

/// Returns a name for the program of this root node, the same in every process. Programs with another graph, other
/// agents below a root agent, or another version of pleach may determine another status from the same events, so they
/// get another name. The bodies of nodes do not matter, because the status is determined without running them.
pub(crate) fn program_name(root: &dyn Node, resumable: bool) -> String {
    let mut text = format!("{resumable} {:?}", without_descriptions(root.outline()));
    if let Some(agent) = root.agent() {
        add_agents(agent, &mut text);
    }
    stable_uuid([env!("CARGO_PKG_VERSION"), &text]).to_string()
}

/// Removes the descriptions, which are for people and models, and change often.
fn without_descriptions(mut outline: Outline) -> Outline {
    outline.description.clear();
    if let Some(graph) = &mut outline.graph {
        graph.nodes = std::mem::take(&mut graph.nodes).into_iter().map(without_descriptions).collect();
    }
    outline
}

fn add_agents(agent: &AgentSpec, text: &mut String) {
    // Writing to a `String` cannot fail.
    let _ = write!(text, "({:?}", agent.name);
    agent.sub_agents.iter().filter_map(|sub| sub.agent()).for_each(|sub| add_agents(sub, text));
    text.push(')');
}
