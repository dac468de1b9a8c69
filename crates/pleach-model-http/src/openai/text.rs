//! Reads the text and the thoughts of a message or delta.
// L234

use pleach_core::Part;
use serde_json::Value;

use crate::wire::MOST_PARTS;

/// The members that hold thoughts: the first is used by DeepSeek and vLLM, the others by OpenRouter, Groq and Ollama.
const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

/// Returns the thoughts and the text of a message or delta. If there is no text, returns the model's refusal.
pub(super) fn parts(message: &Value) -> Vec<Part> {
    let mut parts: Vec<Part> = thought(message).into_iter().collect();
    let said = parts.len();
    match message.get("content") {
        Some(Value::String(text)) => keep(&mut parts, text, false),
        // Mistral, and servers in front of other formats, send a list.
        Some(Value::Array(pieces)) => pieces.iter().for_each(|piece| keep_piece(&mut parts, piece)),
        _ => {}
    }
    let has_text = parts[said..].iter().any(|part| !part.is_thought());
    if !has_text && let Some(refusal) = message.get("refusal").and_then(Value::as_str) {
        keep(&mut parts, refusal, false);
    }
    parts
}

fn thought(message: &Value) -> Option<Part> {
    let texts = THOUGHTS.iter().filter_map(|key| message.get(*key)).map(joined);
    let details = message.get("reasoning_details").map(joined);
    let text = texts.chain(details).find(|text| !text.is_empty())?;
    Some(thought_of(text))
}

fn thought_of(text: String) -> Part {
    Part { thought: Some(true), ..Part::text(text) }
}

/// Adds an item of a content that is a list.
fn keep_piece(parts: &mut Vec<Part>, piece: &Value) {
    match piece.get("thinking").or_else(|| piece.get("reasoning")) {
        Some(thinking) => keep(parts, &joined(thinking), true),
        None => keep(parts, &joined(piece), is_thought(piece)),
    }
}

fn is_thought(piece: &Value) -> bool {
    let kind = piece.get("type").and_then(Value::as_str).unwrap_or_default();
    kind.starts_with("thinking") || kind.starts_with("reasoning")
}

/// Adds a text. It is joined with a preceding text of the same kind.
fn keep(parts: &mut Vec<Part>, text: &str, is_thought: bool) {
    // One part above the limit is kept, because it makes the answer an error.
    if text.is_empty() || parts.len() > MOST_PARTS {
        return;
    }
    match parts.last_mut() {
        Some(last) if last.is_thought() == is_thought => last.text.get_or_insert_default().push_str(text),
        _ if is_thought => parts.push(thought_of(text.to_owned())),
        _ => parts.push(Part::text(text)),
    }
}

/// Returns the text of a string, an object with a text, or a list of these.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(pieces) => pieces.iter().map(joined).collect(),
        Value::Object(piece) => {
            ["text", "refusal"].iter().find_map(|key| piece.get(*key)?.as_str()).unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(message: Value, expected: Value) {
        assert_eq!(serde_json::to_value(parts(&message)).unwrap(), expected, "{message}");
    }

    #[test]
    fn l234_thoughts_come_before_the_text() {
        let both = json!([{"text": "hm", "thought": true}, {"text": "Hi"}]);
        for message in [
            json!({"reasoning_content": "hm", "content": "Hi"}),
            json!({"reasoning_content": "", "reasoning": "hm", "content": "Hi"}),
            json!({"reasoning_content": "hm", "reasoning": "hm", "content": "Hi"}),
            json!({"reasoning": null, "reasoning_details": [{"type": "reasoning.text", "text": "hm"}], "content": "Hi"}),
            json!({"thinking": "hm", "content": [{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]}),
            json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]}, {"type": "text", "text": "Hi"}]}),
            json!({"content": [{"type": "thinking", "thinking": "hm"}, "Hi"]}),
            json!({"content": [{"type": "reasoning", "text": "hm"}, {"type": "output_text", "text": "Hi"}]}),
        ] {
            check(message, both.clone());
        }
    }

    #[test]
    fn a_refusal_is_a_text_where_there_is_none() {
        check(json!({"content": null, "refusal": "No."}), json!([{"text": "No."}]));
        check(json!({"content": "", "refusal": "No."}), json!([{"text": "No."}]));
        check(json!({"content": [{"type": "refusal", "refusal": "No."}]}), json!([{"text": "No."}]));
        check(json!({"content": "Hi", "refusal": null}), json!([{"text": "Hi"}]));
        for message in [json!({}), json!(null), json!({"content": ""}), json!({"content": 3, "reasoning": false})] {
            check(message, json!([]));
        }
    }
}
