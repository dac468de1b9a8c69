//! Copies sessions into another database.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use pleach::{AppName, CreateSession, KnownState, Map, Session, SessionError, SessionKey, SessionService, UserId};

use crate::fault::Fault;

/// The prefixes of state that all sessions of an app, or of a user, share.
const APP: &str = "app:";
const USER: &str = "user:";

/// The result of copying a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    New,
    /// A session with this key already exists.
    Exists,
}

/// Copies a session with its own state and its events. The session must be [whole](crate::store::check_whole). The
/// events also change the state of its app and user, which [`Shared`] restores.
///
/// # Errors
/// The database fails. The copy is deleted in that case.
pub(crate) async fn copy(session: &Session, to: &dyn SessionService) -> Result<Copied, Fault> {
    let key = session.key();
    // Keys that an event sets are copied with the event.
    let set: HashSet<&str> =
        session.events.iter().flat_map(|event| event.actions().state_delta().keys()).map(String::as_str).collect();
    let is_initial = |name: &str| is_own(name) && !set.contains(name);
    let state: Map = session.state.iter().filter(|(name, _)| is_initial(name)).map(owned).collect();
    let created = session.events.first().map_or(session.last_update_time(), |event| event.timestamp());
    let request = CreateSession::new(key.app_name.clone(), key.user_id.clone())
        .with_session_id(key.session_id.clone())
        .with_create_time(created)
        .with_state(state);
    let mut copied = match to.create_session(request).await {
        Ok(copied) => copied,
        Err(SessionError::AlreadyExists(_)) => return Ok(Copied::Exists),
        Err(error) => return Err(error.into()),
    };
    let known = KnownState::of(session);
    for event in &session.events {
        if let Err(error) = known.append(to, &mut copied.head, Arc::clone(event)).await {
            to.delete_session(copied.key()).await?;
            return Err(error.into());
        }
    }
    Ok(Copied::New)
}

/// The state of apps and users that a database should have. Sessions share it.
#[derive(Default)]
pub(crate) struct Shared {
    apps: BTreeMap<AppName, Map>,
    users: BTreeMap<(AppName, UserId), Map>,
}

impl Shared {
    /// Notes the state that a database has for the app and the user of a session.
    pub(crate) async fn keep_of(&mut self, store: &dyn SessionService, key: &SessionKey) -> Result<(), Fault> {
        let (app, user) = (&key.app_name, &key.user_id);
        if let Entry::Vacant(place) = self.apps.entry(app.clone()) {
            place.insert(store.app_state(app).await?);
        }
        if let Entry::Vacant(place) = self.users.entry((app.clone(), user.clone())) {
            place.insert(store.user_state(app, user).await?);
        }
        Ok(())
    }

    /// Adds missing keys from a session's view of the shared state.
    pub(crate) fn offer(&mut self, session: &Session) {
        let key = session.key();
        let mut of_app = self.apps.get_mut(&key.app_name);
        let mut of_user = self.users.get_mut(&(key.app_name.clone(), key.user_id.clone()));
        for (name, value) in &session.state {
            let (known, name) = match (name.strip_prefix(APP), name.strip_prefix(USER)) {
                (Some(name), _) => (&mut of_app, name),
                (None, Some(name)) => (&mut of_user, name),
                (None, None) => continue,
            };
            if let Some(known) = known {
                known.entry(name).or_insert_with(|| value.clone());
            }
        }
    }

    /// Writes the differences into a database. For this, it creates sessions and deletes them at once; their shared
    /// state remains.
    pub(crate) async fn write(&self, store: &dyn SessionService) -> Result<(), Fault> {
        for ((app, user), wanted) in &self.users {
            let mut state = changed(wanted, &store.user_state(app, user).await?, USER);
            if let Some(wanted) = self.apps.get(app) {
                state.extend(changed(wanted, &store.app_state(app).await?, APP));
            }
            if state.is_empty() {
                continue;
            }
            let request = CreateSession::new(app.clone(), user.clone()).with_state(state);
            let carrier = store.create_session(request).await?;
            store.delete_session(carrier.key()).await?;
        }
        Ok(())
    }

    /// Names the apps and users whose state in a database differs.
    pub(crate) async fn differences(&self, store: &dyn SessionService) -> Result<Vec<String>, Fault> {
        let mut differences = Vec::new();
        for (app, wanted) in &self.apps {
            if store.app_state(app).await? != *wanted {
                differences.push(format!("the state of app {app}"));
            }
        }
        for ((app, user), wanted) in &self.users {
            if store.user_state(app, user).await? != *wanted {
                differences.push(format!("the state of user {app}/{user}"));
            }
        }
        Ok(differences)
    }
}

/// Returns the values that differ, under names with their scope.
fn changed(wanted: &Map, stored: &Map, scope: &str) -> Map {
    let differs = |(name, value): &(&String, &serde_json::Value)| stored.get(*name) != Some(*value);
    wanted.iter().filter(differs).map(|(name, value)| (format!("{scope}{name}"), value.clone())).collect()
}

/// Returns true if a key with this name belongs to the session itself.
fn is_own(name: &str) -> bool {
    !name.starts_with(APP) && !name.starts_with(USER)
}

fn owned((name, value): (&String, &serde_json::Value)) -> (String, serde_json::Value) {
    (name.clone(), value.clone())
}

/// Returns true if two sessions have the same events and the same own state.
pub(crate) fn are_equal(one: &Session, other: &Session) -> bool {
    let own = |session: &Session| -> Map { session.state.iter().filter(|(name, _)| is_own(name)).map(owned).collect() };
    one.events == other.events && own(one) == own(other)
}
