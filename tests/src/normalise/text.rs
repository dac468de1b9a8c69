//! Rule N5: JSON inside a text that a model receives is compared as JSON.

use serde_json::Value;

use super::dumps::{Style, dumps};
use super::literal;

const BEGIN: &str = "<<<BEGIN_QUOTED_AGENT_CONTENT>>>\n";
const END: &str = "\n<<<END_QUOTED_AGENT_CONTENT>>>";

/// Rewrites the texts of a cleaned content in their canonical form.
pub(super) fn canonical(content: &mut Value) {
    let parts = content.get_mut("parts").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten() {
        if let Some(Value::String(text)) = part.get_mut("text") {
            *text = canonical_text(text);
        }
    }
}

fn canonical_text(text: &str) -> String {
    let text = canonical_quotes(text);
    if !text.starts_with(['{', '[']) {
        return text;
    }
    match serde_json::from_str(&text) {
        Ok(value) => dumps(&value, Style::COMPACT),
        Err(_) => text,
    }
}

/// Rewrites each quoted body that is JSON or a printed literal.
fn canonical_quotes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(BEGIN) {
        let body_start = start + BEGIN.len();
        let Some(length) = rest[body_start..].find(END) else {
            break;
        };
        let body = &rest[body_start..body_start + length];
        out.push_str(&rest[..body_start]);
        match quoted_value(body) {
            Some(value) => out.push_str(&dumps(&value, Style::COMPACT)),
            None => out.push_str(body),
        }
        out.push_str(END);
        rest = &rest[body_start + length + END.len()..];
    }
    out.push_str(rest);
    out
}

fn quoted_value(body: &str) -> Option<Value> {
    if !body.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(body).ok().or_else(|| literal::parse(body))
}
