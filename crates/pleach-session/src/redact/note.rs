//! The record of redactions in an event's metadata.

use serde_json::{Map, Value, json};

use crate::notes::REDACTIONS;

/// How the values of an event differ from the stored event's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    None,
    Redacted,
    /// The events have references to payloads, so the difference is unknown.
    Unknown,
}

/// Adds a record to an event. Returns `None` if the metadata has another value in its place.
pub(super) fn add(event: &mut Value, paths: &[String], reason: &str, time: f64, state: Vec<String>) -> Option<()> {
    let metadata = event.as_object_mut()?.entry("custom_metadata").or_insert_with(|| json!({})).as_object_mut()?;
    let list = metadata.entry(REDACTIONS).or_insert_with(|| json!([])).as_array_mut()?;
    let mut record = json!({"paths": paths, "reason": reason, "at": time});
    if !state.is_empty() {
        record["state"] = state.into();
    }
    list.push(record);
    Some(())
}

/// Returns `true` if an earlier redaction of the event named the path.
pub(super) fn names(event: &Value, path: &str) -> bool {
    let paths = list(event).iter().filter_map(|record| record.get("paths")?.as_array()).flatten();
    paths.into_iter().any(|earlier| earlier == path)
}

/// Returns the keys of the state delta whose values differ.
pub(super) fn changed_state(stored: &Value, redacted: &Value) -> Vec<String> {
    let delta = |event: &'_ Value| -> Map<String, Value> {
        event.pointer("/actions/state_delta").and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let redacted = delta(redacted);
    let changed = delta(stored).into_iter().filter(|(key, value)| redacted.get(key) != Some(value));
    changed.map(|(key, _)| key).collect()
}

/// Returns `true` if the event's records start with the stored ones, followed by new records that fit the change.
pub(super) fn continues(stored: &Value, redacted: &Value, change: Change) -> bool {
    let Some(new) = list(redacted).strip_prefix(list(stored)) else { return false };
    if new.is_empty() && records(stored) != records(redacted) {
        return false;
    }
    let is_named = |key: &String| new.iter().any(|record| texts(record, "state").unwrap_or_default().contains(&&**key));
    let is_recorded = match change {
        Change::None => new.is_empty(),
        Change::Redacted => !new.is_empty(),
        Change::Unknown => true,
    };
    is_recorded && new.iter().all(is_record) && changed_state(stored, redacted).iter().all(is_named)
}

fn is_record(record: &Value) -> bool {
    let known = ["paths", "reason", "at", "state"];
    record.as_object().is_some_and(|record| record.keys().all(|field| known.contains(&&**field)))
        && texts(record, "paths").is_some_and(|paths| !paths.is_empty())
        && record.get("reason").is_some_and(Value::is_string)
        && record.get("at").is_some_and(Value::is_number)
        && (record.get("state").is_none() || texts(record, "state").is_some())
}

fn texts<'r>(record: &'r Value, field: &str) -> Option<Vec<&'r str>> {
    record.get(field)?.as_array()?.iter().map(Value::as_str).collect()
}

fn records(event: &Value) -> Option<&Value> {
    event.get("custom_metadata")?.get(REDACTIONS)
}

fn list(event: &Value) -> &[Value] {
    records(event).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
