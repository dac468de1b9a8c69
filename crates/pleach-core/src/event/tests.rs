//! The properties of events, and how they are read and written.
// R101–R109, E240–E249

use serde_json::{Value, json};

use super::OutputFor;
use crate::{
    Content, Event, EventActions, FunctionCall, FunctionResponse, Map, ModelInfo, NodePath, Part, RouteKey, Uuid,
    to_camel,
};

fn read(json: Value) -> Event {
    try_read(json).unwrap()
}

fn try_read(json: Value) -> Result<Event, String> {
    serde_json::from_str(&json.to_string()).map_err(|error| error.to_string())
}

fn written(event: &Event) -> Value {
    serde_json::to_value(event).unwrap()
}

#[test]
fn event_is_small() {
    assert!(size_of::<Event>() <= 224, "{} bytes", size_of::<Event>());
    assert!(size_of::<EventActions>() <= 32);
    assert!(size_of::<crate::EventId>() <= 24);
}

#[test]
fn an_event_with_only_an_output_allocates_nothing_else() {
    let event = Event::of(1);
    assert!(event.uncommon.is_none() && event.content.is_none() && event.long_running_tool_ids.is_none());
    assert_eq!(event.output_for, OutputFor::None);
}

#[test]
fn an_event_that_lost_its_metadata_equals_one_without() {
    let mut event = Event::of(1).with_custom_metadata(Map::from_iter([("a".to_owned(), json!(1))]));
    event.set_custom_metadata(None);
    assert_eq!(event, Event::of(1));
    let mut event = event.with_error("CODE", "text");
    event.set_error_code(None);
    assert_eq!(event.error_message(), Some("text"));
    event.set_error_message(None);
    assert_eq!(event, Event::of(1));
}

#[test]
fn nul_is_replaced_at_every_place_of_an_event() {
    let text = "a\0b";
    let map = || json!({text: [text]}).as_object().unwrap().clone();
    let mut response = FunctionResponse::new(text, text, map());
    response.extra = Some(Box::new(map()));
    let content = Content::new(
        "model",
        [
            Part { thought: Some(true), ..Part::text(text) },
            Part::function_call(FunctionCall::new(text, text, map())),
            Part::function_response(response),
            Part::bytes(text, &b"\0\0"[..]),
        ],
    );
    let mut event = Event::message(content).with_error(text, text).with_custom_metadata(map()).with_output(json!(text));
    event.set_long_running_tool_ids(Some([text.to_owned()].into()));
    event.actions_mut().set_state(text, text);
    event.actions_mut().add_state_op("list\0", crate::StateOp::Push(vec![json!(text)]));
    event.actions_mut().set_state_writes(7);
    event.actions_mut().set_transfer_to_agent(Some(text.to_owned()));
    event.actions_mut().artifact_delta_mut().insert(text.to_owned(), 1);
    event.actions_mut().requested_auth_configs_mut().insert(text.to_owned(), json!({"credential_key": text}).into());
    event.model_mut().finish_reason = Some(text.to_owned());
    event.model_mut().grounding_metadata = Some(json!({"uri": text}).into());
    let before = event.clone();

    assert!(event.replace_nul());
    crate::check_event(&event).unwrap();
    let expected = written(&before).to_string().replace("\\u0000", "\u{fffd}");
    assert_eq!(written(&event).to_string(), expected);
    assert_eq!(event.actions().state_ops()["list\u{fffd}"], [crate::StateOp::Push(vec![json!("a\u{fffd}b")])]);
    assert_eq!(event.actions().state_writes(), 7);
    let again = event.clone();
    assert!(!event.replace_nul());
    assert_eq!(event, again);
    // Names that the runtime sets stay.
    let mut named = Event::from_author("a\0");
    assert!(!named.replace_nul());
}

/// The fields that every event has in JSON, even an empty one.
// S42
#[test]
fn empty_event_writes_the_obligatory_fields() {
    let expected = json!({
        "invocation_id": "", "author": "", "id": "", "timestamp": 0.0, "node_info": {"path": ""},
        "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {},
            "requested_tool_confirmations": {}},
    });
    assert_eq!(written(&Event::new()), expected);
    assert_eq!(read(json!({})), Event::new());
}

