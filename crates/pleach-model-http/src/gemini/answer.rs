//! An answer, or a chunk of one.
// L214, L219

use pleach_core::{Content, ModelInfo, Owned, Part};
use pleach_model::{LlmResponse, ModelError};
use serde_json::Value;

use crate::arguments;
use crate::distinct::distinct;
use crate::finish::Finish;
use crate::wire::Reading;

/// Reads an answer that comes as a whole.
pub(super) fn whole(reading: &Reading<'_>, answer: &Value) -> Result<LlmResponse, ModelError> {
    let mut response = chunk(reading, answer)?;
    let reason = response.info.finish_reason.as_deref();
    let has_parts = response.content.as_ref().is_some_and(|content| !content.parts().is_empty());
    let finish = Finish::read(reason.map(Value::from).as_ref());
    let is_fault = finish.is_some_and(|finish| finish.has_failed() || finish.is_stop());
    if has_parts || reason == Some("STOP") {
        response.error_code = None;
        // A failure and a stopped answer show the words of the provider.
        if !is_fault {
            response.error_message = None;
        }
    } else if response.error_code.is_none() {
        response.error_code = reason.map(str::to_owned);
    }
    if response.content.is_none() && response.error_code.is_none() {
        response.content = Some(Content::new("model", []));
    }
    conclude(reading, &mut response)?;
    Ok(response)
}

/// Gives a whole answer the end that its reason means. Reasons of an answer without calls stay the errors that they are.
///
/// # Errors
/// The provider failed.
pub(super) fn conclude(reading: &Reading<'_>, response: &mut LlmResponse) -> Result<(), ModelError> {
    if let Some(parts) = response.content.as_mut().and_then(|content| content.parts.as_mut()) {
        *parts = distinct(std::mem::take(parts), reading.call.ids);
    }
    let reason = response.info.finish_reason.clone().map(Value::String);
    let Some(finish) = Finish::read(reason.as_ref()) else { return Ok(()) };
    let has_calls = response.function_calls().next().is_some();
    let has_content = response.content.as_ref().is_some_and(|content| !content.parts().is_empty());
    if finish.has_failed() || has_calls || (has_content && !finish.is_stop()) {
        finish.conclude(reading.model, response, None)?;
    }
    Ok(())
}

/// Reads a chunk as the aggregator wants it: an error of the prompt, or the message for a finish reason.
pub(super) fn chunk(reading: &Reading<'_>, answer: &Value) -> Result<LlmResponse, ModelError> {
    if !answer.is_object() {
        return Err(reading.invalid("it is not an object"));
    }
    let text = |value: Option<&Value>| value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let mut response = LlmResponse {
        info: ModelInfo {
            usage_metadata: owned(answer.get("usageMetadata")),
            model_version: text(answer.get("modelVersion")),
            ..ModelInfo::default()
        },
        ..LlmResponse::default()
    };
    let Some(candidate) = answer.get("candidates").and_then(|candidates| candidates.get(0)) else {
        if let Some(feedback) = answer.get("promptFeedback") {
            response.error_code = text(feedback.get("blockReason")).or_else(|| Some("OTHER".to_owned()));
            response.error_message = text(feedback.get("blockReasonMessage"));
        }
        return Ok(response);
    };
    if let Some(content) = candidate.get("content").filter(|content| !content.is_null()) {
        let content = read_content(reading, mended(content.clone()))?;
        response.content = Some(content).filter(|content| content.parts.is_some());
    }
    response.error_message = text(candidate.get("finishMessage"));
    let finish = Finish::read(candidate.get("finishReason"));
    response.info.finish_reason = finish.map(|finish| finish.reason().to_owned());
    response.info.grounding_metadata = owned(candidate.get("groundingMetadata"));
    response.info.citation_metadata = owned(candidate.get("citationMetadata"));
    response.info.avg_logprobs = candidate.get("avgLogprobs").and_then(Value::as_f64);
    response.info.logprobs_result = owned(candidate.get("logprobsResult"));
    Ok(response)
}

/// Reads the content part by part. One that cannot be read is left out, with a warning.
///
/// # Errors
/// A call that cannot be read: the others must not run without it. Content that is no object.
fn read_content(reading: &Reading<'_>, mut content: Value) -> Result<Content, ModelError> {
    let parts = content.get_mut("parts").map(Value::take);
    let mut content: Content =
        serde_json::from_value(content).map_err(|_| reading.invalid("its content has members of another shape"))?;
    content.parts = match parts {
        None | Some(Value::Null) => None,
        Some(Value::Array(parts)) => Some(read_parts(reading, parts)?),
        Some(_) => return Err(reading.invalid("the parts of its content are no list")),
    };
    Ok(content)
}

fn read_parts(reading: &Reading<'_>, parts: Vec<Value>) -> Result<Vec<Part>, ModelError> {
    let mut read = Vec::with_capacity(parts.len());
    for (index, part) in parts.into_iter().enumerate() {
        let called = part
            .get("functionCall")
            .map(|call| call.get("name").and_then(Value::as_str).unwrap_or_default().to_owned());
        match (serde_json::from_value(part), called) {
            (Ok(part), _) => read.push(part),
            (Err(_), Some(name)) => return Err(reading.invalid(format!("its call of `{name}` has another shape"))),
            (Err(_), None) => {
                tracing::warn!(
                    model = reading.model,
                    part = index,
                    "a part of an answer has another shape, and is left out"
                );
            }
        }
    }
    Ok(read)
}

/// The content without parts that are null. Arguments that are a JSON text become what the text says.
fn mended(mut content: Value) -> Value {
    if let Some(parts) = content.get_mut("parts").and_then(Value::as_array_mut) {
        parts.retain(|part| !part.is_null());
        for arguments in parts.iter_mut().filter_map(|part| part.pointer_mut("/functionCall/args")) {
            if let Ok(read) = arguments::of_value(Some(arguments)) {
                *arguments = Value::Object(read);
            }
        }
    }
    content
}

fn owned(value: Option<&Value>) -> Option<Owned> {
    value.filter(|value| !value.is_null()).cloned().map(Owned::new)
}
