//! A script in place of a model, so that the example runs without an API key. It also shows how to write your own
//! model.

use std::time::Duration;

use async_stream::try_stream;
use pleach::model::{Aggregator, LlmRequest, LlmResponse, Model, ModelCall, ResponseStream};
use pleach::{FunctionCall, FunctionResponse};
use serde_json::{Value, json};

const HELP: &str = "\
I am a script and understand three commands: `note TEXT` keeps a note, `notes` lists them, and `delete TEXT` deletes one. \
With OPENAI_API_KEY, or OPENAI_BASE_URL and --model openai:NAME, a model answers instead.";

/// The pause between the words of the script.
const BETWEEN_WORDS: Duration = Duration::from_millis(20);

pub(crate) struct Offline;

impl Model for Offline {
    fn name(&self) -> &str {
        "scripted"
    }

    fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a> {
        let answer = answer(call.request);
        Box::pin(try_stream! {
            let text = answer.content.as_ref().map(|content| content.text()).unwrap_or_default();
            if text.is_empty() || !call.streaming {
                yield answer;
                return;
            }
            let mut whole = Aggregator::default();
            for word in text.split_inclusive(' ') {
                call.clock.sleep(BETWEEN_WORDS).await;
                yield whole.push(LlmResponse::text(word), call.ids);
            }
            if let Some(whole) = whole.finish() {
                yield whole;
            }
        })
    }
}

/// Answers the last content of the conversation, which is a tool result or the user's message.
fn answer(request: &LlmRequest) -> LlmResponse {
    let Some(last) = request.contents.last() else { return LlmResponse::text(HELP) };
    if let Some(result) = last.function_responses().last() {
        return LlmResponse::text(report(result));
    }
    let said = last.text();
    let (word, rest) = said.trim().split_once(' ').unwrap_or((said.trim(), ""));
    match (word.to_lowercase().as_str(), rest.trim()) {
        ("note", text) if !text.is_empty() => call("add_note", json!({"text": text})),
        ("notes", _) => call("list_notes", json!({})),
        ("delete", text) if !text.is_empty() => call("delete_note", json!({"text": text})),
        _ => LlmResponse::text(HELP),
    }
}

fn call(name: &str, args: Value) -> LlmResponse {
    let args = args.as_object().cloned();
    LlmResponse::calls([FunctionCall { name: Some(name.to_owned()), args, ..FunctionCall::default() }])
}

fn report(result: &FunctionResponse) -> String {
    let response = result.response.clone().unwrap_or_default();
    let text = |key: &str| response.get(key).and_then(Value::as_str);
    if let Some(error) = text("error") {
        return format!("That did not work: {error}");
    }
    if let Some(deleted) = text("deleted") {
        return format!("I have deleted \"{deleted}\".");
    }
    if let Some(kept) = text("kept") {
        return format!("I have kept \"{kept}\".");
    }
    let notes = response.get("notes").and_then(Value::as_array).cloned().unwrap_or_default();
    let lines = notes.iter().map(|note| format!("\n- {}", note.as_str().unwrap_or_default()));
    if notes.is_empty() {
        "There are no notes.".to_owned()
    } else {
        format!("Your notes:{}", lines.collect::<String>())
    }
}
