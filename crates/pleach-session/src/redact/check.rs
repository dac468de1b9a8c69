//! The comparison that a store makes before it replaces an event.

use pleach_core::{Event, Map, SessionKey};
use serde_json::{Value, json};

use super::note::{self, Change};
use super::places;
use crate::notes::{PAYLOADS, REDACTED, REDACTIONS};
use crate::{RedactionFault, SessionError, SessionResult};

/// Checks that `redacted` differs from the stored event only in values that may be redacted. These values must have
/// the form that a redaction leaves, and the redaction must be recorded.
///
/// A reference of `PayloadSessions` may stand for any value, which is not known here. So any value, or another
/// reference, may take its place.
///
/// # Errors
/// `Redaction`, including when no event with this id is stored.
pub fn check_redacted(key: &SessionKey, stored: Option<&Event>, redacted: &Event) -> SessionResult<()> {
    let refused = |fault| Err(SessionError::redaction(key, redacted.id(), "", fault));
    match stored {
        None => refused(RedactionFault::UnknownEvent),
        Some(stored) if is_redaction(stored, redacted) == Some(true) => Ok(()),
        Some(_) => refused(RedactionFault::Fixed),
    }
}

fn is_redaction(stored: &Event, redacted: &Event) -> Option<bool> {
    let (old, new) = (serde_json::to_value(stored).ok()?, serde_json::to_value(redacted).ok()?);
    let values = compare_values(stored, &old, redacted, &new);
    Some(values.is_some_and(|change| note::continues(&old, &new, change)))
}

/// Returns `true` if each value of `redacted` equals the one of `original`, or is what redactions leave of it. The
/// records of redactions are not compared.
#[must_use]
pub fn is_left_of(original: &Event, redacted: &Event) -> bool {
    let json = |event: &Event| serde_json::to_value(event).ok();
    let values =
        json(original).zip(json(redacted)).and_then(|(old, new)| compare_values(original, &old, redacted, &new));
    values.is_some()
}

/// Compares values; `None` if any value differs that a redaction does not remove.
fn compare_values(stored: &Event, old: &Value, redacted: &Event, new: &Value) -> Option<Change> {
    let without_notes = |event: &Value| {
        let mut event = event.clone();
        drop_notes(&mut event);
        event
    };
    let least = |event: &Value, read: &Event| {
        let mut event = event.clone();
        places::redact_everything(&mut event, read.extra().into_iter().flat_map(Map::keys));
        event
    };
    let (old, new) = (without_notes(old), without_notes(new));
    let least_of_old = least(&old, stored);
    let is_left = least(&new, redacted) == least_of_old && is_between(Some(&old), Some(&least_of_old), Some(&new));
    is_left.then(|| {
        if old == new {
            Change::None
        } else if holds_reference(&old) || holds_reference(&new) {
            Change::Unknown
        } else {
            Change::Redacted
        }
    })
}

/// Removes the notes that a redaction writes, and the metadata if nothing else is in it.
fn drop_notes(event: &mut Value) {
    let Some(metadata) = event.get_mut("custom_metadata").and_then(Value::as_object_mut) else { return };
    metadata.remove(REDACTIONS);
    metadata.remove(PAYLOADS);
    if metadata.is_empty() {
        event.as_object_mut().map(|event| event.remove("custom_metadata"));
    }
}

/// Returns `true` if `new` is the stored value, the fully redacted value, or a partly redacted one.
fn is_between(stored: Option<&Value>, least: Option<&Value>, new: Option<&Value>) -> bool {
    if new == stored || new == least || [stored, new].into_iter().flatten().any(has_reference) {
        return true;
    }
    let (Some(stored), Some(least), Some(new)) = (stored, least, new) else { return false };
    if is_replacement(least) {
        return is_partly_redacted(stored, new);
    }
    match (stored, least, new) {
        (Value::Object(stored), Value::Object(least), Value::Object(new)) => {
            let keys = stored.keys().chain(least.keys()).chain(new.keys());
            keys.into_iter().all(|key| is_between(stored.get(key), least.get(key), new.get(key)))
        }
        (Value::Array(stored), Value::Array(least), Value::Array(new)) => {
            let lengths = stored.len() == least.len() && stored.len() == new.len();
            let mut values = stored.iter().zip(least).zip(new);
            lengths && values.all(|((stored, least), new)| is_between(Some(stored), Some(least), Some(new)))
        }
        _ => false,
    }
}

