//! [`Turns`]: a queue for each session, so that its runs start one after the other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_core::{InvocationId, SessionKey};
use tokio::sync::OwnedMutexGuard;

/// Lets the runs of a session begin one after the other, in the order of their requests. Two runs at once would
/// compete, and one of them would fail after its tools have run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Arc<Mutex<HashMap<SessionKey, Line>>>);

/// The requests of a session that wait for a turn or have it.
#[derive(Debug, Default)]
struct Line {
    /// A fair lock: requests get it in the order in which they arrive.
    door: Arc<tokio::sync::Mutex<()>>,
    /// The requests that wait or have their turn.
    requests: usize,
    /// The invocation that runs, once it is known.
    running: Option<InvocationId>,
}

/// A run's turn. Dropping it begins the next one.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Declared first, so dropped first: the next request may only begin after this one's invocation is forgotten.
    place: Place,
    _door: OwnedMutexGuard<()>,
}

/// A request's place in the queue. Dropping it leaves the queue.
#[derive(Debug)]
struct Place {
    turns: Turns,
    key: SessionKey,
    /// Whether it is this request's turn.
    runs: bool,
}

impl Turns {
    /// Waits for a turn in the session. A request for the invocation that is running joins that run and needs no turn:
    /// it would wait for itself.
    ///
    /// Dropping the future leaves the queue.
    pub(crate) async fn take(&self, key: &SessionKey, joins: Option<&InvocationId>) -> Option<Turn> {
        // Stores trim the ids of sessions.
        let key = SessionKey::new(key.app_name.clone(), key.user_id.clone(), key.session_id.as_str().trim());
        let (door, mut place) = {
            let mut lines = self.lines();
            let line = lines.entry(key.clone()).or_default();
            if joins.is_some() && line.running.as_ref() == joins {
                return None;
            }
            line.requests += 1;
            (Arc::clone(&line.door), Place { turns: self.clone(), key, runs: false })
        };
        let door = door.lock_owned().await;
        place.runs = true;
        let turn = Turn { place, _door: door };
        if let Some(id) = joins {
            turn.runs(id);
        }
        Some(turn)
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<SessionKey, Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Notes the invocation that is running, so that requests for it can join.
    pub(crate) fn runs(&self, invocation: &InvocationId) {
        if let Some(line) = self.place.turns.lines().get_mut(&self.place.key) {
            line.running = Some(invocation.clone());
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut lines = self.turns.lines();
        let Some(line) = lines.get_mut(&self.key) else { return };
        if self.runs {
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
    async fn turns_are_taken_in_order_and_who_leaves_is_skipped() {
        let turns = Turns::default();
        let key = |session: &str| SessionKey::new("app", "u", session);
        let (s, invocation) = (key("s"), InvocationId::from("e-1"));
        let first = turns.take(&s, Some(&invocation)).await.unwrap();
        let trimmed = key(" s ");
        let mut second = Box::pin(turns.take(&trimmed, None));
        let mut third = Box::pin(turns.take(&s, None));
        assert!(second.as_mut().now_or_never().is_none() && third.as_mut().now_or_never().is_none());
        assert!(turns.take(&s, Some(&invocation)).await.is_none(), "the request joins");
        assert!(turns.take(&key("other"), None).now_or_never().flatten().is_some());
        drop(second);
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        let third = third.await.unwrap();
        assert!(turns.take(&s, Some(&invocation)).now_or_never().is_none(), "the invocation is over");
        drop(third);
        assert!(turns.lines().is_empty());
    }
}
