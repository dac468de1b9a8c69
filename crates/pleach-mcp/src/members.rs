//! Reads members of the JSON objects of servers leniently.

use pleach_core::Map;
use serde_json::Value;

/// Returns a string member of an object; `None` if the member has another type.
pub(crate) fn text(object: &Map, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Returns a string member that an object must have.
pub(crate) fn needed_text(object: &Map, key: &str, missing: &'static str) -> Result<String, &'static str> {
    text(object, key).ok_or(missing)
}

/// Returns a boolean member of an object, which may be written as a string or a number.
pub(crate) fn flag(object: &Map, key: &str) -> Option<bool> {
    match object.get(key)? {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => text.trim().to_ascii_lowercase().parse().ok(),
        Value::Number(number) => number.as_u64().filter(|number| *number < 2).map(|number| number == 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn flags_are_read_from_texts_and_numbers() {
        for (value, flag) in [
            (json!(true), Some(true)),
            (json!("False"), Some(false)),
            (json!(1), Some(true)),
            (json!(2), None),
            (json!(null), None),
            (json!([]), None),
        ] {
            let entry = json!({"f": value});
            assert_eq!(super::flag(entry.as_object().unwrap(), "f"), flag, "{entry}");
        }
    }
}
