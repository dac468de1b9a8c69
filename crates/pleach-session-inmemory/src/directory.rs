//! [`Directory`]: the existing sessions, and the states of apps and users that sessions share.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::HashMap;
use pleach_core::{AppName, Map, SessionId, SessionKey, UserId, apply, split_delta};
use pleach_session::{SessionError, SessionResult};

use crate::shared::{SharedState, lock};
use crate::stored::StoredSession;

/// All apps. An app and a user remain after their sessions are gone, because their state remains.
// S21
#[derive(Debug, Default)]
pub(crate) struct Directory {
    apps: HashMap<AppName, App>,
}

#[derive(Debug, Default)]
struct App {
    state: SharedState,
    users: BTreeMap<UserId, User>,
}

#[derive(Debug, Default)]
struct User {
    state: SharedState,
    sessions: BTreeMap<SessionId, Arc<StoredSession>>,
}

impl Directory {
    /// Adds a session that `make` builds from its key, its own part of `state`, and the shared states.
    // S30
    pub(crate) fn create(
        &mut self,
        key: SessionKey,
        state: Map,
        make: impl FnOnce(Arc<SessionKey>, Map, SharedState, SharedState) -> StoredSession,
    ) -> SessionResult<Arc<StoredSession>> {
        let app = self.apps.entry(key.app_name.clone()).or_default();
        let user = app.users.entry(key.user_id.clone()).or_default();
        if user.sessions.contains_key(&key.session_id) {
            return Err(SessionError::AlreadyExists(key));
        }
        let delta = split_delta(state);
        apply(&mut lock(&app.state), &delta.app);
        apply(&mut lock(&user.state), &delta.user);
        let id = key.session_id.clone();
        let stored = Arc::new(make(Arc::new(key), delta.session, app.state.clone(), user.state.clone()));
        user.sessions.insert(id, stored.clone());
        Ok(stored)
    }

    pub(crate) fn find(&self, key: &SessionKey) -> Option<Arc<StoredSession>> {
        self.user(&key.app_name, &key.user_id)?.sessions.get(&key.session_id).cloned()
    }

    pub(crate) fn remove(&mut self, key: &SessionKey) -> Option<Arc<StoredSession>> {
        let app = self.apps.get_mut(&key.app_name)?;
        app.users.get_mut(&key.user_id)?.sessions.remove(&key.session_id)
    }

    /// Returns the names of the apps that have sessions, in order.
    pub(crate) fn apps(&self) -> Vec<AppName> {
        let has_sessions = |app: &&App| app.users.values().any(|user| !user.sessions.is_empty());
        let mut names: Vec<AppName> =
            self.apps.iter().filter(|(_, app)| has_sessions(app)).map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the sessions of the app, or of one of its users.
    pub(crate) fn sessions(&self, app_name: &AppName, user_id: Option<&UserId>) -> Vec<Arc<StoredSession>> {
        let Some(app) = self.apps.get(app_name) else {
            return Vec::new();
        };
        match user_id {
            Some(id) => app.users.get(id).into_iter().flat_map(|user| user.sessions.values()).cloned().collect(),
            None => app.users.values().flat_map(|user| user.sessions.values()).cloned().collect(),
        }
    }

    /// Returns the keys of the app's sessions with this id, ordered by user.
    pub(crate) fn keys_with_id(&self, app_name: &AppName, id: &SessionId) -> Vec<SessionKey> {
        let Some(app) = self.apps.get(app_name) else {
            return Vec::new();
        };
        let owners = app.users.iter().filter(|(_, user)| user.sessions.contains_key(id));
        owners.map(|(user_id, _)| SessionKey::new(app_name, user_id, id)).collect()
    }

    pub(crate) fn user_state(&self, app_name: &AppName, user_id: &UserId) -> Map {
        self.user(app_name, user_id).map(|user| lock(&user.state).clone()).unwrap_or_default()
    }

    pub(crate) fn app_state(&self, app_name: &AppName) -> Map {
        self.apps.get(app_name).map(|app| lock(&app.state).clone()).unwrap_or_default()
    }

    fn user(&self, app_name: &AppName, user_id: &UserId) -> Option<&User> {
        self.apps.get(app_name)?.users.get(user_id)
    }
}
