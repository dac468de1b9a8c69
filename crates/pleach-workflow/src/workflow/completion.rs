//! [`Completion`]: the end of a graph node's run, for the workflow's loop.

use pleach_context::engine::{NodeEnd, NodeResult, RunKey, RunResult};
use pleach_core::NodePath;

use crate::engine::Finished;
use crate::graph::Graph;

/// The end of a graph node's run.
pub(super) struct Completion {
    pub(super) node: usize,
    pub(super) run: EndedRun,
    pub(super) end: RunResult,
    /// Whether a resumable app records the output in an event of the workflow.
    pub(super) needs_echo: bool,
}

/// The run that has ended.
pub(super) enum EndedRun {
    /// The run was answered from history.
    Replayed(RunKey),
    /// The run was executed.
    Executed(NodePath),
}

/// The end of a run that the workflow has not processed yet.
pub(super) enum PendingEnd {
    /// The end of a replayed run: history already has its result.
    Replayed(Completion),
    /// The end of an executed run.
    Executed(Finished),
}

impl From<Finished> for PendingEnd {
    fn from(finished: Finished) -> Self {
        Self::Executed(finished)
    }
}

impl PendingEnd {
    /// Returns the completion for the workflow's loop.
    pub(super) fn into_completion(self, graph: &Graph) -> Completion {
        match self {
            Self::Replayed(completion) => completion,
            Self::Executed(finished) => Completion::executed(graph, finished),
        }
    }
}

impl Completion {
    fn executed(graph: &Graph, finished: Finished) -> Self {
        let Finished { node, handle, end } = finished;
        // A nested workflow recomputes its output by replaying.
        let is_workflow = graph.nodes[node].replay.is_workflow;
        let needs_echo = match &end {
            Ok(NodeEnd::Done(NodeResult { output, .. })) => !is_workflow && !handle.records_output(output),
            _ => false,
        };
        Self { node, run: EndedRun::Executed(handle.node_path().clone()), end, needs_echo }
    }
}
