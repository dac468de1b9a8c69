//! Writes the body of a request.
// L211, L212

use pleach_core::to_camel;
use pleach_model::{GenerateConfig, ModelCall, ModelError, ModelErrorKind};
use serde_json::{Map, Value, json};

use super::history;
use super::schema::DIALECT;
use crate::schema::fit_answer;
use crate::wire::{Prepared, unsupported};

/// The settings that are outside `generationConfig`.
const TOP_LEVEL: [&str; 5] = ["safetySettings", "tools", "toolConfig", "cachedContent", "serviceTier"];

/// Writes the request.
pub(super) fn prepare(model: &str, call: &ModelCall<'_>) -> Result<Prepared, ModelError> {
    let mut request = call.request.clone();
    request.ensure_user_turn();
    refuse_unsupported(model, &request.config)?;
    let json = |error: serde_json::Error| ModelError::new(model, ModelErrorKind::InvalidRequest).with_cause(error);
    let contents = history::pair(&request.contents, request.config.cached_content.is_some());
    let mut contents = to_camel(&contents).map_err(json)?;
    for content in contents.as_array_mut().into_iter().flatten() {
        drop_display_names(content);
        let parts = content.get_mut("parts").and_then(Value::as_array_mut);
        let responses = parts.into_iter().flatten().filter_map(|part| part.pointer_mut("/functionResponse/response"));
        responses.for_each(history::hide_references);
    }
    let mut body = Map::from_iter([("contents".to_owned(), contents)]);
    if let Some(instruction) = request.config.system_instruction.take().filter(|text| !text.is_empty()) {
        body.insert("systemInstruction".to_owned(), json!({"parts": [{"text": instruction}], "role": "user"}));
    }
    // Gemini with a key has no labels, and accepts JSON Schema unchanged.
    request.config.labels = None;
    let schema = request.config.response_schema.take();
    let schema = request.config.response_json_schema.take().or(schema);
    request.config.response_json_schema = schema.map(|schema| fit_answer(&schema, &DIALECT).0);
    let options = request.config.http_options.take();
    let mut settings = to_camel(&request.config).map_err(json)?;
    for key in TOP_LEVEL {
        if let Some(value) = settings.as_object_mut().and_then(|settings| settings.remove(key)) {
            body.insert(key.to_owned(), value);
        }
    }
    body.insert("generationConfig".to_owned(), settings);
    let version = options.and_then(|options| options.api_version).or_else(|| Some("v1beta".to_owned()));
    Ok(Prepared { version, path: path(model, call.streaming), body })
}

/// Returns the path of a model or of a tuned model, `tunedModels/…`.
fn path(model: &str, streaming: bool) -> String {
    let model = if model.contains('/') { model.to_owned() } else { format!("models/{model}") };
    let method = if streaming { "streamGenerateContent?alt=sse" } else { "generateContent" };
    format!("{model}:{method}")
}

/// Refuses settings that Gemini with a key does not have.
fn refuse_unsupported(model: &str, config: &GenerateConfig) -> Result<(), ModelError> {
    for (name, is_set) in [
        ("routing_config", config.routing_config.is_some()),
        ("model_selection_config", config.model_selection_config.is_some()),
        ("audio_timestamp", config.audio_timestamp.is_some()),
        ("model_armor_config", config.model_armor_config.is_some()),
    ] {
        if is_set {
            return Err(unsupported(model, format!("`{name}` needs Vertex AI")));
        }
    }
    Ok(())
}

/// Removes the names of media, which Gemini with a key refuses.
fn drop_display_names(content: &mut Value) {
    let parts = content.get_mut("parts").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten() {
        drop_display_name(part);
        let media = part.pointer_mut("/functionResponse/parts").and_then(Value::as_array_mut);
        media.into_iter().flatten().for_each(drop_display_name);
    }
}

fn drop_display_name(part: &mut Value) {
    for kind in ["inlineData", "fileData"] {
        if let Some(media) = part.get_mut(kind).and_then(Value::as_object_mut) {
            media.remove("displayName");
        }
    }
}
