//! What is hidden in texts of a server: credentials, and the values of headers that the program sends.

use pleach_core::Map;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::call::encoded;

/// The length from which a value that holds a key by its name is hidden.
const SHORTEST_KEY: usize = 4;
/// The length from which another value is hidden: a shorter one is a word.
const SHORTEST_VALUE: usize = 8;
/// How deep a value is left as it is. What is deeper becomes a text, because no store takes it.
const DEEPEST: usize = 64;

/// Values that no result, error and log may show, the longest first: one may be a part of another.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<SecretString>);

impl Secrets {
    /// Adds the value of a header, and the credential in it: `K` of `Bearer K`.
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        let name = name.to_ascii_lowercase();
        let holds_key = ["auth", "key", "token", "secret", "pass", "cookie"].iter().any(|word| name.contains(word));
        let shortest = if holds_key { SHORTEST_KEY } else { SHORTEST_VALUE };
        let value = value.trim();
        let credential = value.split_once(char::is_whitespace).map(|(_, credential)| credential.trim());
        for secret in [Some(value), credential].into_iter().flatten() {
            self.insert(secret, shortest);
        }
    }

    /// Adds a credential, and its form in URLs.
    pub(crate) fn add_credential(&mut self, value: &str) {
        self.insert(value, SHORTEST_KEY);
        let encoded = encoded(value);
        if encoded != value {
            self.insert(&encoded, SHORTEST_KEY);
        }
    }

    fn insert(&mut self, secret: &str, shortest: usize) {
        if secret.len() >= shortest {
            let place = self.0.partition_point(|other| other.expose_secret().len() > secret.len());
            self.0.insert(place, SecretString::from(secret));
        }
    }

    /// Hides them in a text, and replaces what no store takes.
    pub(crate) fn clean_text(&self, text: &str) -> String {
        let text = text.replace('\0', "\u{fffd}");
        self.0.iter().fold(text, |text, secret| text.replace(secret.expose_secret(), "…"))
    }

    /// Hides them in a value.
    pub(crate) fn clean(&self, value: Value) -> Value {
        self.cleaned(value, DEEPEST)
    }

    fn cleaned(&self, value: Value, levels: usize) -> Value {
        match value {
            Value::String(text) => self.clean_text(&text).into(),
            Value::Array(_) | Value::Object(_) if levels == 0 => self.clean_text(&value.to_string()).into(),
            Value::Array(items) => items.into_iter().map(|item| self.cleaned(item, levels - 1)).collect(),
            Value::Object(members) => {
                let members = members.into_iter();
                Value::Object(
                    members
                        .map(|(name, value)| (self.clean_text(&name), self.cleaned(value, levels - 1)))
                        .collect::<Map>(),
                )
            }
            other => other,
        }
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
        secrets.add_credential("a/b c");
        let value = json!({"headers": ["Bearer hush-1", {"hush-1": "north"}], "url": "/?key=a%2Fb%20c", "nul": "\0"});
        let expected = json!({"headers": ["…", {"…": "north"}], "url": "/?key=…", "nul": "\u{fffd}"});
        assert_eq!(secrets.clean(value), expected);
        let deep = (0..100).fold(json!("hush-1"), |value, _| json!([value]));
        let clean = secrets.clean(deep).to_string();
        assert!(clean.contains('…') && !clean.contains("hush"), "{clean}");
    }
}
