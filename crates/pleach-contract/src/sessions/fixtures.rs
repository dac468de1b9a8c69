//! The sessions and events with which rules are tested.

use pleach_core::{Event, Map, Session, SessionKey};
use pleach_session::{CreateSession, GetSessionConfig, SessionService};
use serde_json::Value;

/// When the contract's sessions are created, in seconds since the epoch.
pub const CREATED: f64 = 1_760_000_000.0;

/// Returns a complete event as the runtime makes it, `after` seconds after [`CREATED`].
pub fn event(id: &str, after: f64) -> Event {
    let mut event = Event::from_author("tester").with_message(format!("event {id}"));
    event.set_id(id);
    event.set_invocation_id("inv-1");
    event.set_timestamp(CREATED + after);
    event
}

/// Returns the object in a `json!` value.
pub fn object(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not an object"),
    }
}

/// Creates the session `app/user/id` with this state.
pub async fn created(service: &dyn SessionService, key: &SessionKey, state: Value) -> Session {
    let request = CreateSession::new(&key.app_name, &key.user_id)
        .with_session_id(&key.session_id)
        .with_state(object(state))
        .with_create_time(CREATED);
    service.create_session(request).await.expect("the session is new")
}

/// Loads a session that must exist, with all events.
pub async fn loaded(service: &dyn SessionService, key: &SessionKey) -> Session {
    let session = service.get_session(key, GetSessionConfig::all()).await;
    session.expect("loading works").expect("the session is stored")
}

/// Returns the ids of a session's events, in order.
pub fn ids(session: &Session) -> Vec<String> {
    session.events.iter().map(|event| event.id().to_string()).collect()
}

/// Returns an error with all its causes, as a log shows it.
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Returns the key of a session of the contract's app and user.
pub(super) fn key(session_id: &str) -> SessionKey {
    SessionKey::new("app", "user", session_id)
}
