//! Tests that this crate builds the same requests as google-adk 2.13.0. They are recorded in the scenarios of
//! `tests/conformance`.

use std::fs;
use std::path::Path;

use pleach_core::{Content, FunctionDeclaration, to_camel};
use pleach_model::{LlmRequest, SharedContent};
use serde_json::{Map, Value, json};

/// Returns all requests of a scenario. Requests of concurrent agents are recorded by agent.
fn requests(scenario: &Value) -> Vec<&Value> {
    let turns = scenario["trace"]["turns"].as_array().into_iter().flatten();
    let recorded = turns.filter_map(|turn| turn.get("llm_requests"));
    recorded
        .flat_map(|requests| match requests {
            Value::Object(agents) => agents.values().filter_map(Value::as_array).flatten().collect(),
            requests => requests.as_array().into_iter().flatten().collect::<Vec<_>>(),
        })
        .collect()
}

/// Builds a recorded request as an agent does.
fn build(recorded: &Value) -> LlmRequest {
    let mut request = LlmRequest::new("scripted");
    request.append_instructions(recorded["system_instruction"].as_str());
    let names = recorded["tools"].as_array().into_iter().flatten().filter_map(Value::as_str);
    request.append_tools(names.map(|name| FunctionDeclaration::new(name, "")));
    if recorded["has_response_schema"] == json!(true) {
        request.set_output_schema(json!({"type": "object"}));
    }
    let contents = recorded["contents"].as_array().into_iter().flatten();
    let content = |json: &Value| serde_json::from_value::<Content>(json.clone()).expect("a recorded content");
    request.set_conversation(contents.map(content).map(SharedContent::from).collect());
    request
}

/// Returns a request in the form that the recording driver writes.
fn trace(request: &LlmRequest) -> Map<String, Value> {
    let config = &request.config;
    let names: Vec<_> = request.declarations().map(|declaration| declaration.name.clone()).collect();
    let mut trace = Map::new();
    trace.insert("contents".into(), to_camel(&request.contents).expect("contents have JSON"));
    trace.extend(config.system_instruction.clone().map(|text| ("system_instruction".into(), text.into())));
    trace.extend(config.response_mime_type.clone().map(|text| ("response_mime_type".into(), text.into())));
    if !names.is_empty() {
        trace.insert("tools".into(), json!(names));
    }
    if config.response_schema.is_some() {
        trace.insert("has_response_schema".into(), true.into());
    }
    trace
}

#[test]
fn recorded_requests_are_built_and_written_as_google_adk_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/scenarios");
    let mut built = 0;
    for entry in fs::read_dir(folder).expect("the scenarios are part of the repository") {
        let path = entry.expect("the folder can be read").path();
        if !path.to_string_lossy().ends_with(".golden.json") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a scenario can be read");
        let scenario: Value = serde_json::from_str(&text).expect("a scenario is JSON");
        for recorded in requests(&scenario) {
            let mut expected = recorded.as_object().expect("a request is an object").clone();
            // The agent, and whether it streams, are not part of the request.
            expected.retain(|key, _| key != "agent" && key != "stream");
            assert_eq!(trace(&build(recorded)), expected, "{}", path.display());
            built += 1;
        }
    }
    assert!(built > 80, "only {built} requests were found");
}