/// Returns `true` if a value is one that a redaction puts in the place of another.
fn is_replacement(value: &Value) -> bool {
    *value == REDACTED || *value == json!({}) || *value == json!({ "result": REDACTED })
}

/// Returns `true` if `new` is the stored value with some inner values redacted and no other difference.
fn is_partly_redacted(stored: &Value, new: &Value) -> bool {
    match (stored, new) {
        (Value::Object(stored), Value::Object(new)) => {
            let mut values = stored.iter().zip(new);
            stored.len() == new.len() && values.all(|(old, new)| old.0 == new.0 && is_partly_redacted(old.1, new.1))
        }
        (Value::Array(stored), Value::Array(new)) => {
            stored.len() == new.len() && stored.iter().zip(new).all(|(stored, new)| is_partly_redacted(stored, new))
        }
        _ => new == stored || new == REDACTED && !stored.is_null(),
    }
}

/// Returns `true` if a value is a reference to a payload. A message part is one as well if its text is a reference
/// or its media are kept as a payload.
fn has_reference(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with("[payload payload-"),
        Value::Object(fields) => {
            let is_text =
                |field: &str| fields.get(field).is_some_and(|value| value.is_string() && has_reference(value));
            is_text("text") || fields.get("pleach_payload").is_some_and(Value::is_string)
        }
        _ => false,
    }
}

