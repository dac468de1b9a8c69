//! Replacing U+0000 in texts of other programs: no store accepts it, so U+FFFD takes its place.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Map;

/// Replaces U+0000 by U+FFFD in every string and key of the value. Returns `true` if there was any.
///
/// If two keys become equal, one of their values is kept.
pub fn replace_nul(value: &mut Value) -> bool {
    match value {
        Value::String(text) => replace_nul_in_text(text),
        Value::Array(items) => items.iter_mut().fold(false, |found, item| found | replace_nul(item)),
        Value::Object(members) => replace_nul_in_map(members),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Like [`replace_nul`], for an object.
pub(crate) fn replace_nul_in_map(members: &mut Map) -> bool {
    let keys: Vec<String> = members.keys().filter(|key| key.contains('\0')).cloned().collect();
    for key in &keys {
        if let Some(member) = members.remove(key) {
            members.insert(without_nul(key).into_owned(), member);
        }
    }
    members.values_mut().fold(!keys.is_empty(), |found, member| found | replace_nul(member))
}

/// Replaces U+0000 by U+FFFD in a string. Returns `true` if there was any.
pub(crate) fn replace_nul_in_text(text: &mut String) -> bool {
    match without_nul(text) {
        Cow::Borrowed(_) => false,
        Cow::Owned(mended) => {
            *text = mended;
            true
        }
    }
}

/// Returns the text with U+FFFD for each U+0000.
#[must_use]
pub fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// Writes a value to JSON, replaces U+0000 by U+FFFD in every string and key, and reads the value back. Returns
/// `true` if there was any.
///
/// The value is copied, so use this only after a check has found U+0000. A value without a JSON form is not changed.
pub fn replace_nul_in<T: Serialize + DeserializeOwned>(value: &mut T) -> bool {
    let Ok(mut json) = serde_json::to_value(&*value) else { return false };
    let mended = replace_nul(&mut json).then(|| serde_json::from_value(json)).and_then(Result::ok);
    let found = mended.is_some();
    if let Some(mended) = mended {
        *value = mended;
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nul_of_values_is_replaced_in_keys_too() {
        let mut value = json!({"a\0": ["\0", {"b": "c"}], "d": 1});
        assert!(replace_nul(&mut value));
        assert_eq!(value, json!({"a\u{fffd}": ["\u{fffd}", {"b": "c"}], "d": 1}));
        assert!(!replace_nul(&mut value));
    }
}