// R122: the output of a terminal node.
#[test]
fn terminal_output_is_written_as_google_adk_does() {
    let mut event = Event::of("BA");
    event.set_path("wf@1/b@1".into());
    event.set_output_for(OutputFor::Own);
    assert_eq!(written(&event)["node_info"], json!({"path": "wf@1/b@1", "output_for": ["wf@1/b@1"]}));
    event.set_output_for(OutputFor::Paths(["wf@1/b@1".into(), "wf@1".into()].into()));
    assert_eq!(written(&event)["node_info"]["output_for"], json!(["wf@1/b@1", "wf@1"]));
    assert_eq!(read(written(&event)), event);
    assert!(event.is_output_for(&"wf@1".into()) && !event.is_output_for(&"wf@2".into()));
}

#[test]
fn own_output_is_recognised_wherever_it_stands() {
    let event = read(json!({"node_info": {"output_for": ["a@1"], "path": "a@1"}}));
    assert_eq!(event.output_for, OutputFor::Own);
    assert_eq!(event.node_info().output_for(), Some(&["a@1".into()][..]));
    assert_eq!(read(json!({"node_info": {"output_for": []}})).output_for, OutputFor::Paths([].into()));
}

// E240
#[test]
fn casings_may_be_mixed() {
    let event = read(json!({
        "invocationId": "i", "error_code": "E", "errorMessage": "m", "nodeInfo": {"path": "a@1", "output_for": ["a@1"],
        "messageAsOutput": true}, "actions": {"stateDelta": {"aB": 1}, "artifact_delta": {"f": 2}},
        "longRunningToolIds": [], "content": {"parts": [{"functionCall": {"willContinue": true}}]},
    }));
    assert_eq!(event.invocation_id(), &"i");
    assert_eq!((event.error_code(), event.error_message()), (Some("E"), Some("m")));
    assert_eq!(event.node_info().message_as_output(), Some(true));
    assert_eq!(event.actions().state_delta()["aB"], 1);
    assert_eq!(event.actions().artifact_delta()["f"], 2);
    assert_eq!(event.function_calls().next().unwrap().will_continue, Some(true));
}

// S45: if both spellings of a key are present, the camelCase one wins, in either order and at every level.
#[test]
fn camel_case_wins() {
    for text in [
        r#"{"error_code":"s","errorCode":"c","actions":{"stateDelta":{"c":1},"state_delta":{"s":1}}}"#,
        r#"{"errorCode":"c","error_code":"s","actions":{"state_delta":{"s":1},"stateDelta":{"c":1}}}"#,
    ] {
        let event: Event = serde_json::from_str(text).unwrap();
        assert_eq!(event.error_code(), Some("c"));
        assert_eq!(written(&event)["actions"]["state_delta"], json!({"c": 1}));
    }
}

// E241, S45: unknown keys are not an error, and they are kept.
#[test]
fn unknown_keys_survive() {
    let document = json!({
        "x_new": {"someKey": null}, "node_info": {"path": "a@1", "later": [1]},
        "content": {"parts": [{"text": "t", "newThing": 1}], "mood": "good"},
    });
    let event = read(document.clone());
    let again = written(&event);
    for key in ["x_new", "node_info", "content"] {
        assert_eq!(again[key], document[key]);
    }
    assert_eq!(read(again), event);
    let camel = to_camel(&event).unwrap();
    assert_eq!(camel["x_new"], json!({"someKey": null}));
    assert_eq!(camel["nodeInfo"], json!({"path": "a@1", "later": [1]}));
    assert_eq!(event.extra().unwrap().len(), 1);
}

// E242, R102
#[test]
fn unknown_keys_in_actions_are_refused() {
    let check = |actions: Value, expected: &str| {
        let error = try_read(json!({"actions": actions})).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    };
    check(json!({"foo": 1}), "actions: unknown field `foo` in EventActions");
    check(
        json!({"requested_tool_confirmations": {"c": {"hint": "", "x": 1}}}),
        "actions: requested_tool_confirmations: unknown field `x` in ToolConfirmation",
    );
    check(json!({"render_ui_widgets": [{"z": 1}]}), "actions: render_ui_widgets: unknown field `z` in UiWidget");
    check(json!({"compaction": {"start_timestamp": 1}}), "actions: compaction: missing field `end_timestamp`");
}

