//! Reads an answer that is not streamed. Streamed answers use some of these functions as well.
// L234, L235

use pleach_core::{Content, Owned, Part};
use pleach_model::{LlmResponse, ModelError};
use serde_json::{Map, Value, json};

use super::calls::Calls;
use super::text::parts;
use crate::finish::{Finish, malformed_calls};
use crate::wire::{self, Reading};

/// Reads an answer.
pub(super) fn read(reading: &Reading<'_>, answer: &Value) -> Result<LlmResponse, ModelError> {
    let choices = answer.get("choices").and_then(Value::as_array).into_iter().flatten();
    // The request asks for one choice. A server that sends several choices numbers them.
    let choice = choices.clone().find(|choice| index(choice) == 0).or_else(|| choices.clone().next());
    let choice = choice.ok_or_else(|| reading.invalid("there is no choice in it"))?;
    let message = choice.get("message").ok_or_else(|| reading.invalid("its choice has no message"))?;
    let mut calls = Calls::default();
    push_whole(&mut calls, message, reading);
    let mut response = whole(reading, finish(choice), calls, parts(message))?;
    response.info.model_version = version(answer);
    response.info.usage_metadata = usage_of(answer);
    Ok(response)
}

/// Returns the number of a choice.
pub(super) fn index(choice: &Value) -> u64 {
    wire::index(choice.get("index")).unwrap_or(0)
}

/// Adds the calls of a whole message. A message in the older form has one call, which some servers send in addition to
/// the list.
pub(super) fn push_whole(calls: &mut Calls, message: &Value, reading: &Reading<'_>) {
    for call in tool_calls(message) {
        calls.push_whole(call, reading.call.ids);
    }
    if calls.is_empty()
        && let Some(call) = function_call(message)
    {
        calls.push_whole(call, reading.call.ids);
    }
}

/// Returns the calls, or pieces of calls, of a message or delta. A server may send a single call without the list.
pub(super) fn tool_calls(message: &Value) -> impl Iterator<Item = &Value> {
    let calls = match message.get("tool_calls") {
        Some(Value::Array(calls)) => calls.as_slice(),
        Some(call) => std::slice::from_ref(call),
        None => &[],
    };
    calls.iter().filter(|call| call.is_object())
}

/// Returns the call of a message or delta in the older form.
pub(super) fn function_call(message: &Value) -> Option<&Value> {
    message.get("function_call").filter(|call| call.is_object())
}

pub(super) fn version(answer: &Value) -> Option<String> {
    answer.get("model").and_then(Value::as_str).filter(|model| !model.is_empty()).map(str::to_owned)
}

/// Creates the response from all texts, thoughts and calls.
///
/// It has no calls if the arguments of one cannot be read, or if the answer was stopped before its end.
///
/// # Errors
/// The provider failed.
pub(super) fn whole(
    reading: &Reading<'_>,
    finish: Option<Finish>,
    calls: Calls,
    mut parts: Vec<Part>,
) -> Result<LlmResponse, ModelError> {
    let malformed = match calls.into_parts() {
        Ok(calls) => {
            parts.extend(calls);
            None
        }
        Err(fault) => Some(fault),
    };
    let mut response = LlmResponse { partial: Some(false), ..LlmResponse::of(Content::new("model", parts)) };
    match (finish, malformed) {
        (Some(finish), malformed) => finish.conclude(reading.model, &mut response, malformed)?,
        (None, Some(fault)) => malformed_calls(&mut response, fault),
        (None, None) => {}
    }
    response.content = response.content.filter(|content| !content.parts().is_empty());
    Ok(response)
}

/// Returns the finish reason. OpenRouter passes on the provider's reason as well, which may be worse than its own.
pub(super) fn finish(choice: &Value) -> Option<Finish> {
    let native = Finish::read(choice.get("native_finish_reason"));
    Some(Finish::read(choice.get("finish_reason"))?.or_worse(native))
}

/// Returns the usage of an answer or a chunk. It is next to the choices, in the last choice, or where Groq sends it.
pub(super) fn usage_of(answer: &Value) -> Option<Owned> {
    let in_choices = answer.get("choices").and_then(Value::as_array).into_iter().flatten().rev();
    let places = [answer.get("usage"), answer.pointer("/x_groq/usage")].into_iter().flatten();
    places.chain(in_choices.filter_map(|choice| choice.get("usage"))).find_map(usage)
}

/// Returns the usage as google-genai counts it; `None` if it is not an object.
fn usage(usage: &Value) -> Option<Owned> {
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
