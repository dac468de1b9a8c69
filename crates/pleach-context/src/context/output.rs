//! The results of a run: its output, its route, and how it ended.

use pleach_core::{Event, IntoRoute, NodePath, Route};
use serde::Serialize;
use serde_json::Value;

use super::Context;
use crate::engine::{Output, RunState, output_twice};
use crate::{NodeError, Schema};

impl Context {
    /// Returns the output of the run, if it has one so far.
    #[must_use]
    pub fn output(&self) -> Option<Value> {
        match &self.cell().output {
            Output::Unset | Output::Sending => None,
            Output::Pending(value) => Some(value.clone()),
            Output::Stored(output) => Some(output.to_value()),
        }
    }

    /// Sets the output of the run, which is sent when the body ends. Null leaves it unset.
    ///
    /// # Errors
    /// - A `ValidationError` if the value has no JSON form, for example because it contains NaN.
    /// - A `ValueError` if an output is already set, because a run has at most one.
    /// - A `RuntimeError` if the run has ended, or in a step.
    // R210
    pub fn set_output(&self, output: impl Serialize) -> Result<(), NodeError> {
        let output = pleach_core::to_json(output).map_err(|error| {
            NodeError::validation(format!("the output of node '{}' has no JSON form: {error}", self.node_name()))
        })?;
        let mut cell = self.cell();
        self.check_change(&cell)?;
        if cell.output.is_set() {
            return Err(output_twice());
        }
        if !output.is_null() {
            cell.output = Output::Pending(output);
        }
        Ok(())
    }

    /// Returns the route, if the run has chosen one so far.
    #[must_use]
    pub fn route(&self) -> Option<Route> {
        self.cell().route.as_deref().cloned()
    }

    /// Sets the route; the last call wins. After the end of the run and in a step it has no effect, and the log gets a
    /// warning; [`with_actions`](Self::with_actions) returns an error in these cases.
    // R211
    pub fn set_route(&self, route: impl IntoRoute) {
        let route = route.into_route();
        let mut cell = self.cell();
        if let Err(error) = self.check_change(&cell) {
            drop(cell);
            tracing::warn!(path = %self.node_path(), %error, "a route is ignored");
            return;
        }
        cell.route = Some(Box::new(route));
        cell.route_pending = true;
    }

    /// Returns the ids of the questions that this run, or a run below it, waits for.
    #[must_use]
    pub fn interrupt_ids(&self) -> Vec<String> {
        self.cell().interrupts.iter().flat_map(|ids| ids.iter().cloned()).collect()
    }

    /// Returns the error that the run failed with.
    #[must_use]
    pub fn error(&self) -> Option<NodeError> {
        self.cell().error.as_ref().map(|failure| failure.error.clone())
    }

    /// Returns the path of the run that failed: this run or one below it.
    #[must_use]
    pub fn error_node_path(&self) -> Option<NodePath> {
        self.cell().error.as_ref().map(|failure| failure.path.clone())
    }

    /// The schema that this run's outputs are checked against.
    pub(crate) fn output_schema(&self) -> Option<&Schema> {
        self.inner.output_schema.as_ref()
    }

    /// Refuses an output that no reader could parse again, before anything copies it.
    pub(crate) fn bound_output(&self, event: &mut Event) -> Result<(), NodeError> {
        if event.output().is_none_or(pleach_core::is_bounded) {
            return Ok(());
        }
        drop(event.take_output().and_then(pleach_core::bounded));
        Err(NodeError::validation(format!(
            "the output of node '{}' nests more than 127 levels deep: flatten it, or return it as a text or a file",
            self.node_name()
        )))
    }

    /// Refuses a change of the run that would be lost. Changes are lost after the end of the run, and in the body of
    /// one of its steps, because a resume does not run that body again.
    pub(crate) fn check_change(&self, cell: &RunState) -> Result<(), NodeError> {
        if cell.has_ended() {
            return Err(self.has_ended());
        }
        self.check_outside_step("changes the run: return the value, and change the run after the step")
    }

    /// The error of a call that came after the end of the run.
    pub(crate) fn has_ended(&self) -> NodeError {
        let text = format!(
            "the run {} has ended: await the tasks that use its context before its handler returns",
            self.node_path()
        );
        NodeError::new("RuntimeError", text)
    }
}
