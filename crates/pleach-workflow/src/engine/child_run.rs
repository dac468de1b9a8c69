//! [`run_one`]: one run of a node outside a graph, executed or answered from history.
// R701, R1010, R1020

use std::sync::Arc;

use pleach_context::engine::{
    ChildSetup, NodeEnd, NodeResult, ReplayState, RunHandle, RunRecord, RunResult, mark_completed,
};
use pleach_context::{ChildFailure, Node, NodeInput, NodeKind, NodeSpec};
use pleach_core::{BoxFuture, Event, NodePath};

use super::replay::{Decision, ReplayRules, decide};
use super::{NodeRun, RunSetup};

/// Runs one node outside a graph, or answers it from history.
pub(super) fn run_one<'a>(
    parent: &'a RunHandle,
    node: &'a dyn Node,
    input: NodeInput,
    setup: RunSetup,
) -> impl Future<Output = RunResult> + 'a {
    // The run is prepared here and polled in place, so that this future, which every child allocates, is no larger
    // than the run. Parts that few children need are boxed.
    let mut begun = begin(parent, node, input, setup);
    async move {
        loop {
            match &mut begun {
                Begun::Ends(end) => return end.await,
                Begun::Runs { run, known } => {
                    let end = (&mut *run).await;
                    if known.is_fresh() && !parent.invocation().is_resumable() {
                        return end;
                    }
                    // This replaces the run, which is dropped first.
                    begun = Begun::Ends(Box::pin(known.complete(parent, node.spec(), run.handle().clone(), end)));
                }
            }
        }
    }
}