/// Returns `true` if there is a reference anywhere in a value.
fn holds_reference(value: &Value) -> bool {
    let holds = |inner: &Value| match inner {
        Value::Object(fields) => fields.values().any(holds_reference),
        Value::Array(list) => list.iter().any(holds_reference),
        _ => false,
    };
    has_reference(value) || holds(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: Value, expected: bool) {
        let stored = json!({
            "id": "e1", "author": "a", "output": {"card": {"number": "4111"}, "list": [1, null], "ok": true},
            "content": {"role": "model", "parts": [
                {"text": "4111", "thought": true, "thought_signature": "NDExMQ=="},
                {"function_call": {"id": "c1", "name": "pay", "args": {"card": "4111", "sum": 1}}},
                {"function_response": {"id": "c1", "name": "pay", "response": {"result": "4111", "sum": 1}}},
                {"inline_data": {"data": "NDExMQ==", "mime_type": "image/png"}},
            ]},
            "actions": {"state_delta": {"card": "4111", "sum": 1}}, "news": {"of": "4111"},
        });
        let read = |event: Value| serde_json::from_value::<Event>(event).unwrap();
        let mut redacted = stored.clone();
        let at = change["at"].as_str().unwrap();
        match redacted.pointer_mut(at) {
            Some(value) => *value = change["new"].clone(),
            None => {
                let (object, field) = at.rsplit_once('/').unwrap();
                redacted.pointer_mut(object).unwrap()[field] = change["new"].clone();
            }
        }
        let mut record = json!({"paths": [at], "reason": "r", "at": 1.0});
        if let Some(key) = at.strip_prefix("/actions/state_delta/") {
            record["state"] = json!([key]);
        }
        redacted["custom_metadata"] = json!({ REDACTIONS: [record] });
        let checked = check_redacted(&SessionKey::new("a", "u", "s"), Some(&read(stored)), &read(redacted));
        assert_eq!(checked.is_ok(), expected, "{change}");
    }

    #[test]
    fn new_values_must_come_from_a_redaction() {
        let gone = || json!(REDACTED);
        let reference = json!({"pleach_payload": "payload-1", "bytes": 7});
        for (at, new) in [
            ("/output", gone()),
            ("/output", reference.clone()),
            ("/output/card", gone()),
            ("/output/card/number", gone()),
            ("/output/list/0", gone()),
            ("/content/parts/0", json!({"text": REDACTED, "thought": true})),
            ("/content/parts/0", json!({"text": "4111", "thought": true})),
            ("/content/parts/1/function_call/args", json!({})),
            ("/content/parts/1/function_call/args/card", gone()),
            ("/content/parts/2/function_response/response", json!({"result": REDACTED})),
            ("/content/parts/2/function_response/response/sum", gone()),
            ("/content/parts/3", json!({"text": REDACTED})),
            ("/content/parts/3", json!({"text": "[payload payload-1, 7 bytes]"})),
            ("/actions/state_delta/card", gone()),
            ("/news", gone()),
            ("/news/of", gone()),
        ] {
            check(json!({"at": at, "new": new}), true);
        }
        for (at, new) in [
            ("/output", json!("other")),
            ("/output/card/number", json!("4112")),
            ("/output/card", json!({})),
            ("/output/list", json!([1])),
            ("/output/list/1", gone()),
            ("/content/parts/0/text", json!("other")),
            ("/content/parts/1/function_call/args", json!({"card": "4111"})),
            ("/content/parts/1/function_call/args", json!({"card": "4111", "sum": 1, "more": 1})),
            ("/content/parts/1/function_call/args/sum", json!(2)),
            ("/content/parts/1/function_call/name", gone()),
            ("/content/parts/2/function_response/response", json!({})),
            ("/content/parts/3/inline_data/data", json!("AAAA")),
            ("/content/parts/3/inline_data/mime_type", json!("text/plain")),
            ("/actions/state_delta/card", json!("other")),
            ("/actions/state_delta/more", gone()),
            ("/news/more", gone()),
            ("/more", gone()),
        ] {
            check(json!({"at": at, "new": new}), false);
        }
    }

    #[test]
    fn records_fit_the_change() {
        let stored =
            json!({"actions": {"state_delta": {"a": 1}}, "custom_metadata": {REDACTIONS: [{"paths": ["/x"]}]}});
        let check = |state: Value, records: Value, expected: bool| {
            let new = json!({"actions": {"state_delta": {"a": state}}, "custom_metadata": {REDACTIONS: records}});
            assert_eq!(
                note::continues(&stored, &new, if state == 1 { Change::None } else { Change::Redacted }),
                expected,
                "{records}"
            );
        };
        let old = json!({"paths": ["/x"]});
        let new = |record: Value| json!([old, record]);
        let state = json!({"paths": ["/actions/state_delta/a"], "reason": "r", "at": 1.0, "state": ["a"]});
        check(json!(1), json!([old]), true);
        let none = |records: Value| note::continues(&json!({}), &json!({"custom_metadata": records}), Change::None);
        assert!(none(json!({"a": 1})) && !none(json!({ REDACTIONS: [] })) && !none(json!({ REDACTIONS: 1 })));
        check(json!(REDACTED), new(state.clone()), true);
        check(json!(REDACTED), json!([old, state, state]), true);
        let of_output = json!({"paths": ["/output"], "reason": "r", "at": 1.0});
        for (value, records) in [
            (json!(1), json!([])),
            (json!(1), new(of_output.clone())),
            (json!(REDACTED), json!([old])),
            (json!(REDACTED), json!([state])),
            (json!(REDACTED), new(of_output)),
            (json!(REDACTED), new(json!({"paths": [], "reason": "r", "at": 1.0, "state": ["a"]}))),
            (json!(REDACTED), new(json!({"paths": ["/x"], "reason": "r", "at": "now", "state": ["a"]}))),
            (json!(REDACTED), new(json!({"paths": ["/x"], "reason": "r", "at": 1.0, "state": ["b"]}))),
            (json!(REDACTED), new(json!({"paths": ["/x"], "reason": "r", "at": 1.0, "state": ["a"], "by": "me"}))),
        ] {
            check(value, records, false);
        }
    }
}
