//! Removes values that a client must not see: secrets of credentials, and metadata of the framework.
// H9

use pleach_auth::{hide_secrets, may_hold_secrets};
use serde_json::{Map, Value};

/// The prefix of the framework's own metadata.
const INTERNAL: &str = "__adk_internal_";

/// Returns true if a document may contain such values. `text` is the JSON of the document, without spaces between the
/// tokens.
pub(crate) fn is_suspect(text: &str) -> bool {
    text.contains("\"__adk_internal_") || may_hold_secrets(text)
}

/// Removes values that a client must not see. The recursion is as deep as the value, and the stores limit that depth.
pub(crate) fn clean(value: &mut Value) {
    hide_secrets(value);
    drop_internal(value);
}

/// Removes the framework's own metadata.
fn drop_internal(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_internal),
        Value::Object(object) => {
            object.values_mut().for_each(drop_internal);
            for key in ["customMetadata", "custom_metadata"] {
                without_internal(object, key);
            }
        }
        _ => {}
    }
}

fn without_internal(object: &mut Map<String, Value>, key: &str) {
    let Some(Value::Object(metadata)) = object.get_mut(key) else { return };
    let before = metadata.len();
    metadata.retain(|key, _| !key.starts_with(INTERNAL));
    if metadata.is_empty() && before > 0 {
        object.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(before: Value, after: &Value) {
        let mut cleaned = before.clone();
        clean(&mut cleaned);
        assert_eq!(cleaned, *after, "{before}");
        assert!(before == *after || is_suspect(&before.to_string()), "{before}");
    }

    #[test]
    fn h9_metadata_of_the_framework_is_removed() {
        check(
            json!({"customMetadata": {"__adk_internal_restored_event": true, "a": 1}}),
            &json!({"customMetadata": {"a": 1}}),
        );
        check(json!({"customMetadata": {"__adk_internal_restored_event": true}}), &json!({}));
        check(json!({"customMetadata": {}, "authType": 1}), &json!({"customMetadata": {}, "authType": 1}));
    }
}
