//! [`LiveSignals`]: the signals of an invocation that a process knows in addition to the history.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::HashSet;
use pleach_core::Event;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::history::{KeptSignal, Signals};

/// The signals of an invocation in the process that runs it.
#[derive(Debug, Default)]
pub(crate) struct LiveSignals {
    /// The signals that were stored while the invocation runs, in that order. A retry may also find them in the
    /// history.
    arrived: Signals,
    inner: Mutex<Inner>,
    /// Notified when a signal has been stored or could not be stored.
    stored: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// The number of the next signal that arrives. Numbers are never used again, so a signal that is given back keeps
    /// its place.
    next: u32,
    /// The events of the signals that runs have taken, or are taking.
    claimed: HashSet<String>,
    /// The names of the signals that bodies wait for.
    awaited: HashSet<String>,
    /// The name of the signal that is being stored.
    storing: Option<String>,
}

impl LiveSignals {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to store a signal for the next wait for its name. Returns `None` if a body already waits for the name.
    pub(crate) fn store(&self, name: &str) -> Option<StoringSignal<'_>> {
        let mut inner = self.inner();
        if inner.awaited.contains(name) {
            return None;
        }
        inner.storing = Some(name.to_owned());
        Some(StoringSignal(self))
    }

    /// Claims the first signal with one of these names, from the history or from the signals that have arrived since it
    /// was read.
    pub(crate) fn claim(&self, recorded: Option<&Signals>, names: &[String]) -> Option<TakenSignal> {
        let mut inner = self.inner();
        let take = |signals: &Signals| signals.take(names, |event| inner.claimed.contains(event));
        let of_history = recorded.and_then(take);
        let has_arrived = of_history.is_none();
        let (time, signal) = of_history.or_else(|| take(&self.arrived))?;
        inner.claimed.insert(signal.event.clone());
        Some(TakenSignal { time, signal, has_arrived })
    }

    /// Returns a claimed signal to its place.
    pub(crate) fn give_back(&self, recorded: Option<&Signals>, taken: TakenSignal) {
        let TakenSignal { time, signal, has_arrived } = taken;
        self.inner().claimed.remove(&signal.event);
        match has_arrived {
            true => self.arrived.put_back(time, signal),
            false => recorded.into_iter().for_each(|recorded| recorded.put_back(time, signal.clone())),
        }
    }

    /// Returns a future that completes after the next attempt to store a signal, even if the attempt fails.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.stored.notified()
    }

    /// Records that a body waits for signals with these names, and returns true. Returns false if one of them is being
    /// stored.
    pub(crate) fn wait(&self, names: Vec<String>) -> bool {
        let mut inner = self.inner();
        let may = inner.storing.as_ref().is_none_or(|storing| !names.contains(storing));
        if may {
            inner.awaited.extend(names);
        }
        may
    }
}

/// A signal that is being stored. A body that begins to wait for the signal's name in the meantime checks again
/// afterwards.
#[derive(Debug)]
pub struct StoringSignal<'a>(&'a LiveSignals);

impl StoringSignal<'_> {
    /// Passes the stored signal to the next wait for its name.
    pub fn stored(self, event: &Event) {
        let mut inner = self.0.inner();
        self.0.arrived.keep(event, inner.next);
        inner.next += 1;
    }
}

impl Drop for StoringSignal<'_> {
    fn drop(&mut self) {
        self.0.inner().storing = None;
        self.0.stored.notify_waiters();
    }
}

/// A signal that was taken, and the place to which it returns if it is given back.
#[derive(Debug)]
pub(crate) struct TakenSignal {
    time: u32,
    pub(crate) signal: KeptSignal,
    has_arrived: bool,
}
