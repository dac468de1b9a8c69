//! The steps before storage that all backends share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use pleach_core::{
    Event, IdGen as _, Map, RandomIds, Scope, SessionHead, SessionId, SessionKey, StateOp, Unstorable, check_event,
    check_map, discard, discard_event, is_same_number, micros, next_time, seconds, take_temp,
};
use serde_json::Value;

use crate::raw_state::{self, StoredValue};
use crate::{CreateSession, SessionError, SessionResult};

/// Prepares an event for storage: removes its `temp:` keys and refuses values that backends cannot store.
///
/// The event is edited in place if it is not shared. It is copied only if it is shared and has a `temp:` key.
///
/// # Errors
/// `Unstorable`, naming the field.
// S14, S47
pub fn event_to_store(key: &SessionKey, mut event: Arc<Event>) -> SessionResult<Arc<Event>> {
    if event.actions().changes_state() {
        remove_temp(&mut event);
    }
    check_time(key, "timestamp", event.timestamp())?;
    match check_event(&event) {
        Ok(()) => Ok(event),
        Err(fault) => {
            if fault.is_too_deep() {
                discard_event(event);
            }
            Err(SessionError::unstorable(key, fault))
        }
    }
}

fn remove_temp(event: &mut Arc<Event>) {
    if has_temp(event.actions().state_delta()) {
        take_temp(Arc::make_mut(event).actions_mut().state_delta_mut());
    }
    if event.actions().state_ops().keys().any(|key| is_temp(key)) {
        let mut ops = event.actions().state_ops().clone();
        ops.retain(|key, _| !is_temp(key));
        let actions = Arc::make_mut(event).actions_mut();
        actions.take_state_ops();
        ops.into_iter().for_each(|(key, ops)| actions.set_state_ops(key, ops));
    }
}

/// Sets the time of an event that has none: the system's time, or one microsecond after the session's last update if
/// that is later.
#[must_use]
pub fn event_with_time(head: &SessionHead, mut event: Arc<Event>) -> Arc<Event> {
    if !event.has_timestamp() {
        let earliest = next_time(head.last_update_time());
        Arc::make_mut(&mut event).set_timestamp(system_time().max(earliest));
    }
    event
}

/// Replaces an event's operations by their results on the stored values, which `stored` returns by prefixed key.
///
/// A backend calls this inside the append's transaction: no other writer may change the values until the results are
/// written. An event without operations is returned unchanged.
///
/// # Errors
/// `StateOperation`, naming the state key; `Unstorable` for a result that cannot be stored; the errors of `stored`.
pub fn resolve_ops(
    key: &SessionKey,
    event: &Arc<Event>,
    mut stored: impl FnMut(&str) -> SessionResult<Option<Value>>,
) -> SessionResult<Arc<Event>> {
    if event.actions().state_ops().is_empty() {
        return Ok(Arc::clone(event));
    }
    let mut results = Map::new();
    for (state_key, ops) in event.actions().state_ops() {
        let before = match ops.first() {
            // The stored value does not matter.
            Some(StateOp::Set(_)) => None,
            _ => stored(state_key)?,
        };
        let result = StateOp::apply_all(ops, before.as_ref());
        results
            .insert(state_key.clone(), result.map_err(|reason| SessionError::state_operation(key, state_key, reason))?);
    }
    let mut resolved = Event::clone(event);
    resolved.actions_mut().resolve_state_ops(results);
    check_event(&resolved).map_err(|fault| SessionError::unstorable(key, fault))?;
    Ok(Arc::new(resolved))
}

/// The states that an event's operations are applied to, each as the JSON text of an object. `None` is an empty
/// state.
#[derive(Clone, Copy, Debug, Default)]
pub struct StateTexts<'a> {
    /// The session's own state.
    pub session: Option<&'a str>,
    /// The app's state.
    pub app: Option<&'a str>,
    /// The user's state.
    pub user: Option<&'a str>,
}

