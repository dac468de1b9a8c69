//! [`Engine`]: runs the root node and dynamic children. ADK: `DynamicNodeScheduler`.
// R701–R710

use std::sync::Arc;

use pleach_context::engine::{
    BackgroundChild, ChildSetup, Engine as _, NodeEnd, NodeResult, NodeScheduler, ReplayState, RunRecord, RunResult,
    mark_completed,
};
use pleach_context::{ChildFailure, Context, History, Node, NodeError, NodeInput, NodeKind, NodeSpec, RunOptions};
use pleach_core::{BoxFuture, Branch, Event, NodePath};
use smol_str::SmolStr;

use super::input::conform;
use super::replay::{Decision, ReplayRules, decide};
use super::single_flight::SingleFlight;
use super::transfer::Transfers;
use super::{NodeRun, RunSetup};

/// Runs the root node of an invocation and the dynamic children of its nodes. One per invocation.
#[derive(Debug, Default)]
pub struct Engine {
    shared_runs: SingleFlight,
}

impl Engine {
    /// Returns an engine for a new invocation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs the root node, or answers it from history when the invocation resumes. `entry` names the sub-agents, each one of the
    /// agent before, that lead from a root agent to the agent that runs instead.
    ///
    /// # Errors
    /// The failure of the root node; its error event has been sent.
    ///
    /// # Cancel safety
    /// Dropping the future cancels every run.
    // R1001, R1015
    pub async fn run_root(&self, root: &Context, node: &dyn Node, entry: &[SmolStr], input: NodeInput) -> RunResult {
        let spec = node.spec();
        // An invalid input is the caller's error; the root has no calling node, so no event records it (R305).
        let input =
            conform(spec, &spec.name, input).map_err(|error| ChildFailure { error, path: root.node_path().clone() })?;
        let path = root.node_path().child(&spec.name, "1");
        if let Some(history) = root.invocation().engine().history() {
            fits(node, root.node_path(), &path, &history)
                .map_err(|error| ChildFailure { error, path: path.clone() })?;
        }
        let end = match node.agent() {
            Some(_) => Box::pin(Transfers::entering(root, node, entry).enter(input)).await?,
            None => run_one(root, node, input, RunSetup { path, ..RunSetup::default() }).await?,
        };
        if !end.is_done() && root.invocation().is_resumable() && root.invocation().engine().queue().has_notes() {
            // No other event follows that could carry the pending notes.
            let mut event = Event::from_author(&*spec.name);
            event.set_invocation_id(root.invocation().invocation_id().clone());
            root.engine().deliver(event).await;
        }
        Ok(end)
    }
}

/// Checks that the root node, and all nodes below it, are those that history recorded.
fn fits(node: &dyn Node, root: &NodePath, path: &NodePath, history: &History) -> Result<(), NodeError> {
    if let Some(other) = history.children(root).next().filter(|_| history.run(path).is_none()) {
        let message = format!(
            "The root node was '{}' when this invocation was recorded, and is '{}' now. Resume with that root, or start a new invocation.",
            other.path.name(),
            path.name()
        );
        return Err(NodeError::new("WorkflowChangedError", message));
    }
    node.fits(path, history)
}

/// Runs one node outside a graph, or answers it from history, and then the agents that it transfers to.
async fn run(parent: &Context, node: &dyn Node, input: NodeInput, setup: RunSetup) -> RunResult {
    if node.agent().is_none() {
        return run_one(parent, node, input, setup).await;
    }
    Box::pin(Transfers::from(parent, node).run(input, setup)).await
}

