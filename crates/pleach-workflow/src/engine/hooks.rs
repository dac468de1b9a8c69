//! Calls the hooks of plugins around the runs of nodes. Apps without plugins never use this module.

use std::borrow::Cow;
use std::future::ready;

use futures_util::{StreamExt as _, stream};
use pleach_context::engine::{RunHandle, Services};
use pleach_context::{Flow, Node, NodeError, NodeInput, NodeKind, NodeSpec, Yield};
use pleach_core::BoxFuture;
use serde_json::Value;
use std::sync::Arc;

use super::waiting::waits_for_output;

/// Runs the body of a node between the plugins' hooks.
pub(super) fn run<'a>(
    node: &'a dyn Node,
    handle: RunHandle,
    input: NodeInput,
) -> BoxFuture<'a, Result<Flow, NodeError>> {
    Box::pin(async move {
        let spec = node.spec();
        if !is_continued(spec, &handle)
            && let Some(output) = services(&handle).plugins.before_node(spec, &handle, &input).await?
        {
            return Ok(Flow::output(output));
        }
        match node.run(handle.context().clone(), input).await? {
            Flow::Done(Some(Yield::Ask(question))) => Ok(Flow::Done(Some(Yield::Ask(question)))),
            Flow::Done(Some(Yield::Event(event))) if event.is_interrupt() => Ok(Flow::Done(Some(Yield::Event(event)))),
            Flow::Done(last) => {
                let waits = waits_for_output(node, &handle);
                notify(spec, &handle, output_of(last.as_ref(), &handle).as_deref(), waits).await;
                Ok(Flow::Done(last))
            }
            Flow::Stream(items) => {
                let (spec, waits) = (spec.clone(), waits_for_output(node, &handle));
                let end = async move { notify(&spec, &handle, handle.output().as_ref(), waits).await };
                Ok(Flow::Stream(items.chain(stream::once(end).filter_map(|()| ready(None))).boxed()))
            }
        }
    })
}

/// Returns the notification of a failed attempt, or `None` without plugins.
pub(super) fn on_error<'a>(spec: &'a NodeSpec, handle: &RunHandle, error: &NodeError) -> Option<BoxFuture<'a, ()>> {
    if services(handle).plugins.is_empty() {
        return None;
    }
    let (handle, error) = (handle.clone(), error.clone());
    Some(Box::pin(async move { services(&handle).plugins.on_node_error(spec, &handle, &error).await }))
}

/// Returns `true` if a run is a workflow that a resume continues: its body has begun before.
pub(super) fn is_continued(spec: &NodeSpec, handle: &RunHandle) -> bool {
    let is_known = || handle.invocation().history().is_some_and(|known| known.run(handle.node_path()).is_some());
    spec.kind == NodeKind::Workflow && is_known()
}

/// Notifies the plugins of the end of a run, unless the run still waits. `waits` is true if a run without an output
/// waits for one.
async fn notify(spec: &NodeSpec, handle: &RunHandle, output: Option<&Value>, waits: bool) {
    if handle.interrupt_ids().is_empty() && !(waits && output.is_none()) && !is_replayed(spec, handle) {
        services(handle).plugins.after_node(spec, handle, output).await;
    }
}

/// Returns `true` if a run is a workflow that had completed before the resume.
fn is_replayed(spec: &NodeSpec, handle: &RunHandle) -> bool {
    let invocation = handle.invocation();
    let had_completed = || invocation.history().is_some_and(|known| known.is_complete(handle.node_path()));
    spec.kind == NodeKind::Workflow && (invocation.work_gate().is_closed() || (!handle.executes() && had_completed()))
}

/// Returns the output that the body returns at its end, or the output that the run has emitted before.
fn output_of<'f>(last: Option<&'f Yield>, handle: &RunHandle) -> Option<Cow<'f, Value>> {
    match last {
        Some(Yield::Output(output)) => Some(Cow::Borrowed(output)),
        Some(Yield::Event(event) | Yield::Unchecked(event)) if event.output().is_some() => {
            event.output().map(Cow::Borrowed)
        }
        Some(Yield::Delegated(output)) => output.value().map(Cow::Borrowed),
        _ => handle.output().map(Cow::Owned),
    }
}

fn services(handle: &RunHandle) -> &Arc<Services> {
    handle.invocation().services()
}