/// Replaces an event's operations like [`resolve_ops`], for states that are stored as texts. Each text is read once.
///
/// `value` converts the stored value of a state key: see [`StoredValue`]. `corrupt` creates the error for a text that
/// is not a JSON object.
///
/// # Errors
/// The errors of [`resolve_ops`], `value` and `corrupt`.
pub fn resolve_ops_on_texts(
    key: &SessionKey,
    event: &Arc<Event>,
    texts: StateTexts<'_>,
    value: fn(StoredValue, &SessionKey, &str) -> SessionResult<Value>,
    corrupt: impl Fn(serde_json::Error) -> SessionError,
) -> SessionResult<Arc<Event>> {
    let read = |wanted: Scope, text: Option<&str>| {
        let keys = event.actions().state_ops().keys().map(|state_key| Scope::split(state_key));
        let names: Vec<&str> = keys.filter_map(|(scope, name)| (scope == wanted).then_some(name)).collect();
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        raw_state::values(text.unwrap_or("{}"), &names).map_err(&corrupt)
    };
    let (mut app, mut user) = (read(Scope::App, texts.app)?, read(Scope::User, texts.user)?);
    let mut own = read(Scope::Session, texts.session)?;
    resolve_ops(key, event, |state_key| {
        let (scope, name) = Scope::split(state_key);
        let stored = match scope {
            Scope::App => app.remove(name),
            Scope::User => user.remove(name),
            Scope::Session | Scope::Temp => own.remove(name),
        };
        stored.map(|stored| value(stored, key, state_key)).transpose()
    })
}

/// Returns `ours` in its stored form if `stored` is the result of appending it. The stored form has the stored results
/// of the operations, and the stored time if `ours` has none.
///
/// This recognises a repeated append whose response was lost, so that operations are not applied twice. Numbers are
/// compared by value, because a storage may write `1e16` as an integer.
#[must_use]
pub fn repeated(ours: &Event, stored: &Event) -> Option<Event> {
    let mut event = ours.clone();
    if !event.has_timestamp() {
        event.set_timestamp(stored.timestamp());
    }
    if !ours.actions().state_ops().is_empty() {
        let results = stored.actions().state_delta();
        let of_ops = ours.actions().state_ops().keys();
        let results = of_ops.filter_map(|key| Some((key.clone(), results.get(key)?.clone()))).collect();
        event.actions_mut().resolve_state_ops(results);
    }
    let is_same_json = || match (serde_json::to_value(&event), serde_json::to_value(stored)) {
        (Ok(ours), Ok(stored)) => is_same_value(&ours, &stored),
        _ => false,
    };
    (event == *stored || is_same_json()).then_some(event)
}

fn is_same_value(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => is_same_number(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_same_value(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(key, left): (&String, &Value)| right.get(key).is_some_and(|right| is_same_value(left, right));
            left.len() == right.len() && left.iter().all(same)
        }
        _ => left == right,
    }
}

/// Refuses a time, in seconds, that is not finite.
///
/// # Errors
/// `Unstorable`, naming the field.
fn check_time(key: &SessionKey, field: &str, seconds: f64) -> SessionResult<()> {
    if seconds.is_finite() {
        return Ok(());
    }
    let reason = "the time is not a finite number";
    Err(SessionError::unstorable(key, Unstorable { field: field.to_owned(), reason }))
}

/// Checks the names, the time and the initial state of a new session; returns the state.
///
/// # Errors
/// `Unstorable`, naming the field.
// S47
pub fn check_new_session(key: &SessionKey, create_time: f64, state: Map) -> SessionResult<Map> {
    check_time(key, "create_time", create_time)?;
    let names = [
        ("app_name", key.app_name.as_str()),
        ("user_id", key.user_id.as_str()),
        ("session_id", key.session_id.as_str()),
    ];
    if let Some((field, _)) = names.into_iter().find(|(_, text)| text.contains('\0')) {
        let reason = "the text contains the character U+0000";
        return Err(SessionError::unstorable(key, Unstorable { field: field.to_owned(), reason }));
    }
    match check_map("state", &state) {
        Ok(()) => Ok(state),
        Err(fault) => {
            if fault.is_too_deep() {
                discard(state);
            }
            Err(SessionError::unstorable(key, fault))
        }
    }
}

