//! What orchestrators want to know of runs on their way: which event was the last, and whether anything is executed.

use pleach_core::NodePath;

use super::{RunHandle, Ticket};
use crate::NodeInput;

impl RunHandle {
    /// Notes an event of this run, or of a run below it.
    pub fn note_event(&self, ticket: Ticket) {
        self.ctx.inner.last_event.note(ticket);
    }

    /// Notes the last event of this run, which has ended, at the run above, which ends no earlier.
    pub fn note_last_event_above(&self) {
        if let (Some(parent), Some(last)) = (self.parent(), self.last_event()) {
            parent.note_event(last);
        }
    }

    /// The last event of this run and of those below it that have ended.
    #[must_use]
    pub fn last_event(&self) -> Option<Ticket> {
        self.ctx.inner.last_event.get()
    }

    /// Returns whether a stored event records that this run gave `output`; no output needs no record.
    #[must_use]
    pub fn records_output(&self, output: &NodeInput) -> bool {
        match output {
            NodeInput::Null => true,
            NodeInput::Json(_) => {
                let cell = self.ctx.cell();
                // Next to a delegate's event the value has a note of its own.
                cell.output_in_message || cell.delegate.is_some()
            }
            NodeInput::Output(event) | NodeInput::Content(event) => {
                event.path() == self.ctx.node_path() || event.is_output_for(self.ctx.node_path())
            }
        }
    }

    /// Notes that this run is executed and not only answered from history, and with it all runs above.
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

    /// Whether this run is executed and not only answered from history.
    #[must_use]
    pub fn executes(&self) -> bool {
        self.ctx.cell().executes
    }

    /// The children of this run, a workflow's, that have begun to be executed since this was last asked.
    #[must_use]
    pub fn take_executing(&self) -> Vec<NodePath> {
        self.ctx.run_state().workflow.as_mut().map(|part| std::mem::take(&mut part.executing)).unwrap_or_default()
    }

    /// Whether there are such children.
    #[must_use]
    pub fn has_executing(&self) -> bool {
        self.ctx.run_state().workflow.as_ref().is_some_and(|part| !part.executing.is_empty())
    }
}
