//! Writes the body of a request.

use pleach_model::{GenerateConfig, LlmRequest, ModelCall, ModelError};
use serde_json::{Map, Value, json};

use super::messages;
use super::output::OutputTool;
use crate::functions::{callable, parameters};
use crate::settings::refuse_unsupported;
use crate::wire::Prepared;

/// The maximum number of tokens of an answer if the settings have none. The provider requires a maximum.
const MAX_TOKENS: u32 = 8_192;

/// Writes the request.
pub(super) fn prepare(model: &str, call: &ModelCall<'_>) -> Result<Prepared, ModelError> {
    let mut request = call.request.clone();
    request.ensure_user_turn();
    let config = &request.config;
    let is_schema_set = config.response_schema.is_some() || config.response_json_schema.is_some();
    let asks_for_json = config.response_mime_type.as_deref() == Some("application/json");
    let others = [
        ("seed", config.seed.is_some()),
        ("presence_penalty", config.presence_penalty.is_some()),
        ("frequency_penalty", config.frequency_penalty.is_some()),
        ("response_logprobs", config.response_logprobs == Some(true)),
        ("logprobs", config.logprobs.is_some()),
        ("response_mime_type", asks_for_json && !is_schema_set),
    ];
    refuse_unsupported(model, "Anthropic messages", config, others)?;
    let mut body = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(key.to_owned(), value);
        }
    };
    set("model", Some(json!(model)));
    set("messages", Some(Value::Array(messages::of(model, &request)?)));
    set("max_tokens", Some(json!(config.max_output_tokens.unwrap_or(MAX_TOKENS))));
    set("system", config.system_instruction.as_ref().filter(|text| !text.trim().is_empty()).map(|text| json!(text)));
    set("stop_sequences", config.stop_sequences.as_ref().filter(|stops| !stops.is_empty()).map(|stops| json!(stops)));
    set("service_tier", config.service_tier.as_ref().map(|tier| json!(tier)));
    let thinking = thinking(config);
    let thinks = thinking.as_ref().is_some_and(|thinking| thinking["type"] != "disabled");
    // The provider refuses these settings while the model thinks.
    if !thinks {
        set("temperature", config.temperature.map(Value::from));
        set("top_p", config.top_p.map(Value::from));
        set("top_k", config.top_k.map(|top_k| json!(top_k as u64)));
    }
    set("thinking", thinking);
    set("output_config", effort(config));
    let output = OutputTool::of(&request);
    let mut tools = tools(model, &request)?;
    let mut choice = tool_choice(config);
    if let Some(output) = &output {
        if choice == Some(json!({"type": "none"})) {
            tools.clear();
        }
        choice = Some(OutputTool::choice(thinks, tools.is_empty()));
        tools.push(output.declaration());
    }
    if !tools.is_empty() {
        set("tool_choice", choice);
        set("tools", Some(Value::Array(tools)));
    }
    set("stream", call.streaming.then_some(json!(true)));
    Ok(Prepared { version: Some("v1".to_owned()), path: "messages".to_owned(), body })
}

/// Returns the thinking mode: a budget of tokens, or adaptive (-1, or a level).
fn thinking(config: &GenerateConfig) -> Option<Value> {
    let thinking = config.thinking_config.as_ref()?;
    match thinking.thinking_budget {
        Some(0) => Some(json!({"type": "disabled"})),
        Some(budget) if budget > 0 => Some(json!({"type": "enabled", "budget_tokens": budget})),
        None if thinking.thinking_level.is_none() && thinking.include_thoughts != Some(true) => None,
        _ => Some(json!({"type": "adaptive", "display": "summarized"})),
    }
}

fn effort(config: &GenerateConfig) -> Option<Value> {
    let level = config.thinking_config.as_ref()?.thinking_level.as_deref()?;
    Some(json!({"effort": level.to_ascii_lowercase()}))
}

fn tools(model: &str, request: &LlmRequest) -> Result<Vec<Value>, ModelError> {
    let tools = callable(model, request, required(&request.config))?.map(|declared| {
        let input = parameters(declared);
        json!({"name": declared.name, "description": declared.description.as_deref().unwrap_or_default(), "input_schema": input})
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
        "ANY" => Some(json!({"type": "any"})),
        "NONE" => Some(json!({"type": "none"})),
        _ => None,
    }
}
