//! The rules that every session service must keep, one async function each, and the macro that turns them into named
//! tests.
//!
//! The names begin with the rule (S-number) or the row of the edge-case table that they pin. Where google-adk's tables
//! force a difference, the *v1* layout has its own rules (`v1_…`). Everything else is tested in each backend.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod append;
mod claim;
mod concurrent;
mod create;
mod deadlines;
mod fence;
mod inbox;
mod load;
mod ops;
mod redact;
mod rules;
mod settled;
mod sharing;
mod since;
mod state;
mod v1;

pub use append::*;
pub use claim::*;
pub use concurrent::*;
pub use create::*;
pub use deadlines::*;
pub use fence::*;
pub use inbox::*;
pub use load::*;
pub use ops::*;
pub use redact::*;
pub use rules::{For, Opened, RULES, Rule};
pub use settled::*;
pub use sharing::*;
pub use since::*;
pub use state::*;
pub use v1::*;

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
pub(crate) fn key(session_id: &str) -> SessionKey {
    SessionKey::new("app", "user", session_id)
}
