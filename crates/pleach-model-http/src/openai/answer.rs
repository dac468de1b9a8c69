//! An answer that comes as a whole, and what it shares with a streamed one.
// L234, L235

use pleach_core::{Content, Owned, Part};
use pleach_model::{LlmResponse, ModelError};
use serde_json::{Map, Value, json};

use super::calls::Calls;
use crate::wire::Reading;

/// Reads an answer.
pub(super) fn read(reading: &Reading<'_>, answer: &Value) -> Result<LlmResponse, ModelError> {
    let choice = answer.get("choices").and_then(|choices| choices.get(0));
    let choice = choice.ok_or_else(|| reading.invalid("there is no choice in it"))?;
    let message = choice.get("message").ok_or_else(|| reading.invalid("its choice has no message"))?;
    let mut parts: Vec<Part> = thought(message).into_iter().chain(text(message)).collect();
    let mut calls = Calls::default();
    for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        calls.push_whole(call, reading.call.ids);
    }
    let finish = finish(choice);
    let mut response = LlmResponse::default();
    finished(&mut response, finish, calls, &mut parts);
    if !parts.is_empty() {
        response.content = Some(Content::new("model", parts));
    }
    response.info.model_version = version(answer);
    response.info.usage_metadata = answer.get("usage").and_then(usage);
    Ok(response)
}

/// The thought of a message or delta: `reasoning_content`, or `reasoning` as OpenRouter, Groq and Ollama call it.
pub(super) fn thought(message: &Value) -> Option<Part> {
    let text = ["reasoning_content", "reasoning"].iter().find_map(|key| message.get(*key)?.as_str());
    let text = text.filter(|text| !text.is_empty())?;
    Some(Part { thought: Some(true), ..Part::text(text) })
}

/// The text of a message or delta, or why the model refuses.
pub(super) fn text(message: &Value) -> Option<Part> {
    let text = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        // Servers that think aloud send a list.
        Some(Value::Array(pieces)) => pieces.iter().filter_map(|piece| piece.get("text")?.as_str()).collect(),
        _ => String::new(),
    };
    let refusal = || message.get("refusal").and_then(Value::as_str).map(str::to_owned);
    let text = if text.is_empty() { refusal()? } else { text };
    (!text.is_empty()).then(|| Part::text(text))
}

pub(super) fn version(answer: &Value) -> Option<String> {
    answer.get("model").and_then(Value::as_str).filter(|model| !model.is_empty()).map(str::to_owned)
}

/// Adds the calls and the reason of the end.
///
/// No call is delivered when the arguments of one cannot be read, nor when the answer was stopped before its end: the last
/// call may then be a half, also where its arguments can be read, as in `{}`.
pub(super) fn finished(response: &mut LlmResponse, finish: Option<&str>, calls: Calls, parts: &mut Vec<Part>) {
    response.partial = Some(false);
    let reason = finish.map(finish_reason);
    if let Some((reason, message)) = reason {
        end(response, reason, message);
        if reason != "STOP" {
            return;
        }
    }
    match calls.into_parts() {
        Ok(calls) => parts.extend(calls),
        Err(names) => {
            let message = format!("the arguments of these calls are no JSON object: {}", names.join(", "));
            end(response, "MALFORMED_FUNCTION_CALL", &message);
        }
    }
}

/// The reason of the end; some servers write none as an empty text.
pub(super) fn finish(choice: &Value) -> Option<&str> {
    choice.get("finish_reason").and_then(Value::as_str).filter(|reason| !reason.is_empty())
}

fn end(response: &mut LlmResponse, reason: &str, message: &str) {
    response.info.finish_reason = Some(reason.to_owned());
    if reason != "STOP" {
        response.error_code = Some(reason.to_owned());
        response.error_message = Some(message.to_owned());
    }
}

fn finish_reason(word: &str) -> (&'static str, &'static str) {
    match word {
        "stop" | "tool_calls" | "function_call" => ("STOP", ""),
        // Of servers with words of their own.
        "eos" | "eos_token" | "end_turn" | "stop_sequence" | "tool_use" => ("STOP", ""),
        "length" | "max_tokens" => ("MAX_TOKENS", "the answer reached the largest number of tokens"),
        "content_filter" => ("SAFETY", "the provider's content filter stopped the answer"),
        _ => ("OTHER", "the model stopped for another reason"),
    }
}

/// The tokens used, in google-genai's words; `None` for what is no object.
pub(super) fn usage(usage: &Value) -> Option<Owned> {
    usage.as_object()?;
    let count = |path: &[&str]| path.iter().try_fold(usage, |value, key| value.get(key)).and_then(Value::as_u64);
    let mut counts = Map::new();
    for (name, path) in [
        ("prompt_token_count", &["prompt_tokens"][..]),
        ("candidates_token_count", &["completion_tokens"]),
        ("total_token_count", &["total_tokens"]),
        ("cached_content_token_count", &["prompt_tokens_details", "cached_tokens"]),
        ("thoughts_token_count", &["completion_tokens_details", "reasoning_tokens"]),
    ] {
        if let Some(count) = count(path) {
            counts.insert(name.to_owned(), json!(count));
        }
    }
    Some(Owned::new(Value::Object(counts)))
}
