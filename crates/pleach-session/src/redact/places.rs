//! The values of an event that may be redacted, and what replaces them.

use pleach_core::engine_notes::current_key;
use pleach_core::{KEPT_SIGNAL, NodePath, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT, SIGNAL, TIMER};
use serde_json::{Value, json};

use super::pointer::child;
use crate::RedactionFault;
use crate::notes::{CAUGHT_FAILURES, DELEGATED_RUNS, REDACTED, TAKE_SIGNAL, is_note};

type Outcome = Result<(), RedactionFault>;

/// The paths that together include every value that may be redacted.
const EVERYTHING: [&[&str]; 15] = [
    &["output"],
    &["error_message"],
    &["content"],
    &["custom_metadata"],
    &["input_transcription"],
    &["output_transcription"],
    &["grounding_metadata"],
    &["citation_metadata"],
    &["logprobs_result"],
    &["actions", "state_delta"],
    &["actions", "set_model_response"],
    &["actions", "transfer_reason"],
    &["actions", "compaction", "compacted_content"],
    &["actions", "render_ui_widgets"],
    &["actions", "requested_tool_confirmations"],
];

/// The fields of a part that hold values.
const FIELDS: [&str; 12] = [
    "text",
    "thought_signature",
    "inline_data",
    "file_data",
    "executable_code",
    "code_execution_result",
    "function_call",
    "function_response",
    "tool_call",
    "tool_response",
    "part_metadata",
    "audio_transcription",
];

/// Redacts every value of an event that may be redacted. `unknown` lists the fields that this version does not know.
pub(super) fn redact_everything<'f>(event: &mut Value, unknown: impl IntoIterator<Item = &'f String>) {
    for path in EVERYTHING {
        // An event has only some of these values.
        let _ = redact(event, path);
    }
    for field in unknown {
        let _ = replace(event, &[field]);
    }
}

/// Redacts the value of an event at a path of known fields.
///
/// # Errors
/// `Absent` if there is no value; `Fixed` if it must stay.
pub(super) fn redact(event: &mut Value, path: &[&str]) -> Outcome {
    let outcome = redact_known(event, path);
    // A path without a value is reported as absent, because nothing reads it.
    if outcome == Err(RedactionFault::Fixed) {
        found(event, path)?;
    }
    outcome
}

fn redact_known(event: &mut Value, path: &[&str]) -> Outcome {
    let (field, rest) = path.split_first().ok_or(RedactionFault::Fixed)?;
    match (*field, rest) {
        // The engine reads which signal the step took.
        ("output", inner) if takes_signal(event) => self::field(at(event, field)?, "payload", inner),
        ("output", inner) => replace(at(event, field)?, inner),
        ("error_message", []) => replace(at(event, field)?, &[]),
        ("content", inner) => content(at(event, field)?, inner),
        ("custom_metadata", inner) => metadata(at(event, field)?, inner),
        (
            "input_transcription"
            | "output_transcription"
            | "grounding_metadata"
            | "citation_metadata"
            | "logprobs_result",
            [],
        ) => remove(event, field),
        ("actions", [field, inner @ ..]) => action_value(at(event, "actions")?, field, inner),
        _ => Err(RedactionFault::Fixed),
    }
}

/// Returns `true` if the event is the result of a step that took a signal.
fn takes_signal(event: &Value) -> bool {
    let path = event.pointer("/node_info/path").and_then(Value::as_str);
    path.is_some_and(|path| NodePath::from(path).name() == TAKE_SIGNAL)
}

