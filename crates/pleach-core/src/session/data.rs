//! The session itself and its JSON.
// S1, S2

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::Error as _;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Revision, SessionHead};
use crate::delta::apply;
use crate::json::json_object;
use crate::{AppName, Event, Map, SessionId, SessionKey, UserId, micros};

/// The state keys whose stored values cannot be read, with their scope prefixes, and the reasons. A reason never shows
/// a value.
pub type UnreadableKeys = BTreeMap<String, String>;

/// A conversation as it was when it was loaded: its identity, its state and its events.
///
/// This is a copy: changing it does not change the stored session. The state is the merged view with `app:` and `user:` keys.
///
/// JSON: `{id, app_name, user_id, state, events, last_update_time}`, in camelCase over HTTP. The revision is not part
/// of it; a session read from JSON has the revision that follows from its `last_update_time`.
///
/// ADK: `Session`
// S1, S5, S20, S2
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// The part of the session that an append needs.
    pub head: SessionHead,
    /// The merged state.
    pub state: Map,
    /// The events, oldest first.
    pub events: Vec<Arc<Event>>,
    /// The state keys whose stored values cannot be read, because another program wrote them. The state lacks these keys.
    /// Stores keep the values until the keys are set. The JSON does not contain this field.
    pub unreadable: UnreadableKeys,
}

impl Session {
    /// Creates a session without events.
    pub fn new(head: SessionHead, state: Map) -> Self {
        Self { head, state, events: Vec::new(), unreadable: UnreadableKeys::new() }
    }

    /// Sets the state keys that cannot be read.
    pub fn with_unreadable(mut self, keys: UnreadableKeys) -> Self {
        self.unreadable = keys;
        self
    }

    /// Creates a session from its parts; `last_update_time` is in seconds since the epoch.
    pub fn from_parts(key: SessionKey, state: Map, events: Vec<Arc<Event>>, last_update_time: f64) -> Self {
        let revision = Revision::new(micros(last_update_time), 0);
        Self { events, ..Self::new(SessionHead::new(key, revision, last_update_time), state) }
    }

    /// Returns the identity of the session.
    pub fn key(&self) -> &SessionKey {
        self.head.key()
    }

    /// Returns the application's name.
    pub fn app_name(&self) -> &AppName {
        &self.key().app_name
    }

    /// Returns the user's id.
    pub fn user_id(&self) -> &UserId {
        &self.key().user_id
    }

    /// Returns the session's own id, which is unique within app and user.
    pub fn id(&self) -> &SessionId {
        &self.key().session_id
    }

    /// Returns the time of the last stored change, in seconds since the epoch.
    pub fn last_update_time(&self) -> f64 {
        self.head.last_update_time()
    }

    /// Returns the stored revision that the caller has last seen.
    pub fn revision(&self) -> Revision {
        self.head.revision()
    }

    /// Applies a stored event: its delta is applied to the state, and it becomes the newest event.
    // S34
    pub fn apply(&mut self, event: &Arc<Event>) {
        let delta = event.actions().state_delta();
        apply(&mut self.state, delta);
        self.unreadable.retain(|key, _| !delta.contains_key(key));
        self.events.push(Arc::clone(event));
    }
}

impl Serialize for Session {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Session", 6)?;
        object.serialize_field("id", self.id())?;
        object.serialize_field("app_name", self.app_name())?;
        object.serialize_field("user_id", self.user_id())?;
        object.serialize_field("state", &self.state)?;
        object.serialize_field("events", &self.events)?;
        object.serialize_field("last_update_time", &self.last_update_time())?;
        object.end()
    }
}

json_object! {
    /// A session as read from JSON.
    struct SessionDocument refuse as "Session" {
        /// See [`Session::id`].
        id: Option<SessionId> = "id",
        /// See [`Session::app_name`].
        app_name: Option<AppName> = "app_name" | "appName",
        /// See [`Session::user_id`].
        user_id: Option<UserId> = "user_id" | "userId",
        /// See [`Session::state`].
        state: Map = "state",
        /// See [`Session::events`].
        events: Vec<Arc<Event>> = "events",
        /// See [`Session::last_update_time`].
        last_update_time: Option<f64> = "last_update_time" | "lastUpdateTime",
    }
}

impl<'de> Deserialize<'de> for Session {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = SessionDocument::deserialize(deserializer)?;
        let missing = D::Error::missing_field;
        let key = SessionKey::new(
            read.app_name.ok_or_else(|| missing("app_name"))?,
            read.user_id.ok_or_else(|| missing("user_id"))?,
            read.id.ok_or_else(|| missing("id"))?,
        );
        Ok(Self::from_parts(key, read.state, read.events, read.last_update_time.unwrap_or(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::Session;
    use crate::{Event, Revision, SessionHead, SessionKey, to_camel};

    // S2
    #[test]
    fn json_form() {
        let mut session = Session::from_parts(
            SessionKey::new("a", "u", "s"),
            json!({"some_key": 1}).as_object().unwrap().clone(),
            Vec::new(),
            1.5,
        );
        session.apply(&Arc::new(Event::message("hi").with_state("k", json!(null))));
        let camel = to_camel(&session).unwrap();
        assert_eq!(camel["state"], json!({"k": null, "some_key": 1}));
        assert_eq!((&camel["appName"], &camel["lastUpdateTime"]), (&json!("a"), &json!(1.5)));
        assert_eq!(camel["events"][0]["invocationId"], "");
        assert_eq!(serde_json::from_value::<Session>(camel).unwrap(), session);
        let snake = serde_json::to_string(&session).unwrap();
        assert!(snake.starts_with(r#"{"id":"s","app_name":"a","user_id":"u","state":{"#), "{snake}");
        assert_eq!(serde_json::from_str::<Session>(&snake).unwrap(), session);
        assert_eq!(session.revision(), Revision::new(1_500_000, 0));
    }

    #[test]
    fn unknown_and_missing_fields_are_errors() {
        let read = |json: serde_json::Value| serde_json::from_value::<Session>(json).unwrap_err().to_string();
        assert_eq!(read(json!({"id": "s", "foo": 1})), "unknown field `foo` in Session");
        assert_eq!(read(json!({"id": "s", "appName": "a"})), "missing field `user_id`");
    }

    #[test]
    fn head_advances_and_hides_its_handle() {
        let mut head =
            SessionHead::new(SessionKey::new("a", "u", "s"), Revision::new(1, 0), 1e-6).with_handle(Arc::new(5));
        assert_eq!(head.handle().unwrap().downcast_ref::<i32>(), Some(&5));
        assert!(!format!("{head:?}").contains("handle"));
        head.advance(Revision::new(2, 1), 2e-6);
        assert_eq!(head.revision().to_string(), "2+1");
        assert!(head.revision() > Revision::new(2, 0));
    }
}
