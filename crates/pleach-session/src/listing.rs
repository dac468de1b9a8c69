//! Adding sessions to a listing, each independently of the others. Backends that store states as text share this
//! code.

use std::sync::Arc;

use pleach_core::{AppName, Map, Revision, Scope, Session, SessionHead, SessionKey, UserId};

use crate::raw_state::StoredState;
use crate::{ListSessionsResponse, SessionError, SessionFault, SessionResult, report_unreadable};

/// The state of an app or user, or the reason why it cannot be read.
pub type SharedState = Result<StoredState, Arc<SessionError>>;

/// A listed session, as a backend has read it.
#[derive(Debug)]
pub struct Listed {
    /// The session.
    pub key: SessionKey,
    /// The head that an append needs, or the reason why the update time cannot be read.
    pub head: SessionResult<SessionHead>,
    /// The update time to use if the session's own cannot be read, in seconds since the epoch. It decides the place in
    /// the listing.
    pub time_if_unreadable: f64,
    /// The session's own state, or the reason why it cannot be read.
    pub state: SessionResult<StoredState>,
}

impl Listed {
    /// Adds the session to a listing, with all values that can be read from it and from the states of its app and
    /// user. If the session cannot be loaded, its fault is added as well.
    pub fn add_to(self, response: &mut ListSessionsResponse, app: &SharedState, user: &SharedState) {
        let Listed { key, head, time_if_unreadable, state } = self;
        let (state, head) = (state.map_err(Arc::new), head.map_err(Arc::new));
        let faults = [state.as_ref().err(), app.as_ref().err(), user.as_ref().err(), head.as_ref().err()];
        if let Some(error) = faults.into_iter().flatten().next() {
            response.faults.push(SessionFault { session: key.clone(), error: Arc::clone(error) });
        }
        let none = StoredState::default();
        let (app, user) = (app.as_ref().unwrap_or(&none), user.as_ref().unwrap_or(&none));
        let (view, unreadable) = state.unwrap_or_default().merged(app, user);
        report_unreadable(&key, &unreadable);
        let head = head.unwrap_or_else(|_| SessionHead::new(key, Revision::default(), time_if_unreadable));
        response.sessions.push(Session::new(head, view).with_unreadable(unreadable));
    }
}

/// Returns the readable values of the state of an app or a user, and reports the unreadable ones.
pub fn readable(state: StoredState, scope: Scope, app: &AppName, user: &UserId) -> Map {
    let keys = state.unreadable.into_iter().map(|(key, reason)| (scope.key(&key), reason)).collect();
    report_unreadable(&SessionKey::new(app, user, ""), &keys);
    state.values
}
