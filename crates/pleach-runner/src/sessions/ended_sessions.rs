//! [`EndedSessions`]: the sessions that [`Runner::unfinished`](crate::Runner::unfinished) has found to need nothing, so that it reads them once.
//!
//! They are noted in the store, for later processes, and remembered here, for stores that keep no notes.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use pleach_core::{Revision, SessionHead, SessionKey};
use pleach_session::SessionError;

/// How many sessions are remembered.
const MOST: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);

/// Sessions at the revision at which they had ended, or waited. Those that are looked at least recently are forgotten first.
pub(crate) struct EndedSessions {
    remembered: Mutex<LruCache<SessionKey, Revision>>,
    /// A warning was logged that the store keeps no notes.
    has_warned: AtomicBool,
}

impl Default for EndedSessions {
    fn default() -> Self {
        Self { remembered: Mutex::new(LruCache::new(MOST)), has_warned: AtomicBool::new(false) }
    }
}

impl EndedSessions {
    /// Returns whether the session is as it was when it was noted.
    pub(crate) fn has(&self, head: &SessionHead) -> bool {
        self.remembered().get(head.key()) == Some(&head.revision())
    }

    /// Remembers that the session needs nothing until its revision changes.
    pub(crate) fn note(&self, head: &SessionHead) {
        self.remembered().put(head.key().clone(), head.revision());
    }

    /// Logs, once, that the store keeps no notes.
    pub(crate) fn warn_of_no_notes(&self, error: &SessionError) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "which sessions need nothing cannot be noted: each process that recovers reads them again");
        }
    }

    fn remembered(&self) -> MutexGuard<'_, LruCache<SessionKey, Revision>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
