//! Rules N1, N3 and N6: removes the parts of events and contents that are not compared.

use serde_json::{Map, Value};

use super::{Errors, Malformed, Result, is_true, items, object};

/// Event fields that describe the time or the model of an event, and not its content.
const VOLATILE: &[&str] = &[
    "timestamp",
    "usageMetadata",
    "modelVersion",
    "finishReason",
    "turnComplete",
    "avgLogprobs",
    "liveSessionId",
    "interrupted",
    "cacheMetadata",
    "citationMetadata",
    "interactionId",
    "groundingMetadata",
];

/// Maps of `actions` that are always written and mean nothing if they are empty.
const ACTION_MAPS: &[&str] = &["stateDelta", "artifactDelta", "requestedAuthConfigs", "requestedToolConfirmations"];

/// Event fields for which an empty text means the same as no field.
const EMPTY_TEXT: &[&str] = &["author", "branch", "isolationScope", "invocationId"];

/// The part of one event that is compared.
pub(super) fn event(event: &Value, errors: Errors) -> Result<Value> {
    let event = object(event, "an event")?;
    let partial = event.get("partial").is_some_and(is_true);
    let mut out = Map::new();
    for (key, value) in event {
        if let Some(value) = field(key, value, partial, errors)? {
            out.insert(key.clone(), value);
        }
    }
    Ok(Value::Object(out))
}

/// One field of an event, or `None` if it is not compared.
fn field(key: &str, value: &Value, partial: bool, errors: Errors) -> Result<Option<Value>> {
    let kept = match key {
        _ if value.is_null() || VOLATILE.contains(&key) => None,
        "partial" => (value != &Value::Bool(false)).then(|| value.clone()),
        "content" => Some(content(value)?).filter(has_meaning),
        "actions" => actions(object(value, "actions")?, partial)?,
        "nodeInfo" => node_info(object(value, "nodeInfo")?, partial),
        "longRunningToolIds" => long_running(value)?,
        "customMetadata" => filled(
            object(value, "customMetadata")?
                .iter()
                .filter(|(key, _)| !key.starts_with("_adk") && !key.starts_with("pleach_")),
        ),
        "errorMessage" if errors == Errors::Type => None,
        _ if EMPTY_TEXT.contains(&key) && value == "" => None,
        _ => Some(value.clone()),
    };
    Ok(kept)
}

fn long_running(ids: &Value) -> Result<Option<Value>> {
    if ids.is_number() || ids.is_boolean() {
        return Err(Malformed(format!("longRunningToolIds is not a list: {ids}")));
    }
    let sorted = sorted_texts(items(Some(ids), "longRunningToolIds")?)?;
    Ok((!sorted.is_empty()).then_some(Value::Array(sorted)))
}

/// Returns true if a content has parts or at least a role.
fn has_meaning(content: &Value) -> bool {
    content.get("parts").is_some_and(is_true) || content.get("role").is_some()
}

fn actions(actions: &Map<String, Value>, partial: bool) -> Result<Option<Value>> {
    let Some(mut kept) = filled(actions.iter().filter(|(key, value)| {
        let empty = ACTION_MAPS.contains(&key.as_str()) && value.as_object().is_some_and(Map::is_empty);
        let pending = partial && *key == "stateDelta";
        !(value.is_null() || empty || pending)
    })) else {
        return Ok(None);
    };
    if let Some(state) = kept.get_mut("agentState") {
        sort_interrupts(state)?;
    }
    Ok(Some(kept))
}

/// Sorts the interrupt ids of a checkpoint, which are a set (rule N3).
fn sort_interrupts(state: &mut Value) -> Result<()> {
    let Some(nodes) = state.get_mut("nodes").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    for node in nodes.values_mut() {
        if let Some(interrupts) = node.get_mut("interrupts").filter(|v| v.is_array()) {
            *interrupts = Value::Array(sorted_texts(items(Some(interrupts), "interrupts")?)?);
        }
    }
    Ok(())
}

fn node_info(info: &Map<String, Value>, partial: bool) -> Option<Value> {
    filled(info.iter().filter(|(key, value)| {
        let is_message = *key == "messageAsOutput";
        let empty = value.is_null() || *value == "" || (is_message && value == &&Value::Bool(false));
        !empty && !(partial && (is_message || *key == "outputFor"))
    }))
}

/// A content without its nulls and without the fields that two runtimes fill differently.
pub(super) fn content(content: &Value) -> Result<Value> {
    let content = object(content, "a content")?;
    let mut out = Map::new();
    if let Some(role) = content.get("role").filter(|role| !role.is_null()) {
        out.insert("role".into(), role.clone());
    }
    let parts = items(content.get("parts"), "parts")?.iter().map(part).collect::<Result<Vec<Value>>>()?;
    out.insert("parts".into(), Value::Array(parts));
    Ok(Value::Object(out))
}

fn part(part: &Value) -> Result<Value> {
    let mut out: Map<String, Value> = object(part, "a part")?
        .iter()
        .filter(|(_, value)| !value.is_null() && **value != Value::Bool(false))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for key in ["functionCall", "functionResponse"] {
        if let Some(Value::Object(call)) = out.get_mut(key) {
            function(call, key == "functionCall");
        }
    }
    Ok(Value::Object(out))
}

fn function(call: &mut Map<String, Value>, is_call: bool) {
    call.retain(|_, value| !value.is_null());
    let is_question = call.get("name").is_some_and(|n| n == "adk_request_input");
    if let Some(Value::Object(args)) = call.get_mut("args") {
        if is_question {
            args.retain(|_, value| !value.is_null());
        }
        if is_call && args.is_empty() {
            call.remove("args");
        }
    }
    call.remove("willContinue");
    call.remove("scheduling");
}

/// Sorts the ids of long-running tools (rule N3). Generated ids must already have their names, because before that
/// their order depends on chance.
pub(super) fn sort_named_ids(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(sort_named_ids),
        Value::Object(members) => {
            for (key, member) in members {
                match member {
                    Value::Array(ids) if key == "longRunningToolIds" => {
                        ids.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
                    }
                    other => sort_named_ids(other),
                }
            }
        }
        _ => {}
    }
}

/// The members as an object, or `None` if there are none.
fn filled<'a>(members: impl Iterator<Item = (&'a String, &'a Value)>) -> Option<Value> {
    let out: Map<String, Value> = members.map(|(key, value)| (key.clone(), value.clone())).collect();
    (!out.is_empty()).then_some(Value::Object(out))
}

fn sorted_texts(values: &[Value]) -> Result<Vec<Value>> {
    let mut texts = values
        .iter()
        .map(|value| value.as_str().ok_or_else(|| Malformed(format!("an id is not a text: {value}"))))
        .collect::<Result<Vec<&str>>>()?;
    texts.sort_unstable();
    Ok(texts.into_iter().map(Value::from).collect())
}
