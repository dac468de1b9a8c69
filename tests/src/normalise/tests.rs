//! The rules N1 to N7, one by one, on small traces.

use serde_json::{Value, json};

use super::{Errors, Order, compare, normalise};

const A: &str = "00000000-0000-4000-8000-00000000000a";
const B: &str = "00000000-0000-4000-8000-00000000000b";

fn trace_of(events: Value) -> Value {
    json!({"scenario": "s", "turns": [{"yielded": events}], "sessions": {}})
}

/// The normal form of a single yielded event.
fn event(event: Value) -> Value {
    let trace = normalise(&trace_of(json!([event])), Order::Ordered, Errors::Full).expect("a well formed trace");
    trace["turns"][0]["yielded"][0].clone()
}

fn check(raw: Value, expected: Value) {
    assert_eq!(event(raw), expected);
}

// Rule N1.
#[test]
fn fields_without_information_are_dropped() {
    check(
        json!({
            "author": "a", "timestamp": 1.5, "turnComplete": true, "partial": false, "branch": "",
            "output": {"kept": null}, "errorCode": null,
            "actions": {"stateDelta": {}, "artifactDelta": {}, "requestedAuthConfigs": {},
                        "requestedToolConfirmations": {}, "route": null},
            "nodeInfo": {"path": "", "messageAsOutput": false},
            "longRunningToolIds": [], "customMetadata": {"_adk_x": 1},
            "content": {"parts": []},
        }),
        json!({"author": "a", "output": {"kept": null}}),
    );
}

// Rule N1.
#[test]
fn parts_are_cleaned() {
    check(
        json!({"content": {"role": "model", "parts": [
            {"text": "t", "thought": false, "videoMetadata": null},
            {"functionCall": {"name": "f", "args": {}, "id": null, "willContinue": true}},
            {"functionCall": {"name": "adk_request_input", "args": {"a": null, "b": 1}}},
            {"functionResponse": {"name": "f", "response": {"x": null}, "scheduling": "WHEN_IDLE"}},
        ]}}),
        json!({"content": {"role": "model", "parts": [
            {"text": "t"},
            {"functionCall": {"name": "f"}},
            {"functionCall": {"name": "adk_request_input", "args": {"b": 1}}},
            {"functionResponse": {"name": "f", "response": {"x": null}}},
        ]}}),
    );
}

// Rule N1.
#[test]
fn partial_events_lose_the_fields_that_move_between_them() {
    check(
        json!({"partial": true, "actions": {"stateDelta": {"a": 1}, "escalate": true},
               "nodeInfo": {"path": "w@1", "outputFor": ["w@1"], "messageAsOutput": true}}),
        json!({"partial": true, "actions": {"escalate": true}, "nodeInfo": {"path": "w@1"}}),
    );
}

// Rule N2.
#[test]
fn generated_ids_are_numbered_by_class_and_first_appearance() {
    let trace = normalise(
        &trace_of(json!([
            {"id": B, "invocationId": format!("e-{A}"), "output": format!("see {B}, adk-{A}.")},
            {"id": A, "branch": format!("x@{B}"), "output": {"plain-id": "q-1"}},
        ])),
        Order::Ordered,
        Errors::Full,
    )
    .expect("a well formed trace");
    assert_eq!(
        trace["turns"][0]["yielded"],
        json!([
            {"id": "<event-1>", "invocationId": "<inv-1>", "output": "see <event-1>, <id-1>."},
            {"id": "<event-2>", "branch": "x@<event-1>", "output": {"plain-id": "q-1"}},
        ])
    );
}

// Rule N3.
#[test]
fn sets_are_sorted() {
    check(
        json!({"longRunningToolIds": ["b", "a"],
               "actions": {"agentState": {"nodes": {"n": {"interrupts": ["y", "x"]}}}}}),
        json!({"longRunningToolIds": ["a", "b"],
               "actions": {"agentState": {"nodes": {"n": {"interrupts": ["x", "y"]}}}}}),
    );
}

// Rule N4.
#[test]
fn numbers_compare_by_value_and_booleans_are_not_numbers() {
    let golden = json!({"trace": trace_of(json!([{"output": [1, 0.5]}]))});
    let with = |output: Value| compare(&golden, &trace_of(json!([{"output": output}])));
    assert_eq!(with(json!([1.0, 0.5])), []);
    assert_eq!(with(json!([1, 0.500_000_000_1])), []);
    assert_eq!(with(json!([true, 0.5])).len(), 1);
    assert_eq!(with(json!([1, 0.6])).len(), 1);
}

