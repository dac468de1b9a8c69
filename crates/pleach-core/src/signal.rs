//! [`Event::kept_signal`]: signals that are stored before a run waits for them.

use serde_json::Value;

use crate::{Event, InvocationId, Map};

/// The metadata key of an event that keeps a signal.
pub const KEPT_SIGNAL: &str = "pleach_signal";

impl Event {
    /// Creates the event that keeps a signal for an invocation until one of its runs waits for the name.
    ///
    /// Its author is the user, and it has no content, so that no model reads it. The metadata is
    /// `{"pleach_signal": {"name": "paid", "payload": …}}`.
    #[must_use]
    pub fn keeping_signal(invocation: &InvocationId, name: &str, payload: Value) -> Self {
        let signal = Map::from_iter([("name".to_owned(), name.into()), ("payload".to_owned(), payload)]);
        let mut event = Self::from_author("user");
        event.set_invocation_id(invocation.clone());
        event.set_custom_metadata(Some(Map::from_iter([(KEPT_SIGNAL.to_owned(), signal.into())])));
        event
    }

    /// Marks an event that keeps a signal: a run stored the event among its own events. The metadata becomes
    /// `{"pleach_signal": {…, "by_run": true}}`.
    #[must_use]
    pub fn with_signal_stored_by_run(mut self) -> Self {
        let mut metadata = self.custom_metadata().cloned().unwrap_or_default();
        if let Some(Value::Object(signal)) = metadata.get_mut(KEPT_SIGNAL) {
            signal.insert("by_run".to_owned(), true.into());
        }
        self.set_custom_metadata(Some(metadata));
        self
    }

    /// Returns `true` if a run in progress stored the signal that the event keeps.
    #[must_use]
    pub fn is_signal_stored_by_run(&self) -> bool {
        let signal = self.kept_signal().and_then(|_| self.custom_metadata()?.get(KEPT_SIGNAL));
        signal.and_then(|signal| signal.get("by_run")) == Some(&Value::Bool(true))
    }

    /// Returns the name and the payload of the signal that the event keeps.
    #[must_use]
    pub fn kept_signal(&self) -> Option<(&str, &Value)> {
        let signal =
            self.custom_metadata().filter(|_| self.is_from_user() && self.content().is_none())?.get(KEPT_SIGNAL)?;
        Some((signal.get("name")?.as_str()?, signal.get("payload").unwrap_or(&Value::Null)))
    }
}
