//! `interop load`: plays operations into a database.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use anyhow::Context as _;
use pleach::{
    CreateSession, GetSessionConfig, Session, SessionError, SessionKey, SessionService, SessionServiceExt as _, connect,
};
use serde_json::{Value, json};

use super::Operation;

/// The creation time of the first session, in seconds since the epoch.
// S130
const FIRST_CREATE: f64 = 1_759_999_000.0;

/// The time between the creations of two sessions, in seconds.
const STEP: f64 = 0.001;

/// Plays operations in order. Returns their number and the operations that the service refused.
///
/// Time is fixed except for the creation of sessions, so the same file always makes the same database. If an operation
/// is refused, it changes nothing and is listed under `errors`, and the later operations are played. Reasons are a
/// session that already exists or does not exist, an event id that is taken, and a value that no database can store.
/// google-adk's recordings were made in the same way.
///
/// # Errors
/// The database cannot be used. The text has the operation's number, counted from 0. Earlier operations are stored.
pub async fn load(operations: Vec<Operation>, url: &str) -> anyhow::Result<Value> {
    let service = connect(url).await?;
    let mut player = Player { service: Arc::clone(&service), live: HashMap::new(), created: 0 };
    let count = operations.len();
    let mut errors = Vec::new();
    for (number, operation) in operations.into_iter().enumerate() {
        let (name, key) = (operation.name(), operation.key());
        match player.play(operation).await {
            Err(error) if is_refusal(&error) => {
                player.live.remove(&key);
                let key = [key.app_name.as_str(), key.user_id.as_str(), key.session_id.as_str()];
                errors.push(json!({"op_index": number, "op": name, "key": key, "error": error.code()}));
            }
            outcome => outcome.with_context(|| format!("operation {number}"))?,
        }
    }
    service.close().await?;
    Ok(json!({"operations": count, "errors": errors}))
}

/// Returns true if the operation is at fault, not the database.
fn is_refusal(error: &SessionError) -> bool {
    use SessionError as E;
    matches!(
        error,
        E::AlreadyExists(_) | E::NotFound(_) | E::Stale { .. } | E::EventAlreadyExists { .. } | E::Unstorable { .. }
    )
}

struct Player {
    service: Arc<dyn SessionService>,
    /// The sessions by the keys in the operations. A service may have replaced a blank id with an id of its own.
    live: HashMap<SessionKey, Session>,
    created: u32,
}

impl Player {
    async fn play(&mut self, operation: Operation) -> Result<(), SessionError> {
        match operation {
            Operation::Create { app, user, id, state } => {
                let time = FIRST_CREATE + f64::from(self.created) * STEP;
                self.created += 1;
                let request = CreateSession::new(app.as_str(), user.as_str())
                    .with_session_id(id.as_str())
                    .with_state(state.unwrap_or_default())
                    .with_create_time(time);
                let session = self.service.create_session(request).await?;
                self.live.insert(SessionKey::new(app, user, id), session);
            }
            Operation::Append { app, user, id, event } => {
                let service = Arc::clone(&self.service);
                let session = self.session(SessionKey::new(app, user, id)).await?;
                service.append_event(session, *event).await?;
            }
            Operation::Delete { app, user, id } => {
                self.service.delete_session(&SessionKey::new(app, user, id)).await?;
            }
        }
        Ok(())
    }

    /// The session after the last operation on it, or as it is stored.
    async fn session(&mut self, key: SessionKey) -> Result<&mut Session, SessionError> {
        match self.live.entry(key) {
            Entry::Occupied(live) => Ok(live.into_mut()),
            Entry::Vacant(missing) => {
                let stored = self.service.get_session(missing.key(), GetSessionConfig::recent(0)).await?;
                let gone = || SessionError::NotFound(missing.key().clone());
                let stored = stored.ok_or_else(gone)?;
                Ok(missing.insert(stored))
            }
        }
    }
}
