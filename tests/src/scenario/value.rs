//! JSON values as the scenario language sees them: truth, text, paths and equality.

use serde_json::Value;

use pleach::{Content, NodeError, NodeInput, to_camel};

use crate::normalise::{Style, dumps};

/// Returns false for null, false, 0, `""`, `[]` and `{}`, and true for all other values.
pub(crate) fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// A value as text: texts unchanged, other values as compact JSON with sorted keys, and whole floats without a fraction.
pub(crate) fn to_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 => format!("{float:.0}"),
            _ => number.to_string(),
        },
        other => dumps(other, Style::COMPACT),
    }
}

/// The text of a content or of a text. Other values are written as in [`to_text`], and null as an empty text.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Object(map) if map.contains_key("parts") => {
            let parts = map["parts"].as_array().into_iter().flatten();
            let spoken = parts.filter(|part| !part.get("thought").is_some_and(truthy));
            spoken.filter_map(|part| part.get("text")?.as_str()).collect()
        }
        other => to_text(other),
    }
}

/// Follows the segments of a path. Returns null if a segment leads nowhere. For lists, segments are positions, which may be negative.
pub(crate) fn walk<'s>(value: &Value, segments: impl IntoIterator<Item = &'s str>) -> Value {
    let mut here = value;
    for segment in segments {
        let below = match here {
            Value::Object(map) => map.get(segment),
            Value::Array(items) => position(segment, items.len()).and_then(|index| items.get(index)),
            _ => None,
        };
        match below {
            Some(below) => here = below,
            None => return Value::Null,
        }
    }
    here.clone()
}

fn position(segment: &str, len: usize) -> Option<usize> {
    match segment.strip_prefix('-') {
        Some(back) => len.checked_sub(back.parse().ok()?),
        None => segment.parse().ok(),
    }
}

/// A content in the language of scenarios: JSON in camelCase, without nulls.
pub(crate) fn content_value(content: &Content) -> Value {
    to_camel(content).expect("a content has string keys only")
}

/// An input or output of a node in the language of scenarios.
pub(crate) fn input_value(input: &NodeInput) -> Value {
    input.content().map_or_else(|| input.to_value(), content_value)
}

/// The items of a list over which a step iterates.
pub(crate) fn items(list: Value) -> Result<Vec<Value>, NodeError> {
    match list {
        Value::Array(items) => Ok(items),
        other => Err(NodeError::new("TypeError", format!("{other} is no list"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_of_values_is_compact_json_with_sorted_keys() {
        assert_eq!(to_text(&json!("a\"b")), "a\"b");
        assert_eq!(to_text(&json!(null)), "null");
        assert_eq!(to_text(&json!(3.0)), "3");
        assert_eq!(to_text(&json!(0.5)), "0.5");
        assert_eq!(to_text(&json!({"b": [1, true], "a": "ü"})), r#"{"a":"ü","b":[1,true]}"#);
    }

    #[test]
    fn text_of_a_content_leaves_thoughts_out() {
        let content = json!({"role": "user", "parts": [{"text": "a"}, {"text": "b", "thought": true}, {"text": "c"}]});
        assert_eq!(text_of(&content), "ac");
        assert_eq!(text_of(&json!(null)), "");
    }

    #[test]
    fn paths_lead_through_maps_and_lists() {
        let value = json!({"a": [{"b": 1}, {"b": 2}]});
        assert_eq!(walk(&value, ["a", "0", "b"]), json!(1));
        assert_eq!(walk(&value, ["a", "-1", "b"]), json!(2));
        assert_eq!(walk(&value, ["a", "7", "b"]), json!(null));
        assert_eq!(walk(&value, ["a", "x"]), json!(null));
        assert_eq!(walk(&value, []), value);
    }
}
