//! [`SessionHead`] and [`Revision`]: the part of a session that an append needs.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::SessionKey;

/// The version of the stored session that a caller has seen. An append is refused if the store has a newer one.
///
/// The meaning depends on the backend. In SQL it is the time of the last update and the number of events with exactly
/// that time. In memory it is a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision {
    /// Microseconds since the epoch, or a count.
    pub micros: i64,
    /// The number of further updates with the same microseconds.
    pub ties: u32,
}

impl Revision {
    /// Creates a revision from its parts.
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

/// The part of a session that an append needs and updates. It is cheap to clone, because it has no state and no events.
#[derive(Clone)]
pub struct SessionHead {
    key: Arc<SessionKey>,
    revision: Revision,
    last_update_time: f64,
    handle: Option<Arc<dyn Any + Send + Sync>>,
}

impl SessionHead {
    /// Creates a head from its parts; `last_update_time` is in seconds since the epoch.
    pub fn new(key: impl Into<Arc<SessionKey>>, revision: Revision, last_update_time: f64) -> Self {
        Self { key: key.into(), revision, last_update_time, handle: None }
    }

    /// Adds a backend's handle, a shortcut to the stored session. It is neither printed nor serialised.
    pub fn with_handle(mut self, handle: Arc<dyn Any + Send + Sync>) -> Self {
        self.handle = Some(handle);
        self
    }

    /// Returns the identity of the session.
    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// Returns the identity of the session as a shared pointer.
    pub fn shared_key(&self) -> &Arc<SessionKey> {
        &self.key
    }

    /// Returns the revision that the caller has seen.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the time of the last stored change, in seconds since the epoch.
    pub fn last_update_time(&self) -> f64 {
        self.last_update_time
    }

    /// Returns the backend's handle, if it set one.
    pub fn handle(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.handle.as_ref()
    }

    /// Sets or drops the backend's handle.
    pub fn set_handle(&mut self, handle: Option<Arc<dyn Any + Send + Sync>>) {
        self.handle = handle;
    }

    /// Updates the head after a successful append.
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
    /// Compares everything except the backend's handle.
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.revision == other.revision && self.last_update_time == other.last_update_time
    }
}
