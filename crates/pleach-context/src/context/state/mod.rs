//! [`State`]: the session state as a node sees it, including the pending changes of its run.

mod key;

use std::borrow::Cow;
use std::fmt;

use pleach_core::{
    DEEPEST, Event, EventActions, Map, SessionKey, StateOp, StateOpError, StateOps, StateRights, is_reserved_state_key,
    nests_within, replace_nul, without_nul,
};
use pleach_schema::coerce;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

pub use key::{Key, StateNumber};

use crate::engine::RunState;
use crate::invocation::RESERVED_KEY;
use crate::session_state::SessionState;
use crate::{Context, NodeError};

/// The depth limit of a key's value: the event, its actions and the delta enclose the value.
const DEEPEST_VALUE: usize = DEEPEST - 3;
/// The depth limit of an item of an operation: a list may enclose the item.
const DEEPEST_ITEM: usize = DEEPEST_VALUE - 1;

/// The session state of a run.
///
/// A write is visible at once to every later reader of the invocation. The next complete event of the run that wrote
/// it carries the write, and once that event is stored, the write is durable. If several runs write the same key, the
/// latest write wins, even if its event is stored before the event of an earlier write. Locks are taken per call and
/// never held.
///
/// Keys starting with `user:` and `app:` are shared by all sessions of the user or app. Change values that several
/// sessions share with operations ([`State::add`], …), which lose no change. `temp:` keys live until the invocation
/// ends. Keys that begin with `_pleach_`, `pleach_`, `_adk_`, `adk_` or `__adk_internal_` are reserved for the
/// runtime and its plugins: they can be read like other keys, but a write fails with a `ReservedKeyError`.
///
/// Keys cannot be deleted. Set the key to `null` instead: typed reads treat null as absent.
///
/// # Example
/// ```
/// # use pleach_context::{Context, NodeError};
/// async fn visit(ctx: Context) -> Result<u32, NodeError> {
///     let state = ctx.state();
///     state.set("topic", "otters")?;
///     // Applied to the stored value, so that concurrent runs lose nothing.
///     state.add("user:visits", 1)?;
///     state.get("user:visits")
/// }
/// ```
///
/// ADK: `State`.
// R160, S18
#[derive(Clone, Copy)]
pub struct State<'a> {
    ctx: &'a Context,
    writer: Writer,
}

/// The kind of code that writes. It decides whether reserved keys may be written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    /// Node code, tools and callbacks.
    Handler,
    /// The runtime, its services and plugins, which may also write reserved keys.
    Runtime,
}