/// Runs one node outside a graph, or answers it from history.
pub(super) async fn run_one(parent: &Context, node: &dyn Node, input: NodeInput, mut setup: RunSetup) -> RunResult {
    let spec = node.spec();
    let background = setup.background;
    // The caller may take the first of several children, so replayed children resolve in their original order (R1020).
    let is_ordered = !background && !parent.node_path().is_root();
    let mut ended_at = None;
    let mut replays = spec.kind == NodeKind::Workflow;
    // The history must not be borrowed while the node runs: a retry adds to it.
    if let Some(history) = parent.invocation().engine().history()
        && let Some(record) = history.run(&setup.path)
    {
        if let Some(failure) =
            history.caught_failure(&setup.path).filter(|_| !background && !parent.engine().is_retried())
        {
            // The caller's later events depend on this failure.
            if is_ordered {
                parent.engine().wait_in_replay_order(record.ended_at()).await;
            }
            parent.engine().note_recorded_failure(&setup.path, failure);
            return Err(failure.clone());
        }
        // The root counts as a dynamic run: without a recorded outcome it runs again (R1010).
        let rules = ReplayRules::of(spec);
        let state = match rules.state_of(record, true) {
            ReplayState::CompletedByAnswer if refuses_answer(node, record) => ReplayState::ToRun,
            state => state,
        };
        let decision = decide(node, rules, state, record);
        match decision.map_err(|error| ChildFailure { error, path: setup.path.clone() })? {
            Decision::Run(answers) => {
                setup.resume_inputs = answers;
                if !record.failed && has_completed(parent, node, &setup) {
                    let result = NodeResult { branch: record.branch.clone(), ..NodeResult::default() };
                    return Ok(NodeEnd::Done(result));
                }
            }
            Decision::Replay(end) => {
                if end.is_done() && is_ordered {
                    parent.engine().wait_in_replay_order(record.completed_at()).await;
                }
                return Ok(end);
            }
        }
        if let Some(scope) = record.isolation_scope() {
            setup.isolation_scope = Some(Arc::clone(scope));
        }
        ended_at = Some(record.ended_at());
        replays |= record.delegated;
    }
    let mut run = NodeRun::new(node, parent, input, setup);
    let end = (&mut run).await;
    let ctx = run.into_context();
    if let Some(last) = ctx.engine().last_event().filter(|_| background) {
        // The caller may have ended before its child, so the enclosing runs end no earlier than this event.
        std::iter::successors(parent.engine().parent(), |run| run.engine().parent())
            .for_each(|run| run.engine().note_event(last));
    }
    let end = end?;
    let NodeEnd::Done(NodeResult { output, .. }) = &end else { return Ok(end) };
    if replays && only_replayed(spec, &ctx) {
        // A child that only replayed resolves in the order of replayed children, too.
        if let Some(time) = ended_at.filter(|_| is_ordered) {
            parent.engine().wait_in_replay_order(time).await;
        }
    } else if spec.kind != NodeKind::Workflow && ctx.invocation().is_resumable() {
        record_completion(&ctx, output).await;
    }
    Ok(end)
}

/// Returns whether an agent has nothing left to do in the recorded run.
fn has_completed(parent: &Context, node: &dyn Node, setup: &RunSetup) -> bool {
    if node.agent().is_none() {
        return false;
    }
    let child = ChildSetup { path: setup.path.clone(), branch: setup.branch.clone(), ..ChildSetup::default() };
    let name = setup.name.as_ref().unwrap_or(&node.spec().name);
    node.has_completed(&parent.engine().child(node.spec(), name, child))
}

/// Returns whether the answer that would become the output does not fit the node's declared type; the node then asks
/// again. The Runner cannot refuse such an answer, because it does not know dynamic nodes.
fn refuses_answer(node: &dyn Node, record: &RunRecord) -> bool {
    let Some(wanted) = node.answer_type(&[]) else { return false };
    let misfit = record.answers().values().find_map(|answer| wanted.check(answer).err());
    if let Some(misfit) = &misfit {
        tracing::warn!(node = %node.spec().name, %misfit, "a stored answer does not fit the type that the node wants: it asks again");
    }
    misfit.is_some()
}

/// Returns whether the run executed nothing that history does not already record. A workflow's own events do not count.
fn only_replayed(spec: &NodeSpec, ctx: &Context) -> bool {
    !ctx.engine().executes() && (spec.kind == NodeKind::Workflow || ctx.engine().last_event().is_none())
}

/// Records that a run has completed, unless its own events already do. Called in resumable apps only.
async fn record_completion(ctx: &Context, output: &NodeInput) {
    if output.is_null() && ctx.engine().has_sent() {
        // Its last event is already sent, so the note rides on the next event of another run.
        ctx.invocation().engine().queue().note_completed(ctx.node_path().clone());
    } else if output.is_null() || !ctx.engine().records_output(output) {
        ctx.engine().deliver(completed(ctx, output)).await;
    }
}

