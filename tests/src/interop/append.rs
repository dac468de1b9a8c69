//! `interop append`: appends one event to a stored session.

use anyhow::{Context as _, ensure};
use pleach::{
    Clock as _, Event, GetSessionConfig, Session, SessionError, SessionKey, SessionService, SessionServiceExt as _,
    SystemClock, connect,
};
use serde_json::{Value, json};

/// The smallest difference of times that every layout keeps, in seconds.
// S49
const TICK: f64 = 1e-6;

/// An event to be stored.
#[derive(Clone, Debug)]
pub struct NewEvent {
    event: Event,
    /// Whether the event came with a time; 0 is a time.
    timed: bool,
}

impl NewEvent {
    /// Reads an event in either casing.
    ///
    /// # Errors
    /// The text is not an event, or is an event that no service stores.
    pub fn read(text: &str) -> anyhow::Result<Self> {
        let json: Value = serde_json::from_str(text).context("this is not JSON")?;
        let timed = !json["timestamp"].is_null();
        let event: Event = serde_json::from_value(json).context("this is not an event")?;
        ensure!(!event.is_partial(), "a partial event is never stored");
        Ok(Self { event, timed })
    }

    fn after(self, session: &Session) -> Event {
        let mut event = self.event;
        if !self.timed {
            event.set_timestamp(SystemClock.now().max(session.last_update_time() + TICK));
        }
        event
    }
}

/// Loads a session, appends an event to it, and returns an object that identifies the event.
///
/// If the session is stale, the append is repeated with a freshly loaded session, at most `retries` times. An event
/// without an id gets one. An event without a time gets the present time, or a later one after the session's last event.
///
/// # Errors
/// The errors of [`SessionService`]: `NotFound` if there is no such session, `Stale` if others appended to it each
/// time. On an error nothing is stored.
// S48
pub async fn append(url: &str, key: &SessionKey, event: &NewEvent, retries: u32) -> anyhow::Result<Value> {
    let service = connect(url).await?;
    let mut left = retries;
    let answer = loop {
        match once(&*service, key, event.clone()).await {
            Err(error) if error.is_stale() && left > 0 => left -= 1,
            answer => break answer?,
        }
    };
    // The event is stored even if closing fails.
    let _ = service.close().await;
    Ok(answer)
}

async fn once(service: &dyn SessionService, key: &SessionKey, event: NewEvent) -> Result<Value, SessionError> {
    let session = service.get_session(key, GetSessionConfig::recent(0)).await?;
    let mut session = session.ok_or_else(|| SessionError::NotFound(key.clone()))?;
    let event = event.after(&session);
    let stored = service.append_event(&mut session, event).await?;
    Ok(json!({
        "id": stored.id().to_string(),
        "timestamp": stored.timestamp(),
        "revision": session.revision().to_string(),
    }))
}