// Rule N5.
#[test]
fn json_for_the_model_compares_as_json() {
    let request = |text: &str| {
        let raw = json!({"turns": [{"llm_requests": [
            {"agent": "a", "tools": [], "contents": [{"role": "user", "parts": [{"text": text}]}]},
        ]}]});
        normalise(&raw, Order::Ordered, Errors::Full).expect("a well formed trace")["turns"][0]
            ["llm_requests"][0]["contents"][0]["parts"][0]["text"]
            .clone()
    };
    assert_eq!(request(r#"{"b": 1, "a": [1.0]}"#), r#"{"a":[1.0],"b":1}"#);
    assert_eq!(request("{not json}"), "{not json}");
    let quoted = |body: &str| format!("x <<<BEGIN_QUOTED_AGENT_CONTENT>>>\n{body}\n<<<END_QUOTED_AGENT_CONTENT>>> y");
    assert_eq!(request(&quoted("{'a': None, 'b': True}")), quoted(r#"{"a":null,"b":true}"#));
    assert_eq!(request(&quoted("plain {text}")), quoted("plain {text}"));
}

// Rule N6.
#[test]
fn messages_of_errors_may_be_left_out() {
    let raw = json!({"turns": [{
        "yielded": [{"errorCode": "E", "errorMessage": "m"}],
        "error": {"type": "E", "message": "m"},
    }]});
    let turn = |errors| normalise(&raw, Order::Ordered, errors).expect("a well formed trace")["turns"][0].clone();
    assert_eq!(turn(Errors::Type), json!({"yielded": [{"errorCode": "E"}], "error": {"type": "E"}}));
    assert_eq!(turn(Errors::Full)["error"]["message"], "m");
}

// Rule N7.
#[test]
fn events_are_grouped_by_node() {
    let raw = json!({
        "turns": [{
            "yielded": [{"id": A, "nodeInfo": {"path": "b"}}, {"author": "user"}, {"id": B, "nodeInfo": {"path": "b"}}],
            "llm_requests": [{"agent": "z", "contents": []}],
            "log": ["b", "a"],
        }],
        "sessions": {"s1": {"events": [{"author": "user"}], "state": null}},
    });
    let trace = normalise(&raw, Order::PerNode, Errors::Full).expect("a well formed trace");
    let node = json!({"id": "<event>", "nodeInfo": {"path": "b"}});
    assert_eq!(
        trace["turns"][0],
        json!({
            "yielded": {"b": [node, node], "author:user": [{"author": "user"}]},
            "llm_requests": {"z": [{"agent": "z", "contents": []}]},
            "log": ["a", "b"],
        })
    );
    assert_eq!(trace["sessions"]["s1"], json!({"events": {"author:user": [{"author": "user"}]}, "state": {}}));
}

#[test]
fn construction_errors_keep_type_and_rule() {
    let raw = json!({"scenario": "s", "construction_error": {"type": "T", "rule": "r", "message": "m"}});
    assert_eq!(
        normalise(&raw, Order::Ordered, Errors::Full).expect("a well formed trace"),
        json!({"scenario": "s", "construction_error": {"type": "T", "rule": "r"}})
    );
}

#[test]
fn differences_name_the_place_and_both_values() {
    let golden = json!({"trace": trace_of(json!([{"author": "a"}, {"author": "b"}]))});
    let found = compare(&golden, &trace_of(json!([{"author": "x"}])));
    let lines: Vec<String> = found.iter().map(|d| format!("{}: {} / {}", d.path, d.golden, d.actual)).collect();
    assert_eq!(
        lines,
        ["$.turns[0].yielded[0].author: \"a\" / \"x\"", "$.turns[0].yielded[1]: {\"author\": \"b\"} / (absent)",]
    );
}

#[test]
fn a_malformed_trace_is_a_difference() {
    let golden = json!({"trace": trace_of(json!([]))});
    for raw in [json!("x"), json!({"turns": 3}), json!({"turns": [{"yielded": ["x"]}]})] {
        assert_eq!(compare(&golden, &raw).len(), 1, "{raw}");
    }
}
