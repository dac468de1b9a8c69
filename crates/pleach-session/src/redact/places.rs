//! The values of an event that may be redacted, and what is there afterwards.

use pleach_core::{KEPT_SIGNAL, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT, SIGNAL, TIMER};
use serde_json::{Value, json};

use super::pointer::child;
use crate::RedactionFault;
use crate::notes::REDACTED;

type Outcome = Result<(), RedactionFault>;

/// The paths that together hold every value that may be redacted.
const EVERYTHING: [&[&str]; 14] = [
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

/// How the keys of metadata begin that the engine reads.
const NOTES: [&str; 2] = ["pleach_", "_adk_"];

/// Redacts every value of an event that may be redacted.
pub(super) fn redact_everything(event: &mut Value) {
    for path in EVERYTHING {
        // An event has few of them.
        let _ = redact(event, path);
    }
}

/// Redacts the value of an event at a path.
pub(super) fn redact(event: &mut Value, path: &[&str]) -> Outcome {
    let (field, rest) = path.split_first().ok_or(RedactionFault::Fixed)?;
    match (*field, rest) {
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
        ("actions", [field, inner @ ..]) => of_actions(at(event, "actions")?, field, inner),
        _ => Err(RedactionFault::Fixed),
    }
}

fn of_actions(actions: &mut Value, field: &str, path: &[&str]) -> Outcome {
    match (field, path) {
        ("set_model_response", inner) => replace(at(actions, field)?, inner),
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
    let is_note = |key: &str| NOTES.iter().any(|start| key.starts_with(start));
    match path {
        [] => {
            let keys: Vec<_> = metadata.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect();
            any(keys, |key| metadata_value(metadata, &key, &[], is_note(&key)))
        }
        [key, inner @ ..] => metadata_value(metadata, key, inner, is_note(key)),
    }
}

fn metadata_value(metadata: &mut Value, key: &str, path: &[&str], is_note: bool) -> Outcome {
    let value = at(metadata, key)?;
    match path {
        path if !is_note => replace(value, path),
        [] if key == KEPT_SIGNAL => replace(at(value, "payload")?, &[]),
        ["payload", inner @ ..] if key == KEPT_SIGNAL => replace(at(value, "payload")?, inner),
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

/// Redacts the value of a part at a path, or all of them.
fn part(part: &mut Value, path: &[&str]) -> Outcome {
    let Some((field, path)) = path.split_first() else {
        return any(FIELDS, |field| self::part(part, &[field]));
    };
    match (*field, path) {
        ("text", []) => replace(at(part, field)?, &[]),
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

/// Redacts arguments of a function call. The engine reads those of a call that asks a question.
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

/// Redacts what may go of several values; an error when nothing may.
fn any<P>(places: impl IntoIterator<Item = P>, redact: impl FnMut(P) -> Outcome) -> Outcome {
    let outcomes: Vec<Outcome> = places.into_iter().map(redact).collect();
    // A value that must stay explains more than one that is absent.
    let error =
        if outcomes.contains(&Err(RedactionFault::Fixed)) { RedactionFault::Fixed } else { RedactionFault::Absent };
    if outcomes.iter().any(Result::is_ok) { Ok(()) } else { Err(error) }
}

/// Applies a rule to the element that the path names, or to all.
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

/// Redacts the value of an object that the path names, or all of them.
fn values(object: &mut Value, path: &[&str]) -> Outcome {
    each(object, path, replace)
}

/// Redacts the value at a path.
fn replace(value: &mut Value, path: &[&str]) -> Outcome {
    put(found(value, path)?, json!(REDACTED))
}

/// Replaces a value. Null is none: most fields with null are left out of the JSON.
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
mod tests {
    use pleach_core::Event;

    use super::*;

    /// Values of every kind, each with the text `4111` in it.
    fn everything() -> Value {
        let text = "4111";
        let media = json!({"data": "NDExMQ==", "mime_type": "text/4111"});
        let asks = |name: &str, id: &str, args: Value| json!({"function_call": {"id": id, "name": name, "args": args}});
        let parts = json!([
            {"text": text, "thought_signature": "NDExMQ==", "part_metadata": {"a": text, "b": {"c": text}}},
            {"inline_data": media},
            {"text": text, "file_data": {"file_uri": text}},
            {"executable_code": {"code": text, "language": "PYTHON"}},
            {"code_execution_result": {"output": text, "outcome": "OUTCOME_OK"}},
            {"function_call": {"id": "c1", "name": "pay", "args": {"a": text, "b": [text]}}},
            {"function_response": {"id": "c1", "name": "pay", "response": {"a": text}, "parts": [{"inline_data": media}]}},
            {"tool_call": {"id": "t1", "args": {"a": text}}},
            {"tool_response": {"id": "t1", "response": {"a": text}}},
            {"text": "x", "audio_transcription": {"text": text}},
            asks(REQUEST_INPUT, "q1", json!({"interruptId": "q1", "message": text, "payload": {"a": text}})),
            asks(REQUEST_CONFIRMATION, "q2", json!({
                "originalFunctionCall": {"id": "c2", "name": "pay", "args": {"a": text}},
                "toolConfirmation": {"hint": text, "confirmed": false, "payload": text},
            })),
        ]);
        let content = json!({"role": "model", "parts": parts});
        let event = json!({
            "id": "e1", "timestamp": 1.0, "author": "a", "invocation_id": "i", "output": {"a": text, "b": [text]},
            "error_message": text, "content": content, "custom_metadata": {"a": text, "_adk_x": 1, "pleach_y": 2,
            "pleach_signal": {"name": "paid", "payload": text}}, "input_transcription": {"text": text},
            "output_transcription": {"text": text}, "grounding_metadata": {"a": text}, "citation_metadata": {"a": text},
            "logprobs_result": {"a": text},
            "actions": {"state_delta": {"a": text, "user:b/c": {"d": text}}, "set_model_response": {"a": text},
            "compaction": {"start_timestamp": 0.0, "end_timestamp": 1.0, "compacted_content": content},
            "render_ui_widgets": [{"id": "w", "provider": "mcp", "payload": {"a": text}}],
            "requested_tool_confirmations": {"c1": {"hint": text, "confirmed": false, "payload": {"a": text}}}},
        });
        let event: Event = serde_json::from_value(event).unwrap();
        serde_json::to_value(event).unwrap()
    }

    #[test]
    fn everything_that_may_go_goes_and_the_rest_stays() {
        let mut event = everything();
        redact_everything(&mut event);
        let text = event.to_string();
        assert!(!text.contains("4111") && !text.contains("NDExMQ"), "{event:#}");
        let read: Event = serde_json::from_value(event.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), event);
        let before = everything();
        for path in [
            "/id",
            "/timestamp",
            "/content/role",
            "/custom_metadata/_adk_x",
            "/custom_metadata/pleach_y",
            "/custom_metadata/pleach_signal/name",
            "/content/parts/5/function_call/name",
            "/content/parts/10/function_call/args/interruptId",
            "/content/parts/11/function_call/args/originalFunctionCall/name",
            "/content/parts/11/function_call/args/toolConfirmation/confirmed",
            "/actions/compaction/end_timestamp",
            "/actions/requested_tool_confirmations/c1/confirmed",
            "/actions/render_ui_widgets/0/provider",
        ] {
            assert!(before.pointer(path).is_some(), "{path}");
            assert_eq!(event.pointer(path), before.pointer(path), "{path}");
        }
        let again = event.clone();
        redact_everything(&mut event);
        assert_eq!(event, again);
    }

    #[test]
    fn a_path_to_nothing_that_may_go_is_an_error() {
        let asks = |name: &str, id: &str, args: Value| json!({"function_call": {"id": id, "name": name, "args": args}});
        let parts = json!([
            asks(REQUEST_CREDENTIAL, "q1", json!({"authConfig": {"secret": "4111"}})),
            asks(REQUEST_INPUT, "pleach_signal:wf@1:1", json!({"message": "paid", "payload": null})),
            {"text": null, "thought": true},
        ]);
        let metadata = json!({"_adk_x": 1, "pleach_y": {"z": 1}});
        let event = json!({"content": {"parts": parts}, "custom_metadata": metadata, "actions": {"state_delta": {}}});
        for (path, expected) in [
            (&["content"][..], RedactionFault::Fixed),
            (&["content", "parts", "0"], RedactionFault::Fixed),
            (&["content", "parts", "1", "function_call", "args"], RedactionFault::Fixed),
            (&["content", "parts", "2"], RedactionFault::Absent),
            (&["content", "parts", "2", "text"], RedactionFault::Absent),
            (&["custom_metadata"], RedactionFault::Fixed),
            (&["actions", "state_delta"], RedactionFault::Absent),
        ] {
            let mut redacted = event.clone();
            assert_eq!(redact(&mut redacted, path), Err(expected), "{path:?}");
            assert_eq!(redacted, event, "{path:?}");
        }
    }

    /// A path redacts the value there, and no other one.
    #[test]
    fn a_path_redacts_its_value_only() {
        let gone = json!(REDACTED);
        for (path, at, expected) in [
            ("/output", "/output", Some(gone.clone())),
            ("/output/b/0", "/output/b/0", Some(gone.clone())),
            ("/error_message", "/error_message", Some(gone.clone())),
            ("/input_transcription", "/input_transcription", None),
            ("/content/parts/0/text", "/content/parts/0/text", Some(gone.clone())),
            ("/content/parts/0/thought_signature", "/content/parts/0/thought_signature", None),
            ("/content/parts/0/part_metadata/b/c", "/content/parts/0/part_metadata/b/c", Some(gone.clone())),
            ("/content/parts/0/part_metadata/b", "/content/parts/0/part_metadata/b", Some(gone.clone())),
            ("/content/parts/1/inline_data", "/content/parts/1", Some(json!({"text": REDACTED}))),
            ("/content/parts/2/file_data", "/content/parts/2", Some(json!({"text": "4111"}))),
            ("/content/parts/3/executable_code", "/content/parts/3/executable_code/code", Some(gone.clone())),
            (
                "/content/parts/4/code_execution_result/output",
                "/content/parts/4/code_execution_result/output",
                Some(gone.clone()),
            ),
            ("/content/parts/5/function_call", "/content/parts/5/function_call/args", Some(json!({}))),
            ("/content/parts/5/function_call/args/b/0", "/content/parts/5/function_call/args/b/0", Some(gone.clone())),
            (
                "/content/parts/6/function_response/response/a",
                "/content/parts/6/function_response/response/a",
                Some(gone.clone()),
            ),
            ("/content/parts/6/function_response/parts", "/content/parts/6/function_response/parts", None),
            ("/content/parts/7/tool_call", "/content/parts/7/tool_call/args", Some(json!({}))),
            (
                "/content/parts/8/tool_response",
                "/content/parts/8/tool_response/response",
                Some(json!({"result": REDACTED})),
            ),
            ("/content/parts/9/audio_transcription", "/content/parts/9", Some(json!({"text": "x"}))),
            (
                "/content/parts/10/function_call/args/payload/a",
                "/content/parts/10/function_call/args/payload/a",
                Some(gone.clone()),
            ),
            (
                "/content/parts/11/function_call/args/originalFunctionCall/args",
                "/content/parts/11/function_call/args/originalFunctionCall/args",
                Some(json!({})),
            ),
            ("/custom_metadata/pleach_signal/payload", "/custom_metadata/pleach_signal/payload", Some(gone.clone())),
            ("/actions/state_delta/user:b~1c/d", "/actions/state_delta/user:b~1c/d", Some(gone.clone())),
            ("/actions/set_model_response/a", "/actions/set_model_response/a", Some(gone.clone())),
            ("/actions/render_ui_widgets/0/payload/a", "/actions/render_ui_widgets/0/payload/a", Some(gone.clone())),
            (
                "/actions/requested_tool_confirmations/c1/hint",
                "/actions/requested_tool_confirmations/c1/hint",
                Some(gone),
            ),
        ] {
            let mut event = everything();
            let tokens = super::super::pointer::tokens(path).unwrap();
            redact(&mut event, &tokens.iter().map(|token| &**token).collect::<Vec<_>>()).unwrap();
            assert_eq!(event.pointer(at), expected.as_ref(), "{path}");
            let _: Event = serde_json::from_value(event.clone()).unwrap();
            // Put back, nothing else differs.
            let (mut before, place) = (everything(), at.rsplit_once('/').unwrap());
            for event in [&mut event, &mut before] {
                let token = place.1.replace("~1", "/");
                match event.pointer_mut(place.0).unwrap() {
                    Value::Object(map) => drop(map.remove(&token)),
                    list => *list.get_mut(token.parse::<usize>().unwrap()).unwrap() = Value::Null,
                }
            }
            assert_eq!(event, before, "{path}");
        }
    }
}
