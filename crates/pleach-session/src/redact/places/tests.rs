//! Tests of [`super`].

use pleach_core::Event;

use super::*;

/// An event with values of every kind, each containing the text `4111`.
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
        "error_message": text, "content": content, "custom_metadata": {"a": text, "pleach_order": text, "pleach_pending_route": 1,
        "pleach_caught_failures": [{"run": "wf@1/a@1", "code": "E", "message": text}],
        "pleach_delegated_runs": [{"run": "wf@1/b@1"}, {"run": "wf@1/a@1", "output": {"a": text}}],
        "pleach_signal": {"name": "paid", "payload": text}}, "input_transcription": {"text": text},
        "output_transcription": {"text": text}, "grounding_metadata": {"a": text}, "citation_metadata": {"a": text},
        "logprobs_result": {"a": text},
        "actions": {"state_delta": {"a": text, "user:b/c": {"d": text}}, "set_model_response": {"a": text},
        "transfer_reason": text,
        "compaction": {"start_timestamp": 0.0, "end_timestamp": 1.0, "compacted_content": content},
        "render_ui_widgets": [{"id": "w", "provider": "mcp", "payload": {"a": text}}],
        "requested_tool_confirmations": {"c1": {"hint": text, "confirmed": false, "payload": {"a": text}}}},
    });
    let event: Event = serde_json::from_value(event).unwrap();
    serde_json::to_value(event).unwrap()
}

#[test]
fn all_values_that_may_be_redacted_are_and_the_rest_stays() {
    let mut event = everything();
    redact_everything(&mut event, []);
    let text = event.to_string();
    assert!(!text.contains("4111") && !text.contains("NDExMQ"), "{event:#}");
    let read: Event = serde_json::from_value(event.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), event);
    let before = everything();
    for path in [
        "/id",
        "/timestamp",
        "/content/role",
        "/custom_metadata/pleach_pending_route",
        "/custom_metadata/pleach_caught_failures/0/code",
        "/custom_metadata/pleach_delegated_runs/0",
        "/custom_metadata/pleach_delegated_runs/1/run",
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
    redact_everything(&mut event, []);
    assert_eq!(event, again);
}

#[test]
fn a_path_to_nothing_that_may_be_redacted_is_an_error() {
    let asks = |name: &str, id: &str, args: Value| json!({"function_call": {"id": id, "name": name, "args": args}});
    let parts = json!([
        asks(REQUEST_CREDENTIAL, "q1", json!({"authConfig": {"secret": "4111"}})),
        asks(REQUEST_INPUT, "pleach_signal:wf@1:1", json!({"message": "paid", "payload": null})),
        {"text": null, "thought": true},
    ]);
    let metadata = json!({"pleach_pending_route": 1, "pleach_delegated_runs": [{"run": "wf@1/b@1"}]});
    let event = json!({"content": {"parts": parts}, "custom_metadata": metadata, "actions": {"state_delta": {}}});
    for (path, expected) in [
        (&["content"][..], RedactionFault::Fixed),
        (&["content", "parts", "0"], RedactionFault::Fixed),
        (&["content", "parts", "1", "function_call", "args"], RedactionFault::Fixed),
        (&["content", "parts", "2"], RedactionFault::Absent),
        (&["content", "parts", "2", "text"], RedactionFault::Absent),
        (&["custom_metadata"], RedactionFault::Fixed),
        (&["custom_metadata", "pleach_delegated_runs", "0", "run"], RedactionFault::Fixed),
        (&["custom_metadata", "pleach_delegated_runs", "0", "output"], RedactionFault::Absent),
        // The path leads to no value.
        (&["nothing"], RedactionFault::Absent),
        (&["content", "part", "0"], RedactionFault::Absent),
        (&["actions", "nothing"], RedactionFault::Absent),
        (&["actions", "state_delta"], RedactionFault::Absent),
    ] {
        let mut redacted = event.clone();
        assert_eq!(redact(&mut redacted, path), Err(expected), "{path:?}");
        assert_eq!(redacted, event, "{path:?}");
    }
}

