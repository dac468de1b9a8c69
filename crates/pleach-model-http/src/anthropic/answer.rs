//! Reads an answer that is not streamed. Streamed answers use some of these functions as well.

use pleach_core::{Content, FunctionCall, Map, Owned, Part};
use pleach_model::{LlmResponse, ModelError};
use serde_json::{Value, json};

use super::output::OutputTool;
use crate::arguments::{self, CallFaults};
use crate::distinct::distinct;
use crate::finish::{Finish, malformed_calls};
use crate::wire::Reading;

/// Reads an answer.
pub(super) fn read(reading: &Reading<'_>, message: &Value) -> Result<LlmResponse, ModelError> {
    let blocks = message.get("content").and_then(Value::as_array);
    let blocks = blocks.ok_or_else(|| reading.invalid("there is no list of content in it"))?;
    let mut faults = CallFaults::default();
    let blocks = blocks.iter().filter_map(Value::as_object);
    let parts: Vec<Part> = blocks.filter_map(|block| part(block, &mut faults)).collect();
    let mut usage = Usage::default();
    usage.take(message.get("usage"));
    let finish = Finish::read(message.get("stop_reason"));
    let version = message.get("model").and_then(Value::as_str).map(str::to_owned);
    whole(reading, parts, (finish, faults.into_text()), &usage, version)
}

/// Creates the response from all parts, the finish reason and the faults of the calls.
///
/// # Errors
/// The provider failed.
pub(super) fn whole(
    reading: &Reading<'_>,
    parts: Vec<Part>,
    (finish, malformed): (Option<Finish>, Option<String>),
    usage: &Usage,
    version: Option<String>,
) -> Result<LlmResponse, ModelError> {
    let parts = distinct(parts, reading.call.ids);
    let mut response = LlmResponse { partial: Some(false), ..LlmResponse::of(Content::new("model", parts)) };
    response.info.usage_metadata = Some(usage.counts());
    response.info.model_version = version;
    match (finish, malformed) {
        (Some(finish), malformed) => finish.conclude(reading.model, &mut response, malformed)?,
        (None, Some(fault)) => malformed_calls(&mut response, fault),
        (None, None) => {}
    }
    if let Some(output) = OutputTool::of(reading.call.request) {
        output.unwrap(&mut response);
    }
    Ok(response)
}

/// Returns the part for a block, or `None` if there is no part for its kind. A call without a name, or with an input
/// that cannot be read, is left out and noted.
pub(super) fn part(block: &Map, faults: &mut CallFaults) -> Option<Part> {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let signature = |key: &str| Some(text(key)).filter(|text| !text.is_empty()).map(|text| text.into_bytes().into());
    match block.get("type")?.as_str()? {
        "text" => Some(Part::text(text("text"))),
        "thinking" => Some(Part {
            thought: Some(true),
            thought_signature: signature("signature"),
            ..Part::text(text("thinking"))
        }),
        "redacted_thinking" => {
            Some(Part { thought: Some(true), thought_signature: signature("data"), ..Part::default() })
        }
        "tool_use" => {
            if text("name").is_empty() {
                faults.add_nameless(&text("id"));
                return None;
            }
            let input = arguments::of_value(block.get("input"));
            let input = input.map_err(|fault| faults.add(text("name"), fault)).ok()?;
            Some(Part::function_call(FunctionCall::new(text("id"), text("name"), input)))
        }
        _ => None,
    }
}

/// The numbers of tokens that have been reported so far.
#[derive(Default)]
pub(super) struct Usage(Map);

impl Usage {
    /// Takes the numbers of a report. They are totals, not differences.
    pub(super) fn take(&mut self, usage: Option<&Value>) {
        let counts = usage.and_then(Value::as_object).into_iter().flatten();
        self.0.extend(counts.filter(|(_, count)| !count.is_null()).map(|(key, count)| (key.clone(), count.clone())));
    }

    /// Returns the usage as google-genai counts it: the prompt includes cached tokens, the answer excludes thoughts.
    fn counts(&self) -> Owned {
        let count = |key: &str| self.0.get(key).and_then(Value::as_u64);
        let (read, written) = (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
        let prompt = [count("input_tokens"), read, written].into_iter().flatten().fold(0, u64::saturating_add);
        let answer = count("output_tokens").unwrap_or(0);
        let details = self.0.get("output_tokens_details");
        let thoughts =
            details.and_then(|details| details.get("thinking_tokens")?.as_u64()).map(|count| count.min(answer));
        let mut counts = Map::new();
        let mut set = |key: &str, count: Option<u64>| {
            if let Some(count) = count {
                counts.insert(key.to_owned(), json!(count));
            }
        };
        set("prompt_token_count", Some(prompt));
        set("candidates_token_count", Some(answer - thoughts.unwrap_or(0)));
        set("total_token_count", Some(prompt.saturating_add(answer)));
        set("cached_content_token_count", read);
        set("cache_creation_input_tokens", written);
        set("thoughts_token_count", thoughts);
        Owned::new(Value::Object(counts))
    }
}
