//! Shows events as lines for a person.

use pleach::Event;
use serde_json::{Value, json};

/// The length to which texts in a line are cut, in characters.
const WIDEST: usize = 90;

/// Returns what happened in an event, one fact per line. Each line has the name of the node and is indented by the
/// node's depth.
pub(crate) fn lines(event: &Event) -> Vec<String> {
    let mut said = Vec::new();
    for call in event.function_calls() {
        said.push(format!("calls {} {}", call.name.as_deref().unwrap_or_default(), short(&json!(call.args))));
    }
    for response in event.function_responses() {
        said.push(format!("gets {}", short(&json!(response.response))));
    }
    if !event.text().is_empty() {
        said.push(format!("says {}", short(&json!(event.text()))));
    } else if let Some(output) = event.output() {
        said.push(format!("gives {}", short(output)));
    }
    // The reason why an answer is missing or incomplete.
    said.extend(event.error_code().map(|code| format!("fails with {code}")));
    let depth = event.path().to_string().matches('/').count();
    said.into_iter().map(|text| format!("{}{} {text}", "    ".repeat(depth), event.path().name())).collect()
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
