//! [`Signals`]: the signals that wait for a run.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pleach_core::Event;
use pleach_session::notes::TAKE_SIGNAL;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A kept signal. The step that takes the signal returns it as its result.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct KeptSignal {
    /// The id of the event that keeps the signal.
    pub(crate) event: String,
    pub(crate) name: String,
    pub(crate) payload: Value,
}

impl KeptSignal {
    fn of(event: &Event) -> Option<Self> {
        let (name, payload) = event.kept_signal()?;
        Some(Self { event: event.id().to_string(), name: name.to_owned(), payload: payload.clone() })
    }
}

/// The signals of an invocation that no run has taken, in the order in which they were stored.
#[derive(Debug, Default)]
pub(crate) struct Signals(Mutex<BTreeMap<u32, KeptSignal>>);

impl Signals {
    /// Returns `true` if no signal waits.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Reads an event of the user, and keeps the signal that it may carry. `now` is the time of the event.
    pub(crate) fn keep(&self, event: &Event, now: u32) {
        if let Some(kept) = KeptSignal::of(event) {
            self.lock().insert(now, kept);
        }
    }

    /// Reads the result of a step that may have taken a signal.
    pub(super) fn note_taken(&mut self, event: &Event) {
        let kept = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if kept.is_empty() || event.path().name() != TAKE_SIGNAL {
            return;
        }
        let taken = event.output().and_then(|output| output.get("event")).and_then(Value::as_str);
        kept.retain(|_, kept| Some(&*kept.event) != taken);
    }

    /// Takes the first signal that has one of these names and is not `claimed`.
    pub(crate) fn take(&self, names: &[String], claimed: impl Fn(&str) -> bool) -> Option<(u32, KeptSignal)> {
        let mut kept = self.lock();
        let first = kept.iter().find(|(_, kept)| names.contains(&kept.name) && !claimed(&kept.event));
        let time = first.map(|(time, _)| *time)?;
        kept.remove(&time).map(|kept| (time, kept))
    }

    /// Puts back a signal that was taken.
    pub(crate) fn put_back(&self, time: u32, signal: KeptSignal) {
        let mut kept = self.lock();
        if kept.values().all(|kept| kept.event != signal.event) {
            kept.insert(time, signal);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, KeptSignal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
