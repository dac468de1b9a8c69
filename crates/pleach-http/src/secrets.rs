//! [`Secrets`]: values that no error, log or result may show, even if a server repeats them.

use std::collections::BTreeSet;
use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret as _, SecretString};

use crate::Endpoint;

/// The length in bytes from which a key is hidden.
const SHORTEST_KEY: usize = 4;
/// The length in bytes from which any other value is hidden. A shorter value is an ordinary word, such as the name of a
/// region.
const SHORTEST_VALUE: usize = 8;
/// The words in the names of headers, variables and query members whose values are keys.
const NAMES_OF_KEYS: [&str; 6] = ["auth", "key", "token", "secret", "pass", "cookie"];

/// All characters except letters, digits and `-._~` (RFC 3986).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The characters that JavaScript's `encodeURIComponent` encodes.
const COMPONENT: &AsciiSet = &RESERVED.remove(b'!').remove(b'\'').remove(b'(').remove(b')').remove(b'*');
/// The characters that a URL encodes in its query.
const QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'\'');

/// Values that are hidden, the longest first, because one may be a part of another. They are overwritten in memory when
/// they are dropped.
#[derive(Clone, Default)]
pub struct Secrets(Vec<SecretString>);

impl Secrets {
    /// Adds a key, without the white space around it. A key of fewer than four bytes is not hidden.
    pub fn add_key(&mut self, key: &str) {
        self.insert(key, SHORTEST_KEY);
    }

    /// Adds the value of a header, a variable or a query member, and the credential in it: `K` of `Bearer K`.
    ///
    /// A value of fewer than eight bytes stays visible as an ordinary word, unless its name is one of a key.
    pub fn add(&mut self, name: &str, value: &str) {
        let name = name.to_ascii_lowercase();
        let is_key = NAMES_OF_KEYS.iter().any(|word| name.contains(word));
        let shortest = if is_key { SHORTEST_KEY } else { SHORTEST_VALUE };
        self.insert(value, shortest);
        if let Some((_, credential)) = value.trim().split_once(char::is_whitespace) {
            self.insert(credential, shortest);
        }
    }

    /// Adds the values in the query of an endpoint.
    pub fn add_query(&mut self, endpoint: &Endpoint) {
        for (name, value) in endpoint.query_values() {
            self.add(&name, &value);
        }
    }

    fn insert(&mut self, secret: &str, shortest: usize) {
        let secret = secret.trim();
        if secret.len() < shortest {
            return;
        }
        for form in forms(secret) {
            if !self.0.iter().any(|known| known.expose_secret() == form) {
                let place = self.0.partition_point(|other| other.expose_secret().len() > form.len());
                self.0.insert(place, SecretString::from(form));
            }
        }
    }

    /// Returns the text with `…` in place of each secret.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.expose_secret(), "…"))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// Returns the forms that a secret may have in a text: unchanged, in JSON, with blanks for control characters, and in
/// URLs.
fn forms(secret: &str) -> BTreeSet<String> {
    let json = serde_json::Value::from(secret).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let mut forms =
        BTreeSet::from([json.replace('/', "\\/"), json, secret.replace(char::is_control, " "), secret.to_owned()]);
    for reserved in [RESERVED, COMPONENT, QUERY] {
        let encoded = utf8_percent_encode(secret, reserved).to_string();
        // HTML forms write a blank as `+`.
        let form = encoded.replace("%20", "+");
        forms.extend([with_small_digits(&encoded), with_small_digits(&form), encoded, form]);
    }
    forms
}

/// Writes the digits of `%2F` in lower case, as some programs do.
fn with_small_digits(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // In encoded text, two digits follow each `%`. After an unencoded `%`, any text may follow.
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        text.push('%');
        text.push_str(&digits.to_ascii_lowercase());
        text.push_str(rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(secrets: &Secrets, text: &str, expected: &str) {
        assert_eq!(secrets.hide(text), expected, "{text}");
    }

    #[test]
    fn keys_credentials_and_values_are_hidden() {
        let mut secrets = Secrets::default();
        secrets.add_key("1234567");
        secrets.add("Authorization", "Bearer  or-abc");
        secrets.add("x-user", "tok-abcdef");
        secrets.add("x-longer", "tok-abcdef-more");
        secrets.add("x-region", "north");
        check(&secrets, "key 1234567 is wrong", "key … is wrong");
        check(&secrets, "key or-abc, sent as Bearer  or-abc", "key …, sent as …");
        check(&secrets, "tok-abcdef and tok-abcdef-more in the north", "… and … in the north");
    }

    #[test]
    fn a_name_decides_how_short_a_hidden_value_may_be() {
        for name in ["X-Auth", "api_key", "access-token", "client_secret", "PASSWORD", "x-passphrase", "Cookie"] {
            let mut secrets = Secrets::default();
            secrets.add(name, "ab-1");
            secrets.add(name, "xyz");
            check(&secrets, "ab-1 and xyz", "… and xyz");
        }
        let mut secrets = Secrets::default();
        secrets.add("x-region", "north-1");
        secrets.add("x-tenant", "tenant-1");
        secrets.add_key("abc");
        check(&secrets, "north-1, tenant-1, abc", "north-1, …, abc");
    }

    #[test]
    fn white_space_around_a_value_is_not_a_part_of_it() {
        let mut secrets = Secrets::default();
        secrets.add_key(" hush-1\n");
        secrets.add("x-user", " Bearer  hush-two ");
        check(&secrets, "[hush-1] [hush-two] [Bearer  hush-two]", "[…] […] […]");
        secrets.add_key("   ");
        check(&secrets, "a    b", "a    b");
    }

    #[test]
    fn a_secret_is_hidden_in_json_in_urls_and_on_one_line() {
        let mut secrets = Secrets::default();
        secrets.add_key("a/b \"c\"\n(é+");
        for text in [
            "a/b \"c\"\n(é+",
            "a/b \"c\" (é+",
            r#"a/b \"c\"\n(é+"#,
            r#"a\/b \"c\"\n(é+"#,
            "a%2Fb%20%22c%22%0A%28%C3%A9%2B",
            "a%2fb%20%22c%22%0a%28%c3%a9%2b",
            "a%2Fb+%22c%22%0A%28%C3%A9%2B",
            "a%2Fb%20%22c%22%0A(%C3%A9%2B",
            "a/b%20%22c%22%0A(%C3%A9+",
        ] {
            check(&secrets, &format!("<{text}>"), "<…>");
        }
    }

    #[test]
    fn a_secret_with_percent_signs_is_hidden_as_it_is() {
        let mut secrets = Secrets::default();
        secrets.add_key("100%é%");
        check(&secrets, "<100%é%> <100%25%C3%A9%25>", "<…> <…>");
    }

    #[test]
    fn values_of_a_query_are_hidden() {
        let mut secrets = Secrets::default();
        secrets.add_query(&Endpoint::parse("https://a.example/v1?sk-1&token=q%2Dabc&v=2024").expect("a URL"));
        check(&secrets, "sk-1, q%2Dabc, q-abc, 2024", "…, …, …, 2024");
        assert_eq!(format!("{secrets:?}"), "Secrets");
    }
}
