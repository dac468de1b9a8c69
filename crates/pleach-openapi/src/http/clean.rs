//! Removes secrets from texts and values of a server, and also characters and nesting that stores refuse.

use pleach_core::Map;
use pleach_http::Secrets;
use serde_json::Value;

/// The number of levels of a value that stay unchanged. A deeper part becomes JSON text, because stores refuse it.
const DEEPEST: usize = 64;

/// Returns a text without secrets and without NUL characters.
pub(crate) fn clean_text(secrets: &Secrets, text: &str) -> String {
    secrets.hide(&text.replace('\0', "\u{fffd}"))
}

/// Returns a value whose texts and names are clean.
pub(crate) fn clean(secrets: &Secrets, value: Value) -> Value {
    clean_levels(secrets, value, DEEPEST)
}

fn clean_levels(secrets: &Secrets, value: Value, levels: usize) -> Value {
    match value {
        Value::String(text) => clean_text(secrets, &text).into(),
        Value::Array(_) | Value::Object(_) if levels == 0 => clean_text(secrets, &value.to_string()).into(),
        Value::Array(items) => items.into_iter().map(|item| clean_levels(secrets, item, levels - 1)).collect(),
        Value::Object(members) => {
            let clean_member =
                |(name, value): (String, Value)| (clean_text(secrets, &name), clean_levels(secrets, value, levels - 1));
            Value::Object(members.into_iter().map(clean_member).collect::<Map>())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_hidden_wherever_a_server_repeats_them() {
        let mut secrets = Secrets::default();
        secrets.add("authorization", "Bearer hush-1");
        secrets.add("x-region", "north");
        secrets.add_key("a/b c");
        let value = json!({"headers": ["Bearer hush-1", {"hush-1": "north"}], "url": "/?key=a%2Fb%20c", "nul": "\0"});
        let expected = json!({"headers": ["…", {"…": "north"}], "url": "/?key=…", "nul": "\u{fffd}"});
        assert_eq!(clean(&secrets, value), expected);
        let deep = (0..100).fold(json!("hush-1"), |value, _| json!([value]));
        let clean = clean(&secrets, deep).to_string();
        assert!(clean.contains('…') && !clean.contains("hush"), "{clean}");
    }
}
