//! [`Headers`]: headers that a program adds to requests.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};

use crate::Secrets;

/// The headers of the connection, which frame or route a request. Only the client sets them.
const OF_CONNECTION: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// The reason why a header cannot be sent. No text shows its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderFault {
    /// The value cannot be written.
    Value,
    /// The name cannot be written.
    Name,
    /// The header belongs to the connection.
    OfConnection,
}

impl HeaderFault {
    /// Returns the text of the fault.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Value => "its value has a line break or another control character",
            Self::Name => "its name has characters that no header may have",
            Self::OfConnection => "the connection sets it itself",
        }
    }
}

/// Returns true if a header belongs to the connection, in any spelling of its name.
#[must_use]
pub fn is_of_connection(name: &str) -> bool {
    OF_CONNECTION.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// Reads a header of the program. The value is marked as sensitive, so that no log of the client shows it.
///
/// # Errors
/// The name or the value cannot be written, or the header belongs to the connection.
pub fn read_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), HeaderFault> {
    let value = sensitive(value).ok_or(HeaderFault::Value)?;
    let name = HeaderName::try_from(name).map_err(|_| HeaderFault::Name)?;
    if is_of_connection(name.as_str()) {
        return Err(HeaderFault::OfConnection);
    }
    Ok((name, value))
}

fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Headers that can be sent, by name and in the order of their names. Their values are overwritten in memory when they
/// are dropped.
///
/// Debug output shows the names only.
#[derive(Clone, Default)]
pub struct Headers(Vec<(HeaderName, SecretString)>);

impl Headers {
    /// Sets a header. It replaces one of the same name.
    ///
    /// # Errors
    /// The same errors as [`read_header`].
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), HeaderFault> {
        let (name, _) = read_header(name, value)?;
        let value = SecretString::from(value);
        match self.0.binary_search_by(|(other, _)| other.as_str().cmp(name.as_str())) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (name, value)),
        }
        Ok(())
    }

    /// Returns true if there are no headers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names in lower case.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.expose_secret()))
    }

    /// Adds the values to the secrets that are hidden.
    pub fn add_to(&self, secrets: &mut Secrets) {
        for (name, value) in self.pairs() {
            secrets.add(name, value);
        }
    }

    /// Writes the headers into a request. They replace headers of the same name.
    pub fn write(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.0 {
            if let Some(value) = sensitive(value.expose_secret()) {
                headers.insert(name.clone(), value);
            }
        }
    }
}

impl PartialEq for Headers {
    fn eq(&self, other: &Self) -> bool {
        self.pairs().eq(other.pairs())
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_cannot_be_sent_has_a_reason() {
        for (name, value, fault) in [
            ("x y", "hush", HeaderFault::Name),
            ("", "hush", HeaderFault::Name),
            ("x-key", "hush\r\nx: y", HeaderFault::Value),
            ("x-key", "hush\0", HeaderFault::Value),
            ("Host", "hush", HeaderFault::OfConnection),
            ("content-LENGTH", "1", HeaderFault::OfConnection),
            ("Connection", "close", HeaderFault::OfConnection),
            ("Transfer-Encoding", "chunked", HeaderFault::OfConnection),
            ("TE", "trailers", HeaderFault::OfConnection),
        ] {
            assert_eq!(Headers::default().set(name, value), Err(fault), "{name}");
            assert!(!fault.reason().contains("hush"), "{}", fault.reason());
        }
        for name in ["Authorization", "cookie", "proxy-authorization", "user-agent", "accept", "content-type"] {
            assert_eq!(Headers::default().set(name, "hush"), Ok(()), "{name}");
        }
    }

    #[test]
    fn headers_are_equal_whatever_the_order_in_which_they_were_set() {
        let headers = |pairs: &[(&str, &str)]| {
            let mut headers = Headers::default();
            for (name, value) in pairs {
                headers.set(name, value).expect("a header");
            }
            headers
        };
        let one = headers(&[("x-b", "hush-2"), ("x-a", "hush-1")]);
        assert!(one == headers(&[("X-A", "old"), ("x-a", "hush-1"), ("x-b", "hush-2")]));
        assert!(one != headers(&[("x-a", "hush-1"), ("x-b", "hush-3")]));
        assert!(one != headers(&[("x-a", "hush-1")]) && !one.is_empty() && Headers::default().is_empty());
        assert_eq!(format!("{one:?}"), r#"["x-a", "x-b"]"#);
    }

    #[test]
    fn written_values_are_sensitive_and_hidden() {
        let mut headers = Headers::default();
        headers.set("x-user", "hush-user").expect("a header");
        let mut written = HeaderMap::new();
        written.insert("x-user", HeaderValue::from_static("of the model"));
        headers.write(&mut written);
        assert_eq!(written["x-user"], "hush-user");
        assert!(written["x-user"].is_sensitive() && !format!("{written:?}").contains("hush"));
        let mut secrets = Secrets::default();
        headers.add_to(&mut secrets);
        assert_eq!(secrets.hide("hush-user is gone"), "… is gone");
    }
}
