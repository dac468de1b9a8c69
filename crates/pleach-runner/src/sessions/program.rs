//! [`program_name`]: what the status of a session depends on beside its events, as one name.

use std::fmt::Write as _;

use pleach_context::engine::stable_uuid;
use pleach_context::{AgentSpec, Node, Outline};

/// Returns a name for the program that this root node is, the same in every process: another graph, other agents below a root agent or another version of
/// pleach may judge the events of a session otherwise. What the bodies of nodes do has no part in it, because no body runs for a judgment.
pub(crate) fn program_name(root: &dyn Node, resumable: bool) -> String {
    let mut text = format!("{resumable} {:?}", without_descriptions(root.outline()));
    if let Some(agent) = root.agent() {
        add_agents(agent, &mut text);
    }
    stable_uuid([env!("CARGO_PKG_VERSION"), &text]).to_string()
}

/// They are for people and models, and change often.
fn without_descriptions(mut outline: Outline) -> Outline {
    outline.description.clear();
    if let Some(graph) = &mut outline.graph {
        graph.nodes = std::mem::take(&mut graph.nodes).into_iter().map(without_descriptions).collect();
    }
    outline
}

fn add_agents(agent: &AgentSpec, text: &mut String) {
    // Writing to a text cannot fail.
    let _ = write!(text, "({:?}", agent.name);
    agent.sub_agents.iter().filter_map(|sub| sub.agent()).for_each(|sub| add_agents(sub, text));
    text.push(')');
}