impl<'a> State<'a> {
    /// Refuses keys that the writer may not change.
    fn check_keys<'k>(&self, keys: impl IntoIterator<Item = &'k String>) -> Result<(), NodeError> {
        match self.writer {
            Writer::Runtime => Ok(()),
            Writer::Handler => keys.into_iter().try_for_each(|key| check_open(key)),
        }
    }

    /// Returns the value of a key, or `None` if the key is absent.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<Value> {
        self.read(key, Clone::clone)
    }

    /// Returns the value of a key as a `T`. Null, which a rewind can leave, is treated as absent unless `T` accepts it.
    ///
    /// # Errors
    /// A `KeyError` if the key is absent; the errors of [`State::try_get`].
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<T, NodeError> {
        self.try_get(key)?.ok_or_else(|| {
            NodeError::new("KeyError", format!("'{key}'"))
                .with_hint("the state has no such key; set it first, or read it with `try_get`")
        })
    }

    /// Returns the value of a key as a `T`, or `None` if the key is absent or null. If `T` accepts null, a null is
    /// returned as a `T`.
    ///
    /// # Errors
    /// A `ValidationError` if the value does not fit. A `CorruptStorageError` if the stored value cannot be read and
    /// the key has not been set since.
    pub fn try_get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, NodeError> {
        self.check_readable(key)?;
        // The value is taken out first: a type's own deserialisation must not run under the lock.
        typed(key, self.value(key).as_ref())
    }

    /// Refuses a key whose stored value cannot be read, unless this invocation has set it.
    pub(crate) fn check_readable(&self, key: &str) -> Result<(), NodeError> {
        let ic = self.ctx.invocation();
        match ic.unreadable_keys().get(key) {
            Some(reason) if !self.contains(key) => Err(unreadable(ic.session_key(), key, reason)),
            _ => Ok(()),
        }
    }

    /// Calls `f` with the value of a key, without a copy. The state is locked during the call: `f` must not call back.
    pub(crate) fn read<R>(&self, key: &str, f: impl FnOnce(&Value) -> R) -> Option<R> {
        self.ctx.invocation().with_state(|state| state.get(key).map(f))
    }

    /// Returns true if the key is present, even if its value is null.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.read(key, |_| ()).is_some()
    }

    /// Sets a key.
    ///
    /// # Errors
    /// - A `ValidationError` if the value has no JSON form, for example because it contains NaN, or nests more than
    ///   124 levels deep.
    /// - A `StateSchemaError` if the state schema refuses the value.
    /// - A `RuntimeError` if the run has ended, or in a step (see [`Context::step`]).
    pub fn set(&self, key: impl Into<String>, value: impl Serialize) -> Result<(), NodeError> {
        let key = key.into();
        self.check_keys([&key])?;
        let value = json(&key, value)?;
        self.write(&key, value)
    }

    /// Adds a number to the *stored* value, including what other sessions write in the meantime. An absent key or null
    /// is treated as zero.
    ///
    /// The sum is visible at once, based on the value that this invocation knows; it is exact when the event of the
    /// write is stored. Integers are added exactly within 64 bits; see [`StateOp::Add`]. If the attempt that adds
    /// fails, nothing is added.
    ///
    /// After this invocation has read the key, another session can store a value that the operation does not fit. Then
    /// the event is not stored, and the run ends with a session error whose code is `StateOperationError`, without an
    /// error event. A resume runs the node again with the stored value, and this call returns the error.
    ///
    /// # Errors
    /// A `ValidationError` if `amount` or the value is not a number, or if the sum is out of range; the errors of
    /// [`State::set`].
    pub fn add(&self, key: impl Into<String>, amount: impl Serialize) -> Result<(), NodeError> {
        let key = key.into();
        self.apply(&key, StateOp::Add(number(&key, amount)?))
    }

    /// Raises the stored number to at least this one. See [`State::add`].
    ///
    /// # Errors
    /// As [`State::add`].
    pub fn max(&self, key: impl Into<String>, value: impl Serialize) -> Result<(), NodeError> {
        let key = key.into();
        self.apply(&key, StateOp::Max(number(&key, value)?))
    }

    /// Lowers the stored number to at most this one. See [`State::add`].
    ///
    /// # Errors
    /// As [`State::add`].
    pub fn min(&self, key: impl Into<String>, value: impl Serialize) -> Result<(), NodeError> {
        let key = key.into();
        self.apply(&key, StateOp::Min(number(&key, value)?))
    }

    /// Appends an item to the stored list. An absent key or null is treated as an empty list. See [`State::add`].
    ///
    /// # Errors
    /// A `ValidationError` if the value is not a list; the errors of [`State::set`].
    pub fn push(&self, key: impl Into<String>, item: impl Serialize) -> Result<(), NodeError> {
        let key = key.into();
        let item = json(&key, item)?;
        self.apply(&key, StateOp::Push(vec![item]))
    }

    /// Appends the items that the stored list does not contain yet. The items of the list are unique afterwards, in the
    /// order of their first appearance. See [`State::add`].
    ///
    /// # Errors
    /// As [`State::push`].
    pub fn union<T: Serialize>(
        &self,
        key: impl Into<String>,
        items: impl IntoIterator<Item = T>,
    ) -> Result<(), NodeError> {
        let key = key.into();
        let items = items.into_iter().map(|item| json(&key, item)).collect::<Result<_, _>>()?;
        self.apply(&key, StateOp::Union(items))
    }

    /// Sets the stored value if there is none. Null is treated as no value. See [`State::add`].
    ///
    /// # Errors
    /// As [`State::set`].
    pub fn set_if_absent(&self, key: impl Into<String>, value: impl Serialize) -> Result<(), NodeError> {
        let key = key.into();
        let value = json(&key, value)?;
        self.apply(&key, StateOp::SetIfAbsent(value))
    }

    /// Applies an operation to the stored value of a key.
    ///
    /// # Errors
    /// The errors of the operation's own method.
    pub fn apply(&self, key: &str, mut op: StateOp) -> Result<(), NodeError> {
        let key = &*self.kept_key(key);
        if self.writer == Writer::Handler {
            check_open(key)?;
        }
        self.check_readable(key)?;
        if self.ctx.speaks_for_others() {
            op.replace_nul();
        }
        bound(key, op.values(), DEEPEST_ITEM)?;
        self.check_ops(key, std::slice::from_ref(&op))?;
        let mut cell = self.ctx.cell();
        self.ctx.check_change(&cell)?;
        let mut state = self.ctx.invocation().session_state();
        let delta = delta_of(&mut cell.lane.actions, &mut state);
        state.apply(key, op, delta).map_err(|error| misfit(key, &error))?;
        cell.lane.actions.state_delta_mut().insert(key.to_owned(), Value::Null);
        Ok(())
    }

    /// Checks the result that operations would have with the current value. A single operation is checked only if there
    /// is a state schema.
    pub(crate) fn check_ops(&self, key: &str, ops: &[StateOp]) -> Result<(), NodeError> {
        if ops.is_empty() || !self.ctx.has_state_schema() && ops.len() == 1 {
            return Ok(());
        }
        let result = StateOp::apply_all(ops, self.value(key).as_ref()).map_err(|error| misfit(key, &error))?;
        self.ctx.check_state_entry(key, &result)
    }

    /// Sets several keys. If the state schema refuses one, none is set.
    ///
    /// # Errors
    /// A `StateSchemaError` that names the key, a `ValidationError` if a value nests more than 127 levels deep.
    pub fn update(&self, changes: Map) -> Result<(), NodeError> {
        let mut changes = Event::new().with_state_map(changes);
        self.ctx.bound_event(&mut changes)?;
        if self.ctx.speaks_for_others() {
            changes.replace_nul();
        }
        let changes = changes.into_actions().take_state_delta().unwrap_or_default();
        self.check_changes(&changes, &StateOps::new())?;
        self.change(&mut self.ctx.cell(), changes, StateOps::new())
    }

    /// Checks values that are about to be set, and the results that operations would have with the current values.
    ///
    /// # Errors
    /// A `StateSchemaError` that names the key, a `ValidationError` for an operation that does not fit.
    pub(crate) fn check_changes(&self, values: &Map, ops: &StateOps) -> Result<(), NodeError> {
        self.check_keys(values.keys())?;
        self.check_keys(ops.keys())?;
        for (key, value) in values {
            self.ctx.check_state_entry(key, value)?;
        }
        for (key, ops) in ops {
            let before = values.get(key).cloned().or_else(|| self.value(key));
            let result = StateOp::apply_all(ops, before.as_ref()).map_err(|error| misfit(key, &error))?;
            self.ctx.check_state_entry(key, &result)?;
        }
        Ok(())
    }

    /// Sets values and applies operations, all of them or none. The schemas have been checked before, because no user
    /// code runs under a lock.
    ///
    /// # Errors
    /// A `RuntimeError` if the run has ended, a `ValidationError` for an operation that does not fit.
    pub(crate) fn change(&self, cell: &mut RunState, values: Map, ops: StateOps) -> Result<(), NodeError> {
        self.ctx.check_change(cell)?;
        let mut state = self.ctx.invocation().session_state();
        for (key, ops) in &ops {
            let before = values.get(key).or_else(|| state.view().get(key));
            StateOp::apply_all(ops, before).map_err(|error| misfit(key, &error))?;
        }
        for (key, value) in values {
            put(&mut cell.lane.actions, &mut state, key, value);
        }
        for (key, ops) in ops {
            let delta = delta_of(&mut cell.lane.actions, &mut state);
            for op in ops {
                state.apply(&key, op, delta).map_err(|error| misfit(&key, &error))?;
            }
            cell.lane.actions.state_delta_mut().insert(key, Value::Null);
        }
        Ok(())
    }

    /// Returns the value of a key, and sets it to `default` first if it is absent. Null, which a rewind can leave, is
    /// treated as absent.
    ///
    /// # Errors
    /// As [`State::set`].
    pub fn get_or_set(&self, key: &str, default: impl Serialize) -> Result<Value, NodeError> {
        self.check_readable(key)?;
        if let Some(value) = self.value(key).filter(|value| !value.is_null()) {
            return Ok(value);
        }
        self.set(key, default)?;
        Ok(self.value(key).unwrap_or(Value::Null))
    }

    /// Changes a value in place, as Python code does with `state["list"].append(x)`.
    ///
    /// An absent key starts as null. A value that stays the same is not recorded as a change.
    ///
    /// # Errors
    /// A `StateSchemaError` if the state schema refuses the key.
    // R161, S16
    pub fn modify<R>(&self, key: &str, change: impl FnOnce(&mut Value) -> R) -> Result<R, NodeError> {
        self.check_readable(key)?;
        let mut value = self.value(key).unwrap_or(Value::Null);
        let result = change(&mut value);
        if self.read(key, |old| *old == value).unwrap_or(value.is_null()) {
            return Ok(result);
        }
        if self.writer == Writer::Handler {
            check_open(key)?;
        }
        self.write(key, value)?;
        Ok(result)
    }

    /// Returns all keys and values, including the pending ones.
    #[must_use]
    pub fn to_map(&self) -> Map {
        self.ctx.invocation().with_state(Map::clone)
    }

    /// Returns all keys.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.ctx.invocation().with_state(|state| state.keys().cloned().collect())
    }

    /// Returns true if this run has written anything that is not stored yet.
    #[must_use]
    pub fn has_delta(&self) -> bool {
        !self.ctx.cell().lane.actions.state_delta().is_empty()
    }

    /// Returns the key. If an agent or a tool writes it, a character that no store accepts is replaced.
    fn kept_key<'k>(&self, key: &'k str) -> Cow<'k, str> {
        if self.ctx.speaks_for_others() { without_nul(key) } else { Cow::Borrowed(key) }
    }

    fn write(&self, key: &str, mut value: Value) -> Result<(), NodeError> {
        let key = self.kept_key(key).into_owned();
        if self.ctx.speaks_for_others() {
            replace_nul(&mut value);
        }
        bound(&key, std::slice::from_ref(&value), DEEPEST_VALUE)?;
        self.ctx.check_state_entry(&key, &value)?;
        let mut cell = self.ctx.cell();
        self.ctx.check_change(&cell)?;
        put(&mut cell.lane.actions, &mut self.ctx.invocation().session_state(), key, value);
        Ok(())
    }
}

