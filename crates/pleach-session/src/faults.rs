//! Sessions whose stored data cannot be read: how listings report them, and one warning for each.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use pleach_core::{Scope, SessionKey, UnreadableKeys};

use crate::SessionError;

/// The number of warnings that are remembered. Later faults are only logged at debug level.
const MOST: usize = 10_000;

/// A listed session that cannot be loaded, and the reason.
#[derive(Clone, Debug)]
pub struct SessionFault {
    /// The session.
    pub session: SessionKey,
    /// The error: [`SessionError::Corrupt`].
    pub error: Arc<SessionError>,
}

/// The texts of the warnings that this process has logged.
static REPORTED: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Returns `true` if the fault has not been reported before.
fn is_new(fault: String) -> bool {
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    let reported = reported.get_or_insert_default();
    reported.len() < MOST && reported.insert(fault)
}

/// Logs a warning that a session is left out, for example from a listing, because its stored data cannot be read.
/// Each process logs one warning for each session and error, however often the session is listed. Other sessions are
/// not affected.
pub fn report_fault(session: &SessionKey, error: &SessionError) {
    if is_new(format!("{session}: {error}")) {
        tracing::warn!(%session, %error, "a session is left out: its stored data cannot be read");
    } else {
        tracing::debug!(%session, %error, "a session is left out: its stored data cannot be read");
    }
}

/// Warns that values of a state cannot be read: one warning for each session, user or app that the keys belong to.
pub fn report_unreadable(session: &SessionKey, keys: &UnreadableKeys) {
    for scope in [Scope::Session, Scope::User, Scope::App] {
        let of_scope = |key: &&String| Scope::split(key).0 == scope;
        let Some(key) = keys.keys().find(of_scope) else { continue };
        let (app, user) = (&session.app_name, &session.user_id);
        let whose = match scope {
            Scope::App => format!("app {app}"),
            Scope::User => format!("user {app}/{user}"),
            Scope::Session | Scope::Temp => format!("session {session}"),
        };
        if is_new(format!("{whose}: {key}")) {
            let count = keys.keys().filter(of_scope).count();
            let reason = &keys[key];
            tracing::warn!(%whose, %key, %reason, count, "state keys cannot be read: they stay unreadable until they are set");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_new_once() {
        assert!(is_new("a fault of this test".to_owned()));
        assert!(!is_new("a fault of this test".to_owned()));
    }
}
