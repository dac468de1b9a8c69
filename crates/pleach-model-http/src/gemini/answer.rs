//! Reads an answer, or a chunk of one.
// L214, L219

use pleach_core::{Content, ModelInfo, Owned, Part};
use pleach_model::{LlmResponse, ModelError};
use serde_json::Value;

use crate::arguments::{self, CallFaults};
use crate::distinct::distinct;
use crate::finish::{Finish, malformed_calls};
use crate::wire::{MOST_PARTS, Reading, index};

/// Reads an answer that is not streamed.
pub(super) fn whole(reading: &Reading<'_>, answer: &Value) -> Result<LlmResponse, ModelError> {
    let mut faults = CallFaults::default();
    let mut response = chunk(reading, answer, candidate(answer).or_else(|| any_candidate(answer)), &mut faults)?;
    let reason = response.info.finish_reason.as_deref();
    let has_parts = response.content.as_ref().is_some_and(|content| !content.parts().is_empty());
    let finish = Finish::read(reason.map(Value::from).as_ref());
    let is_fault = finish.is_some_and(|finish| finish.has_failed() || finish.is_stop());
    if has_parts || reason == Some("STOP") {
        response.error_code = None;
        // The provider's message is only shown for a failure or a stopped answer.
        if !is_fault {
            response.error_message = None;
        }
    } else if response.error_code.is_none() {
        response.error_code = reason.map(str::to_owned);
    }
    if response.content.is_none() && response.error_code.is_none() {
        response.content = Some(Content::new("model", []));
    }
    if response.function_calls().any(|call| call.name.as_ref().is_none_or(String::is_empty)) {
        faults.add_nameless("");
    }
    conclude(reading, &mut response, faults)?;
    Ok(response)
}

/// Applies the finish reason to a whole answer, or reports its unreadable calls. If an answer was stopped early but has
/// no calls, it is left unchanged.
///
/// # Errors
/// The provider failed.
pub(super) fn conclude(
    reading: &Reading<'_>,
    response: &mut LlmResponse,
    faults: CallFaults,
) -> Result<(), ModelError> {
    if let Some(parts) = response.content.as_mut().and_then(|content| content.parts.as_mut()) {
        *parts = distinct(std::mem::take(parts), reading.call.ids);
    }
    let reason = response.info.finish_reason.clone().map(Value::String);
    let malformed = faults.into_text();
    let Some(finish) = Finish::read(reason.as_ref()) else {
        malformed.into_iter().for_each(|fault| malformed_calls(response, fault));
        return Ok(());
    };
    let has_calls = malformed.is_some() || response.function_calls().next().is_some();
    let has_content = response.content.as_ref().is_some_and(|content| !content.parts().is_empty());
    if finish.has_failed() || has_calls || (has_content && !finish.is_stop()) {
        finish.conclude(reading.model, response, malformed)?;
    }
    Ok(())
}

/// Returns the first candidate, which is the one that is used. The request asks for only one.
pub(super) fn candidate(answer: &Value) -> Option<&Value> {
    candidates(answer).find(|candidate| number(candidate) == 0)
}

/// Returns the first candidate with any number, for servers that number their only candidate differently.
pub(super) fn any_candidate(answer: &Value) -> Option<&Value> {
    candidates(answer).next()
}

/// Returns the number of a candidate.
pub(super) fn number(candidate: &Value) -> u64 {
    index(candidate.get("index")).unwrap_or(0)
}

/// Returns true if a candidate has a finish reason.
pub(super) fn ends(candidate: &Value) -> bool {
    Finish::read(candidate.get("finishReason")).is_some()
}

fn candidates(answer: &Value) -> impl Iterator<Item = &Value> {
    answer.get("candidates").and_then(Value::as_array).into_iter().flatten().filter(|candidate| candidate.is_object())
}

/// Reads a chunk with its candidate into the form that the aggregator expects. The response has the error for a blocked
/// prompt, or the message of a finish reason. Unreadable calls are added to `faults`.
pub(super) fn chunk(
    reading: &Reading<'_>,
    answer: &Value,
    candidate: Option<&Value>,
    faults: &mut CallFaults,
) -> Result<LlmResponse, ModelError> {
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
    let Some(candidate) = candidate else {
        if let Some(feedback) = answer.get("promptFeedback").filter(|_| any_candidate(answer).is_none()) {
            response.error_code = text(feedback.get("blockReason")).or_else(|| Some("OTHER".to_owned()));
            response.error_message = text(feedback.get("blockReasonMessage"));
        }
        return Ok(response);
    };
    if let Some(content) = candidate.get("content").filter(|content| !content.is_null()) {
        let content = read_content(reading, content.clone(), faults)?;
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

/// Reads the content part by part. An unreadable part is left out, with a warning.
///
/// # Errors
/// The content is not an object, or a call in it cannot be read. The other calls must not run without that call.
fn read_content(reading: &Reading<'_>, mut content: Value, faults: &mut CallFaults) -> Result<Content, ModelError> {
    let parts = content.get_mut("parts").map(Value::take);
    let mut content: Content =
        serde_json::from_value(content).map_err(|_| reading.invalid("its content does not have the expected form"))?;
    content.parts = match parts {
        None | Some(Value::Null) => None,
        Some(Value::Array(parts)) => Some(read_parts(reading, parts, faults)?),
        Some(_) => return Err(reading.invalid("the parts of its content are no list")),
    };
    Ok(content)
}

fn read_parts(reading: &Reading<'_>, parts: Vec<Value>, faults: &mut CallFaults) -> Result<Vec<Part>, ModelError> {
    let mut read: Vec<Part> = Vec::with_capacity(parts.len().min(MOST_PARTS));
    for (index, mut part) in parts.into_iter().enumerate() {
        if part.is_null() {
            continue;
        }
        if read.len() > MOST_PARTS {
            return Err(reading.invalid(format!("more than {MOST_PARTS} parts in its content")));
        }
        let called = part
            .get("functionCall")
            .map(|call| call.get("name").and_then(Value::as_str).unwrap_or_default().to_owned());
        // Arguments that are a JSON text are parsed.
        if let Some(arguments) = part.pointer_mut("/functionCall/args") {
            match arguments::of_value(Some(arguments)) {
                Ok(read) => *arguments = Value::Object(read),
                Err(fault) => {
                    faults.add(called.unwrap_or_default(), fault);
                    continue;
                }
            }
        }
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

fn owned(value: Option<&Value>) -> Option<Owned> {
    value.filter(|value| !value.is_null()).cloned().map(Owned::new)
}
