//! [`LeftSessions`]: the sessions in which runs of a Runner have ended.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use pleach_core::{SessionKey, micros};

/// The maximum number of sessions remembered.
const MOST: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);

/// The sessions in which runs of this Runner have ended, each with the time of the run's last change, in microseconds since the epoch.
/// The least recently used ones are forgotten first.
pub(crate) struct LeftSessions(Mutex<LruCache<SessionKey, i64>>);

impl Default for LeftSessions {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST)))
    }
}

impl LeftSessions {
    /// Remembers that a run of the session has ended, whose last change was at `changed`.
    pub(crate) fn note(&self, key: SessionKey, changed: i64) {
        self.remembered().put(key, changed);
    }

    /// Returns `true` if the last change of a session, at `last_update_time`, comes from a run of this Runner that has ended.
    pub(crate) fn changed_last(&self, key: &SessionKey, last_update_time: f64) -> bool {
        self.remembered().peek(key).is_some_and(|changed| *changed >= micros(last_update_time))
    }

    fn remembered(&self) -> MutexGuard<'_, LruCache<SessionKey, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
