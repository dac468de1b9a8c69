//! The progress of runs, for orchestrators: the last event, and whether anything is executed.

use pleach_core::NodePath;

use super::{RunHandle, Ticket};
use crate::NodeInput;

impl RunHandle {
    /// Records an event of this run or of a run below it.
    pub fn note_event(&self, ticket: Ticket) {
        self.ctx.inner.last_event.note(ticket);
    }

    /// Records the last event of this run in its parent run. Call it when this run has ended.
    pub fn note_last_event_above(&self) {
        if let (Some(parent), Some(last)) = (self.parent(), self.last_event()) {
            parent.note_event(last);
        }
    }

    /// The last event of this run and of those runs below it that have ended.
    #[must_use]
    pub fn last_event(&self) -> Option<Ticket> {
        self.ctx.inner.last_event.get()
    }

    /// Returns `true` if a stored event records that this run returned `output`. An empty output needs no record.
    #[must_use]
    pub fn records_output(&self, output: &NodeInput) -> bool {
        match output {
            NodeInput::Null => true,
            NodeInput::Json(_) => {
                let cell = self.ctx.cell();
                // If a delegate's event exists, a separate note records the value.
                cell.output_in_message || cell.delegate.is_some()
            }
            NodeInput::Output(event) | NodeInput::Content(event) => {
                event.path() == self.ctx.node_path() || event.is_output_for(self.ctx.node_path())
            }
        }
    }

    /// Records that this run is executed and not replayed. This then applies to every run above it as well.
    pub fn note_execution(&self) {
        let mut run = self;
        while !std::mem::replace(&mut run.cell().executes, true) {
            let Some(parent) = run.parent() else { return };
            if let Some(part) = &mut parent.run_state().workflow {
                part.executing.push(run.node_path().clone());
            }
            run = parent;
        }
    }

    /// Returns `true` if this run, or a run below it, is executed and not replayed.
    #[must_use]
    pub fn executes(&self) -> bool {
        self.ctx.cell().executes
    }

    /// Takes the children of this workflow run that have begun to be executed since the last call.
    #[must_use]
    pub fn take_executing(&self) -> Vec<NodePath> {
        self.ctx.run_state().workflow.as_mut().map(|part| std::mem::take(&mut part.executing)).unwrap_or_default()
    }

    /// Returns `true` if [`take_executing`](Self::take_executing) would return children.
    #[must_use]
    pub fn has_executing(&self) -> bool {
        self.ctx.run_state().workflow.as_ref().is_some_and(|part| !part.executing.is_empty())
    }
}
