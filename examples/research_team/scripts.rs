//! The agents' scripts in place of a model. Each script reads its request as a model would.

use pleach::FunctionCall;
use pleach::model::{LlmRequest, LlmResponse, ScriptedReply};
use pleach::prelude::*;
use serde_json::{Value, json};

/// Returns the coordinator's script: search, ask the analyst, transfer.
pub(crate) fn coordinator() -> ScriptedModel {
    ScriptedModel::new()
        .then(ScriptedReply::with(|request| call("search", json!({"queries": queries(&question(request))}))))
        .then(ScriptedReply::with(|request| call("analyst", json!({"request": question(request)}))))
        .then_call("transfer_to_agent", json!({"agent_name": "writer"}))
}

pub(crate) fn analyst() -> ScriptedModel {
    ScriptedModel::new().then(ScriptedReply::with(|request| {
        let count = findings(request).len();
        LlmResponse::text(match count {
            0 => "Nothing of this answers the question.".to_owned(),
            _ => format!("{count} findings answer the question; none contradicts another."),
        })
    }))
}

pub(crate) fn writer() -> ScriptedModel {
    ScriptedModel::new().then(ScriptedReply::with(|request| {
        let findings = findings(request);
        let line = |(title, text): &(String, String)| format!("- {text} [{title}]");
        let lines: Vec<String> = findings.iter().map(line).collect();
        LlmResponse::text(if lines.is_empty() {
            "The collection has no answer to this.".to_owned()
        } else {
            format!("What the collection has about it:\n{}", lines.join("\n"))
        })
    }))
}

/// Two queries: the whole question, and its last words.
fn queries(question: &str) -> Vec<String> {
    let words: Vec<&str> = question.split_whitespace().collect();
    vec![question.to_owned(), words[words.len().saturating_sub(2)..].join(" ")]
}

/// The user's message.
fn question(request: &LlmRequest) -> String {
    let said = request.contents.iter().find(|content| content.role() == Some("user"));
    said.map(|content| content.text()).unwrap_or_default()
}

/// The findings in the agent's instruction, by title and text.
fn findings(request: &LlmRequest) -> Vec<(String, String)> {
    let instruction = request.config.system_instruction.as_deref().unwrap_or_default();
    let (_, findings) = instruction.split_once("Findings:\n").unwrap_or_default();
    let lines = findings.lines().map_while(|line| line.split_once(": "));
    lines.map(|(title, text)| (title.to_owned(), text.to_owned())).collect()
}

fn call(name: &str, args: Value) -> LlmResponse {
    let args = args.as_object().cloned();
    LlmResponse::calls([FunctionCall { name: Some(name.to_owned()), args, ..FunctionCall::default() }])
}
