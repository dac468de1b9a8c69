//! [`Endpoint`]: a URL that requests are sent to, and whether it is on this machine.

use std::fmt;
use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use reqwest::Url;

/// An `http` or `https` URL that names a host and has no user name or password.
///
/// Debug output shows its origin only: the query may be a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint(Url);

/// The reason why a URL cannot be an [`Endpoint`]. No text shows the URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointFault {
    /// The text is not a URL.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The URL has another scheme, or names no host.
    #[error("must begin with `https://` or `http://` and name a host")]
    Scheme,
    /// The URL has a user name or a password, which errors and logs would show.
    #[error("contains a user name or password")]
    User,
}

impl EndpointFault {
    /// Returns the text of the fault. `instead` is the advice for a URL with a user name or password.
    #[must_use]
    pub fn with_advice(&self, instead: &str) -> String {
        match self {
            Self::User => format!("{self}: {instead}"),
            Self::Unreadable(_) | Self::Scheme => self.to_string(),
        }
    }
}

impl Endpoint {
    /// Reads a URL. White space around it is ignored.
    ///
    /// # Errors
    /// The text is not a URL, or [`new`](Self::new) refuses it.
    pub fn parse(text: &str) -> Result<Self, EndpointFault> {
        Self::new(Url::parse(text.trim()).map_err(|error| EndpointFault::Unreadable(error.to_string()))?)
    }

    /// Checks a URL.
    ///
    /// # Errors
    /// The URL has another scheme than `http` and `https`, no host, or a user name or password.
    pub fn new(url: Url) -> Result<Self, EndpointFault> {
        if !matches!(url.scheme(), "https" | "http") || url.host_str().is_none() {
            return Err(EndpointFault::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EndpointFault::User);
        }
        Ok(Self(url))
    }

    /// Returns the URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Returns the host. An IPv6 address is in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Returns true if connections are encrypted.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Returns true if the host is this machine: `localhost`, a name below it, or a loopback address.
    ///
    /// The client for such an endpoint uses neither a resolver nor a proxy; see [`Clients`](crate::Clients).
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        is_this_machine(self.host())
    }

    /// Returns true if both have the same scheme, host and port.
    #[must_use]
    pub fn has_origin_of(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }

    /// Returns true if the URL has a query that is not empty.
    #[must_use]
    pub fn has_query(&self) -> bool {
        self.0.query().is_some_and(|query| !query.is_empty())
    }

    /// Returns the host if secrets would reach it unencrypted: by plain HTTP to another machine.
    ///
    /// `sends_secrets` is true if requests carry keys, credentials or headers of the program. The query of the URL is a
    /// secret as well.
    #[must_use]
    pub fn exposed_host(&self, sends_secrets: bool) -> Option<&str> {
        let is_plain = !self.is_https() && !self.is_loopback();
        (is_plain && (sends_secrets || self.has_query())).then(|| self.host())
    }

    /// Iterates over the names and values of the query: all of them as written in the URL, then all of them decoded.
    ///
    /// A part without a value, such as `?sk-1`, is treated as the value of `key`.
    pub fn query_values(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let parts = self.0.query().unwrap_or_default().split('&').filter(|part| !part.is_empty());
        let written = parts.map(|part| match part.split_once('=') {
            Some((name, value)) if !value.is_empty() => (name.to_owned(), value.to_owned()),
            _ => ("key".to_owned(), part.trim_end_matches('=').to_owned()),
        });
        let decoded = written.clone().map(|(name, value)| (decoded(&name), decoded(&value)));
        written.chain(decoded)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoint").field(&self.0.origin().ascii_serialization()).finish()
    }
}

/// Decodes a part of a query, as forms encode it.
fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// Returns true if the host of a URL is this machine.
fn is_this_machine(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    // A fully qualified name may end with a dot.
    let host = host.strip_suffix('.').unwrap_or(host);
    // An IPv4 address may be written as an IPv6 address: `::ffff:127.0.0.1`.
    let is_address = || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
    host == "localhost" || host.ends_with(".localhost") || is_address()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(text: &str) -> Endpoint {
        Endpoint::parse(text).expect("a URL that can be used")
    }

    #[test]
    fn the_names_and_addresses_of_this_machine_are_loopback() {
        for host in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "api.localhost",
            "a.b.localhost.",
            "127.0.0.1",
            "127.9.9.9",
            "127.1",
            "127.0.0.1.",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[0:0:0:0:0:ffff:7f00:1]",
        ] {
            assert!(endpoint(&format!("http://{host}:8000/v1")).is_loopback(), "{host}");
        }
        for host in [
            "localhost.example.com",
            "xlocalhost",
            "localhost.localdomain",
            "127.0.0.1.example.com",
            "128.0.0.1",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "[::127.0.0.1]",
            "[::ffff:10.0.0.1]",
            "[fe80::1]",
        ] {
            assert!(!endpoint(&format!("http://{host}:8000/v1")).is_loopback(), "{host}");
        }
    }

    #[test]
    fn secrets_need_encryption_to_other_machines() {
        for (url, of_all, of_secrets) in [
            ("https://api.example.com/v1?k=1", None, None),
            ("http://localhost:11434/v1?k=1", None, None),
            ("http://10.0.0.1/v1", None, Some("10.0.0.1")),
            ("http://10.0.0.1/v1?", None, Some("10.0.0.1")),
            ("http://10.0.0.1/v1?sk-1", Some("10.0.0.1"), Some("10.0.0.1")),
            ("http://[fe80::1]:80/", None, Some("[fe80::1]")),
        ] {
            let endpoint = endpoint(url);
            assert_eq!((endpoint.exposed_host(false), endpoint.exposed_host(true)), (of_all, of_secrets), "{url}");
        }
    }

    #[test]
    fn a_url_that_cannot_be_used_has_a_reason_and_is_not_shown() {
        for (url, reason) in [
            ("api.example.com", "cannot be read: relative URL without a base"),
            ("ftp://hush.example.com", "must begin with `https://` or `http://` and name a host"),
            ("https://me:hush@example.com", "contains a user name or password: use a header"),
            ("https://hush@example.com", "contains a user name or password: use a header"),
        ] {
            let fault = Endpoint::parse(url).expect_err("a fault");
            assert_eq!(fault.with_advice("use a header"), reason, "{url}");
        }
        assert_eq!(format!("{:?}", endpoint(" https://a.example/v1?hush ")), "Endpoint(\"https://a.example\")");
    }

    #[test]
    fn values_of_a_query_are_returned_as_written_and_decoded() {
        let values = |query: &str| {
            let endpoint = endpoint(&format!("https://a.example/v1?{query}"));
            endpoint.query_values().map(|(name, value)| format!("{name}:{value}")).collect::<Vec<_>>()
        };
        assert_eq!(values("token=q%2Dabc&v=a+b"), ["token:q%2Dabc", "v:a+b", "token:q-abc", "v:a b"]);
        for query in ["sk-1", "sk-1=", "&sk-1&"] {
            assert_eq!(values(query), ["key:sk-1", "key:sk-1"], "{query}");
        }
        assert_eq!(values(""), [""; 0]);
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let own = endpoint("https://a.example/v1");
        assert!(own.has_origin_of(&endpoint("https://a.example:443/v2?k")));
        for other in ["http://a.example/v1", "https://b.example/v1", "https://a.example:444/v1"] {
            assert!(!own.has_origin_of(&endpoint(other)), "{other}");
        }
    }
}
