//! Responses of models that a scenario describes.

use std::sync::Arc;

use pleach::model::LlmResponse;
use pleach::{Content, FunctionCall, Map, NodeError, Part};
use serde_json::Value;

use super::env::{Env, Failure};
use super::event::typed;
use super::ordered::JSON_TEXT;
use super::value::to_text;
use super::world::World;

/// Reads a RESP: a text, or an object.
pub(crate) fn response(described: &Value, env: &Env) -> Result<LlmResponse, Failure> {
    let fields = match described {
        Value::Object(fields) => fields,
        Value::String(text) => return Ok(LlmResponse::text(text)),
        other => return Err(env.fault(&format!("{other} is not a response of a model"))),
    };
    let parts = parts(fields, env)?;
    let error_code = text(fields, "error_code");
    let role = text(fields, "role").unwrap_or_else(|| "model".to_owned());
    let has_content = !parts.is_empty() || error_code.is_none();
    let mut response = LlmResponse { error_code, ..LlmResponse::default() };
    response.content = has_content.then(|| Content::new(role, parts));
    response.error_message = text(fields, "error_message");
    response.partial = fields.get("partial").and_then(Value::as_bool);
    response.custom_metadata = fields.get("custom_metadata").and_then(Value::as_object).cloned();
    Ok(response)
}

fn parts(fields: &Map, env: &Env) -> Result<Vec<Part>, Failure> {
    let spoken = |key: &str| fields.get(key).map(|text| env.eval(text).map(|text| to_text(&text))).transpose();
    let mut parts = Vec::new();
    if let Some(thought) = spoken("thought")? {
        parts.push(Part { thought: Some(true), ..Part::text(thought) });
    }
    parts.extend(spoken("text")?.map(Part::text));
    let json = fields.get("json").map(Value::to_string);
    parts.extend(text(fields, JSON_TEXT).or(json).map(Part::text));
    for call in fields.get("calls").and_then(Value::as_array).into_iter().flatten() {
        parts.push(Part::function_call(function_call(call, env)?));
    }
    if let Some(raw) = fields.get("parts") {
        parts.extend(typed::<Vec<Part>>(raw.clone())?);
    }
    Ok(parts)
}

fn function_call(described: &Value, env: &Env) -> Result<FunctionCall, Failure> {
    let args = described.get("args").map_or(Ok(Value::Object(Map::new())), |args| env.eval(args))?;
    let mut call = described.as_object().cloned().unwrap_or_default();
    call.insert("args".to_owned(), args);
    Ok(typed(Value::Object(call))?)
}

fn text(fields: &Map, key: &str) -> Option<String> {
    fields.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Reads a RESP that a callback has returned.
pub(crate) fn returned(world: &Arc<World>, value: &Value) -> Result<LlmResponse, NodeError> {
    let env = Env::of_model(Arc::clone(world), Map::new());
    response(value, &env).map_err(|Failure { error, .. }| error)
}
