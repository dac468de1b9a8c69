//! [`Context::emit`]: sends events before the result.

use pleach_core::Event;

use super::Context;
use crate::engine::{InFlightCall, NotePolicy, RunHandle, Sending};
use crate::{NodeError, Yield};

impl RunHandle {
    /// Sends an event of the runtime and keeps the notes in its metadata. See [`Context::emit`].
    ///
    /// # Errors
    /// As [`Context::emit`].
    ///
    /// # Cancel safety
    /// As [`Context::emit`].
    pub async fn emit_noted(&self, event: Event) -> Result<(), NodeError> {
        self.ctx.send(event.into(), NotePolicy::Kept).await
    }
}

impl Context {
    /// Sends an event, a value or a question, and waits until it is stored and passed to the caller of the run.
    ///
    /// Use it for events before the result; return the result itself. Streaming fragments (`partial`) are passed on
    /// without waiting and are never stored.
    ///
    /// # Errors
    /// A second output, an output or state change that a schema refuses, or a run that has already ended. Nothing is
    /// sent in these cases.
    ///
    /// # Cancel safety
    /// Once the future has been polled, the event is stored even if the future is dropped.
    pub async fn emit(&self, item: impl Into<Yield>) -> Result<(), NodeError> {
        self.send(item.into(), NotePolicy::Dropped).await
    }

    async fn send(&self, item: Yield, notes: NotePolicy) -> Result<(), NodeError> {
        let _live = InFlightCall::enter(self);
        let Some(staged) = self.stage(item, notes)? else { return Ok(()) };
        if staged.event.is_partial() {
            self.inner.invocation.queue().push_unwaited(staged.event);
            if self.inner.invocation.queue().is_crowded() {
                tokio::task::yield_now().await;
            }
            return Ok(());
        }
        let output_source = staged.output_source;
        let stored = Sending { ctx: self, event: Some(staged.event), ticket: None, output_source }.await;
        self.mark_stored(output_source, stored);
        Ok(())
    }

    /// Refuses an event that no reader could parse again.
    pub(crate) fn bound_event(&self, event: &mut Event) -> Result<(), NodeError> {
        pleach_core::bound_event(event).map_err(|fault| {
            let node = self.node_name();
            NodeError::validation(format!(
                "an event of node '{node}': {fault}; flatten the value, or keep it as a text or a file"
            ))
        })
    }
}
