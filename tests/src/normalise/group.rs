//! Rules N4 and N7: equal forms of numbers, and grouping by node and agent.

use serde_json::{Map, Value};

use super::dumps::{Style, dumps};
use super::is_true;

/// The largest magnitude below which every whole float is an exact integer.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Turns whole floats into integers, everywhere in the value (rule N4).
pub(super) fn whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(n) if n.is_f64() => match n.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < EXACT => {
                // The guard has checked the range.
                Value::from(float as i64)
            }
            _ => Value::Number(n),
        },
        Value::Array(items) => items.into_iter().map(whole_numbers).collect(),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(key, member)| (key, whole_numbers(member))).collect())
        }
        other => other,
    }
}

/// Groups the parts of a normalised trace whose order across nodes is free (rule N7).
pub(super) fn by_node(trace: &mut Value) {
    let turns = trace.get_mut("turns").and_then(Value::as_array_mut);
    for turn in turns.into_iter().flatten().filter_map(Value::as_object_mut) {
        regroup(turn, "yielded", node_of);
        regroup(turn, "llm_requests", agent_of);
        if let Some(Value::Array(log)) = turn.get_mut("log") {
            log.sort_by_cached_key(|line| dumps(line, Style::SORT_KEY));
        }
    }
    let sessions = trace.get_mut("sessions").and_then(Value::as_object_mut);
    for session in sessions.into_iter().flat_map(|s| s.values_mut()) {
        if let Some(session) = session.as_object_mut() {
            regroup(session, "events", node_of);
        }
    }
}

/// Replaces a list with an object of lists and keeps the order within each list.
fn regroup(parent: &mut Map<String, Value>, field: &str, group_of: fn(&Value) -> String) {
    let Some(Value::Array(items)) = parent.get_mut(field).map(Value::take) else {
        parent.retain(|key, value| key != field || !value.is_null());
        return;
    };
    let mut groups = Map::new();
    for item in items {
        let group = groups.entry(group_of(&item)).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(group) = group {
            group.push(item);
        }
    }
    parent.insert(field.to_owned(), Value::Object(groups));
}

fn node_of(event: &Value) -> String {
    match event.pointer("/nodeInfo/path").filter(|p| is_true(p)) {
        Some(path) => text_of(path),
        None => format!("author:{}", event.get("author").map(text_of).unwrap_or_default()),
    }
}

fn agent_of(request: &Value) -> String {
    request.get("agent").map(text_of).unwrap_or_default()
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
