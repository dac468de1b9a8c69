//! [`RootEvents`]: runs the root node of an invocation and stores the events that it sends.
// R1107, R1108, R1130

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use pleach_context::engine::{InvocationHandle, RunResult, Ticket};
use pleach_core::{BoxFuture, Event};

use crate::RunError;
use crate::app::inner::RunnerInner;
use crate::run::event_writer::{EventWriter, Stored};
use crate::run::heartbeat::Heartbeat;
use crate::run::repeat_filter::RepeatFilter;
use crate::run::root_driver::{RootDriver, must_stop};
use crate::run::state::RunState;
use crate::run::task::Yielded;
use crate::signals::during_run::keep_next;

/// The root node while it runs, together with the storing of its events.
pub(crate) struct RootEvents<'a> {
    ic: &'a InvocationHandle,
    parts: &'a Arc<RunnerInner>,
    run: &'a Arc<RunState>,
    store: &'a mut EventWriter,
    repeats: &'a mut RepeatFilter,
    root: RootDriver<'a>,
    _served: Served<'a>,
    heartbeat: Option<Box<Heartbeat>>,
    /// The events to store next. An event without a ticket was held back, and its node has continued.
    to_store: VecDeque<(Option<Ticket>, Arc<Event>)>,
    /// The last returned event, as its node receives it.
    unacknowledged: Option<(Ticket, Arc<Event>)>,
    /// Whether the last returned event was a signal: further signals come before the events that the root has sent in the meantime.
    keeps_signals: bool,
}

impl<'a> RootEvents<'a> {
    pub(crate) fn new(
        ic: &'a InvocationHandle,
        parts: &'a Arc<RunnerInner>,
        run: &'a Arc<RunState>,
        store: &'a mut EventWriter,
        repeats: &'a mut RepeatFilter,
        root: BoxFuture<'a, RunResult>,
    ) -> Self {
        ic.fence().serve();
        let heartbeat = parts.heartbeat.map(|period| Box::new(Heartbeat::new(&parts.services.clock, period)));
        Self {
            ic,
            parts,
            run,
            store,
            repeats,
            root: RootDriver::new(root),
            _served: Served(ic),
            heartbeat,
            to_store: VecDeque::new(),
            unacknowledged: None,
            keeps_signals: false,
        }
    }

    /// Returns the next stored event, or `None` if the root has ended or the run must stop. The node that sent the previous event
    /// continues.
    ///
    /// # Errors
    /// The error of a plugin or the session service; the event is not stored then.
    pub(crate) async fn next(&mut self) -> Result<Option<Yielded>, RunError> {
        if let Some((ticket, event)) = self.unacknowledged.take() {
            // Events that other lanes have queued in the meantime are dropped (R1130).
            if self.must_stop() {
                return Ok(None);
            }
            self.ic.queue().acknowledge(ticket, event);
        }
        if self.keeps_signals
            && !self.must_stop()
            && let Some(signal) = self.keep_signal().await?
        {
            return Ok(Some(signal));
        }
        loop {
            if let Some(shown) = self.store_next().await? {
                return Ok(Some(shown));
            }
            if self.must_stop() || self.root.result().is_some() {
                if let Some(Ok(end)) = self.root.result() {
                    let held = self.repeats.end(!end.is_done());
                    self.store_held(held);
                }
                if self.to_store.is_empty() {
                    return Ok(None);
                }
                continue;
            }
            if let Some(signal) = self.keep_signal().await? {
                return Ok(Some(signal));
            }
            if self.ic.work_gate().is_wanted() {
                self.store.claim(self.ic).await?;
                self.parts.active.announce(self.run);
            }
            if self.ic.fence().unanswered().is_some() {
                self.root.poll_root_while(Box::pin(self.store.check(self.ic)).as_mut()).await?;
            }
            self.step().await?;
        }
    }

    /// Takes the result of the root, once it has ended.
    pub(crate) fn into_end(mut self) -> Option<RunResult> {
        self.root.take_end()
    }

    fn must_stop(&self) -> bool {
        must_stop(self.ic, &self.run.stop)
    }

    /// Takes the next event to store. It has no ticket if its node has already continued.
    fn next_event(&mut self) -> Option<(Option<Ticket>, Arc<Event>)> {
        loop {
            if let Some(next) = self.to_store.pop_front() {
                return Some(next);
            }
            let queue = self.ic.queue();
            let (ticket, event) = queue.take()?;
            if is_summary(&event) {
                return Some((Some(ticket), event));
            }
            let Some((ticket, event)) = self.repeats.pass(queue, ticket, event) else { continue };
            let held = self.repeats.release();
            if held.is_empty() {
                return Some((Some(ticket), event));
            }
            self.store_held(held);
            self.to_store.push_back((Some(ticket), event));
        }
    }

    /// Queues events that were held back and must be stored now.
    fn store_held(&mut self, held: Vec<Arc<Event>>) {
        self.to_store.extend(held.into_iter().map(|event| (None, event)));
    }

    /// Stores the next event while the root makes progress. Returns `None` if no event is left to store.
    async fn store_next(&mut self) -> Result<Option<Yielded>, RunError> {
        loop {
            let Some((ticket, event)) = self.next_event() else { return Ok(None) };
            let queue = self.ic.queue();
            if is_summary(&event) {
                // Boxed, as everything rare: the future of each run is as large as its largest part.
                let stored = Box::pin(self.store.append_summary(self.ic, Arc::unwrap_or_clone(event)));
                let stored = self.root.poll_root_while(pin!(stored)).await?;
                if let Some(ticket) = ticket {
                    queue.acknowledge(ticket, stored);
                }
                continue;
            }
            let Stored { shown, original } =
                self.root.poll_root_while(pin!(self.store.store_event(self.ic, event))).await?;
            match ticket {
                None => queue.release(),
                Some(ticket) => {
                    if shown.is_interrupt() {
                        self.parts.keep_deadlines_of(self.ic.session_key(), &shown);
                    }
                    self.parts.active.announce(self.run);
                    self.unacknowledged = Some((ticket, original));
                }
            }
            return Ok(Some(Yielded::event(shown)));
        }
    }

    /// Stores the next waiting signal, if the root has not ended and can still take it.
    async fn keep_signal(&mut self) -> Result<Option<Yielded>, RunError> {
        let mut kept = None;
        if self.run.incoming.has_any() && !self.root.has_ended().await {
            let keeping = Box::pin(keep_next(&self.run.incoming, self.ic, self.store));
            kept = self.root.poll_root_while(pin!(keeping)).await?;
        }
        self.keeps_signals = kept.is_some();
        Ok(kept.map(Yielded::message))
    }

    /// Polls the root until there is something to do, and stores a heartbeat if one is due first.
    async fn step(&mut self) -> Result<(), RunError> {
        let step = self.root.poll_until_work(self.ic, &self.run.stop, Some(&self.run.incoming));
        match &mut self.heartbeat {
            None => step.await,
            Some(heartbeat) => {
                if heartbeat.is_due_before(step, self.store.head.last_update_time()).await {
                    self.root.poll_root_while(Box::pin(self.store.write_heartbeat(self.ic)).as_mut()).await?;
                }
            }
        }
        Ok(())
    }
}

/// Ends the answers to steps that ask whether the run still has its session, when it is dropped.
struct Served<'a>(&'a InvocationHandle);

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.0.fence().end();
    }
}

/// Returns `true` if an event is a summary that was made before a prompt. Such an event does not belong to a node.
fn is_summary(event: &Event) -> bool {
    event.path().is_root() && event.actions().compaction().is_some()
}
