//! Sends what a run yields.
//!
//! `stage` completes it to an event, and `deltas` adds the pending changes of the run. `queue` passes the event to
//! the Runner, and the sender waits there until the event is stored.

mod deltas;
mod queue;
mod stage;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use pleach_core::Event;

use super::{Output, OutputSource, RunHandle};
use crate::{Context, NodeError, NodeInput, Yield};

pub(crate) use queue::LatestTicket;
pub use queue::{EventQueue, Ticket};
use stage::Staged;
pub(crate) use stage::{NotePolicy, check_reserved, question_event};

impl Context {
    /// Records that a staged event is stored. From now on the run's output is shared with the event.
    pub(crate) fn mark_stored(&self, output_source: OutputSource, stored: Arc<Event>) {
        match output_source {
            OutputSource::None => {}
            OutputSource::Output => self.run_state().output = Output::Stored(NodeInput::Output(stored)),
            OutputSource::Content => self.run_state().output = Output::Stored(NodeInput::Content(stored)),
        }
    }
}

impl RunHandle {
    /// Sends what the body yields: completes it to an event, and passes the event to the Runner. `is_last` says that
    /// the body ends with this item.
    ///
    /// Returns `None` if there is nothing to wait for, because nothing is sent or only a fragment. Otherwise `waker` is
    /// woken once the event is stored; see [`poll_sent`](Self::poll_sent).
    ///
    /// # Errors
    /// As [`Context::emit`].
    pub fn send(&self, item: Yield, is_last: bool, waker: &Waker) -> Result<Option<SentEvent>, NodeError> {
        let notes = if matches!(item, Yield::Unchecked(_)) { NotePolicy::Kept } else { NotePolicy::Dropped };
        let staged = self.ctx.stage(item, notes)?;
        if is_last {
            self.note_completion();
        }
        Ok(match staged {
            Some(staged) if staged.event.is_partial() => {
                self.ctx.inner.invocation.queue().push_unwaited(staged.event);
                None
            }
            Some(staged) => Some(self.push(staged, waker)),
            None => None,
        })
    }

    /// Ends the body, and sends its pending output, route and changes, if there are any.
    // R412
    #[must_use]
    pub fn finish(&self, waker: &Waker) -> Option<SentEvent> {
        Some(self.push(self.stage_rest_at_end()?, waker))
    }

    /// Ends the body of a failed attempt and sends its error event. `retries` says that another attempt follows.
    // R415
    #[must_use]
    pub fn fail(&self, error: &NodeError, retries: bool, waker: &Waker) -> SentEvent {
        self.push(self.stage_failure(error, retries), waker)
    }

    /// Ends the body of a failed attempt that gets no error event. Sends the counts of plugins, if there are any.
    #[must_use]
    pub fn fail_without_event(&self, waker: &Waker) -> Option<SentEvent> {
        Some(self.push(self.stage_counts()?, waker))
    }

    fn push(&self, Staged { event, output_source }: Staged, waker: &Waker) -> SentEvent {
        let ticket = self.ctx.inner.invocation.queue().push(event, waker.clone());
        self.note_event(ticket);
        SentEvent { ticket, output_source }
    }

    /// Waits until an event is stored. If the event carries the run's output, the output is shared with it from then
    /// on.
    pub fn poll_sent(&self, sent: SentEvent, cx: &mut TaskContext<'_>) -> Poll<()> {
        let stored = self.ctx.inner.invocation.queue().poll_stored(sent.ticket, cx);
        stored.map(|stored| self.ctx.mark_stored(sent.output_source, stored))
    }

    /// Stops waiting for an event. The event is stored anyway.
    pub fn forget_sent(&self, sent: SentEvent) {
        self.ctx.inner.invocation.queue().forget(sent.ticket);
    }

    /// Takes the output event whose emit was dropped before it was stored, if there is one.
    #[must_use]
    pub fn take_abandoned(&self) -> Option<SentEvent> {
        self.ctx.run_state().abandoned.take()
    }

    /// Sends an event as it is and waits until it is stored.
    pub fn deliver(&self, event: Event) -> impl Future<Output = Arc<Event>> + Unpin {
        Sending { ctx: &self.ctx, event: Some(Arc::new(event)), ticket: None, output_source: OutputSource::None }
    }

    /// Ends the body of a failed attempt, sends its error event and waits until the event is stored. No other attempt
    /// follows.
    ///
    /// # Cancel safety
    /// If the future is dropped, an event that was sent is still stored.
    pub async fn deliver_failure(&self, error: &NodeError) {
        let failure = self.stage_failure(error, false).event;
        Sending { ctx: &self.ctx, event: Some(failure), ticket: None, output_source: OutputSource::None }.await;
    }

    /// Sends the summary of a part of the history and waits until it is stored. The event belongs to no run.
    ///
    /// # Cancel safety
    /// The summary is stored even if the future is dropped.
    pub async fn deliver_summary(&self, summary: Event) {
        let queue = self.ctx.inner.invocation.queue();
        queue.push_unwaited(Arc::new(summary));
        let flushed = queue.next_ticket();
        poll_fn(|cx| queue.poll_flushed(flushed, cx)).await;
    }
}

/// An event of a run on its way to the store.
#[derive(Clone, Copy, Debug)]
pub struct SentEvent {
    ticket: Ticket,
    output_source: OutputSource,
}

/// A future that sends an event and waits until it is stored.
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
            // The event is stored anyway and carries the run's output, so the end of the run waits for it.
            self.ctx.cell().abandoned = Some(SentEvent { ticket, output_source: self.output_source });
        }
    }
}
