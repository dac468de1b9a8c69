//! [`Engine`]: runs the root node and dynamic children. ADK: `DynamicNodeScheduler`; rules R701–R710.

use std::sync::Arc;

use pleach_context::{
    ChildEnd, ChildFailure, Context, Node, NodeError, NodeInput, NodeScheduler, NodeSpec, RunOptions, RunOutcome,
};
use pleach_core::{BoxFuture, Branch, NodePath};

use super::input::conform;
use super::once::{Claim, Once};
use super::replay::{Decision, Replayed, decide};
use super::{NodeRun, RunSetup};

/// Runs the root node of an invocation and the dynamic children of its nodes. One per invocation.
#[derive(Debug, Default)]
pub struct Engine {
    once: Once,
}

/// How the root node of an invocation ended, when it did not fail.
#[derive(Clone, Debug)]
pub enum RootEnd {
    /// It completed with this output.
    Done(NodeInput),
    /// It waits for answers to these questions, or for more input.
    Waiting(Vec<String>),
}

/// How one run ended.
enum RunEnd {
    Done(NodeInput),
    Interrupted(Vec<String>),
    Waiting,
}

impl Engine {
    /// An engine for a new invocation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs the root node, or answers it from history when the invocation resumes (R1001, R1015).
    ///
    /// # Errors
    /// What the root node failed with; its error event has been sent.
    ///
    /// # Cancel safety
    /// Dropping the future cancels everything that runs.
    pub async fn run_root(&self, root: &Context, node: &dyn Node, input: NodeInput) -> Result<RootEnd, ChildFailure> {
        let spec = node.spec();
        // What is wrong with the input is the caller's fault, and the root node has none: no event tells of it (R305).
        let input =
            conform(spec, &spec.name, input).map_err(|error| ChildFailure { error, path: root.node_path().clone() })?;
        let setup = RunSetup { path: root.node_path().child(&spec.name, "1"), ..RunSetup::default() };
        let end = run(root, node, input, setup).await?;
        Ok(match end {
            RunEnd::Done(output) => RootEnd::Done(output),
            RunEnd::Interrupted(ids) => RootEnd::Waiting(ids),
            RunEnd::Waiting => RootEnd::Waiting(Vec::new()),
        })
    }
}

/// Runs one node outside of a graph, as history allows.
async fn run(parent: &Context, node: &dyn Node, input: NodeInput, mut setup: RunSetup) -> Result<RunEnd, ChildFailure> {
    let spec = node.spec();
    if let Some(history) = parent.invocation().history() {
        let record = history.run(&setup.path);
        // The root counts as a dynamic run: without an outcome it runs again (R1010).
        let decision = decide(spec, record, true);
        match decision.map_err(|error| ChildFailure { error, path: setup.path.clone() })? {
            Decision::Run(answers) => setup.resume_inputs = answers,
            Decision::FastForward(Replayed { output, .. }) => return Ok(RunEnd::Done(output)),
            Decision::Wait(ids) => return Ok(RunEnd::Interrupted(ids)),
        }
        if let Some(scope) = record.and_then(|record| record.isolation_scope.clone()) {
            setup.isolation_scope = Some(scope);
        }
    }
    let mut run = NodeRun::new(node, parent, input, setup);
    (&mut run).await;
    end_of(spec, &run.into_context())
}

fn end_of(spec: &NodeSpec, ctx: &Context) -> Result<RunEnd, ChildFailure> {
    match ctx.take_outcome() {
        RunOutcome::Failed(failure) => Err(*failure),
        RunOutcome::Interrupted(ids) => Ok(RunEnd::Interrupted(ids)),
        RunOutcome::Done { output, route: None, .. } if spec.wait_for_output && output.is_null() => Ok(RunEnd::Waiting),
        RunOutcome::Done { output, .. } => Ok(RunEnd::Done(output)),
    }
}

/// The branch that a child starts on (R402).
fn child_branch(parent: &Context, path: &NodePath, options: &RunOptions) -> Option<Branch> {
    let base = match &options.override_branch {
        Some(text) if text.is_empty() => None,
        Some(text) => Some(Branch::from(text.as_str())),
        None => parent.branch(),
    };
    if options.use_sub_branch { Some(Branch::child(base.as_ref(), path.name(), path.run_id())) } else { base }
}

impl NodeScheduler for Engine {
    fn run_child<'a>(
        &'a self,
        parent: &'a Context,
        node: &'a dyn Node,
        input: NodeInput,
        options: RunOptions,
    ) -> BoxFuture<'a, Result<ChildEnd, NodeError>> {
        let spec = node.spec();
        let name = options.name.clone().unwrap_or_else(|| spec.name.clone());
        let path = parent.next_child_path(&name, options.run_id.as_deref());
        let setup = RunSetup {
            branch: child_branch(parent, &path, &options),
            isolation_scope: options.override_isolation_scope.as_deref().map(Arc::from),
            output_for: options.use_as_output.then(|| parent.output_for_of_child()),
            name: options.name.clone(),
            path,
            ..RunSetup::default()
        };
        let shared = options.run_id.is_some();
        Box::pin(async move {
            // What is wrong with the input is the caller's fault, not the child's (R305).
            let input = conform(spec, &name, input)?;
            let failed = |failure| NodeError::child(&name, failure);
            if !shared {
                return Ok(run(parent, node, input, setup).await.map_err(failed)?.into());
            }
            match self.once.claim(&setup.path).await {
                Claim::Ended(end) => Ok(end),
                Claim::Mine(guard) => {
                    let end: ChildEnd = run(parent, node, input, setup).await.map_err(failed)?.into();
                    guard.finish(end.clone());
                    Ok(end)
                }
            }
        })
    }
}

impl From<RunEnd> for ChildEnd {
    fn from(end: RunEnd) -> Self {
        match end {
            RunEnd::Done(output) => Self::Done(output),
            RunEnd::Interrupted(ids) => Self::Interrupted(ids),
            RunEnd::Waiting => Self::Waiting,
        }
    }
}
