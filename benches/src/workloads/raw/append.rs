//! [`Append`]: one prepared append.

use pleach::{Event, SessionKey};
use serde_json::{Map, Value};

/// One append in the form that the driver gets.
pub(crate) struct Append {
    pub(super) key: SessionKey,
    pub(super) event: Event,
    /// The event as JSON text.
    pub(super) data: String,
    /// The session's own part of the delta, as JSON text. It is also the session's whole state, because every delta has
    /// the same keys.
    pub(super) state: String,
    /// The app's part of the delta.
    pub(super) app_state: Option<String>,
}

impl Append {
    pub(crate) fn new(key: &SessionKey, event: Event) -> serde_json::Result<Self> {
        let data = serde_json::to_string(&event)?;
        let (mut state, mut app_state) = (Map::new(), Map::new());
        for (key, value) in event.actions().state_delta() {
            match key.strip_prefix("app:") {
                Some(key) => app_state.insert(key.to_owned(), value.clone()),
                None => state.insert(key.to_string(), value.clone()),
            };
        }
        let app_state = (!app_state.is_empty()).then(|| Value::from(app_state).to_string());
        Ok(Self { key: key.clone(), event, data, state: Value::from(state).to_string(), app_state })
    }
}
