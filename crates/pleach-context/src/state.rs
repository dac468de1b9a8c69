//! [`State`]: the session state as a node sees it, with the changes of its run pending.

use std::fmt;

use pleach_core::Map;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Context, NodeError, lax};

/// The session state of a run.
///
/// A write is visible at once to every later reader of the invocation, and rides on the next complete event of the
/// run that wrote it; once that event is stored it is durable (R160, S18). Keys starting with `user:` and `app:` are
/// shared by all sessions of the user or app, `temp:` keys live until the invocation ends. There is no delete: `null`
/// is a value. Locks are taken per call and never held.
///
/// ADK: `State`.
#[derive(Clone, Copy)]
pub struct State<'a> {
    ctx: &'a Context,
}

impl<'a> State<'a> {
    pub(crate) fn new(ctx: &'a Context) -> Self {
        Self { ctx }
    }

    /// The value of a key, or `None` if it is absent.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<Value> {
        self.read(key, Clone::clone)
    }

    /// The value of a key as a `T`.
    ///
    /// # Errors
    /// A `KeyError` when the key is absent, a `ValidationError` when the value does not fit.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<T, NodeError> {
        self.try_get(key)?.ok_or_else(|| NodeError::new("KeyError", format!("'{key}'")))
    }

    /// The value of a key as a `T`, or `None` if it is absent.
    ///
    /// # Errors
    /// A `ValidationError` when the value does not fit.
    pub fn try_get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, NodeError> {
        // The value is taken out first: a type's own deserialisation must not run under the lock.
        let parsed = self.value(key).map(|value| lax::from_value::<T>(&value)).transpose();
        parsed.map_err(|error| NodeError::validation(format!("state key '{key}': {}", error.message())))
    }

    /// Calls `f` with the value of a key, without a copy. Locked meanwhile: `f` must not call back.
    pub(crate) fn read<R>(&self, key: &str, f: impl FnOnce(&Value) -> R) -> Option<R> {
        let cell = self.ctx.cell();
        if let Some(value) = cell.actions.state_delta().get(key) {
            return Some(f(value));
        }
        drop(cell);
        self.ctx.invocation().with_state(|state| state.get(key).map(f))
    }

    /// Whether the key is present, also with null.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.read(key, |_| ()).is_some()
    }

    /// Sets a key.
    ///
    /// # Errors
    /// A `ValidationError` when the value has no JSON form, a `StateSchemaError` when the state schema refuses it.
    pub fn set(&self, key: impl Into<String>, value: impl Serialize) -> Result<(), NodeError> {
        let key = key.into();
        let value = pleach_core::to_json(value)
            .map_err(|error| NodeError::validation(format!("state key '{key}': {error}")))?;
        self.ctx.check_state_entry(&key, &value)?;
        self.write(key, value);
        Ok(())
    }

    /// Sets several keys; if the state schema refuses one, none is set.
    ///
    /// # Errors
    /// A `StateSchemaError` that names the key.
    pub fn update(&self, changes: Map) -> Result<(), NodeError> {
        for (key, value) in &changes {
            self.ctx.check_state_entry(key, value)?;
        }
        for (key, value) in changes {
            self.write(key, value);
        }
        Ok(())
    }

    /// The value of a key, which is set to `default` first if it is absent.
    ///
    /// # Errors
    /// As [`State::set`].
    pub fn get_or_set(&self, key: &str, default: impl Serialize) -> Result<Value, NodeError> {
        if let Some(value) = self.value(key) {
            return Ok(value);
        }
        self.set(key, default)?;
        Ok(self.value(key).unwrap_or(Value::Null))
    }

    /// Changes a value in place: what Python code does with `state["list"].append(x)` (R161, S16).
    ///
    /// An absent key starts as null; a value that stays as it was is not recorded as a change.
    ///
    /// # Errors
    /// A `StateSchemaError` when the state schema refuses the key.
    pub fn modify<R>(&self, key: &str, change: impl FnOnce(&mut Value) -> R) -> Result<R, NodeError> {
        let mut value = self.value(key).unwrap_or(Value::Null);
        let result = change(&mut value);
        if self.read(key, |old| *old == value) == Some(true) {
            return Ok(result);
        }
        self.ctx.check_state_entry(key, &value)?;
        self.write(key.to_owned(), value);
        Ok(result)
    }

    /// All keys and values, the pending ones included.
    #[must_use]
    pub fn to_map(&self) -> Map {
        let pending = self.ctx.cell().actions.state_delta().clone();
        let mut all = self.ctx.invocation().with_state(Map::clone);
        pleach_core::apply(&mut all, &pending);
        all
    }

    /// All keys.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.to_map().into_iter().map(|(key, _)| key).collect()
    }

    /// Whether this run has written anything that is not stored yet.
    #[must_use]
    pub fn has_delta(&self) -> bool {
        !self.ctx.cell().actions.state_delta().is_empty()
    }

    fn write(&self, key: String, value: Value) {
        self.ctx.invocation().with_state_mut(|state| {
            if let Some(known) = state.get_mut(&key) {
                known.clone_from(&value);
            } else {
                state.insert(key.clone(), value.clone());
            }
        });
        self.ctx.cell().actions.state_delta_mut().insert(key, value);
    }
}

impl fmt::Debug for State<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.to_map()).finish()
    }
}

/// A state key with its type: `const LOOKUPS: Key<u32> = Key::new("user:lookups");`.
pub struct Key<T> {
    name: &'static str,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl<T> Key<T> {
    /// Names a key.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, kind: std::marker::PhantomData }
    }

    /// The name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<T: DeserializeOwned + Serialize> Key<T> {
    /// The value, or `None` if the key is absent.
    ///
    /// # Errors
    /// A `ValidationError` when the value is no `T`.
    pub fn get(&self, ctx: &Context) -> Result<Option<T>, NodeError> {
        ctx.state().try_get(self.name)
    }

    /// Sets the value.
    ///
    /// # Errors
    /// As [`State::set`].
    pub fn set(&self, ctx: &Context, value: &T) -> Result<(), NodeError> {
        ctx.state().set(self.name, value)
    }

    /// Changes the value; an absent one starts as the default.
    ///
    /// # Errors
    /// As [`Key::get`] and [`Key::set`].
    pub fn update<R>(&self, ctx: &Context, change: impl FnOnce(&mut T) -> R) -> Result<R, NodeError>
    where
        T: Default,
    {
        let mut value = self.get(ctx)?.unwrap_or_default();
        let result = change(&mut value);
        self.set(ctx, &value)?;
        Ok(result)
    }
}

impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.name).finish()
    }
}
