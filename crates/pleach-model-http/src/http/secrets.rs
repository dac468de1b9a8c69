//! What is hidden in the texts of a provider.

use std::collections::BTreeSet;

use secrecy::{ExposeSecret as _, SecretString};

use crate::endpoint::Endpoint;

/// The length from which a key is hidden.
const SHORTEST_KEY: usize = 4;
/// The length from which another value is hidden: a shorter one is a word, such as the name of a region.
const SHORTEST_VALUE: usize = 8;

/// The keys and header values of a request, the longest first: one may be a part of another.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<SecretString>);

impl Secrets {
    /// Adds a key.
    pub(super) fn add_key(&mut self, key: &str) {
        self.add(key, SHORTEST_KEY);
    }

    /// Adds the value of a header or of a member of a query, and the credential in it: `K` of `Bearer K`.
    pub(super) fn add_value(&mut self, name: &str, value: &str) {
        let name = name.to_ascii_lowercase();
        let holds_key = ["auth", "key", "token", "secret"].iter().any(|word| name.contains(word));
        let shortest = if holds_key { SHORTEST_KEY } else { SHORTEST_VALUE };
        self.add(value, shortest);
        if let Some((_, credential)) = value.trim().split_once(char::is_whitespace) {
            self.add(credential, shortest);
        }
    }

    /// Adds the values in the query of a base URL.
    pub(super) fn add_query(&mut self, endpoint: &Endpoint) {
        for (name, value) in endpoint.query_values() {
            self.add_value(&name, &value);
        }
    }

    fn add(&mut self, secret: &str, shortest: usize) {
        let secret = secret.trim();
        if secret.len() >= shortest {
            for form in forms(secret) {
                let place = self.0.partition_point(|other| other.expose_secret().len() > form.len());
                self.0.insert(place, SecretString::from(form));
            }
        }
    }

    /// Hides them in a text.
    pub(super) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.expose_secret(), "…"))
    }
}

/// Returns a secret as texts show it: as it is, and inside of JSON.
fn forms(secret: &str) -> BTreeSet<String> {
    let json = serde_json::Value::from(secret).to_string();
    let json = json.trim_matches('"').to_owned();
    BTreeSet::from([json.replace('/', "\\/"), json, secret.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_credentials_and_values_are_hidden() {
        let mut secrets = Secrets::default();
        secrets.add_key("1234567");
        secrets.add_value("Authorization", "Bearer  or-abc");
        secrets.add_value("x-user", "tok-abcdef");
        secrets.add_value("x-longer", "tok-abcdef-more");
        secrets.add_value("x-region", "north");
        for (text, shown) in [
            ("key 1234567 is wrong", "key … is wrong"),
            ("key or-abc, sent as Bearer  or-abc", "key …, sent as …"),
            ("tok-abcdef and tok-abcdef-more in the north", "… and … in the north"),
        ] {
            assert_eq!(secrets.hide(text), shown);
        }
    }
}
