//! Names of headers and cookies.

/// Returns true if a header belongs to the connection, or holds cookies or the credentials of a proxy. With one of them a model would
/// write a request of its own.
pub(crate) fn is_of_connection(name: &str) -> bool {
    let others = ["cookie", "proxy-authorization"];
    pleach_http::is_of_connection(name) || others.iter().any(|other| other.eq_ignore_ascii_case(name))
}

/// Returns true if a text is a token of HTTP, as names of cookies must be.
pub(crate) fn is_token(name: &str) -> bool {
    http::HeaderName::try_from(name).is_ok()
}
