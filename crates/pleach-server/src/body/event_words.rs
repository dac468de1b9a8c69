//! [`spell_out`]: replaces the short names of an event's members, which the constructor in google-adk accepts.
// H33

use serde_json::{Map, Value, json};

use super::problem::{Problem, Step};

/// Moves `message`, `state`, `route` and `node_path` of a session's events to the full names, and sets the time of
/// events that have none.
///
/// # Errors
/// A problem for each event with both a message and a content.
pub(super) fn spell_out(body: &mut Value, now: f64) -> Result<(), Vec<Problem>> {
    let Some(events) = body.get_mut("events").and_then(Value::as_array_mut) else { return Ok(()) };
    let mut problems = Vec::new();
    for (index, event) in events.iter_mut().enumerate() {
        let Value::Object(event) = event else { continue };
        event.entry("timestamp").or_insert_with(|| now.into());
        if taken(event, "message").is_some_and(|message| !set_content(event, message)) {
            let loc = vec![Step::name("body"), Step::name("events"), Step::Index(index)];
            problems.push(Problem::new("value_error", loc, "Value error, an event has either a message or a content"));
        }
        for (word, whole, member) in
            [("state", "actions", "stateDelta"), ("route", "actions", "route"), ("node_path", "nodeInfo", "path")]
        {
            if let Some(value) = taken(event, word) {
                set_member(event, whole, member, value);
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Removes a member and returns it unless it is null.
fn taken(event: &mut Map<String, Value>, name: &str) -> Option<Value> {
    event.remove(name).filter(|value| !value.is_null())
}

/// Sets the content, and returns whether the event had none.
fn set_content(event: &mut Map<String, Value>, message: Value) -> bool {
    if event.get("content").is_some_and(|content| !content.is_null()) {
        return false;
    }
    let content = if message.is_string() { json!({"role": "user", "parts": [{"text": message}]}) } else { message };
    event.insert("content".to_owned(), content);
    true
}

fn set_member(event: &mut Map<String, Value>, whole: &str, member: &str, value: Value) {
    let snake = if whole == "nodeInfo" { "node_info" } else { whole };
    let name = if event.contains_key(whole) { whole } else { snake };
    let members = event.entry(name).or_insert_with(|| json!({}));
    if let Value::Object(members) = members {
        members.insert(member.to_owned(), value);
    }
}
