//! The arguments of a call, which the format carries as a text.
// L234

use pleach_core::Map;
use serde_json::Value;

/// Reads arguments; `None` when they are not an object.
///
/// No text is no arguments. A fence of Markdown around the object, and an object inside of a JSON string, are removed.
pub(super) fn read(text: &str) -> Option<Map> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Map::new());
    }
    match serde_json::from_str(unfenced(text)).ok()? {
        Value::Object(arguments) => Some(arguments),
        Value::String(inner) => serde_json::from_str(&inner).ok(),
        Value::Null => Some(Map::new()),
        _ => None,
    }
}

fn unfenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) else { return text };
    inner.strip_prefix("json").unwrap_or(inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn l234_arguments_are_an_object() {
        for (text, expected) in [
            ("", Some(json!({}))),
            (" {} ", Some(json!({}))),
            ("null", Some(json!({}))),
            (r#"{"a": {"b": [1]}}"#, Some(json!({"a": {"b": [1]}}))),
            ("```json\n{\"a\": 1}\n```", Some(json!({"a": 1}))),
            (r#""{\"a\": 1}""#, Some(json!({"a": 1}))),
            ("[1]", None),
            ("{\"a\": ", None),
            ("{\"a\": 1} trailing", None),
        ] {
            assert_eq!(read(text).map(Value::Object), expected, "{text}");
        }
    }
}
