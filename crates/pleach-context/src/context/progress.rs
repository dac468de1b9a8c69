//! What orchestrators want to know of runs on their way: which event was the last, and whether anything is executed.

use pleach_core::NodePath;

use super::Context;
use crate::NodeInput;
use crate::queue::Ticket;

impl Context {
    /// Notes an event of this run, or of a run below it. For engines.
    pub fn note_event(&self, ticket: Ticket) {
        let mut cell = self.cell();
        cell.last_event = cell.last_event.max(Some(ticket));
    }

    /// The last event of this run and of those below it that have ended. For engines.
    #[must_use]
    pub fn last_event(&self) -> Option<Ticket> {
        self.cell().last_event
    }

    /// Returns whether a stored event records that this run gave `output`; no output needs no record. For engines.
    #[must_use]
    pub fn has_told(&self, output: &NodeInput) -> bool {
        match output {
            NodeInput::Null => true,
            NodeInput::Json(_) => {
                let cell = self.cell();
                // Next to a delegate's event the value has a note of its own.
                cell.told_by_message || cell.has_delegate
            }
            NodeInput::Output(event) | NodeInput::Content(event) => {
                event.path() == self.node_path() || event.is_output_for(self.node_path())
            }
        }
    }

    /// Notes that this run is executed and not only answered from history, and with it all runs above. For engines.
    pub fn note_execution(&self) {
        let mut run = self;
        while !std::mem::replace(&mut run.cell().executes, true) {
            let Some(parent) = run.parent() else { return };
            parent.cell().executing.push(run.node_path().clone());
            run = parent;
        }
    }

    /// Whether this run is executed and not only answered from history. For engines.
    #[must_use]
    pub fn executes(&self) -> bool {
        self.cell().executes
    }

    /// The children that have begun to be executed since this was last asked. For engines.
    #[must_use]
    pub fn take_executing(&self) -> Vec<NodePath> {
        std::mem::take(&mut self.cell().executing)
    }

    /// Whether there are such children. For engines.
    #[must_use]
    pub fn has_executing(&self) -> bool {
        !self.cell().executing.is_empty()
    }
}
