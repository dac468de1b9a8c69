//! Records what a resume must know about children: failures that the body caught, and outputs taken over from a child.

use pleach_core::NodePath;
use serde_json::Value;

use super::{Output, RunHandle, RunState};
use crate::{ChildFailure, Context, NodeInput};

impl Context {
    /// Records the failures that the body has received. The body has continued since, so a resume must find them.
    pub(crate) fn record_caught_failures(&self, cell: &mut RunState) {
        let Some(failures) = cell.failures.as_deref_mut() else { return };
        for (run, failure) in std::mem::take(&mut failures.received) {
            self.inner.invocation.queue().note_caught(&run, &failure);
            failures.pass(run, failure);
        }
        cell.has_caught |= failures.has_passed_any();
    }

    /// Records that the run has completed. Its output is on a child's event: without this note, a resume could not
    /// know whether the run was interrupted after that event.
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
    /// Records that the body receives the failure of its child that ran at `run`.
    pub fn note_failure(&self, run: &NodePath, failure: &ChildFailure) {
        let mut cell = self.ctx.cell();
        let failures = cell.failures.get_or_insert_default();
        if !failures.has_passed_run(run) {
            failures.received.push((run.clone(), failure.clone()));
        }
    }

    /// Removes a failure that the body has received. Call it when a resume will run the child again.
    pub fn forget_failure(&self, failure: &ChildFailure) {
        if let Some(failures) = self.ctx.cell().failures.as_deref_mut() {
            failures.received.retain(|(_, received)| received.path != failure.path);
        }
    }

    /// Records that the body receives the failure of its child that ran at `run` from history. The body continued after
    /// that failure in the earlier run.
    pub fn note_recorded_failure(&self, run: &NodePath, failure: &ChildFailure) {
        let mut cell = self.ctx.cell();
        cell.failures.get_or_insert_default().pass(run.clone(), failure.clone());
        cell.has_caught = true;
    }

    /// Returns `true` if this attempt continued after failures of children, and no error event has ended their effect
    /// yet.
    #[must_use]
    pub fn has_caught_failures(&self) -> bool {
        self.ctx.cell().has_caught
    }

    /// If this run continued after failures, marks its caller as well, because the end of the caller's attempt then
    /// ends their effect. Call it if this run has not completed.
    pub fn hand_over_caught_failures(&self) {
        let Some(parent) = self.parent() else { return };
        if self.ctx.cell().has_caught {
            parent.cell().has_caught = true;
        }
    }

    /// Returns `true` if the body continued after this failure of a child.
    #[must_use]
    pub fn has_caught(&self, failure: &ChildFailure) -> bool {
        self.ctx.cell().failures.as_ref().is_some_and(|failures| failures.has_passed(failure))
    }

    /// Returns `true` if this process is retrying this run or a run above it.
    #[must_use]
    pub fn is_retried(&self) -> bool {
        std::iter::successors(Some(self), |run| run.parent()).any(|run| run.attempt_count() > 1)
    }

    /// Records that the run has completed, if its output event is a child's. Call it before the last event of the body
    /// is sent, so that this event carries the note.
    pub fn note_completion(&self) {
        self.ctx.record_delegation(&mut self.ctx.run_state());
    }
}

impl RunState {
    /// The output, if the delegate's event does not carry it: the body's own output, or the answer to the delegate's
    /// question.
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
