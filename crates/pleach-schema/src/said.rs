//! [`json_in_text`]: reading JSON in the text of a model.
// L151

use pleach_core::big_integers_as_strings;
use serde_json::Value;

/// Reads JSON in the text of a model, which may be between a pair of Markdown fences. Returns `None` if the text is
/// blank.
///
/// Texts and numbers in the JSON are repaired like in [`big_integers_as_strings`].
///
/// # Errors
/// Fails if the text is not JSON.
pub fn json_in_text(text: &str) -> serde_json::Result<Option<Value>> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(&big_integers_as_strings(without_fence(text).as_bytes())).map(Some)
}

/// Returns the text between a pair of fences that encloses it; without fences, the text itself.
fn without_fence(text: &str) -> &str {
    let inside = text.trim().strip_prefix("```").and_then(|inside| inside.strip_suffix("```"));
    let Some(inside) = inside else { return text };
    // The name of a language may follow the opening fence.
    inside.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_').trim()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn l151_a_fence_around_json_is_taken_off() {
        for (text, expected) in [
            (r#"{"a": 1}"#, Some(json!({"a": 1}))),
            ("```json\n{\"a\": 1}\n```", Some(json!({"a": 1}))),
            ("  ```\n[1]```\n", Some(json!([1]))),
            ("\"```x```\"", Some(json!("```x```"))),
            ("  \n", None),
            ("", None),
        ] {
            assert_eq!(json_in_text(text).unwrap(), expected, "{text}");
        }
        for text in ["no", "```json\n{", "```", "``````", "{\"a\": 1} and more"] {
            assert!(json_in_text(text).is_err(), "{text}");
        }
    }
}
