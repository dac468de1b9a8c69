//! Reading flags that are not written as `true` or `false`.

use serde_json::Value;

/// Reads a flag from a boolean, from 0 or 1, or from a word such as `yes` or `off`.
#[must_use]
pub fn to_bool(value: &Value) -> Option<bool> {
    let word = match value {
        Value::Number(number) => number.as_f64()?.to_string(),
        Value::String(text) => text.to_ascii_lowercase(),
        other => return other.as_bool(),
    };
    let is = |words: &[&str]| words.contains(&&*word);
    let (yes, no) = (is(&["true", "t", "1", "yes", "y", "on"]), is(&["false", "f", "0", "no", "n", "off"]));
    (yes || no).then_some(yes)
}