/// How a run begins, as history decides.
enum Begun<'a> {
    /// The run has been executed, perhaps by an earlier process. It only has to wait for its turn among its siblings,
    /// or to store a note.
    Ends(BoxFuture<'a, RunResult>),
    /// The run is executed, at least in parts.
    Runs { run: NodeRun<'a>, known: RunFacts },
}

impl<'a> Begun<'a> {
    /// Returns a run that has ended, with the position of its end among the ends of its siblings.
    fn ended(parent: &'a RunHandle, end: RunResult, at: Option<u32>) -> Self {
        Self::Ends(Box::pin(async move {
            if let Some(place) = at {
                parent.wait_in_replay_order(place).await;
            }
            end
        }))
    }

    /// Returns a run that has failed, if its parent has caught the failure.
    fn failed(parent: &'a RunHandle, failure: ChildFailure, path: NodePath, at: Option<u32>) -> Self {
        Self::Ends(Box::pin(async move {
            // The caller's later events depend on this failure.
            if let Some(place) = at {
                parent.wait_in_replay_order(place).await;
            }
            parent.note_recorded_failure(&path, &failure);
            Err(failure)
        }))
    }
}

/// The facts about a run that is executed.
#[derive(Clone, Copy)]
struct RunFacts {
    background: bool,
    /// Whether the run may turn out to execute nothing.
    replays: bool,
    /// The position of the run's recorded end among the ends of its siblings, if replay must keep that order.
    ended_at: Option<u32>,
}

fn begin<'a>(parent: &'a RunHandle, node: &'a dyn Node, input: NodeInput, mut setup: RunSetup) -> Begun<'a> {
    let spec = node.spec();
    let background = setup.background;
    // The caller may take the first child that ends, so replayed children resolve in their original order (R1020).
    let is_ordered = !background && !setup.follows_transfer && !parent.node_path().is_root();
    let mut known = RunFacts { background, replays: spec.kind == NodeKind::Workflow, ended_at: None };
    if let Some(history) = parent.invocation().history()
        && let Some(record) = history.run(&setup.path)
    {
        if let Some(failure) = history.caught_failure(&setup.path).filter(|_| !background && !parent.is_retried()) {
            let at = is_ordered.then(|| record.ended_at());
            return Begun::failed(parent, failure.clone(), setup.path, at);
        }
        // The root is treated as a dynamic run: without a recorded outcome it runs again (R1010).
        let rules = ReplayRules::of(spec);
        let state = match rules.state_of(record, true, history.records_ends()) {
            ReplayState::CompletedByAnswer if refuses_answer(node, record) => ReplayState::ToRun,
            state => state,
        };
        match decide(node, rules, state, record) {
            Err(error) => return Begun::ended(parent, Err(ChildFailure { error, path: setup.path }), None),
            Ok(Decision::Run(answers)) => {
                setup.resume_inputs = answers;
                if !record.failed && has_completed(parent, node, &setup) {
                    let transfer_to_agent = record.transfer_to_agent().map(Into::into);
                    let result =
                        NodeResult { branch: record.branch.clone(), transfer_to_agent, ..NodeResult::default() };
                    return Begun::ended(parent, Ok(NodeEnd::Done(result)), None);
                }
            }
            // The agent has something left to do before the transfer.
            Ok(Decision::Replay(NodeEnd::Done(NodeResult { transfer_to_agent: Some(_), .. })))
                if !has_completed(parent, node, &setup) => {}
            Ok(Decision::Replay(end)) => {
                let at = (end.is_done() && is_ordered).then(|| record.completed_at());
                return Begun::ended(parent, Ok(end), at);
            }
        }
        if let Some(scope) = record.isolation_scope() {
            setup.isolation_scope = Some(Arc::clone(scope));
        }
        known.ended_at = is_ordered.then(|| record.ended_at());
        known.replays |= record.delegated;
    }
    Begun::Runs { run: NodeRun::new(node, parent, input, setup), known }
}

impl RunFacts {
    /// Returns `true` if the end of the run concerns only its caller, in an app that is not resumable.
    fn is_fresh(self) -> bool {
        !self.background && !self.replays
    }

    /// If the run has completed, records that it has.
    async fn complete(self, parent: &RunHandle, spec: &NodeSpec, handle: RunHandle, end: RunResult) -> RunResult {
        if let Some(last) = handle.last_event().filter(|_| self.background) {
            // The caller may have ended before its child, so the enclosing runs end no earlier than this event.
            std::iter::successors(parent.parent(), |run| run.parent()).for_each(|run| run.note_event(last));
        }
        let end = end?;
        let NodeEnd::Done(NodeResult { output, .. }) = &end else { return Ok(end) };
        if self.replays && only_replayed(spec, &handle) {
            // A child that only replayed also resolves in the order of replayed children.
            if let Some(place) = self.ended_at {
                parent.wait_in_replay_order(place).await;
            }
        } else if !matches!(spec.kind, NodeKind::Workflow | NodeKind::Agent) && handle.invocation().is_resumable() {
            // An agent marks its end itself.
            record_completion(&handle, output).await;
        }
        Ok(end)
    }
}

/// Returns `true` if an agent has nothing left to do in the recorded run.
fn has_completed(parent: &RunHandle, node: &dyn Node, setup: &RunSetup) -> bool {
    if node.agent().is_none() {
        return false;
    }
    let child = ChildSetup { path: setup.path.clone(), branch: setup.branch.clone(), ..ChildSetup::default() };
    let name = setup.name.as_ref().unwrap_or(&node.spec().name);
    node.has_completed(&parent.child(node.spec(), name, child))
}

/// Returns `true` if the answer that would become the output does not fit the node's declared type. The node then asks
/// again. The Runner cannot refuse such an answer, because it does not know dynamic nodes.
fn refuses_answer(node: &dyn Node, record: &RunRecord) -> bool {
    let Some(wanted) = node.answer_type(&[]) else { return false };
    let misfit = record.answers().values().find_map(|answer| wanted.check(answer).err());
    if let Some(misfit) = &misfit {
        tracing::warn!(node = %node.spec().name, %misfit, "a stored answer does not fit the type that the node expects: the node asks again");
    }
    misfit.is_some()
}

/// Returns `true` if the run executed nothing that history does not already record. A workflow's own events are
/// ignored.
fn only_replayed(spec: &NodeSpec, handle: &RunHandle) -> bool {
    !handle.executes() && (spec.kind == NodeKind::Workflow || handle.last_event().is_none())
}

/// Records that a run has completed, unless its own events already do. Called in resumable apps only.
async fn record_completion(handle: &RunHandle, output: &NodeInput) {
    if output.is_null() && handle.has_sent() {
        // The run's last event is already sent, so the next event of another run carries the note.
        handle.invocation().queue().note_completed(handle.node_path().clone());
    } else if output.is_null() || !handle.records_output(output) {
        handle.deliver(completed(handle, output)).await;
    }
}

/// Returns the event that records a completed run whose result no other event carries. Such a run has no output, or
/// its output is the answer to a child's question. Without the event, a resumable app would execute the run again.
fn completed(handle: &RunHandle, output: &NodeInput) -> Event {
    let mut event = Event::from_author(handle.event_author());
    event.set_output(Some(output.to_value()).filter(|output| !output.is_null()));
    event.set_invocation_id(handle.invocation().invocation_id().clone());
    event.set_path(handle.node_path().clone());
    event.set_branch(handle.branch());
    event.set_isolation_scope(handle.isolation_scope());
    mark_completed(&mut event, std::slice::from_ref(handle.node_path()));
    event
}
