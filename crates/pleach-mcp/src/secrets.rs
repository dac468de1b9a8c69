//! What is hidden in texts of a server: the values of headers and of environment variables that the program gives it.

use std::collections::BTreeSet;

use secrecy::{ExposeSecret as _, SecretString};

/// The length from which a value that holds a key by its name is hidden.
const SHORTEST_KEY: usize = 4;
/// The length from which another value is hidden: a shorter one is a word.
const SHORTEST_VALUE: usize = 8;

/// Values that no error and no log may show, the longest first: one may be a part of another.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<SecretString>);

impl Secrets {
    /// Adds the value of a header, a variable or a member of a query, and the credential in it: `K` of `Bearer K`.
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        let name = name.to_ascii_lowercase();
        let holds_key = ["auth", "key", "token", "secret", "pass", "cookie"].iter().any(|word| name.contains(word));
        let shortest = if holds_key { SHORTEST_KEY } else { SHORTEST_VALUE };
        let value = value.trim();
        let credential = value.split_once(char::is_whitespace).map(|(_, credential)| credential.trim());
        for secret in [Some(value), credential].into_iter().flatten().filter(|secret| secret.len() >= shortest) {
            for form in forms(secret) {
                let place = self.0.partition_point(|other| other.expose_secret().len() > form.len());
                self.0.insert(place, SecretString::from(form));
            }
        }
    }

    /// Hides them in a text.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.expose_secret(), "…"))
    }
}

/// Returns a secret as texts show it: as it is, inside of JSON, and with its line breaks as blanks.
fn forms(secret: &str) -> BTreeSet<String> {
    let json = serde_json::Value::from(secret).to_string();
    let json = json.trim_matches('"').to_owned();
    let blank = secret.replace(char::is_control, " ");
    BTreeSet::from([json.replace('/', "\\/"), json, blank, secret.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_credentials_are_hidden() {
        let mut secrets = Secrets::default();
        secrets.add("Authorization", "Bearer  or-abc");
        secrets.add("x-user", "tok-abcdef");
        secrets.add("x-longer", "tok-abcdef-more");
        secrets.add("x-region", "north");
        secrets.add("Cookie", "id=7f");
        for (text, shown) in [
            ("key or-abc, sent as Bearer  or-abc", "key …, sent as …"),
            ("tok-abcdef and tok-abcdef-more in the north", "… and … in the north"),
            ("the cookie id=7f", "the cookie …"),
        ] {
            assert_eq!(secrets.hide(text), shown);
        }
    }
}