fn action_value(actions: &mut Value, field: &str, path: &[&str]) -> Outcome {
    match (field, path) {
        ("set_model_response", inner) => replace(at(actions, field)?, inner),
        ("transfer_reason", []) => replace(at(actions, field)?, &[]),
        ("state_delta", inner) => values(at(actions, field)?, inner),
        ("compaction", ["compacted_content", inner @ ..]) => {
            content(at(at(actions, field)?, "compacted_content")?, inner)
        }
        ("render_ui_widgets", inner) => each(at(actions, field)?, inner, |widget, inner| match inner {
            [] => values(at(widget, "payload")?, &[]),
            ["payload", inner @ ..] => values(at(widget, "payload")?, inner),
            _ => Err(RedactionFault::Fixed),
        }),
        ("requested_tool_confirmations", inner) => {
            each(at(actions, field)?, inner, |confirmation, inner| match inner {
                [] => any(["hint", "payload"], |field| replace(confirmation, &[field])),
                ["hint"] => replace(at(confirmation, "hint")?, &[]),
                ["payload", inner @ ..] => replace(at(confirmation, "payload")?, inner),
                _ => Err(RedactionFault::Fixed),
            })
        }
        _ => Err(RedactionFault::Fixed),
    }
}

fn metadata(metadata: &mut Value, path: &[&str]) -> Outcome {
    match path {
        [] => {
            let keys: Vec<_> = metadata.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect();
            any(keys, |key| metadata_value(metadata, &key, &[]))
        }
        [key, inner @ ..] => metadata_value(metadata, key, inner),
    }
}

/// Redacts metadata under a key. In the engine's notes only copies of user data may be removed: signal payloads,
/// messages of caught failures and delegated outputs.
fn metadata_value(metadata: &mut Value, key: &str, path: &[&str]) -> Outcome {
    let value = at(metadata, key)?;
    match current_key(key).unwrap_or(key) {
        KEPT_SIGNAL => field(value, "payload", path),
        CAUGHT_FAILURES => each(value, path, |failure, path| field(failure, "message", path)),
        DELEGATED_RUNS => each(value, path, |run, path| field(run, "output", path)),
        key if is_note(key) => Err(RedactionFault::Fixed),
        _ => replace(value, path),
    }
}

/// Redacts the only field of an object that may be redacted. The path may also end at the object itself.
fn field(object: &mut Value, name: &str, path: &[&str]) -> Outcome {
    match path {
        [] => replace(at(object, name)?, &[]),
        [field, inner @ ..] if *field == name => replace(at(object, name)?, inner),
        _ => Err(RedactionFault::Fixed),
    }
}

fn content(content: &mut Value, path: &[&str]) -> Outcome {
    match path {
        [] | ["parts"] => each(at(content, "parts")?, &[], part),
        ["parts", inner @ ..] => each(at(content, "parts")?, inner, part),
        _ => Err(RedactionFault::Fixed),
    }
}

/// Redacts the value of a part at a path, or all values of the part.
fn part(part: &mut Value, path: &[&str]) -> Outcome {
    let Some((field, path)) = path.split_first() else {
        return any(FIELDS, |field| self::part(part, &[field]));
    };
    match (*field, path) {
        ("text", []) => {
            replace(at(part, field)?, &[])?;
            // The signature of a thought belongs to the thought's text. Some providers check that they match, and
            // the signature may contain the text.
            if part.get("thought") == Some(&Value::Bool(true)) {
                let _ = remove(part, "thought_signature");
            }
            Ok(())
        }
        ("thought_signature" | "audio_transcription", []) => remove(part, field),
        ("inline_data" | "file_data", []) => {
            remove(part, field)?;
            let part = part.as_object_mut().ok_or(RedactionFault::Absent)?;
            part.entry("text").or_insert_with(|| json!(REDACTED));
            Ok(())
        }
        ("executable_code", [] | ["code"]) => replace(at(at(part, field)?, "code")?, &[]),
        ("code_execution_result", [] | ["output"]) => replace(at(at(part, field)?, "output")?, &[]),
        ("function_call", [] | ["args"]) => arguments(at(part, field)?, &[]),
        ("function_call", ["args", inner @ ..]) => arguments(at(part, field)?, inner),
        ("tool_call", [] | ["args"]) => put(at(at(part, field)?, "args")?, json!({})),
        ("tool_call", ["args", inner @ ..]) => replace(at(at(part, field)?, "args")?, inner),
        ("function_response", []) => any(["response", "parts"], |inner| self::part(part, &[field, inner])),
        ("function_response", ["parts"]) => remove(at(part, field)?, "parts"),
        ("function_response" | "tool_response", ["response"]) | ("tool_response", []) => {
            put(at(at(part, field)?, "response")?, json!({"result": REDACTED}))
        }
        ("function_response" | "tool_response", ["response", inner @ ..]) => {
            replace(at(at(part, field)?, "response")?, inner)
        }
        ("part_metadata", inner) => values(at(part, field)?, inner),
        _ => Err(RedactionFault::Fixed),
    }
}

