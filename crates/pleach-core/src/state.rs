//! State with a pending delta, and the scopes of its keys (S10, S16).

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Map;
use crate::delta::{apply, put};

/// How far a state key reaches, said by its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// `app:`: all users and sessions of the app.
    App,
    /// `user:`: all sessions of the user.
    User,
    /// `temp:`: this invocation only; never stored.
    Temp,
    /// Anything else: this session.
    Session,
}

impl Scope {
    /// Returns the prefix, empty for [`Scope::Session`].
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::App => "app:",
            Self::User => "user:",
            Self::Temp => "temp:",
            Self::Session => "",
        }
    }

    /// Splits a key into its scope and the name within it. Case matters, and only one prefix is taken off (S10, S11).
    pub fn split(key: &str) -> (Self, &str) {
        for scope in [Self::App, Self::User, Self::Temp] {
            if let Some(rest) = key.strip_prefix(scope.prefix()) {
                return (scope, rest);
            }
        }
        (Self::Session, key)
    }

    /// Puts a key together again: the reverse of [`split`](Self::split).
    pub fn key(self, name: &str) -> String {
        [self.prefix(), name].concat()
    }
}

/// A state map together with the changes that are not stored yet.
///
/// Writes go to both, so later readers see them at once and the next event can carry them (R160). There is no delete:
/// setting `null` keeps the key. Plain data without locks.
///
/// ADK: `State`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    value: Map,
    delta: Map,
}

impl State {
    /// Makes a state without pending changes.
    pub fn new(value: Map) -> Self {
        Self::with_delta(value, Map::new())
    }

    /// Makes a state with pending changes; where both have a key, the delta is read (S16).
    pub fn with_delta(value: Map, delta: Map) -> Self {
        Self { value, delta }
    }

    /// Returns the value of a key.
    pub fn get_value(&self, key: &str) -> Option<&Value> {
        self.delta.get(key).or_else(|| self.value.get(key))
    }

    /// Returns the value of a key as a `T`; `Ok(None)` when the key is absent.
    ///
    /// # Errors
    /// When the value does not fit the type.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> serde_json::Result<Option<T>> {
        self.get_value(key).map(T::deserialize).transpose()
    }

    /// Returns the value of a key as a `T`, or `default` when the key is absent.
    ///
    /// # Errors
    /// When the value does not fit the type.
    pub fn get_or<T: DeserializeOwned>(&self, key: &str, default: T) -> serde_json::Result<T> {
        Ok(self.get(key)?.unwrap_or(default))
    }

    /// Sets a key.
    ///
    /// # Errors
    /// When the value has no JSON form; nothing is changed then.
    pub fn set(&mut self, key: &str, value: impl Serialize) -> serde_json::Result<()> {
        self.set_value(key, serde_json::to_value(value)?);
        Ok(())
    }

    /// Sets a key to a JSON value.
    pub fn set_value(&mut self, key: &str, value: Value) {
        put(&mut self.value, key, value.clone());
        put(&mut self.delta, key, value);
    }

    /// Sets all keys of a map.
    pub fn update(&mut self, changes: Map) {
        apply(&mut self.value, &changes);
        self.delta.extend(changes);
    }

    /// Sets a key only if it is absent, and returns its value.
    ///
    /// # Errors
    /// When the key is absent and `default` has no JSON form.
    pub fn set_default(&mut self, key: &str, default: impl Serialize) -> serde_json::Result<&Value> {
        if !self.contains(key) {
            self.set(key, default)?;
        }
        Ok(self.get_value(key).expect("the key was present or has just been set"))
    }

    /// Changes a value in place and records the key as changed if it did. Gives `None` for an absent key (R161).
    pub fn modify<R>(&mut self, key: &str, change: impl FnOnce(&mut Value) -> R) -> Option<R> {
        let mut value = self.get_value(key)?.clone();
        let result = change(&mut value);
        if self.get_value(key) != Some(&value) {
            self.set_value(key, value);
        }
        Some(result)
    }

    /// Tells whether a key is there, be it with the value `null`.
    pub fn contains(&self, key: &str) -> bool {
        self.get_value(key).is_some()
    }

    /// Iterates over all keys, each once, sorted within the stored and within the pending ones.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let pending = self.delta.keys().filter(|key| !self.value.contains_key(*key));
        self.value.keys().chain(pending).map(String::as_str)
    }

    /// Returns everything as one map, the pending changes on top.
    pub fn to_map(&self) -> Map {
        let mut map = self.value.clone();
        apply(&mut map, &self.delta);
        map
    }

    /// Tells whether there are pending changes.
    pub fn has_delta(&self) -> bool {
        !self.delta.is_empty()
    }

    /// Returns the pending changes.
    pub fn delta(&self) -> &Map {
        &self.delta
    }

    /// Takes the pending changes away, to be put on an event. The values stay readable.
    pub fn take_delta(&mut self) -> Map {
        let delta = std::mem::take(&mut self.delta);
        // A delta given from outside may not be in the value yet.
        apply(&mut self.value, &delta);
        delta
    }
}
