//! Events and contents that bodies describe.

use pleach::{Content, Event, NodeError, Route};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::env::{Env, Failure};
use super::step::Entries;

/// Makes the event that an EVENT object of the language describes.
pub(crate) fn event(fields: &Entries, env: &Env) -> Result<Event, Failure> {
    let mut event = Event::new();
    // Actions come first, because state and route add to them.
    if let Some(actions) = fields.get("actions") {
        event = event.with_actions(typed(env.eval(actions)?)?);
    }
    for (key, expr) in fields {
        let value = env.eval(expr)?;
        event = match key.as_str() {
            "actions" => event,
            "message" => match value {
                Value::String(text) => event.with_message(text),
                content => event.with_content(typed(content)?),
            },
            "state" => event.with_state_map(typed(value)?),
            "output" => event.with_output(value),
            "route" if value.is_null() => event,
            "route" => event.with_route(typed::<Route>(value)?),
            "branch" => event.with_branch(typed::<String>(value)?),
            "partial" => event.with_partial(typed(value)?),
            "custom_metadata" => event.with_custom_metadata(typed(value)?),
            "error_code" => {
                event.set_error_code(Some(typed(value)?));
                event
            }
            "error_message" => {
                event.set_error_message(Some(typed(value)?));
                event
            }
            _ => return Err(env.fault(&format!("unknown event key `{key}`"))),
        };
    }
    Ok(event)
}

/// A content from a text or a content object. `role` is used if the object names no role.
pub(crate) fn content(value: Value, role: &str) -> Result<Content, NodeError> {
    match value {
        Value::String(text) => Ok(Content::new(role, [pleach::Part::text(text)])),
        Value::Object(fields) => {
            let mut content = Map::from_iter([("role".to_owned(), role.into())]);
            content.extend(fields);
            typed(Value::Object(content))
        }
        other => Err(NodeError::validation(format!("{other} is no content"))),
    }
}

/// Reads a value as a type of the runtime.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, NodeError> {
    serde_json::from_value(value).map_err(|error| NodeError::validation(error.to_string()))
}