// E243
#[test]
fn long_running_ids_are_sorted() {
    let event = read(json!({"long_running_tool_ids": ["c", "a", "b"]}));
    assert_eq!(written(&event)["long_running_tool_ids"], json!(["a", "b", "c"]));
    let empty = Event::new().with_long_running(Vec::<String>::new());
    assert_eq!(written(&empty)["long_running_tool_ids"], json!([]));
}

// E244
#[test]
fn message_and_content_exclude_each_other() {
    let error = try_read(json!({"message": "x", "content": {"parts": []}})).unwrap_err();
    assert!(error.starts_with("'message' and 'content' are mutually exclusive"), "{error}");
}

// E245, R107
#[test]
fn message_becomes_content() {
    let said = json!({"parts": [{"text": "x"}], "role": "user"});
    assert_eq!(written(&Event::message("x"))["content"], said);
    for message in [json!("x"), json!(["x"]), json!({"text": "x"}), json!([{"text": "x"}]), said.clone()] {
        assert_eq!(written(&read(json!({"message": message})))["content"], said);
    }
    let call = Event::message(Part::function_call(FunctionCall::new("1", "f", Map::new())));
    assert_eq!(call.content().unwrap().role(), Some("model"));
}

// E246
#[test]
fn state_replaces_the_delta_only() {
    let event = read(json!({"actions": {"state_delta": {"z": 1}, "escalate": true}, "state": {"a": 2}}));
    assert_eq!(Value::from(event.actions().state_delta().clone()), json!({"a": 2}));
    assert_eq!(event.actions().escalate(), Some(true));
    let delta = Map::from_iter([("a".to_owned(), json!(2))]);
    let mut actions = EventActions::new();
    actions.set_escalate(Some(true));
    actions.state_delta_mut().insert("z".into(), json!(1));
    assert_eq!(Event::new().with_actions(actions).with_state_map(delta), event);
}

// E247: `false` and `0` are routes, and `false` is an output.
#[test]
fn falsy_values_are_kept() {
    let event = read(json!({"actions": {"route": false}, "output": false, "partial": false}));
    assert_eq!(event.actions().route().unwrap().keys(), [RouteKey::Bool(false)]);
    let json = written(&event);
    assert_eq!(json["actions"]["route"], false);
    assert_eq!((&json["output"], &json["partial"]), (&json!(false), &json!(false)));
    assert!(written(&Event::of(Value::Null)).get("output").is_none());
}

// E248
#[test]
fn node_info_is_derived_from_the_path() {
    let event = Event::new().with_node_path("a@1/b@2");
    let info = event.node_info();
    assert_eq!((info.run_id(), info.parent_run_id(), info.name()), ("2", Some("1"), "b"));
    let event = Event::new().with_node_path("a/b");
    let info = event.node_info();
    assert_eq!((info.run_id(), info.parent_run_id(), info.name()), ("", None, "b"));
}

// E249, R108
#[test]
fn final_response() {
    let call = || Part::function_call(FunctionCall::new("1", "f", Map::new()));
    let response = || Part::function_response(FunctionResponse::new("1", "f", Map::new()));
    let ran = Part { code_execution_result: Some(Box::default()), ..Part::default() };
    let mut ended = Event::new();
    ended.actions_mut().set_end_of_agent(Some(true));
    let mut skipping = Event::message(response());
    skipping.actions_mut().set_skip_summarization(Some(true));
    let cases = [
        ("interrupt", Event::message(call()).with_long_running(["1"]), true),
        ("partial", Event::message("x").with_partial(true), false),
        ("text", Event::message("x"), true),
        ("output", Event::of(1), true),
        ("error", Event::new().with_error("E", "m"), true),
        ("state", Event::new().with_state("a", 1), true),
        ("nothing", Event::new(), true),
        ("end of agent", ended, true),
        ("call", Event::message(call()), false),
        ("response", Event::message(response()), false),
        ("skipped response", skipping, true),
        ("code result", Event::message(ran), false),
        ("error with call", Event::message(call()).with_error("E", "m"), false),
        ("error with response", Event::message(response()).with_error("E", "m"), true),
        ("partial error", Event::new().with_error("E", "m").with_partial(true), false),
    ];
    for (name, event, expected) in cases {
        assert_eq!(event.is_final_response(), expected, "{name}");
    }
}

