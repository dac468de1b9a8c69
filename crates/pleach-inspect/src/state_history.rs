//! [`state_history`]: each key of the state, with the events that changed it.

use std::collections::BTreeMap;
use std::sync::Arc;

use pleach_auth::hide_secrets_of;
use pleach_core::{EventId, InvocationId, Map, NodePath, Scope, Session};
use serde::Serialize;
use serde_json::Value;

use crate::timeline::live;

/// A key of a session's state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateKey {
    /// The key, with the prefix of its scope.
    pub key: String,
    /// The scope of the key: `session`, `user` or `app`.
    pub scope: &'static str,
    /// The current value; `None` if the state no longer has the key.
    pub value: Option<Value>,
    /// Whether the last change set the current value. If false, the session was created with the value, or the key
    /// belongs to a user or an app and another session has set it.
    pub from_events: bool,
    /// The changes, oldest first.
    pub changes: Vec<StateChange>,
}

impl StateKey {
    /// Removes the secrets of credentials from all values of the key.
    pub fn hide_secrets(&mut self) {
        let values = self.changes.iter_mut().map(|change| &mut change.value);
        values.chain(&mut self.value).for_each(|value| hide_secrets_of(&self.key, value));
    }
}

/// A change of a key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateChange {
    /// The position of the event in its session, from 0.
    pub place: usize,
    /// The id of the event.
    pub event: EventId,
    /// The invocation of the event.
    pub invocation: InvocationId,
    /// The timestamp of the event, in seconds since the epoch.
    pub time: f64,
    /// The author of the event.
    pub author: String,
    /// The run that wrote the event; empty if no run did.
    pub path: NodePath,
    /// The new value of the key.
    pub value: Value,
    /// Whether the event is effective. If false, a later rewind has undone it.
    pub effective: bool,
}

/// Returns the keys of a session's state in their order, each with the events that changed it.
#[must_use]
pub fn state_history(session: &Session) -> Vec<StateKey> {
    let live = live(&session.events);
    let mut changes: BTreeMap<&str, Vec<StateChange>> = BTreeMap::new();
    for key in session.state.keys() {
        changes.insert(key, Vec::new());
    }
    for (place, event) in session.events.iter().enumerate() {
        for (key, value) in event.actions().state_delta() {
            changes.entry(key).or_default().push(StateChange {
                place,
                event: event.id().clone(),
                invocation: event.invocation_id().clone(),
                time: event.timestamp(),
                author: event.author().to_owned(),
                path: event.path().clone(),
                value: value.clone(),
                effective: live.contains(&Arc::as_ptr(event)),
            });
        }
    }
    changes.into_iter().map(|(key, changes)| described(key, changes, &session.state)).collect()
}

fn described(key: &str, changes: Vec<StateChange>, state: &Map) -> StateKey {
    let scope = match Scope::split(key).0 {
        Scope::App => "app",
        Scope::User => "user",
        Scope::Temp => "temp",
        Scope::Session => "session",
    };
    let value = state.get(key).cloned();
    let from_events = value.is_some() && changes.last().map(|change| &change.value) == value.as_ref();
    StateKey { key: key.to_owned(), scope, value, from_events, changes }
}

#[cfg(test)]
mod tests {
    use pleach_core::{Event, SessionKey};
    use serde_json::json;

    use super::*;

    #[test]
    fn each_key_has_its_value_and_what_changed_it() {
        let event = |author: &str, key: &str, value: i64| Arc::new(Event::from_author(author).with_state(key, value));
        let events = vec![event("a", "n", 1), event("b", "n", 2), event("b", "app:x", 3)];
        let state = json!({"n": 2, "app:x": 9, "first": true});
        let key = SessionKey::new("app", "ana", "s");
        let session = Session::from_parts(key, state.as_object().unwrap().clone(), events, 0.0);
        let keys = state_history(&session);
        let shown: Vec<_> = keys.iter().map(|key| (key.key.as_str(), key.scope, key.from_events)).collect();
        assert_eq!(shown, [("app:x", "app", false), ("first", "session", false), ("n", "session", true)]);
        let authors: Vec<_> = keys[2].changes.iter().map(|change| (change.author.as_str(), change.place)).collect();
        assert_eq!(authors, [("a", 0), ("b", 1)]);
        assert_eq!(keys[1].changes, []);
    }
}