impl Context {
    /// Returns the session state, including this run's pending changes.
    #[must_use]
    pub fn state(&self) -> State<'_> {
        State { ctx: self, writer: Writer::Handler }
    }

    /// Returns the session state with the right to write reserved keys. It is for plugins and services, which keep data
    /// under `_pleach_<name>` that no other code may write. The keys must not come from a client or a model.
    ///
    /// Operations on reserved keys apply even if the attempt that made them fails: its error event carries them.
    #[must_use]
    pub fn reserved_state(&self) -> State<'_> {
        State { ctx: self, writer: Writer::Runtime }
    }

    pub(crate) fn has_state_schema(&self) -> bool {
        self.inner.state_schema.is_some()
    }

    pub(crate) fn check_state_entry(&self, key: &str, value: &Value) -> Result<(), NodeError> {
        match &self.inner.state_schema {
            // A node's schema does not describe the keys of the runtime.
            Some(schema) if !is_reserved_state_key(key) => Ok(schema.check_state_entry(key, value)?),
            _ => Ok(()),
        }
    }
}

/// Refuses a key that is reserved for the runtime.
///
/// # Errors
/// A `ReservedKeyError` that names the key.
pub(crate) fn check_open(key: &str) -> Result<(), NodeError> {
    StateRights::All.refusal(key).map_or(Ok(()), |refused| Err(NodeError::new(RESERVED_KEY, refused.to_string())))
}

