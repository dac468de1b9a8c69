//! Runs other nodes from inside a node.

use std::sync::Arc;

use pleach_core::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use super::Context;
use crate::engine::{InFlightCall, NodeEnd, NodeResult, RunHandle, RunState};
use crate::extract::Feeds;
use crate::node::Decode;
use crate::{Node, NodeError, NodeInput, RunOptions, TypedNode};

impl Context {
    /// Runs a node as a child of this run and returns its output.
    ///
    /// Run ids follow the order of the calls, not of the polls, so `join!`, `try_join_all` and `FuturesUnordered` all
    /// work. When the child asks a question, this call parks. The body is dropped once it has no other call to the
    /// context in progress, and it runs again from its start when an answer arrives. Children that had finished are not
    /// run again.
    ///
    /// A failure of the child can be caught. Once the body has continued after it (by sending an event or starting
    /// another child), a resume returns the same failure again. It has the same class, status, ancestors and type,
    /// but not its causes (`source()`).
    ///
    /// # Errors
    /// - A `ValueError` if this node has no `rerun_on_resume`.
    /// - A `DynamicNodeFailError` if the child failed.
    /// - A `ValidationError` if the input or the output does not fit.
    /// - A `WorkflowConfigurationError` with the faults that `build` would report for the child.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the child.
    ///
    /// ADK: `Context.run_node`.
    // R701–R710
    #[doc(alias = "run_node")]
    pub fn run<'a, N, X, M, D>(
        &'a self,
        node: &'a N,
        input: X,
    ) -> BoxFuture<'a, Result<<N::Out as Decode<D>>::Value, NodeError>>
    where
        N: TypedNode,
        N::Out: Decode<D>,
        X: Serialize + Feeds<N::In, M>,
    {
        let run = pleach_core::to_json(input)
            .map(|input| self.run_node(node, input, RunOptions::default()))
            .map_err(|error| self.unfit_input(&error));
        Box::pin(async move { <N::Out as Decode<D>>::decode(run?.await?) })
    }

    /// Runs a node as a child of this run, untyped and with options. See [`Context::run`].
    ///
    /// # Errors
    /// As [`Context::run`]; also a `ValueError` for a name or run id that cannot be part of a path, and for a second
    /// child with `use_as_output`.
    pub fn run_node<'a>(
        &'a self,
        node: &'a dyn Node,
        input: impl Into<NodeInput>,
        options: RunOptions,
    ) -> BoxFuture<'a, Result<NodeInput, NodeError>> {
        if let Err(error) = self.check_child(node.spec(), &options).and_then(|()| self.check_call(&options)) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let raise_on_wait = options.raise_on_wait;
        let is_delegate = options.use_as_output;
        let input = match input.into() {
            NodeInput::Json(value) => match self.bounded_input(value) {
                Ok(input) => input,
                Err(error) => return Box::pin(std::future::ready(Err(error))),
            },
            other => other,
        };
        let child = self.inner.invocation.scheduler().run_child(RunHandle::of(self.clone()), node, input, options);
        Box::pin(async move {
            // Counted from the first poll, so that a future that was created but never polled cannot hold up a pause.
            let live = InFlightCall::enter(self);
            match child.await? {
                NodeEnd::Done(NodeResult { output, .. }) => {
                    if is_delegate {
                        self.cell().adopt_delegate_output(&output);
                    }
                    Ok(output)
                }
                NodeEnd::Waiting if !raise_on_wait => Ok(NodeInput::Null),
                NodeEnd::Waiting => Err(Box::pin(live.park()).await),
                NodeEnd::Interrupted(ids) => {
                    self.add_interrupts(&ids);
                    Err(Box::pin(live.park()).await)
                }
            }
        })
    }

    /// Returns the run id that the next child of this name would get. ADK: `get_next_child_run_id`.
    #[doc(alias = "get_next_child_run_id")]
    #[doc(alias = "get_next_child_execution_id")]
    #[must_use]
    pub fn next_child_run_id(&self, name: &str) -> String {
        let cell = self.cell();
        // A child of a tool call is named after the call.
        if let Some(id) = cell.lane.tool.as_ref().and_then(|tool| tool.peek_run_id(name)) {
            return id.to_string();
        }
        let used = cell.children.as_ref().and_then(|children| children.counts.get(name)).copied().unwrap_or(0);
        (used + 1).to_string()
    }

    /// Returns the error for a child's input that has no JSON form.
    pub(super) fn unfit_input(&self, error: &impl std::fmt::Display) -> NodeError {
        NodeError::validation(format!(
            "the input that node '{}' passes to a child has no JSON form: {error}",
            self.node_name()
        ))
    }

    fn bounded_input(&self, value: Arc<Value>) -> Result<NodeInput, NodeError> {
        // A shared value was checked when it was made.
        if Arc::strong_count(&value) > 1 || pleach_core::is_bounded(&value) {
            return Ok(NodeInput::Json(value));
        }
        drop(Arc::into_inner(value).and_then(pleach_core::bounded));
        Err(NodeError::validation(format!(
            "the input that node '{}' passes to a child nests more than 127 levels deep: flatten it, or pass it as a text or a file",
            self.node_name()
        )))
    }
}

impl RunState {
    /// Makes the output of a delegate this run's output as well, unless the run has set its own.
    // R706, better than ADK
    fn adopt_delegate_output(&mut self, output: &NodeInput) {
        if let Some(delegate) = self.delegate.as_mut().filter(|_| !self.output.is_set() && !output.is_null()) {
            delegate.output = Some(output.clone());
        }
    }
}
