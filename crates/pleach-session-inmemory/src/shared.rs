//! [`SharedState`]: the state of an app or a user.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_core::Map;

/// A state that several sessions read and write.
///
/// The lock order is always: directory, one session's log, app state, user state.
pub(crate) type SharedState = Arc<Mutex<Map>>;

/// Locks a state or a log. Only a failed allocation can panic while one is locked, so a poisoned one is intact.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
