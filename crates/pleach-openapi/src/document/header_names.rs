//! Names of headers and cookies.

/// Headers of the connection: with one of them a model would write a request of its own.
const OF_CONNECTION: [&str; 13] = [
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// Whether a header belongs to the connection.
pub(crate) fn is_of_connection(name: &str) -> bool {
    OF_CONNECTION.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a text is a token of HTTP, as names of cookies are.
pub(crate) fn is_token(name: &str) -> bool {
    http::HeaderName::try_from(name).is_ok()
}
