//! [`Engine`]: runs the root node and dynamic children. ADK: `DynamicNodeScheduler`.
// R701–R710

use std::sync::Arc;

use futures_util::future::Either;
use pleach_context::engine::{BackgroundChild, NodeEnd, NodeScheduler, RunHandle, RunResult, WORKFLOW_CHANGED};
use pleach_context::{ChildFailure, History, Node, NodeError, NodeInput, NodeKind, NodeSpec, RunOptions};
use pleach_core::{BoxFuture, Branch, Event, NodePath};
use smol_str::SmolStr;

use super::RunSetup;
use super::child_run::run_one;
use super::input::conform;
use super::run_setup::CallerChoice;
use super::single_flight::SingleFlight;
use super::transfer::Transfers;

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

    /// Runs the root node, or answers it from history if the invocation resumes. `entry` names the agents that lead
    /// from a root agent down to the agent that runs instead; each is a sub-agent of the previous one.
    ///
    /// # Errors
    /// The failure of the root node; its error event has been sent.
    ///
    /// # Cancel safety
    /// Dropping the future cancels every run.
    // R1001, R1015
    pub async fn run_root(&self, root: &RunHandle, node: &dyn Node, entry: &[SmolStr], input: NodeInput) -> RunResult {
        let spec = node.spec();
        // An invalid input is the caller's error; the root has no calling node, so no event records it (R305).
        let input =
            conform(spec, &spec.name, input).map_err(|error| ChildFailure { error, path: root.node_path().clone() })?;
        let path = root.node_path().child(&spec.name, "1");
        if let Some(history) = root.invocation().history() {
            fits(node, root.node_path(), &path, &history)
                .map_err(|error| ChildFailure { error, path: path.clone() })?;
        }
        let end = match node.agent() {
            Some(_) => {
                let mut transfers = Transfers::entering(root, node, entry);
                Box::pin(transfers.enter(input)).await?
            }
            None => run_one(root, node, input, RunSetup { path, ..RunSetup::default() }).await?,
        };
        let gives = matches!(&end, NodeEnd::Done(result) if !result.output.is_null());
        if !gives && root.invocation().is_resumable() && root.invocation().queue().has_notes() {
            // No other event follows that could carry the pending notes.
            let mut event = Event::from_author(&*spec.name);
            event.set_invocation_id(root.invocation().invocation_id().clone());
            root.deliver(event).await;
        }
        Ok(end)
    }
}

/// Checks that the root node, and all nodes below it, are the nodes that history recorded.
fn fits(node: &dyn Node, root: &NodePath, path: &NodePath, history: &History) -> Result<(), NodeError> {
    if let Some(other) = history.children(root).next().filter(|_| history.run(path).is_none()) {
        let message = format!(
            "The root node was '{}' when this invocation was recorded, and is '{}' now. Resume with that root, or start a new invocation.",
            other.path.name(),
            path.name()
        );
        return Err(NodeError::new(WORKFLOW_CHANGED, message));
    }
    node.fits(path, history)
}

/// Runs one node outside a graph, or answers it from history, and then the agents that it transfers to.
fn run<'a>(
    parent: &'a RunHandle,
    node: &'a dyn Node,
    input: NodeInput,
    setup: RunSetup,
) -> impl Future<Output = RunResult> + 'a {
    match node.agent() {
        None => Either::Left(run_one(parent, node, input, setup)),
        Some(_) => Either::Right(Box::pin(async move { Transfers::from(parent, node).run(input, setup).await })),
    }
}

/// Returns the setup of a child. This call fixes its path.
fn child_setup(parent: &RunHandle, spec: &NodeSpec, options: &RunOptions) -> RunSetup {
    let name = options.name.as_ref().unwrap_or(&spec.name);
    let path = parent.next_child_path(name, options.run_id.as_deref());
    let choice = CallerChoice {
        run_id: options.run_id.as_deref().map(SmolStr::from),
        override_branch: options
            .override_branch
            .as_ref()
            .map(|text| (!text.is_empty()).then(|| Branch::from(text.as_str()))),
        use_sub_branch: options.use_sub_branch,
        isolation_scope: options.override_isolation_scope.as_deref().map(Arc::from),
    };
    RunSetup {
        branch: choice.branch(parent, &path),
        isolation_scope: choice.isolation_scope.clone(),
        output_for: options.use_as_output.then(|| parent.output_for_of_child()),
        name: options.name.clone(),
        path,
        choice: (spec.kind == NodeKind::Agent).then(|| Box::new(choice)),
        ..RunSetup::default()
    }
}

impl Engine {
    /// Runs a child.
    async fn run_once(
        &self,
        parent: RunHandle,
        node: &dyn Node,
        input: NodeInput,
        setup: RunSetup,
    ) -> Result<NodeEnd, NodeError> {
        let (path, name, background) = (setup.path.clone(), setup.name.clone(), setup.background);
        let name = name.as_ref().unwrap_or(&node.spec().name);
        // An invalid input is the caller's error, not the child's (R305).
        let input = conform(node.spec(), name, input)?;
        run(&parent, node, input, setup).await.map_err(|failure| {
            if !background {
                parent.note_failure(&path, &failure);
            }
            NodeError::child(name, failure)
        })
    }

    /// Runs a child whose run id the caller has chosen. Calls for the same child share one execution.
    // Separate from `run_once`: nested children are polled on one stack, and a common frame would be as large as both.
    async fn run_shared(
        &self,
        parent: RunHandle,
        node: &dyn Node,
        input: NodeInput,
        setup: RunSetup,
    ) -> Result<NodeEnd, NodeError> {
        let path = setup.path.clone();
        self.shared_runs.run(&path, self.run_once(parent, node, input, setup)).await
    }
}

impl NodeScheduler for Engine {
    fn run_child<'a>(
        &'a self,
        parent: RunHandle,
        node: &'a dyn Node,
        input: NodeInput,
        options: RunOptions,
    ) -> BoxFuture<'a, Result<NodeEnd, NodeError>> {
        let setup = child_setup(&parent, node.spec(), &options);
        match options.run_id {
            Some(_) => Box::pin(self.run_shared(parent, node, input, setup)),
            None => Box::pin(self.run_once(parent, node, input, setup)),
        }
    }

    fn run_in_background(
        self: Arc<Self>,
        parent: RunHandle,
        node: Arc<dyn Node>,
        input: NodeInput,
        options: RunOptions,
    ) -> Result<BackgroundChild, NodeError> {
        let spec = node.spec();
        let input = conform(spec, options.name.as_ref().unwrap_or(&spec.name), input)?;
        let setup = RunSetup { background: true, ..child_setup(&parent, spec, &options) };
        let path = setup.path.clone();
        // Shared, so that a retried caller does not run the child twice.
        let run = Box::pin(async move { self.run_shared(parent, &*node, input, setup).await });
        Ok(BackgroundChild { path, run })
    }
}
