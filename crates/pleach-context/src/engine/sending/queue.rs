//! The hand-over of events from nodes to the Runner, and the acknowledgement that the events are stored.
//!
//! There is one queue per invocation, and no channel. A node pushes an event and gets a ticket; the Runner takes events
//! in order; acknowledging a ticket wakes the node that waits for it. With tickets, one node can have several emits in
//! progress, and the event of an emit whose future was dropped is still stored.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use futures_util::task::AtomicWaker;
use pleach_core::{Event, NodePath};
use serde_json::Value;

use crate::ChildFailure;
use crate::history::Notes;

/// If at least this many events wait, streaming nodes are held up.
const CROWDED: usize = 64;

/// The place of an event in the queue of its invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// The highest ticket that was noted, plus one; 0 if there is none.
#[derive(Debug, Default)]
pub(crate) struct LatestTicket(AtomicU64);

impl LatestTicket {
    pub(crate) fn note(&self, ticket: Ticket) {
        self.0.fetch_max(ticket.0 + 1, Ordering::AcqRel);
    }

    pub(crate) fn get(&self) -> Option<Ticket> {
        self.0.load(Ordering::Acquire).checked_sub(1).map(Ticket)
    }
}

/// The events of one invocation that are on their way to the store.
#[derive(Debug, Default)]
pub struct EventQueue {
    waiting: AtomicUsize,
    /// The number of events that are held back: their senders have continued, and they are stored before the next
    /// event.
    held: AtomicUsize,
    inner: Mutex<Inner>,
    /// The waker of the Runner while it waits for an event: the event may come from another task.
    runner: AtomicWaker,
    /// Whether there are notes.
    noted: AtomicBool,
    /// The notes that the next complete event carries besides its own content.
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The ticket of the first slot.
    base: u64,
    /// The number of slots at the front that the Runner has taken.
    taken: usize,
    slots: VecDeque<Slot>,
    /// The wakers of those who wait until every event before a ticket is stored.
    flushing: Vec<Waker>,
}

#[derive(Debug)]
enum Slot {
    Queued { event: Arc<Event>, waker: Option<Waker>, wanted: bool },
    Taken { waker: Option<Waker>, wanted: bool },
    Stored(Arc<Event>),
    Finished,
}

impl EventQueue {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while the lock is held cannot leave the deque half-changed: no user code runs under it.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event that a node waits for. `waker` is woken once the event is stored.
    pub fn push(&self, mut event: Arc<Event>, waker: Waker) -> Ticket {
        if !event.is_partial() && self.noted.swap(false, Ordering::AcqRel) {
            let notes = std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
            notes.write(Arc::make_mut(&mut event));
        }
        self.add(Slot::Queued { event, waker: Some(waker), wanted: true })
    }

    /// Adds an event without a waiter, such as a streaming fragment.
    pub fn push_unwaited(&self, event: Arc<Event>) {
        self.add(Slot::Queued { event, waker: None, wanted: false });
    }

