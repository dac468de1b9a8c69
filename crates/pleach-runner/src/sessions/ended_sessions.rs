//! [`EndedSessions`]: the sessions that have ended or wait, so that [`Runner::unfinished`](crate::Runner::unfinished)
//! reads them only once.
//!
//! The session store keeps a note of them for later processes. They are also remembered here, in case the store keeps
//! no notes.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use pleach_core::{Revision, SessionHead, SessionKey};
use pleach_session::SessionError;

/// The maximum number of sessions remembered.
const MOST: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);

/// Sessions that had ended or waited, each with its revision at that time. The least recently used ones are forgotten
/// first.
pub(crate) struct EndedSessions {
    remembered: Mutex<LruCache<SessionKey, Revision>>,
    /// Whether the warning that the store keeps no notes was logged.
    has_warned: AtomicBool,
}

impl Default for EndedSessions {
    fn default() -> Self {
        Self { remembered: Mutex::new(LruCache::new(MOST)), has_warned: AtomicBool::new(false) }
    }
}

impl EndedSessions {
    /// Returns `true` if the session is unchanged since it was noted.
    pub(crate) fn has(&self, head: &SessionHead) -> bool {
        self.remembered().get(head.key()) == Some(&head.revision())
    }

    /// Remembers that the session has ended or waits, until its revision changes.
    pub(crate) fn note(&self, head: &SessionHead) {
        self.remembered().put(head.key().clone(), head.revision());
    }

    /// Logs, once, that the store keeps no notes.
    pub(crate) fn warn_of_no_notes(&self, error: &SessionError) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "sessions that need nothing could not be noted: each process that recovers reads them again");
        }
    }

    fn remembered(&self) -> MutexGuard<'_, LruCache<SessionKey, Revision>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
