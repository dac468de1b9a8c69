//! Handing staged events to the Runner, and waiting until they are stored.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use pleach_core::Event;

use super::{Output, OutputSource, RunHandle, Ticket};
use crate::{Context, NodeInput};

impl Context {
    /// Records that a staged event is stored: its output is shared with the event from now on.
    pub(crate) fn mark_stored(&self, output_source: OutputSource, stored: Arc<Event>) {
        match output_source {
            OutputSource::None => {}
            OutputSource::Output => self.run_state().output = Output::Stored(NodeInput::Output(stored)),
            OutputSource::Content => self.run_state().output = Output::Stored(NodeInput::Content(stored)),
        }
    }
}

impl RunHandle {
    /// Records that a staged event is stored: its output is shared with the event from now on.
    pub fn mark_stored(&self, output_source: OutputSource, stored: Arc<Event>) {
        self.ctx.mark_stored(output_source, stored);
    }

    /// Sends an event as it is and waits until it is stored.
    pub fn deliver(&self, event: Event) -> impl Future<Output = Arc<Event>> + Unpin {
        Sending { ctx: &self.ctx, event: Some(Arc::new(event)), ticket: None, output_source: OutputSource::None }
    }

    /// Sends the summary of a part of the history and waits until it is stored. It is an event of no run.
    ///
    /// # Cancel safety
    /// The summary is stored all the same when the future is dropped.
    pub async fn deliver_summary(&self, summary: Event) {
        let queue = self.ctx.inner.invocation.queue();
        queue.push_unwaited(Arc::new(summary));
        let flushed = queue.next_ticket();
        poll_fn(|cx| queue.poll_flushed(flushed, cx)).await;
    }

    /// The output event whose emit was dropped before it was stored, if there is one.
    #[must_use]
    pub fn take_abandoned(&self) -> Option<(Ticket, OutputSource)> {
        self.ctx.run_state().abandoned.take()
    }
}

/// An event under way to the store.
pub(crate) struct Sending<'a> {
    pub(crate) ctx: &'a Context,
    pub(crate) event: Option<Arc<Event>>,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) output_source: OutputSource,
}

impl Future for Sending<'_> {
    type Output = Arc<Event>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Arc<Event>> {
        let queue = self.ctx.inner.invocation.queue();
        if let Some(event) = self.event.take() {
            let ticket = queue.push(event, cx.waker().clone());
            self.ctx.inner.last_event.note(ticket);
            self.ticket = Some(ticket);
            return Poll::Pending;
        }
        let Some(ticket) = self.ticket else { return Poll::Pending };
        let stored = queue.poll_stored(ticket, cx);
        if stored.is_ready() {
            self.ticket = None;
        }
        stored
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        if self.output_source == OutputSource::None {
            self.ctx.inner.invocation.queue().forget(ticket);
        } else {
            // The event is stored all the same and carries the run's output: the end of the run waits for it.
            self.ctx.cell().abandoned = Some((ticket, self.output_source));
        }
    }
}