/// Returns the JSON text of an event that [`event_to_store`] has checked. Backends that store text use it.
///
/// # Errors
/// `Unstorable` if the event has no JSON form.
pub fn event_text(key: &SessionKey, event: &Event) -> SessionResult<String> {
    serde_json::to_string(event).map_err(|error| SessionError::Unstorable {
        key: key.clone(),
        field: format!("event {} ({error})", event.id()),
        reason: "it cannot be written as JSON",
    })
}

/// Returns the id of a new session: the requested one without surrounding blanks, or a new UUID.
// S30
pub fn session_id_or_new(wanted: Option<&SessionId>) -> SessionId {
    match wanted.map(|id| trim(id.as_str())) {
        None | Some("") => SessionId::from(RandomIds.uuid().to_string()),
        Some(id) => SessionId::from(id),
    }
}

/// Trims the characters that Python's `strip` removes.
fn trim(text: &str) -> &str {
    text.trim_matches(|letter: char| letter.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&letter))
}

/// Returns the key with the session id trimmed, if that changes the id.
// S30
pub fn trimmed_key(key: &SessionKey) -> Option<SessionKey> {
    let text = key.session_id.as_str();
    let trimmed = trim(text);
    (trimmed.len() != text.len()).then(|| SessionKey::new(&key.app_name, &key.user_id, trimmed))
}

/// Returns the key under which the runs of a session take turns. Some backends trim the ids of sessions and others keep them, so
/// ids that differ only in surrounding blanks share their turns.
// S30
pub fn turn_key(key: &SessionKey) -> SessionKey {
    trimmed_key(key).unwrap_or_else(|| key.clone())
}

/// Returns the session id of the [`turn_key`] of a session.
// S30
pub fn turn_id(session: &SessionId) -> SessionId {
    let trimmed = trim(session.as_str());
    if trimmed.len() == session.as_str().len() { session.clone() } else { SessionId::from(trimmed) }
}

/// Returns the creation time of a new session: the requested time or the system's, in seconds since the epoch and whole
/// microseconds.
pub fn create_time(request: &CreateSession) -> f64 {
    request.create_time.unwrap_or_else(system_time)
}

/// The times that google-adk can read from a calendar column: from the first microsecond of the year 1 to the last of
/// 9999.
const CALENDAR: std::ops::RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_300_799_999_999;

/// Converts a time in seconds to the value of a calendar column of the v1 layout: whole microseconds since the epoch.
///
/// # Errors
/// `Unstorable`, naming `field`, if the time is outside the years 1 to 9999.
// S49
pub fn calendar_time(key: &SessionKey, field: &str, seconds: f64) -> SessionResult<i64> {
    let time = micros(seconds);
    if seconds.is_finite() && CALENDAR.contains(&time) {
        return Ok(time);
    }
    let reason = "the time is outside the years 1 to 9999";
    Err(SessionError::unstorable(key, Unstorable { field: field.to_owned(), reason }))
}

/// The bit in a revision's ties that marks a claim in a database; the lower bits hold the number of events before the
/// claim.
///
/// Times alone do not distinguish claims: after an event with an older time, the next claim may get the time of the
/// last claim. The number of events makes the revisions of a session's claims unique.
pub const CLAIMED: u32 = 1 << 31;

/// Returns the update time of a session that is claimed at `time`, in seconds since the epoch. It is later than the
/// update time of `head`, which is that of the session if the fence holds.
pub fn claim_time(head: &SessionHead, time: f64) -> f64 {
    seconds(micros(time)).max(next_time(head.last_update_time()))
}

/// Returns the system's time in seconds since the epoch, rounded to whole microseconds.
// S48
#[expect(
    clippy::disallowed_methods,
    reason = "a request without a time gets the system's time; the runner passes its own clock's time"
)]
pub(crate) fn system_time() -> f64 {
    // A clock that is set before 1970 is wrong anyway, so zero will do.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    seconds(micros(since.as_secs_f64()))
}

fn has_temp(delta: &Map) -> bool {
    delta.keys().any(|key| is_temp(key))
}

fn is_temp(key: &str) -> bool {
    Scope::split(key).0 == Scope::Temp
}
