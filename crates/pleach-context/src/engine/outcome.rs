//! Records how a run ended, and takes its end.

use super::{NodeEnd, NodeResult, Output, RunHandle};
use crate::{ChildFailure, Context, NodeInput};

impl Context {
    /// Adds questions that this run waits for.
    pub(crate) fn add_interrupts(&self, ids: &[String]) {
        let mut cell = self.cell();
        cell.lane.waits |= !ids.is_empty();
        for id in ids {
            cell.interrupts.get_or_insert_default().insert(id.clone());
        }
    }
}

impl RunHandle {
    /// Takes the end of a run that did not fail. Output and route move out of the context, so call it once, when the
    /// body is over. See [`NodeEnd::of_body`] for `wait_for_output`.
    #[must_use]
    pub fn take_end(&self, wait_for_output: bool) -> NodeEnd {
        let mut cell = self.ctx.cell();
        if let Some(interrupts) = &cell.interrupts {
            return NodeEnd::Interrupted(interrupts.iter().cloned().collect());
        }
        let output = match std::mem::take(&mut cell.output) {
            Output::Unset | Output::Sending => {
                cell.delegate.as_mut().and_then(|delegate| delegate.output.take()).unwrap_or_default()
            }
            Output::Pending(value) => NodeInput::json(value),
            Output::Stored(output) => output,
        };
        let result = NodeResult {
            output,
            route: cell.route.take(),
            branch: cell.lane.branch.clone(),
            transfer_to_agent: cell.lane.take_transfer().map(|transfer| transfer.agent.as_str().into()),
        };
        NodeEnd::of_body(result, wait_for_output)
    }

    /// Sets the output of the run to one that is already stored.
    pub fn restore_output(&self, output: NodeInput) {
        self.ctx.cell().output = Output::Stored(output);
    }

    /// Adds questions that this run waits for.
    pub fn add_interrupts(&self, ids: &[String]) {
        self.ctx.add_interrupts(ids);
    }

    /// Records the failure of this run, for [`Context::error`](crate::Context::error).
    pub fn set_error(&self, failure: ChildFailure) {
        self.ctx.cell().error = Some(Box::new(failure));
    }
}
