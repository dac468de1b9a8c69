//! [`LiveSignals`]: what a process knows of the signals of an invocation beside its history.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::HashSet;
use pleach_core::Event;

use crate::history::{KeptSignal, Signals};

/// The signals of an invocation in the process that runs it.
#[derive(Debug, Default)]
pub(crate) struct LiveSignals {
    /// Those that were stored while the invocation runs, in that order. A retry may find them in the history, too.
    arrived: Signals,
    /// The events of those that runs have taken, or are taking.
    claimed: Mutex<HashSet<String>>,
    /// The names for which bodies wait, or are about to.
    awaited: Mutex<HashSet<String>>,
}

impl LiveSignals {
    /// Keeps a signal that was just stored.
    pub(crate) fn arrive(&self, event: &Event) {
        self.arrived.keep_next(event);
    }

    /// Claims the first signal with one of these names: of the history, or of those that have arrived since it was read.
    pub(crate) fn claim(&self, recorded: Option<&Signals>, names: &[String]) -> Option<TakenSignal> {
        let mut claimed = lock(&self.claimed);
        let take = |signals: &Signals| signals.take(names, |event| claimed.contains(event));
        let of_history = recorded.and_then(take);
        let has_arrived = of_history.is_none();
        let (time, signal) = of_history.or_else(|| take(&self.arrived))?;
        claimed.insert(signal.event.clone());
        Some(TakenSignal { time, signal, has_arrived })
    }

    /// Gives a claimed signal back.
    pub(crate) fn give_back(&self, recorded: Option<&Signals>, taken: TakenSignal) {
        let TakenSignal { time, signal, has_arrived } = taken;
        lock(&self.claimed).remove(&signal.event);
        match has_arrived {
            true => self.arrived.put_back(time, signal),
            false => recorded.into_iter().for_each(|recorded| recorded.put_back(time, signal.clone())),
        }
    }

    /// Notes that a body waits for signals of these names.
    pub(crate) fn wait(&self, names: Vec<String>) {
        lock(&self.awaited).extend(names);
    }

    /// Returns whether a body waits, or has waited, for signals of this name.
    pub(crate) fn is_awaited(&self, name: &str) -> bool {
        lock(&self.awaited).contains(name)
    }
}

/// A signal that was taken, and the place to which it goes back.
#[derive(Debug)]
pub(crate) struct TakenSignal {
    time: u32,
    pub(crate) signal: KeptSignal,
    has_arrived: bool,
}

fn lock(names: &Mutex<HashSet<String>>) -> MutexGuard<'_, HashSet<String>> {
    names.lock().unwrap_or_else(PoisonError::into_inner)
}
