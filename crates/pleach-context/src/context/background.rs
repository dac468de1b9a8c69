//! Starts background children, which the caller does not wait for.
// R643

use std::sync::Arc;
use std::task::Waker;

use pleach_core::NodePath;
use serde::Serialize;

use super::Context;
use crate::engine::RunHandle;
use crate::extract::Feeds;
use crate::{Node, NodeError, NodeInput, RunOptions, TypedNode};

impl Context {
    /// Starts a background child, which this run does not wait for, and returns the path of the child's run. This run
    /// can end before the child does, and its successors do not wait for the child.
    ///
    /// The nearest enclosing workflow runs the child in parallel with its nodes, and ends after it. If the child
    /// fails, however early, the workflow fails with the child's error once nothing else is left to do. Once its
    /// caller has completed, the child is not run again by a resume or by a retry of the workflow. So the child may
    /// not ask questions (a `RuntimeError`), and it stays cut off if a crash or a failure of the workflow cuts it
    /// off. A caller that is retried or run again continues the child that it has started.
    ///
    /// Call it while the body of the node runs, not in a task that outlives it.
    ///
    /// # Errors
    /// The errors of [`Context::run`] that are known before the child runs; a `ValueError` if no enclosing workflow is
    /// still running.
    ///
    /// ADK: `asyncio.create_task(ctx.run_node(...))`.
    // R643
    pub fn run_in_background<N, X, M>(&self, node: N, input: X) -> Result<NodePath, NodeError>
    where
        N: TypedNode,
        X: Serialize + Feeds<N::In, M>,
    {
        let input = pleach_core::to_json(input).map_err(|error| self.unfit_input(&error))?;
        self.run_node_in_background(Arc::new(node), input, RunOptions::default())
    }

    /// Starts a background child, untyped and with options. See [`Context::run_in_background`].
    ///
    /// # Errors
    /// As [`Context::run_in_background`]; also a `ValueError` for a name or run id that cannot be part of a path, and
    /// for `use_as_output`, because the child's output would come too late to be this run's output.
    pub fn run_node_in_background(
        &self,
        node: Arc<dyn Node>,
        input: impl Into<NodeInput>,
        options: RunOptions,
    ) -> Result<NodePath, NodeError> {
        if options.use_as_output {
            return Err(NodeError::value(format!(
                "node '{}' does not wait for a background child, so the child's output cannot become the node's output: leave `use_as_output` out, or wait for the child with `Context::run_node`",
                self.node_name()
            )));
        }
        self.check_child(node.spec(), &options)?;
        self.check_call(&options)?;
        let no_workflow = || {
            NodeError::value(format!(
                "node '{}' is not part of a workflow, which a background child needs: put the node into a workflow, or wait for the child with `Context::run`",
                self.node_name()
            ))
        };
        let mut around = std::iter::successors(self.inner.parent.as_ref(), |run| run.parent());
        let owner = around.find(|run| run.run_state().workflow.is_some()).ok_or_else(no_workflow)?;
        let scheduler = Arc::clone(self.inner.invocation.scheduler());
        let child = scheduler.run_in_background(RunHandle::of(self.clone()), node, input.into(), options)?;
        let path = child.path.clone();
        // The workflow may have ended in the meantime, if this is called in a task of its own.
        owner.run_state().workflow.as_mut().ok_or_else(no_workflow)?.background.push(child);
        self.invocation().note_background();
        // If this runs in another task, nothing else wakes the workflow.
        let body = owner.cell().body.take();
        body.into_iter().for_each(Waker::wake);
        Ok(path)
    }
}