/// Returns the number of the pending delta. A delta gets its number with its first write.
pub(crate) fn delta_of(actions: &mut EventActions, state: &mut SessionState) -> u64 {
    if actions.state_writes() == 0 {
        actions.set_state_writes(state.next_delta());
    }
    actions.state_writes()
}

/// Sets a key as a part of the pending delta.
fn put(actions: &mut EventActions, state: &mut SessionState, key: String, value: Value) {
    let delta = delta_of(actions, state);
    state.set(&key, value, delta);
    // The value is filled in when the delta leaves the context.
    actions.state_delta_mut().insert(key, Value::Null);
}

/// Returns the error for a key whose stored value cannot be read.
pub(crate) fn unreadable(session: &SessionKey, key: &str, reason: &str) -> NodeError {
    NodeError::new("CorruptStorageError", format!("state key '{key}' of session {session} cannot be read: {reason}"))
        .with_hint("another program has stored the value, which stays as it is until the key is set")
}

fn misfit(key: &str, error: &StateOpError) -> NodeError {
    NodeError::validation(format!("state key '{key}': {error}"))
}

/// Refuses values that nest too deeply for their event, before they become part of the state.
fn bound(key: &str, values: &[Value], levels: usize) -> Result<(), NodeError> {
    match values.iter().all(|value| nests_within(value, levels)) {
        true => Ok(()),
        false => Err(NodeError::validation(format!(
            "state key '{key}': its values are nested more than {levels} levels deep; flatten the value, or keep it as a text or a file"
        ))),
    }
}

fn json(key: &str, value: impl Serialize) -> Result<Value, NodeError> {
    pleach_core::to_json(value).map_err(|error| NodeError::validation(format!("state key '{key}': {error}")))
}

fn number(key: &str, value: impl Serialize) -> Result<Number, NodeError> {
    match json(key, value)? {
        Value::Number(number) => Ok(number),
        _ => Err(NodeError::validation(format!("state key '{key}': only a number can be added or compared"))),
    }
}

/// Reads a value as a `T`. Null is treated as absent unless `T` accepts it.
fn typed<T: DeserializeOwned>(key: &str, value: Option<&Value>) -> Result<Option<T>, NodeError> {
    match value {
        None => Ok(None),
        Some(null @ Value::Null) => Ok(coerce(null).ok()),
        Some(value) => {
            coerce(value).map(Some).map_err(|error| NodeError::validation(format!("state key '{key}': {error}")))
        }
    }
}

impl fmt::Debug for State<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.to_map()).finish()
    }
}