/// Redacts arguments of a function call. The engine reads most arguments of a call that asks a question.
fn arguments(call: &mut Value, path: &[&str]) -> Outcome {
    let text = |field: &str| call.get(field).and_then(Value::as_str).unwrap_or_default();
    let id = call.pointer("/args/interruptId").and_then(Value::as_str).unwrap_or_else(|| text("id"));
    let shown: &[&[&str]] = match text("name") {
        // The message of a wait for a signal is the signal's name.
        REQUEST_INPUT if id.starts_with(SIGNAL) || id.starts_with(TIMER) => &[],
        REQUEST_INPUT => &[&["message"], &["payload"]],
        REQUEST_CONFIRMATION => {
            &[&["toolConfirmation", "hint"], &["toolConfirmation", "payload"], &["originalFunctionCall", "args"]]
        }
        REQUEST_CREDENTIAL => &[],
        _ => {
            let args = at(call, "args")?;
            return if path.is_empty() { put(args, json!({})) } else { replace(args, path) };
        }
    };
    if path.is_empty() && !shown.is_empty() {
        return any(shown, |path| arguments(call, path));
    }
    if !shown.iter().any(|shown| path.starts_with(shown)) {
        return Err(RedactionFault::Fixed);
    }
    let new = if path == ["originalFunctionCall", "args"] { json!({}) } else { json!(REDACTED) };
    put(found(at(call, "args")?, path)?, new)
}

/// Redacts as many of the values as possible; fails if none can be redacted.
fn any<P>(places: impl IntoIterator<Item = P>, redact: impl FnMut(P) -> Outcome) -> Outcome {
    let outcomes: Vec<Outcome> = places.into_iter().map(redact).collect();
    // Report a value that must stay rather than an absent one, because that explains more.
    let error =
        if outcomes.contains(&Err(RedactionFault::Fixed)) { RedactionFault::Fixed } else { RedactionFault::Absent };
    if outcomes.iter().any(Result::is_ok) { Ok(()) } else { Err(error) }
}

/// Applies a rule to the element that the path names, or to all elements.
fn each(value: &mut Value, path: &[&str], rule: fn(&mut Value, &[&str]) -> Outcome) -> Outcome {
    if let Some((element, inner)) = path.split_first() {
        return rule(at(value, element)?, inner);
    }
    let all: Vec<&mut Value> = match value {
        Value::Object(map) => map.values_mut().collect(),
        Value::Array(list) => list.iter_mut().collect(),
        _ => return Err(RedactionFault::Absent),
    };
    any(all, |element| rule(element, &[]))
}

/// Redacts the value of an object that the path names, or all values.
fn values(object: &mut Value, path: &[&str]) -> Outcome {
    each(object, path, replace)
}

/// Redacts the value at a path.
pub(super) fn replace(value: &mut Value, path: &[&str]) -> Outcome {
    put(found(value, path)?, json!(REDACTED))
}

/// Replaces a value. Null is treated as absent, because most fields with null are left out of the JSON.
fn put(value: &mut Value, new: Value) -> Outcome {
    if value.is_null() {
        return Err(RedactionFault::Absent);
    }
    *value = new;
    Ok(())
}

fn remove(value: &mut Value, field: &str) -> Outcome {
    value.as_object_mut().and_then(|object| object.remove(field)).map(drop).ok_or(RedactionFault::Absent)
}

fn at<'v>(value: &'v mut Value, token: &str) -> Result<&'v mut Value, RedactionFault> {
    child(value, token).ok_or(RedactionFault::Absent)
}

fn found<'v>(value: &'v mut Value, path: &[&str]) -> Result<&'v mut Value, RedactionFault> {
    path.iter().try_fold(value, |value, token| at(value, token))
}

#[cfg(test)]
mod tests;
