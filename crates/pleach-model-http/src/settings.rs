//! Refuses settings that only Gemini's format has.

use pleach_model::{GenerateConfig, ModelError};

use crate::wire::unsupported;

/// Refuses settings that change an answer and do not exist in `format`: Gemini's own settings, and `others`.
///
/// Labels are not refused, because they only serve reports. A number or flag with its default value changes nothing, so
/// it is not refused either.
// L232
pub(crate) fn refuse_unsupported<'a>(
    model: &str,
    format: &str,
    config: &GenerateConfig,
    others: impl IntoIterator<Item = (&'a str, bool)>,
) -> Result<(), ModelError> {
    let speaks = config.response_modalities.as_ref().is_some_and(|kinds| kinds.iter().any(|kind| kind != "TEXT"));
    let api_version = config.http_options.as_ref().and_then(|options| options.api_version.as_ref());
    let tools = config.tool_config.as_ref();
    let calling = tools.and_then(|tools| tools.function_calling_config.as_ref());
    let mode = calling.and_then(|calling| calling.mode.as_deref());
    let is_known = |mode: &str| matches!(mode, "MODE_UNSPECIFIED" | "AUTO" | "ANY" | "NONE");
    let invocations = tools.and_then(|tools| tools.include_server_side_tool_invocations);
    let streamed_arguments = calling.and_then(|calling| calling.stream_function_call_arguments);
    let of_gemini = [
        ("cached_content", config.cached_content.is_some()),
        ("safety_settings", config.safety_settings.is_some()),
        ("candidate_count", config.candidate_count.is_some_and(|count| count > 1)),
        ("response_modalities", speaks),
        ("speech_config", config.speech_config.is_some()),
        ("audio_timestamp", config.audio_timestamp == Some(true)),
        ("image_config", config.image_config.is_some()),
        ("media_resolution", config.media_resolution.is_some()),
        ("routing_config", config.routing_config.is_some()),
        ("model_selection_config", config.model_selection_config.is_some()),
        ("model_armor_config", config.model_armor_config.is_some()),
        ("enable_enhanced_civic_answers", config.enable_enhanced_civic_answers == Some(true)),
        ("retrieval_config", tools.is_some_and(|tools| tools.retrieval_config.is_some())),
        ("include_server_side_tool_invocations", invocations == Some(true)),
        ("stream_function_call_arguments", streamed_arguments == Some(true)),
        ("function_calling_config.mode", mode.is_some_and(|mode| !is_known(mode))),
        ("api_version", api_version.is_some()),
    ];
    match of_gemini.into_iter().chain(others).find(|(_, is_set)| *is_set) {
        Some((name, _)) => Err(unsupported(model, format!("`{name}` has no place in {format}{}", advice(name)))),
        None => Ok(()),
    }
}

fn advice(name: &str) -> &'static str {
    match name {
        "thinking_budget" => "; set `thinking_level`",
        "response_mime_type" => " without a schema of the answer",
        _ => "",
    }
}
