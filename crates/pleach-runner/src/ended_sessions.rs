//! [`EndedSessions`]: the sessions that [`Runner::unfinished`](crate::Runner::unfinished) has found to need nothing, so that it reads them once.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use pleach_core::{Revision, SessionHead, SessionKey};

/// How many sessions are remembered.
const MOST: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);

/// Sessions at the revision at which they had ended, or waited. Those that are looked at least recently are forgotten first.
pub(crate) struct EndedSessions(Mutex<LruCache<SessionKey, Revision>>);

impl Default for EndedSessions {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST)))
    }
}

impl EndedSessions {
    /// Returns whether the session is as it was when it was noted.
    pub(crate) fn has(&self, head: &SessionHead) -> bool {
        self.sessions().get(head.key()) == Some(&head.revision())
    }

    /// Notes that the session needs nothing until its revision changes.
    pub(crate) fn note(&self, head: &SessionHead) {
        self.sessions().put(head.key().clone(), head.revision());
    }

    fn sessions(&self) -> MutexGuard<'_, LruCache<SessionKey, Revision>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
