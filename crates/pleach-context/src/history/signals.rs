//! [`Signals`]: the signals that wait for a run.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use foldhash::HashMap;
use pleach_core::{Event, EventId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of the step that takes a signal.
pub(crate) const TAKE_SIGNAL: &str = "pleach_signal";

/// A signal that was kept, as the result of the step that takes it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct KeptSignal {
    /// The event that keeps it.
    pub(crate) event: String,
    pub(crate) payload: Value,
}

/// The signals of an invocation that no run has taken, by name and in order.
#[derive(Debug, Default)]
pub(super) struct Signals(Mutex<HashMap<String, VecDeque<KeptSignal>>>);

impl Signals {
    /// Reads an event that may keep a signal.
    pub(super) fn keep(&mut self, id: &EventId, event: &Event) {
        let Some((name, payload)) = event.kept_signal() else { return };
        let kept = KeptSignal { event: id.to_string(), payload: payload.clone() };
        self.all().entry(name.to_owned()).or_default().push_back(kept);
    }

    /// Reads the result of a step that may have taken a signal.
    pub(super) fn note_taken(&mut self, event: &Event) {
        if event.path().name() != TAKE_SIGNAL {
            return;
        }
        let Some(taken) = event.output().and_then(|output| output.get("event")).and_then(Value::as_str) else { return };
        self.all().values_mut().for_each(|kept| kept.retain(|kept| kept.event != taken));
    }

    fn all(&mut self) -> &mut HashMap<String, VecDeque<KeptSignal>> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the first signal of this name that no run has taken.
    pub(super) fn take(&self, name: &str) -> Option<KeptSignal> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(name)?.pop_front()
    }
}
