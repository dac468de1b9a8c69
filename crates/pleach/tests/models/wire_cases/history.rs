//! Reads the calls of the history from a request and checks that the provider would accept them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::case::Provider;

/// Returns the calls of a request's history, in order, with their arguments.
///
/// # Panics
/// Panics if two calls of the history have the same id, or if a call does not have exactly one result.
pub(super) fn calls(provider: Provider, request: &Value) -> Vec<(String, Value)> {
    match provider {
        Provider::OpenAi => paired(openai(request)),
        Provider::Anthropic => paired(anthropic(request)),
        Provider::Gemini => gemini(request),
    }
}

/// A call, or the id of a result.
enum Entry {
    Call { id: String, name: String, arguments: Value },
    Result(String),
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a text")).to_owned()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn openai(request: &Value) -> Vec<Entry> {
    let mut entries = Vec::new();
    for message in list(&request["messages"]) {
        for call in list(&message["tool_calls"]) {
            let (name, arguments) = (&call["function"]["name"], &call["function"]["arguments"]);
            let arguments = serde_json::from_str(&text(arguments)).unwrap();
            entries.push(Entry::Call { id: text(&call["id"]), name: text(name), arguments });
        }
        if message["role"] == "tool" {
            entries.push(Entry::Result(text(&message["tool_call_id"])));
        }
    }
    entries
}

fn anthropic(request: &Value) -> Vec<Entry> {
    let blocks = list(&request["messages"]).flat_map(|message| list(&message["content"]));
    let entry = |block: &Value| match block["type"].as_str()? {
        "tool_use" => {
            Some(Entry::Call { id: text(&block["id"]), name: text(&block["name"]), arguments: block["input"].clone() })
        }
        "tool_result" => Some(Entry::Result(text(&block["tool_use_id"]))),
        _ => None,
    };
    blocks.filter_map(entry).collect()
}

fn paired(entries: Vec<Entry>) -> Vec<(String, Value)> {
    let mut results: BTreeMap<String, usize> = BTreeMap::new();
    let mut ids = BTreeSet::new();
    let mut calls = Vec::new();
    for entry in entries {
        match entry {
            Entry::Call { id, name, arguments } => {
                assert!(ids.insert(id.clone()), "two calls of the history have the id {id}");
                calls.push((name, arguments));
            }
            Entry::Result(id) => *results.entry(id).or_default() += 1,
        }
    }
    let expected: BTreeMap<String, usize> = ids.into_iter().map(|id| (id, 1)).collect();
    assert_eq!(results, expected, "each call of the history has one result");
    calls
}

fn has_key(key: &str, value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(own, member)| own == key || has_key(key, member)),
        Value::Array(items) => items.iter().any(|item| has_key(key, item)),
        _ => false,
    }
}

/// Gemini pairs calls and responses by order. After the calls of a content, there must be as many responses of the same
/// functions.
fn gemini(request: &Value) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    let mut open: Vec<String> = Vec::new();
    for content in list(&request["contents"]) {
        let parts = || list(&content["parts"]);
        let responses: Vec<String> =
            parts().filter_map(|part| Some(text(&part.get("functionResponse")?["name"]))).collect();
        assert_eq!(responses, open, "the responses are those to the calls before them");
        open.clear();
        for response in parts().filter_map(|part| part.get("functionResponse")) {
            assert!(!has_key("$ref", &response["response"]), "{response} has a reference");
        }
        for call in parts().filter_map(|part| part.get("functionCall")) {
            open.push(text(&call["name"]));
            calls.push((text(&call["name"]), call.get("args").cloned().unwrap_or_else(|| json!({}))));
        }
    }
    assert!(open.is_empty(), "calls without responses: {open:?}");
    calls
}
