//! `interop load`: plays operations into a database.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context as _;
use pleach::{
    CreateSession, GetSessionConfig, Session, SessionError, SessionKey, SessionService, SessionServiceExt as _, connect,
};
use serde_json::{Value, json};

use super::Operation;

/// When the first session is created, in seconds since the epoch (S130).
const FIRST_CREATE: f64 = 1_759_999_000.0;

/// How much later every further one is created, in seconds.
const STEP: f64 = 0.001;

/// Plays operations in order and returns how many there were.
///
/// Time stands still but for the creation of sessions, so the same file always gives the same database.
///
/// # Errors
/// The service refuses an operation; the text has its number, counted from 0. Those before it are stored.
pub async fn load(operations: Vec<Operation>, url: &str) -> anyhow::Result<Value> {
    let service = connect(url).await?;
    let mut player = Player { service: Arc::clone(&service), live: HashMap::new(), created: 0 };
    let count = operations.len();
    for (number, operation) in operations.into_iter().enumerate() {
        player.play(operation).await.with_context(|| format!("operation {number}"))?;
    }
    service.close().await?;
    Ok(json!({"operations": count}))
}

struct Player {
    service: Arc<dyn SessionService>,
    /// Sessions by the names that operations give them; a service may have made an id of its own out of a blank one.
    live: HashMap<SessionKey, Session>,
    created: u32,
}

impl Player {
    async fn play(&mut self, operation: Operation) -> anyhow::Result<()> {
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

    /// The session as the last operation on it left it, or as it is stored.
    async fn session(&mut self, key: SessionKey) -> anyhow::Result<&mut Session> {
        if !self.live.contains_key(&key) {
            let stored = self.service.get_session(&key, GetSessionConfig::recent(0)).await?;
            let stored = stored.ok_or_else(|| SessionError::NotFound(key.clone()))?;
            self.live.insert(key.clone(), stored);
        }
        self.live.get_mut(&key).context("a session was put in and is gone")
    }
}
