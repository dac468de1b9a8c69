//! [`Turns`]: grants turns in the order of the requests, separately for each key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_core::InvocationId;
use tokio::sync::OwnedMutexGuard;

/// Grants turns one after the other, in the order of the requests, separately for each key. For a session, use the key that
/// [`turn_key`](pleach_session::prepare::turn_key) returns.
#[derive(Debug)]
pub struct Turns<K: Eq + Hash>(Arc<Mutex<HashMap<K, Line>>>);

/// The requests for a key that wait or have their turn.
#[derive(Debug, Default)]
struct Line {
    /// A fair lock: it is acquired in the order of the requests.
    lock: Arc<tokio::sync::Mutex<()>>,
    /// The number of these requests.
    requests: usize,
    /// The invocation that runs in this turn, once it is known.
    running: Option<InvocationId>,
}

/// A turn. Dropping it begins the next one.
#[derive(Debug)]
pub struct Turn<K: Eq + Hash> {
    /// Dropped before the lock, so that the invocation of this turn is forgotten before the next turn begins.
    place: Place<K>,
    _guard: OwnedMutexGuard<()>,
}

/// A place in a line. Dropping it leaves the line.
#[derive(Debug)]
struct Place<K: Eq + Hash> {
    turns: Turns<K>,
    key: K,
    lock: Arc<tokio::sync::Mutex<()>>,
    has_turn: bool,
}

impl<K: Eq + Hash> Clone for Turns<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Eq + Hash> Default for Turns<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash + Clone> Turns<K> {
    /// Waits for a turn.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the line.
    pub async fn take(&self, key: K) -> Turn<K> {
        let place = self.enter(&mut self.lines(), key);
        place.wait().await
    }

    /// Waits for a turn to run an invocation. Returns `None` if this invocation is running in the current turn: the
    /// request joins that run and needs no turn.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the line.
    pub async fn take_or_join(&self, key: K, invocation: &InvocationId) -> Option<Turn<K>> {
        let place = {
            let mut lines = self.lines();
            if lines.get(&key).is_some_and(|line| line.running.as_ref() == Some(invocation)) {
                return None;
            }
            self.enter(&mut lines, key)
        };
        let turn = place.wait().await;
        turn.set_running(invocation);
        Some(turn)
    }

    fn enter(&self, lines: &mut HashMap<K, Line>, key: K) -> Place<K> {
        let line = lines.entry(key.clone()).or_default();
        line.requests += 1;
        Place { turns: self.clone(), key, lock: Arc::clone(&line.lock), has_turn: false }
    }
}

impl<K: Eq + Hash> Place<K> {
    async fn wait(mut self) -> Turn<K> {
        let open = Arc::clone(&self.lock).lock_owned().await;
        self.has_turn = true;
        Turn { place: self, _guard: open }
    }
}

impl<K: Eq + Hash> Turns<K> {
    fn lines(&self) -> MutexGuard<'_, HashMap<K, Line>> {
        // Every change is a single assignment, so a panic elsewhere leaves nothing half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Turn<K> {
    /// Names the invocation that runs in this turn, so that requests for it can join the run.
    pub fn set_running(&self, invocation: &InvocationId) {
        if let Some(line) = self.place.turns.lines().get_mut(&self.place.key) {
            line.running = Some(invocation.clone());
        }
    }
}

impl<K: Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        let mut lines = self.turns.lines();
        let Some(line) = lines.get_mut(&self.key) else { return };
        if self.has_turn {
            line.running = None;
        }
        line.requests -= 1;
        if line.requests == 0 {
            lines.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn turns_are_taken_in_order_and_a_dropped_request_is_skipped() {
        let (turns, invocation) = (Turns::default(), InvocationId::from("e-1"));
        let first = turns.take_or_join("s", &invocation).await.unwrap();
        let mut second = Box::pin(turns.take("s"));
        let mut third = Box::pin(turns.take("s"));
        assert!(second.as_mut().now_or_never().is_none() && third.as_mut().now_or_never().is_none());
        assert!(turns.take_or_join("s", &invocation).await.is_none(), "it joins");
        assert!(turns.take("other").now_or_never().is_some());
        drop(second);
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        let third = third.await;
        assert!(turns.take_or_join("s", &invocation).now_or_never().is_none(), "the invocation is over");
        drop(third);
        assert!(turns.lines().is_empty());
    }
}
