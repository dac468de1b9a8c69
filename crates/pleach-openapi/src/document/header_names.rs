//! Names of headers and cookies.

/// Returns true if a header belongs to the connection, or holds cookies or the credentials of a proxy. A model that set
/// such a header could forge a different request.
pub(crate) fn is_of_connection(name: &str) -> bool {
    let others = ["cookie", "proxy-authorization"];
    pleach_http::is_of_connection(name) || others.iter().any(|other| other.eq_ignore_ascii_case(name))
}

/// Returns true if a string is a token of HTTP, as the name of a cookie must be.
pub(crate) fn is_token(name: &str) -> bool {
    http::HeaderName::try_from(name).is_ok()
}
