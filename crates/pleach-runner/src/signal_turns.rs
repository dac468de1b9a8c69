//! [`SignalTurns`]: one signal after the other in each session.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use foldhash::HashMap;
use pleach_core::SessionKey;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// The turns of the signals that a Runner sends: without them, those of one session would overtake each other.
#[derive(Default)]
pub(crate) struct SignalTurns(Mutex<HashMap<SessionKey, Weak<AsyncMutex<()>>>>);

impl SignalTurns {
    /// Waits until no earlier signal of this Runner is on its way to the session.
    ///
    /// # Cancel safety
    /// Dropping the future gives the turn to the next one.
    pub(crate) async fn take(&self, key: &SessionKey) -> OwnedMutexGuard<()> {
        let turn = self.turn(key);
        turn.lock_owned().await
    }

    fn turn(&self, key: &SessionKey) -> Arc<AsyncMutex<()>> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(key).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        turns.insert(key.clone(), Arc::downgrade(&turn));
        turn
    }
}
