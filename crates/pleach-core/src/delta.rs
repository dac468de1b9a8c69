//! Splitting state deltas by scope, applying and merging them.
// S10–S14, S20

use serde_json::Value;

use crate::Map;
use crate::scope::Scope;

/// A delta split by scope; keys have no prefix.
// S11
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScopedDelta {
    /// For all users and sessions of the app.
    pub app: Map,
    /// For all sessions of the user.
    pub user: Map,
    /// For this session.
    pub session: Map,
    /// For this invocation; never stored.
    pub temp: Map,
}

/// Splits a delta or an initial state by scope.
pub fn split_delta(delta: Map) -> ScopedDelta {
    let mut split = ScopedDelta::default();
    for (key, value) in delta {
        let (scope, rest) = Scope::split(&key);
        let part = match scope {
            // A session key has no prefix, so it is moved, not copied.
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

/// Merges the view that a session shows: its own state with the app's and the user's keys under their prefixes.
///
/// When a stored session key looks like a prefixed one, the app's or user's value wins.
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

/// Applies a delta: each key replaces the whole value, `null` is a value like any other.
// S12
pub fn apply(base: &mut Map, delta: &Map) {
    for (key, value) in delta {
        put(base, key, value.clone());
    }
}

/// Sets one key, copying its name only when it is new.
pub(crate) fn put(base: &mut Map, key: &str, value: Value) {
    match base.get_mut(key) {
        Some(slot) => *slot = value,
        None => {
            base.insert(key.to_owned(), value);
        }
    }
}

/// Removes the `temp:` keys, prefix and all, from a delta and returns them; `None` when there are none.
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
