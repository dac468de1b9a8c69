//! The additional events of resumable apps: snapshots of node statuses, echoes of replayed outputs, end-of-workflow
//! events.
// R1030–R1033

use pleach_context::engine::mark_completed;
use pleach_context::{Context, NodeInput};
use pleach_core::{Branch, Event, Map, NodePath};
use serde_json::{Value, json};

use super::schedule::{Schedule, Status};
use crate::graph::Graph;

/// Returns an event of the workflow itself: with its author and branch, without a path.
fn own_event(ctx: &Context) -> Event {
    let mut event = Event::from_author(ctx.node_name());
    event.set_invocation_id(ctx.invocation().invocation_id().clone());
    event.set_branch(ctx.branch());
    event
}

/// Returns a checkpoint: the statuses of all started nodes, and the runs that completed since the last event.
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

/// Returns an echo: the output of a run that was replayed, or whose output no other event records. It also names the
/// runs that completed since the last event.
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

/// Returns the event that records the end of the workflow.
pub(crate) fn end_of_agent(ctx: &Context) -> Event {
    let mut event = own_event(ctx);
    event.actions_mut().set_end_of_agent(Some(true));
    event
}
