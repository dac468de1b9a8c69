//! What an append needs of a session.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::SessionKey;

/// Which state of the stored session a caller has seen; an append is refused when the store has moved on.
///
/// Its meaning is the backend's: for SQL the time of the last update and the number of events with exactly that time,
/// for memory a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision {
    /// Microseconds since the epoch, or a count.
    pub micros: i64,
    /// How many updates share those microseconds, beyond the first.
    pub ties: u32,
}

impl Revision {
    /// Puts a revision together.
    pub const fn new(micros: i64, ties: u32) -> Self {
        Self { micros, ties }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.micros.fmt(f)?;
        match self.ties {
            0 => Ok(()),
            ties => write!(f, "+{ties}"),
        }
    }
}

/// What an append needs of a session, and renews: small, cheap to clone, without state and events.
#[derive(Clone)]
pub struct SessionHead {
    key: Arc<SessionKey>,
    revision: Revision,
    last_update_time: f64,
    handle: Option<Arc<dyn Any + Send + Sync>>,
}

impl SessionHead {
    /// Puts a head together; `last_update_time` is in seconds since the epoch.
    pub fn new(key: impl Into<Arc<SessionKey>>, revision: Revision, last_update_time: f64) -> Self {
        Self { key: key.into(), revision, last_update_time, handle: None }
    }

    /// Adds a backend's own short cut to its row. It is neither printed nor serialised.
    pub fn with_handle(mut self, handle: Arc<dyn Any + Send + Sync>) -> Self {
        self.handle = Some(handle);
        self
    }

    /// Returns the identity of the session.
    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// Returns the identity of the session, to be shared.
    pub fn shared_key(&self) -> &Arc<SessionKey> {
        &self.key
    }

    /// Returns what the caller has seen.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the time of the last stored change, in seconds since the epoch.
    pub fn last_update_time(&self) -> f64 {
        self.last_update_time
    }

    /// Returns the backend's short cut, if it set one.
    pub fn handle(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.handle.as_ref()
    }

    /// Sets or drops the backend's short cut.
    pub fn set_handle(&mut self, handle: Option<Arc<dyn Any + Send + Sync>>) {
        self.handle = handle;
    }

    /// Renews the head after a successful append.
    pub fn advance(&mut self, revision: Revision, last_update_time: f64) {
        self.revision = revision;
        self.last_update_time = last_update_time;
    }
}

impl fmt::Debug for SessionHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionHead")
            .field("key", &self.key)
            .field("revision", &self.revision)
            .field("last_update_time", &self.last_update_time)
            .finish_non_exhaustive()
    }
}

impl PartialEq for SessionHead {
    /// Compares what is said, not the backend's short cut.
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.revision == other.revision && self.last_update_time == other.last_update_time
    }
}
