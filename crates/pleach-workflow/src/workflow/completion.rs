//! [`Completion`]: the end of a run, as its orchestrator sees it.

use pleach_context::engine::{Engine as _, RunKey, RunOutcome};
use pleach_context::{ChildFailure, NodeInput};
use pleach_core::{Branch, NodePath, Route};

use crate::engine::{Finished, is_waiting};
use crate::graph::Graph;

/// The end of a run of a graph node.
pub(super) struct Completion {
    pub(super) node: usize,
    pub(super) run: Ran,
    pub(super) end: End,
}

/// The run that has ended.
pub(super) enum Ran {
    /// History answered it.
    Before(RunKey),
    /// It was executed.
    Now(NodePath),
}

/// What came of a run.
pub(super) enum End {
    /// It has completed.
    Done(Given),
    /// It waits for the answers to these questions.
    Interrupted(Vec<String>),
    /// It waits for another trigger.
    // R307
    Waiting,
    /// It failed, and will not be tried again.
    Failed(ChildFailure),
}

/// What a completed run gives.
pub(super) struct Given {
    pub(super) output: NodeInput,
    pub(super) route: Option<Route>,
    pub(super) branch: Option<Branch>,
    /// Whether an event tells of it.
    pub(super) told: bool,
}

impl Completion {
    /// The end of a run that was executed.
    pub(super) fn of(graph: &Graph, finished: Finished) -> Self {
        let Finished { node, ctx, .. } = finished;
        let end = match ctx.engine().take_outcome() {
            RunOutcome::Failed(failure) => End::Failed(*failure),
            RunOutcome::Interrupted(ids) => End::Interrupted(ids),
            RunOutcome::Done { output, route, .. }
                if is_waiting(graph.nodes[node].node.spec(), &output, route.as_ref()) =>
            {
                End::Waiting
            }
            RunOutcome::Done { output, route, branch } => {
                // A nested workflow finds what it gave again by replaying.
                let told = graph.nodes[node].replay.is_workflow || ctx.engine().has_told(&output);
                End::Done(Given { output, route, branch, told })
            }
        };
        Self { node, run: Ran::Now(ctx.node_path().clone()), end }
    }
}
