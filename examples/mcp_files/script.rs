//! The agent's script in place of a model: it lists the files, reads the one that the question names, and repeats it.

use pleach::FunctionCall;
use pleach::model::{LlmRequest, LlmResponse, ScriptedReply};
use pleach::prelude::*;
use serde_json::{Value, json};

pub(crate) fn reader(folder: String) -> ScriptedModel {
    let list = json!({"path": folder});
    let read = move |request: &LlmRequest| {
        let question = request.contents.first().map(|content| content.text().to_lowercase()).unwrap_or_default();
        match files(&result(request)).find(|file| question.contains(stem(file))) {
            Some(file) => call("read_text_file", json!({"path": format!("{folder}/{file}")})),
            None => LlmResponse::text("No file is named in the question."),
        }
    };
    let repeat = |request: &LlmRequest| LlmResponse::text(result(request).trim());
    ScriptedModel::calling("list_directory", list).then(ScriptedReply::with(read)).then(ScriptedReply::with(repeat))
}

/// Returns the text of the last result.
fn result(request: &LlmRequest) -> String {
    let result = request.contents.last().and_then(|content| content.function_responses().next()?.response.clone());
    let text = result.as_ref().and_then(|result| result.get("content")?.get(0)?.get("text")?.as_str());
    text.unwrap_or_default().to_owned()
}

/// Returns the files in a listing with lines such as `[FILE] oslo.txt`.
fn files(listing: &str) -> impl Iterator<Item = &str> {
    listing.lines().filter_map(|line| line.strip_prefix("[FILE] "))
}

fn stem(file: &str) -> &str {
    file.split('.').next().unwrap_or(file)
}

fn call(name: &str, args: Value) -> LlmResponse {
    let args = args.as_object().cloned();
    LlmResponse::calls([FunctionCall { name: Some(name.to_owned()), args, ..FunctionCall::default() }])
}
