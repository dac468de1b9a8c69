//! The extra events of resumable apps: snapshots of node statuses, echoes of replayed outputs, end marks.
// R1030–R1033

use pleach_context::engine::mark_completed;
use pleach_context::{Context, NodeInput};
use pleach_core::{Branch, Event, Map, NodePath};
use serde_json::{Value, json};

use super::schedule::{Schedule, Status};
use crate::graph::Graph;

/// An event of the workflow itself: its author, its branch, no path.
fn own_event(ctx: &Context) -> Event {
    let mut event = Event::from_author(ctx.node_name());
    event.set_invocation_id(ctx.invocation().invocation_id().clone());
    event.set_branch(ctx.branch());
    event
}

/// The statuses of all nodes that have been started in this run, and the runs that have completed since the last event.
pub(crate) fn snapshot(ctx: &Context, graph: &Graph, schedule: &Schedule, completed: &[NodePath]) -> Event {
    let entry = |(node, status, interrupts): (usize, Status, &[String])| {
        let entry = json!({ "status": status as u8, "interrupts": interrupts });
        (graph.names.nodes[node].to_string(), entry)
    };
    let nodes: Map = schedule.started().map(entry).collect();
    let mut event = own_event(ctx);
    event.actions_mut().set_agent_state(Some(Map::from_iter([("nodes".to_owned(), Value::Object(nodes))])));
    mark_completed(&mut event, completed);
    event
}

/// The output of a run that no other event tells, or that was answered from history, told once more; and the runs that have
/// completed since the last event.
pub(crate) fn echo(
    ctx: &Context,
    path: NodePath,
    branch: Option<Branch>,
    output: &NodeInput,
    completed: &[NodePath],
) -> Event {
    let mut event = own_event(ctx).with_output(output.to_value());
    event.set_path(path);
    event.set_branch(branch);
    mark_completed(&mut event, completed);
    event
}

/// The workflow ran to its end.
pub(crate) fn end_of_agent(ctx: &Context) -> Event {
    let mut event = own_event(ctx);
    event.actions_mut().set_end_of_agent(Some(true));
    event
}
