//! Events as lines that a person can follow.

use pleach::Event;
use serde_json::{Value, json};

/// The length to which texts in a line are cut, in characters.
const WIDEST: usize = 90;

/// Returns the facts of an event, one per line, each with the name of its node, indented by depth.
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
    // The reason why there is no answer, or only a part.
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
