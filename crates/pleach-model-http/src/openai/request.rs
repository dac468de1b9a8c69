//! Writes the body of a request.
// L232, L233

use pleach_model::{GenerateConfig, LlmRequest, ModelCall, ModelError};
use serde_json::{Map, Value, json};

use super::{answer_shape, messages, schema};
use crate::functions::{callable, parameters};
use crate::settings::refuse_unsupported;
use crate::wire::{Prepared, unsupported};

/// Writes the request. `max_tokens` is the member that limits the tokens of an answer.
pub(super) fn prepare(model: &str, call: &ModelCall<'_>, max_tokens: &str) -> Result<Prepared, ModelError> {
    let mut request = call.request.clone();
    request.ensure_user_turn();
    let config = &request.config;
    let budget = config.thinking_config.as_ref().and_then(|thinking| thinking.thinking_budget);
    refuse_unsupported(model, "chat completions", config, [("thinking_budget", budget.is_some())])?;
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("messages".to_owned(), Value::Array(messages::of(model, &request)?));
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(key.to_owned(), value);
        }
    };
    set("temperature", config.temperature.map(Value::from));
    set("top_p", config.top_p.map(Value::from));
    set("top_k", config.top_k.map(Value::from));
    set("seed", config.seed.map(Value::from));
    set("presence_penalty", config.presence_penalty.map(Value::from));
    set("frequency_penalty", config.frequency_penalty.map(Value::from));
    set(max_tokens, config.max_output_tokens.map(Value::from));
    set("stop", config.stop_sequences.as_ref().filter(|stops| !stops.is_empty()).map(|stops| json!(stops)));
    set("service_tier", config.service_tier.as_ref().map(|tier| json!(tier)));
    set("logprobs", config.response_logprobs.map(Value::from));
    set("top_logprobs", config.logprobs.map(Value::from));
    set("reasoning_effort", reasoning_effort(config));
    set("response_format", response_format(model, config)?);
    let tools = tools(model, &request)?;
    if !tools.is_empty() {
        set("tool_choice", tool_choice(config));
        set("tools", Some(Value::Array(tools)));
    }
    if call.streaming {
        set("stream", Some(json!(true)));
        set("stream_options", Some(json!({"include_usage": true})));
    }
    Ok(Prepared { version: None, path: "chat/completions".to_owned(), body })
}

fn reasoning_effort(config: &GenerateConfig) -> Option<Value> {
    let level = config.thinking_config.as_ref()?.thinking_level.as_deref()?;
    Some(json!(level.to_ascii_lowercase()))
}

fn response_format(model: &str, config: &GenerateConfig) -> Result<Option<Value>, ModelError> {
    if let Some(schema) = config.response_schema.as_ref().or(config.response_json_schema.as_ref()) {
        let named = json!({"name": schema::name(schema), "strict": true, "schema": strict(model, schema)?});
        return Ok(Some(json!({"type": "json_schema", "json_schema": named})));
    }
    Ok((config.response_mime_type.as_deref() == Some("application/json")).then(|| json!({"type": "json_object"})))
}

/// Returns the output schema as it is sent.
///
/// # Errors
/// The schema has fields that a strict schema cannot describe.
pub(super) fn strict(model: &str, schema: &Value) -> Result<Value, ModelError> {
    schema::strict(schema).map_err(|faults| unsupported(model, answer_shape::describe(&faults)))
}

/// Returns the functions that may be called. If a call is required and functions are named, only those are returned.
fn tools(model: &str, request: &LlmRequest) -> Result<Vec<Value>, ModelError> {
    let tools = callable(model, request, required(&request.config))?.map(|declared| {
        let parameters = parameters(declared);
        let description = declared.description.as_deref().unwrap_or_default();
        json!({
            "type": "function",
            "function": {"name": declared.name, "description": description, "parameters": parameters},
        })
    });
    Ok(tools.collect())
}

/// Returns the functions of which one must be called. The list is empty if any function may be.
fn required(config: &GenerateConfig) -> Option<&[String]> {
    let calling = config.tool_config.as_ref()?.function_calling_config.as_ref()?;
    (calling.mode.as_deref() == Some("ANY")).then(|| calling.allowed_function_names.as_deref().unwrap_or_default())
}

fn tool_choice(config: &GenerateConfig) -> Option<Value> {
    let calling = config.tool_config.as_ref()?.function_calling_config.as_ref()?;
    match calling.mode.as_deref()? {
        "ANY" => Some(json!("required")),
        "NONE" => Some(json!("none")),
        _ => None,
    }
}