    fn note(&self, add: impl FnOnce(&mut Notes)) {
        add(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        self.noted.store(true, Ordering::Release);
    }

    /// Records with the next event that a run has completed without a result. For engines.
    pub fn note_completed(&self, run: NodePath) {
        self.note(|notes| notes.completed(run));
    }

    /// Records with the next event that a run has completed. The run's output is on a child's event. For engines.
    pub(crate) fn note_delegated(&self, run: &NodePath, output: Option<Value>) {
        self.note(|notes| notes.delegated(run, output));
    }

    /// Records with the next event that the caller of a failed run continued after the failure. For engines.
    pub(crate) fn note_caught(&self, run: &NodePath, failure: &ChildFailure) {
        self.note(|notes| notes.caught(run, failure));
    }

    /// Returns `true` if notes wait for the next event. For engines.
    #[must_use]
    pub fn has_notes(&self) -> bool {
        self.noted.load(Ordering::Acquire)
    }

    fn add(&self, slot: Slot) -> Ticket {
        let mut inner = self.lock();
        let ticket = Ticket(inner.base + inner.slots.len() as u64);
        inner.slots.push_back(slot);
        self.waiting.fetch_add(1, Ordering::Release);
        drop(inner);
        self.runner.wake();
        ticket
    }

    /// Wakes `waker` when the next event comes. The Runner calls this before it waits, and then checks
    /// [`has_events`](Self::has_events) once more.
    pub fn wake_on_event(&self, waker: &Waker) {
        self.runner.register(waker);
    }

    /// Returns `true` if many events wait. A node that does not wait for its own events should then let the Runner
    /// catch up.
    pub fn is_crowded(&self) -> bool {
        self.waiting.load(Ordering::Acquire) >= CROWDED
    }

    /// Takes the next event that is to be stored.
    pub fn take(&self) -> Option<(Ticket, Arc<Event>)> {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut inner = self.lock();
        let index = inner.taken;
        let base = inner.base;
        let slot = inner.slots.get_mut(index)?;
        let taken = std::mem::replace(slot, Slot::Finished);
        let Slot::Queued { event, waker, wanted } = taken else {
            *slot = taken;
            return None;
        };
        *slot = Slot::Taken { waker, wanted };
        inner.taken += 1;
        self.waiting.fetch_sub(1, Ordering::Release);
        Some((Ticket(base + index as u64), event))
    }

    /// Returns `true` if events wait to be taken.
    pub fn has_events(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Acknowledges an event to its sender before the event is stored. It is stored before the next event.
    pub fn hold(&self, ticket: Ticket, event: Arc<Event>) {
        self.held.fetch_add(1, Ordering::Release);
        self.acknowledge(ticket, event);
    }

    /// Records that an event that was held back is stored.
    pub fn release(&self) {
        self.held.fetch_sub(1, Ordering::Release);
    }

    /// Returns how many events are held back.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Acquire)
    }

    /// Records that the event of this ticket has been stored and handed to the caller. The node receives `event`.
    pub fn acknowledge(&self, ticket: Ticket, event: Arc<Event>) {
        let mut inner = self.lock();
        // An event that was not taken has not been stored: it stays in the queue.
        let Some(slot) = inner.slot(ticket).filter(|slot| !matches!(slot, Slot::Queued { .. })) else { return };
        let waker = match std::mem::replace(slot, Slot::Finished) {
            Slot::Taken { waker, wanted: true } => {
                *slot = Slot::Stored(event);
                waker
            }
            _ => None,
        };
        inner.drop_finished();
        let flushing = std::mem::take(&mut inner.flushing);
        drop(inner);
        waker.into_iter().for_each(Waker::wake);
        flushing.into_iter().for_each(Waker::wake);
    }

    /// Returns the stored event of this ticket. If the event is not stored yet, `cx` is woken when it is. Ready only
    /// once.
    pub fn poll_stored(&self, ticket: Ticket, cx: &TaskContext<'_>) -> Poll<Arc<Event>> {
        let mut inner = self.lock();
        let Some(slot) = inner.slot(ticket) else { return Poll::Pending };
        match slot {
            Slot::Stored(_) => {
                let Slot::Stored(event) = std::mem::replace(slot, Slot::Finished) else { return Poll::Pending };
                inner.drop_finished();
                Poll::Ready(event)
            }
            Slot::Queued { waker, .. } | Slot::Taken { waker, .. } => {
                match waker {
                    Some(known) => known.clone_from(cx.waker()),
                    None => *waker = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
            Slot::Finished => Poll::Pending,
        }
    }

    /// The ticket that the next event will get.
    #[must_use]
    pub fn next_ticket(&self) -> Ticket {
        let inner = self.lock();
        Ticket(inner.base + inner.slots.len() as u64)
    }

    /// Ready once all events before this ticket are stored, including those of runs that have been dropped. Otherwise
    /// `cx` is woken when one more is stored.
    pub fn poll_flushed(&self, ticket: Ticket, cx: &TaskContext<'_>) -> Poll<()> {
        let mut inner = self.lock();
        // Events are stored in order, so the last one covers all.
        let last = ticket.0.checked_sub(1).and_then(|last| inner.slot(Ticket(last)));
        if matches!(last, Some(Slot::Queued { .. } | Slot::Taken { .. })) {
            inner.flushing.push(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Records that the node no longer waits for this ticket. The event is stored anyway.
    pub fn forget(&self, ticket: Ticket) {
        let mut inner = self.lock();
        match inner.slot(ticket) {
            Some(Slot::Queued { waker, wanted, .. } | Slot::Taken { waker, wanted }) => {
                *waker = None;
                *wanted = false;
            }
            Some(slot @ Slot::Stored(_)) => {
                *slot = Slot::Finished;
                inner.drop_finished();
            }
            _ => {}
        }
    }
}

impl Inner {
    fn slot(&mut self, ticket: Ticket) -> Option<&mut Slot> {
        let index = ticket.0.checked_sub(self.base)?;
        self.slots.get_mut(usize::try_from(index).ok()?)
    }

    fn drop_finished(&mut self) {
        while matches!(self.slots.front(), Some(Slot::Finished)) {
            self.slots.pop_front();
            self.base += 1;
            self.taken -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(author: &str) -> Arc<Event> {
        Arc::new(Event::from_author(author))
    }

    #[test]
    fn r1108_events_leave_in_order_and_are_acknowledged_one_by_one() {
        let queue = EventQueue::default();
        let cx = TaskContext::from_waker(Waker::noop());
        let first = queue.push(event("a"), Waker::noop().clone());
        let second = queue.push(event("b"), Waker::noop().clone());
        assert!(queue.poll_stored(first, &cx).is_pending());
        let (ticket, taken) = queue.take().unwrap();
        assert_eq!((ticket, taken.author()), (first, "a"));
        queue.acknowledge(ticket, taken);
        assert!(queue.poll_stored(second, &cx).is_pending());
        assert!(queue.poll_stored(first, &cx).is_ready());
        assert_eq!(queue.take().unwrap().0, second);
        assert!(queue.take().is_none());
    }

    #[test]
    fn r404_a_flush_waits_for_the_events_of_runs_that_are_gone() {
        let queue = EventQueue::default();
        let cx = TaskContext::from_waker(Waker::noop());
        assert!(queue.poll_flushed(queue.next_ticket(), &cx).is_ready());
        let gone = queue.push(event("a"), Waker::noop().clone());
        queue.forget(gone);
        let mark = queue.next_ticket();
        let later = queue.push(event("b"), Waker::noop().clone());
        assert!(queue.poll_flushed(mark, &cx).is_pending());
        let (ticket, taken) = queue.take().unwrap();
        assert!(queue.poll_flushed(mark, &cx).is_pending());
        queue.acknowledge(ticket, taken);
        assert!(queue.poll_flushed(mark, &cx).is_ready());
        assert!(queue.poll_stored(later, &cx).is_pending());
    }

    #[test]
    fn an_event_that_was_not_taken_is_not_acknowledged() {
        let queue = EventQueue::default();
        let cx = TaskContext::from_waker(Waker::noop());
        let ticket = queue.push(event("a"), Waker::noop().clone());
        queue.acknowledge(ticket, event("a"));
        assert!(queue.poll_stored(ticket, &cx).is_pending());
        let (taken, stored) = queue.take().unwrap();
        assert_eq!(taken, ticket);
        queue.acknowledge(taken, stored);
        assert!(queue.poll_stored(ticket, &cx).is_ready());
        assert!(queue.take().is_none());
    }

    #[test]
    fn a_dropped_emit_is_still_stored() {
        let queue = EventQueue::default();
        let ticket = queue.push(event("a"), Waker::noop().clone());
        queue.forget(ticket);
        let (taken, stored) = queue.take().unwrap();
        queue.acknowledge(taken, stored);
        queue.push_unwaited(event("b"));
        assert_eq!(queue.take().unwrap().1.author(), "b");
    }
}