// R105: older writers stored the run id next to the path.
#[test]
fn legacy_run_ids_join_the_path() {
    let check = |info: Value, path: &str, written_back: Value| {
        let event = read(json!({"node_info": info}));
        assert_eq!(event.path().as_str(), path);
        assert_eq!(written(&event)["node_info"], written_back);
    };
    check(json!({"path": "wf/a", "run_id": "2"}), "wf/a@2", json!({"path": "wf/a@2"}));
    check(json!({"path": "wf/a", "executionId": 3}), "wf/a@3", json!({"path": "wf/a@3"}));
    check(json!({"path": "a", "runId": "2"}), "a@2", json!({"path": "a@2"}));
    check(json!({"path": "wf/a"}), "wf/a", json!({"path": "wf/a"}));
    check(json!({"path": "a@1", "runId": "2"}), "a@1", json!({"path": "a@1", "run_id": "2"}));
    check(json!({"path": "", "runId": "2"}), "", json!({"path": "", "run_id": "2"}));
}

// S45, edge cases 78, 84, 85: wrong types are refused with a text that names the field.
#[test]
fn wrong_types_name_the_field() {
    for (json, expected) in [
        (json!({"timestamp": "2025-01-01T00:00:00"}), "timestamp: "),
        (json!({"actions": null}), "actions: "),
        (json!({"node_info": null}), "node_info: "),
        (json!({"error_code": 5}), "error_code: "),
        (json!({"custom_metadata": [1]}), "custom_metadata: "),
        (json!({"nodeInfo": {"path": 1}}), "node_info: path: "),
        (json!({"content": {"parts": [{"text": 1}]}}), "content: parts: text: "),
        (json!({"actions": {"route": {"a": 1}}}), "actions: route: "),
    ] {
        let error = try_read(json).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    assert_eq!(read(json!({"timestamp": " 1760000000.5 "})).timestamp(), 1_760_000_000.5);
    assert_eq!(read(json!({"timestamp": 3})).timestamp(), 3.0);
}

// S42: nulls inside user data stay, absent fields of the framework are left out.
#[test]
fn nulls_in_user_data_are_kept() {
    let event = read(json!({
        "branch": null, "content": {"role": null, "parts": [{"text": null, "function_call": {"name": "f", "args":
        {"a": null}}}]}, "output": {"x": null}, "state": {"k": null}, "custom_metadata": {"m": null},
    }));
    let json = written(&event);
    assert_eq!(json["content"], json!({"parts": [{"function_call": {"name": "f", "args": {"a": null}}}]}));
    assert_eq!(json["output"], json!({"x": null}));
    assert_eq!(json["actions"]["state_delta"], json!({"k": null}));
    assert_eq!(json["custom_metadata"], json!({"m": null}));
    assert!(json.get("branch").is_none());
}

// S2: keys of user data are never renamed, keys of the framework's documents are.
#[test]
fn only_the_frameworks_keys_change_casing() {
    let user = json!({"snake_key": {"inner_key": 1}});
    let mut event = read(json!({
        "output": user, "state": user, "custom_metadata": user, "cache_metadata": {"contents_count": 1},
        "usage_metadata": {"promptTokenCount": 1, "prompt_tokens_details": [{"token_count": 2}]},
        "content": {"parts": [{"function_call": {"args": user, "partial_args": [{"json_path": "a"}]}}]},
    }));
    event.actions_mut().set_agent_state(user.as_object().cloned());
    event.actions_mut().set_set_model_response(Some(user.clone()));
    let camel = to_camel(&event).unwrap();
    assert_eq!(camel["output"], user);
    assert_eq!(camel["customMetadata"], user);
    assert_eq!(camel["actions"]["stateDelta"], user);
    assert_eq!(camel["actions"]["agentState"], user);
    assert_eq!(camel["actions"]["setModelResponse"], user);
    assert_eq!(camel["cacheMetadata"], json!({"contents_count": 1}));
    let usage = json!({"promptTokenCount": 1, "promptTokensDetails": [{"tokenCount": 2}]});
    assert_eq!(camel["usageMetadata"], usage);
    let call = json!({"args": user, "partialArgs": [{"jsonPath": "a"}]});
    assert_eq!(camel["content"]["parts"][0]["functionCall"], call);
    assert_eq!(written(&event)["usage_metadata"]["prompt_token_count"], 1);
    assert_eq!(read(camel), event);
}

// R141: long-running ids and, for older events, the ids of the reserved calls.
#[test]
fn interrupt_ids() {
    let call = |id, name| Part::function_call(FunctionCall::new(id, name, Map::new()));
    let parts = vec![call("q", "adk_request_input"), call("c", "adk_request_credential"), call("f", "other")];
    let event = Event::message(parts);
    assert!(event.interrupt_ids().iter().eq(&["c", "q"]));
    let event = event.with_long_running(["t"]);
    assert!(event.interrupt_ids().iter().eq(&["t"]));
    assert!(event.is_interrupt());
    assert!(!Event::message("x").with_long_running(Vec::<String>::new()).is_interrupt());
}

// R109
#[test]
fn checkpoints_have_no_node_name() {
    let mut event = Event::new().with_node_path("wf@1/a@1");
    assert_eq!(event.node_name(), "a");
    event.actions_mut().set_agent_state(Some(Map::new()));
    assert!(!event.is_checkpoint());
    event.actions_mut().set_end_of_agent(Some(true));
    assert!(event.is_checkpoint());
    assert_eq!(event.node_name(), "");
}

#[test]
fn every_setter_is_read_back() {
    let uuid = Uuid::from_u128(7);
    let mut event = Event::from_author("a").with_branch("b@1").with_content(Content::model("hi"));
    event.set_id(uuid);
    event.set_timestamp(1.5);
    event.set_invocation_id("i");
    event.set_path(NodePath::root().child("n", "1"));
    event.set_isolation_scope(Some("scope".into()));
    event.set_turn_complete(Some(false));
    event.set_message_as_output(Some(true));
    event.set_model(Some(ModelInfo {
        finish_reason: Some("STOP".into()),
        avg_logprobs: Some(-0.5),
        ..Default::default()
    }));
    event.model_mut().interrupted = Some(true);
    let again = read(written(&event));
    assert_eq!(again, event);
    assert_eq!(again.id(), &uuid.to_string().as_str());
    assert_eq!(again.isolation_scope(), Some("scope"));
    assert_eq!(again.turn_complete(), Some(false));
    assert_eq!(again.model().unwrap().finish_reason.as_deref(), Some("STOP"));
    assert_eq!(read(to_camel(&event).unwrap()), event);
    event.set_model(None);
    assert!(event.model().is_none());
}

#[test]
fn text_leaves_thoughts_out() {
    let thought = Part { thought: Some(true), ..Part::text("hm") };
    assert_eq!(Event::message(vec![Part::text("a"), thought, Part::text("b")]).text(), "ab");
}

// A root node may be named `user`, and an event with an engine's note has no path. So the author and the path alone do
// not show that the event is not the user's own.
#[test]
fn the_engines_notes_are_not_the_users() {
    let with =
        |key: &str| Event::from_author("user").with_custom_metadata(Map::from_iter([(key.to_owned(), json!([]))]));
    assert!(!with("pleach_caught_failures").is_from_user());
    assert!(!with("_adk_caught_failures").is_from_user());
    assert!(with("pleach_signal").is_from_user());
    assert!(with("origin").is_from_user());
    // On an event of the user, metadata with that prefix belongs to the user.
    assert!(with("pleach_caught_failures").with_message("hello").is_from_user());
    assert!(with("pleach_caught_failures").with_state("k", 1).is_from_user());
}