/// In the output of a step that took a signal, only the payload may be redacted.
#[test]
fn a_signal_that_was_taken_keeps_its_event_and_name() {
    let output = json!({"event": "e1", "name": "paid", "payload": {"card": "4111"}});
    let event = |path: &str| json!({"output": output, "node_info": {"path": path}});
    for (path, expected) in [
        (&["output"][..], Ok(json!({"event": "e1", "name": "paid", "payload": REDACTED}))),
        (&["output", "payload"], Ok(json!({"event": "e1", "name": "paid", "payload": REDACTED}))),
        (&["output", "payload", "card"], Ok(json!({"event": "e1", "name": "paid", "payload": {"card": REDACTED}}))),
        (&["output", "event"], Err(RedactionFault::Fixed)),
        (&["output", "name"], Err(RedactionFault::Fixed)),
        (&["output", "card"], Err(RedactionFault::Absent)),
    ] {
        let mut taken = event("wf@1/wait@1/pleach_signal@key-0-1");
        assert_eq!(redact(&mut taken, path).map(|()| taken["output"].clone()), expected, "{path:?}");
        let mut other = event("wf@1/pleach_signal@1/pay@1");
        assert_eq!(redact(&mut other, path).is_ok(), path != ["output", "card"], "{path:?}");
    }
}

/// The signature of a thought is removed with the text, because it belongs to the text and may contain it.
#[test]
fn the_signature_of_a_thought_is_removed_with_its_text() {
    let mut parts = json!({"content": {"parts": [
        {"text": "4111", "thought": true, "thought_signature": "NDExMQ=="}, {"text": "4111", "thought_signature": "NDExMQ=="},
    ]}});
    for place in ["0", "1"] {
        redact(&mut parts, &["content", "parts", place, "text"]).unwrap();
    }
    let expected = json!([{"text": REDACTED, "thought": true}, {"text": REDACTED, "thought_signature": "NDExMQ=="}]);
    assert_eq!(parts["content"]["parts"], expected);
}

/// A path redacts only the value that it names.
#[test]
fn a_path_redacts_only_its_value() {
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
        (
            "/custom_metadata/pleach_caught_failures/0/message",
            "/custom_metadata/pleach_caught_failures/0/message",
            Some(gone.clone()),
        ),
        (
            "/custom_metadata/pleach_delegated_runs/1/output/a",
            "/custom_metadata/pleach_delegated_runs/1/output/a",
            Some(gone.clone()),
        ),
        ("/custom_metadata/pleach_order", "/custom_metadata/pleach_order", Some(gone.clone())),
        ("/actions/transfer_reason", "/actions/transfer_reason", Some(gone.clone())),
        ("/custom_metadata/pleach_signal/payload", "/custom_metadata/pleach_signal/payload", Some(gone.clone())),
        ("/actions/state_delta/user:b~1c/d", "/actions/state_delta/user:b~1c/d", Some(gone.clone())),
        ("/actions/set_model_response/a", "/actions/set_model_response/a", Some(gone.clone())),
        ("/actions/render_ui_widgets/0/payload/a", "/actions/render_ui_widgets/0/payload/a", Some(gone.clone())),
        ("/actions/requested_tool_confirmations/c1/hint", "/actions/requested_tool_confirmations/c1/hint", Some(gone)),
    ] {
        let mut event = everything();
        let tokens = super::super::pointer::tokens(path).unwrap();
        redact(&mut event, &tokens.iter().map(|token| &**token).collect::<Vec<_>>()).unwrap();
        assert_eq!(event.pointer(at), expected.as_ref(), "{path}");
        let _: Event = serde_json::from_value(event.clone()).unwrap();
        // With the value put back, nothing else differs.
        let mut before = everything();
        let place = at.rsplit_once('/').unwrap();
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
