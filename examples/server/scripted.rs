//! The model of the app `demo`: a script that answers the last message.
// H131

use futures_util::stream;
use pleach::model::{LlmRequest, LlmResponse, Model, ModelCall, ModelError, ModelErrorKind, ResponseStream};
use pleach::prelude::*;
use pleach::{FunctionCall, Map};
use serde_json::{Value, json};

use crate::python;

/// The tool calls of the script. A word in the message selects the call.
const CALLS: &[(&str, &str, &str, &str)] = &[
    ("weather", "get_weather", "city", "Paris"),
    ("delete", "delete_file", "path", "a.txt"),
    ("approve", "ask_approval", "what", "trip"),
    ("artifact", "make_artifact", "name", "note.txt"),
];

#[derive(Clone, Copy)]
pub(crate) struct Scripted;

impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a> {
        let mut responses: Vec<_> = vec![answer(call.request)];
        let text = |answer: &LlmResponse| answer.content.as_ref().map(|content| content.text()).unwrap_or_default();
        if let Some(text) = responses[0].as_ref().ok().map(text).filter(|text| call.streaming && !text.is_empty()) {
            responses.splice(..0, halves(&text).map(Ok));
        }
        Box::pin(stream::iter(responses))
    }
}

/// Returns a text in two fragments.
fn halves(text: &str) -> [LlmResponse; 2] {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(place, _)| place);
    let (first, second) = text.split_at(middle);
    [first, second].map(|half| {
        let mut fragment = LlmResponse::text(half).as_fragment();
        fragment.info.model_version = Some("scripted-1".into());
        fragment
    })
}

fn answer(request: &LlmRequest) -> Result<LlmResponse, ModelError> {
    let last = request.contents.last();
    if let Some(result) = last.and_then(|content| content.function_responses().last()) {
        let entries = result.response.clone().unwrap_or_default();
        return Ok(complete(LlmResponse::text(format!("tool said: {}", python::items(&entries)))));
    }
    let said = last.map(|content| content.text()).unwrap_or_default();
    if let Some((_, tool, argument, value)) = CALLS.iter().find(|(word, ..)| said.contains(word)) {
        return Ok(calls(tool, [(*argument, *value)]));
    }
    if said.contains("secret") {
        return Ok(calls("put_state", [("key", "k"), ("value", "v")]));
    }
    if said.contains("boom") {
        let cause = NodeError::new("RuntimeError", "model exploded");
        return Err(ModelError::new("scripted", ModelErrorKind::Other).with_cause(cause));
    }
    Ok(complete(LlmResponse::text(format!("Hello from the scripted model. You said: {said}"))))
}

fn calls<const N: usize>(tool: &str, args: [(&str, &str); N]) -> LlmResponse {
    let args: Map = args.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
    let call = FunctionCall { name: Some(tool.to_owned()), args: Some(args), ..FunctionCall::default() };
    complete(LlmResponse::calls([call]))
}

/// Adds the data that models report with a complete answer.
fn complete(mut response: LlmResponse) -> LlmResponse {
    response.info.finish_reason = Some("STOP".into());
    response.info.model_version = Some("scripted-1".into());
    response.info.usage_metadata =
        Some(json!({ "candidates_token_count": 7, "prompt_token_count": 11, "total_token_count": 18 }).into());
    response
}
