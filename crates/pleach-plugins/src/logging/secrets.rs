//! [`Secrets`]: the values that no line may show.

use std::borrow::Cow;

use pleach_core::Map;
use serde_json::Value;

/// The text that is shown instead of a secret.
pub(super) const HIDDEN: &str = "[hidden]";

const TEMPORARY: &str = "temp:";

/// The length of the shortest secret. Shorter values may appear in a text by chance.
const SHORTEST: usize = 4;

/// The strings and numbers in `temp:` state: credentials of clients, and other values that are not stored.
#[derive(Debug, Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn of(state: &Map) -> Self {
        let mut found = Vec::new();
        for (_, value) in state.iter().filter(|(key, _)| key.starts_with(TEMPORARY)) {
            collect(value, &mut found);
        }
        // The longest secret comes first, so that a secret that contains another one is replaced completely.
        found.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(found)
    }

    pub(super) fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut masked = Cow::Borrowed(text);
        for secret in self.0.iter().filter(|secret| text.contains(secret.as_str())) {
            masked = Cow::Owned(masked.replace(secret.as_str(), HIDDEN));
        }
        masked
    }
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.chars().count() >= SHORTEST => {
            found.push(text.clone());
            // Add the secret in the form that it has within JSON.
            let quoted = Value::from(text.as_str()).to_string();
            let inner = quoted.trim_matches('"');
            if inner != text {
                found.push(inner.to_owned());
            }
        }
        Value::Number(number) if number.to_string().len() >= SHORTEST => found.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => members.values().for_each(|member| collect(member, found)),
        _ => {}
    }
}

/// Returns true if a value with this name is secret: `api_key`, `accessToken`, `Authorization`, but not `max_tokens`.
pub(super) fn is_secret_name(name: &str) -> bool {
    const WHOLE: [&str; 8] = ["pwd", "pin", "otp", "auth", "jwt", "bearer", "sig", "signature"];
    const WITHIN: [&str; 14] = [
        "accesstoken",
        "authtoken",
        "idtoken",
        "refreshtoken",
        "password",
        "passwd",
        "passphrase",
        "secret",
        "apikey",
        "authorization",
        "credential",
        "privatekey",
        "accesskey",
        "cookie",
    ];
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    plain.ends_with("token") || WHOLE.contains(&plain.as_str()) || WITHIN.iter().any(|word| plain.contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_every_casing() {
        for name in [
            "password",
            "db_passwd",
            "API-Key",
            "accessToken",
            "token",
            "clientSecret",
            "Authorization",
            "access_tokens",
            "pin",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["max_tokens", "key", "author", "city", "tokenizer", "spin", "authors"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn what_temporary_state_holds_is_masked() {
        let state =
            json!({"temp:cred": {"token": "s3cr\"et", "n": 123_456, "x": "ab", "y": "éé"}, "user:name": "Ana Oslo"});
        let secrets = Secrets::of(state.as_object().unwrap());
        assert_eq!(
            secrets.mask("a s3cr\"et, s3cr\\\"et 123456 ab éé Ana Oslo"),
            "a [hidden], [hidden] [hidden] ab éé Ana Oslo"
        );
        assert!(matches!(secrets.mask("plain"), Cow::Borrowed("plain")));
    }
}
