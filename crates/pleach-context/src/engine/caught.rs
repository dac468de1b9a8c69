//! What came of children, as far as a resume has to know it: failures that were caught, and outputs that are a child's.

use pleach_core::NodePath;
use serde_json::Value;

use super::{Output, RunHandle, RunState};
use crate::{ChildFailure, Context, NodeInput};

impl Context {
    /// Records the failures that the body has received: it continues, and a resume must find them.
    pub(crate) fn record_caught_failures(&self, cell: &mut RunState) {
        let Some(failures) = cell.failures.as_deref_mut() else { return };
        for (run, failure) in std::mem::take(&mut failures.received) {
            self.inner.invocation.queue().note_caught(&run, &failure);
            failures.pass(run, failure);
        }
        cell.has_caught |= failures.has_passed_any();
    }

    /// The run has completed: without a record of that, a resume could not distinguish it from one interrupted after the
    /// child whose event is its output.
    pub(crate) fn record_delegation(&self, cell: &mut RunState) {
        let completes = cell.error.is_none() && cell.interrupts.is_none();
        let Some(delegate) = cell.delegate.as_deref_mut().filter(|delegate| completes && !delegate.is_recorded) else {
            return;
        };
        delegate.is_recorded = true;
        let has_output = delegate.output.is_some();
        let unrecorded = cell.unrecorded_output();
        if has_output || unrecorded.is_some() {
            self.inner.invocation.queue().note_delegated(self.node_path(), unrecorded.cloned());
        }
    }
}

impl RunHandle {
    /// Records that the body gets the failure of its child that ran at `run`.
    pub fn note_failure(&self, run: &NodePath, failure: &ChildFailure) {
        let mut cell = self.ctx.cell();
        let failures = cell.failures.get_or_insert_default();
        if !failures.has_passed_run(run) {
            failures.received.push((run.clone(), failure.clone()));
        }
    }

    /// Takes back that the body has got a failure: what ran the child runs it again on a resume.
    pub fn forget_failure(&self, failure: &ChildFailure) {
        if let Some(failures) = self.ctx.cell().failures.as_deref_mut() {
            failures.received.retain(|(_, received)| received.path != failure.path);
        }
    }

    /// Records that history gives the body the failure of its child that ran at `run`: it went past it then.
    pub fn note_recorded_failure(&self, run: &NodePath, failure: &ChildFailure) {
        let mut cell = self.ctx.cell();
        cell.failures.get_or_insert_default().pass(run.clone(), failure.clone());
        cell.has_caught = true;
    }

    /// Returns whether this attempt has gone past failures that history would still count after its end.
    #[must_use]
    pub fn has_caught_failures(&self) -> bool {
        self.ctx.cell().has_caught
    }

    /// Hands that over to the caller, whose attempt ends it, when this run has not completed.
    pub fn hand_over_caught_failures(&self) {
        let Some(parent) = self.parent() else { return };
        if self.ctx.cell().has_caught {
            parent.cell().has_caught = true;
        }
    }

    /// Returns whether the body has gone past this failure of a child.
    #[must_use]
    pub fn has_caught(&self, failure: &ChildFailure) -> bool {
        self.ctx.cell().failures.as_ref().is_some_and(|failures| failures.has_passed(failure))
    }

    /// Returns whether this run, or one above it, is tried again in this process.
    #[must_use]
    pub fn is_retried(&self) -> bool {
        std::iter::successors(Some(self), |run| run.parent()).any(|run| run.attempt_count() > 1)
    }

    /// The same before the last event of the body is sent, so that it is recorded there.
    pub fn note_completion(&self) {
        self.ctx.record_delegation(&mut self.ctx.run_state());
    }
}

impl RunState {
    /// The output, if it is not the one of the delegate's event: the body's own, or the answer to the delegate's question.
    fn unrecorded_output(&self) -> Option<&Value> {
        let delegate_output = self.delegate.as_ref().and_then(|delegate| delegate.output.as_ref());
        let recorded = match delegate_output {
            Some(NodeInput::Output(event)) => event.output(),
            _ => None,
        };
        let output = match (&self.output, delegate_output) {
            (Output::Pending(value), _) => Some(value),
            (Output::Stored(output), _) => output.value(),
            (Output::Unset | Output::Sending, Some(NodeInput::Json(answer))) => Some(&**answer),
            (Output::Unset | Output::Sending, _) => None,
        };
        output.filter(|output| recorded != Some(*output))
    }
}