/// Returns the event that records a completed run whose result no other event carries: a run without an output, or one
/// whose output is the answer to a child's question. Without it, a resumable app would execute the run again.
fn completed(ctx: &Context, output: &NodeInput) -> Event {
    let mut event = Event::from_author(ctx.event_author());
    event.set_output(Some(output.to_value()).filter(|output| !output.is_null()));
    event.set_invocation_id(ctx.invocation().invocation_id().clone());
    event.set_path(ctx.node_path().clone());
    event.set_branch(ctx.branch());
    event.set_isolation_scope(ctx.isolation_scope());
    mark_completed(&mut event, std::slice::from_ref(ctx.node_path()));
    event
}

/// Returns the branch that a child starts on.
// R402
fn child_branch(parent: &Context, path: &NodePath, options: &RunOptions) -> Option<Branch> {
    let base = match &options.override_branch {
        Some(text) if text.is_empty() => None,
        Some(text) => Some(Branch::from(text.as_str())),
        None => parent.branch(),
    };
    if options.use_sub_branch { Some(Branch::child(base.as_ref(), path.name(), path.run_id())) } else { base }
}

/// Returns the setup of a child. This call fixes its path.
fn child_setup(parent: &Context, spec: &NodeSpec, options: &RunOptions) -> RunSetup {
    let name = options.name.as_ref().unwrap_or(&spec.name);
    let path = parent.engine().next_child_path(name, options.run_id.as_deref());
    RunSetup {
        branch: child_branch(parent, &path, options),
        isolation_scope: options.override_isolation_scope.as_deref().map(Arc::from),
        output_for: options.use_as_output.then(|| parent.engine().output_for_of_child()),
        name: options.name.clone(),
        path,
        ..RunSetup::default()
    }
}

impl Engine {
    /// Runs a child. Calls for the same `shared` child share one execution.
    async fn run_once(
        &self,
        parent: &Context,
        node: &dyn Node,
        input: NodeInput,
        setup: RunSetup,
        shared: bool,
    ) -> Result<NodeEnd, NodeError> {
        let spec = node.spec();
        let background = setup.background;
        let name = setup.name.clone();
        let name = name.as_ref().unwrap_or(&spec.name);
        // An invalid input is the caller's error, not the child's (R305).
        let input = conform(spec, name, input)?;
        let failed_path = setup.path.clone();
        let failed = |failure: ChildFailure| {
            if !background {
                parent.engine().note_failure(&failed_path, &failure);
            }
            NodeError::child(name, failure)
        };
        if !shared {
            return run(parent, node, input, setup).await.map_err(failed);
        }
        let path = setup.path.clone();
        // Boxed: shared runs are rare and must not enlarge the future of all others.
        Box::pin(async {
            self.shared_runs.run(&path, async { run(parent, node, input, setup).await.map_err(failed) }).await
        })
        .await
    }
}

impl NodeScheduler for Engine {
    fn run_child<'a>(
        &'a self,
        parent: &'a Context,
        node: &'a dyn Node,
        input: NodeInput,
        options: RunOptions,
    ) -> BoxFuture<'a, Result<NodeEnd, NodeError>> {
        let setup = child_setup(parent, node.spec(), &options);
        Box::pin(self.run_once(parent, node, input, setup, options.run_id.is_some()))
    }

    fn run_detached(
        self: Arc<Self>,
        parent: Context,
        node: Arc<dyn Node>,
        input: NodeInput,
        options: RunOptions,
    ) -> Result<BackgroundChild, NodeError> {
        let spec = node.spec();
        let input = conform(spec, options.name.as_ref().unwrap_or(&spec.name), input)?;
        let setup = RunSetup { background: true, ..child_setup(&parent, spec, &options) };
        let path = setup.path.clone();
        // Shared, so that a retried caller does not run the child twice.
        let run = Box::pin(async move { self.run_once(&parent, &*node, input, setup, true).await });
        Ok(BackgroundChild { path, run })
    }
}
