//! [`LeftSessions`]: the sessions in which runs of a Runner have ended.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use pleach_core::SessionKey;

/// The maximum number of sessions remembered.
const MOST: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);

/// The sessions in which runs of this Runner have ended, each with the time of the last end, in seconds since the epoch. The least
/// recently used ones are forgotten first.
pub(crate) struct LeftSessions(Mutex<LruCache<SessionKey, f64>>);

impl Default for LeftSessions {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST)))
    }
}

impl LeftSessions {
    /// Remembers that a run of the session has ended.
    pub(crate) fn note(&self, key: SessionKey, now: f64) {
        self.remembered().put(key, now);
    }

    /// Returns `true` if the last change of a session, at `last_update_time`, is not later than the end of a run of this Runner.
    pub(crate) fn has_left_since(&self, key: &SessionKey, last_update_time: f64) -> bool {
        self.remembered().peek(key).is_some_and(|left| *left >= last_update_time)
    }

    fn remembered(&self) -> MutexGuard<'_, LruCache<SessionKey, f64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
