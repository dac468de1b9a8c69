//! Splitting state deltas by scope, applying and merging them.
// S10–S14, S20

use serde_json::Value;

use crate::Map;
use crate::scope::Scope;

/// A delta split by scope. Its keys no longer have prefixes.
// S11
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScopedDelta {
    /// The part for all users and sessions of the app.
    pub app: Map,
    /// The part for all sessions of the user.
    pub user: Map,
    /// The part for this session.
    pub session: Map,
    /// The part for this invocation, which is never stored.
    pub temp: Map,
}

/// Splits a delta or an initial state by scope.
pub fn split_delta(delta: Map) -> ScopedDelta {
    let mut split = ScopedDelta::default();
    for (key, value) in delta {
        let (scope, rest) = Scope::split(&key);
        let part = match scope {
            // A session key has no prefix, so it is moved instead of copied.
            Scope::Session => {
                split.session.insert(key, value);
                continue;
            }
            Scope::App => &mut split.app,
            Scope::User => &mut split.user,
            Scope::Temp => &mut split.temp,
        };
        part.insert(rest.to_owned(), value);
    }
    split
}

/// Builds the view that a session shows: its own state, and the app's and the user's keys under their prefixes.
///
/// If a stored session key looks like a prefixed key, the app's or user's value wins.
// S20
pub fn merge_view(session: Map, app: &Map, user: &Map) -> Map {
    let mut view = session;
    for (scope, part) in [(Scope::App, app), (Scope::User, user)] {
        for (key, value) in part {
            view.insert(scope.key(key), value.clone());
        }
    }
    view
}

/// Applies a delta. Each key replaces the whole value, and `null` is a value like any other.
// S12
pub fn apply(base: &mut Map, delta: &Map) {
    for (key, value) in delta {
        put(base, key, value.clone());
    }
}

/// Sets a key, copying its name only if it is new.
pub(crate) fn put(base: &mut Map, key: &str, value: Value) {
    match base.get_mut(key) {
        Some(slot) => *slot = value,
        None => {
            base.insert(key.to_owned(), value);
        }
    }
}

/// Removes the `temp:` keys from a delta and returns them with their prefix; `None` if there are none.
// S14
pub fn take_temp(delta: &mut Map) -> Option<Map> {
    let is_temp = |key: &str| Scope::split(key).0 == Scope::Temp;
    if !delta.keys().any(|key| is_temp(key)) {
        return None;
    }
    let (temp, kept) = std::mem::take(delta).into_iter().partition(|(key, _)| is_temp(key));
    *delta = kept;
    Some(temp)
}
