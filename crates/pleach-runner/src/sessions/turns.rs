//! [`SignalTurns`]: one signal of a name after the other in each session.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use foldhash::HashMap;
use pleach_core::SessionKey;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// The turns of the signals that a Runner sends: without them, those of one session would overtake each other.
#[derive(Default)]
pub(crate) struct SignalTurns(Mutex<HashMap<Turn, Weak<AsyncMutex<()>>>>);

/// A session, and the name of a signal or `None` for the session as a whole.
type Turn = (SessionKey, Option<String>);

impl SignalTurns {
    /// Waits until no earlier signal of this Runner is on its way to the session under the name.
    ///
    /// # Cancel safety
    /// Dropping the future gives the turn to the next one.
    pub(crate) async fn of_name(&self, session: &SessionKey, name: &str) -> OwnedMutexGuard<()> {
        self.turn((session.clone(), Some(name.to_owned()))).lock_owned().await
    }

    /// Waits until no other signal of this Runner is being stored in the session. One that waits for a run holds no such turn.
    ///
    /// # Cancel safety
    /// Dropping the future gives the turn to the next one.
    pub(crate) async fn of_session(&self, session: &SessionKey) -> OwnedMutexGuard<()> {
        self.turn((session.clone(), None)).lock_owned().await
    }

    fn turn(&self, key: Turn) -> Arc<AsyncMutex<()>> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(&key).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        turns.insert(key, Arc::downgrade(&turn));
        turn
    }
}
