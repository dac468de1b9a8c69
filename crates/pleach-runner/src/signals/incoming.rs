//! [`Incoming`]: the queue of signals that arrive during a run.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::HashSet;
use tokio::sync::OnceCell;
use tokio::sync::oneshot::{Receiver, Sender, channel};

use crate::RunError;
use crate::signals::outgoing::OutgoingSignal;

/// The result of offering a signal to a run.
#[derive(Debug)]
pub(crate) enum Offered {
    /// The run has stored the signal. Its next wait for the name receives the signal.
    Kept,
    /// The signal was stored before.
    Repeated,
    /// A body already waits for the signal, so the signal must be sent as an answer once the run has paused.
    Awaited,
}

/// The signals that wait for a run to store them.
///
/// If the sender appended them, the run would fail as stale, so the run appends them itself.
#[derive(Default)]
pub(crate) struct Incoming {
    has_any: AtomicBool,
    /// The names of the signals that earlier questions of the session wait for. Questions of this run are not included.
    pub(crate) asked_before: OnceCell<HashSet<String>>,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    closed: bool,
    signals: VecDeque<(OutgoingSignal, Sender<Result<Offered, RunError>>)>,
}

impl Incoming {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a signal. The receiver fails if the run ends before it has handled the signal.
    pub(crate) fn offer(&self, signal: OutgoingSignal) -> Receiver<Result<Offered, RunError>> {
        let (sender, receiver) = channel();
        let mut queue = self.queue();
        if !queue.closed {
            queue.signals.push_back((signal, sender));
            self.has_any.store(true, Ordering::Release);
        }
        receiver
    }

    /// Returns `true` if a signal waits.
    pub(crate) fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Acquire)
    }

    /// Refuses all signals from now on.
    pub(crate) fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        let refused = std::mem::take(&mut queue.signals);
        drop(queue);
        drop(refused);
    }

    /// Takes the signal that has waited the longest.
    pub(crate) fn take(&self) -> Option<(OutgoingSignal, Sender<Result<Offered, RunError>>)> {
        let mut queue = self.queue();
        let next = queue.signals.pop_front();
        self.has_any.store(!queue.signals.is_empty(), Ordering::Release);
        next
    }
}
