//! CORS: the headers with which a server lets pages of other origins read its replies. They are sent only if origins
//! are configured.
// H92

use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD,
    ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use crate::error::text_response;
use crate::origins::Origins;

/// The request headers on which the reply to a preflight depends.
const VARIES: &str = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers, \
    Access-Control-Request-Private-Network";
const METHODS: &str = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";
/// The header with which a page of a public network asks for access to a server in a private network.
const PRIVATE_NETWORK: &str = "access-control-request-private-network";

/// Answers a preflight, which is a browser's question whether it may send a request. Returns `None` if the request is
/// not a preflight.
pub(crate) fn preflight(method: &Method, headers: &HeaderMap, origins: &Origins) -> Option<Response> {
    let origin = headers.get(ORIGIN)?;
    let wanted = headers.get(ACCESS_CONTROL_REQUEST_METHOD)?;
    if method != Method::OPTIONS || !origins.are_configured() {
        return None;
    }
    let is_known = allows(origins, origin);
    let is_method = METHODS.split(", ").any(|method| wanted == method);
    let is_private = headers.get(PRIVATE_NETWORK).is_some_and(|asked| asked == "true");
    let (status, text) = match (is_known, is_method) {
        (true, true) if is_private => (StatusCode::BAD_REQUEST, "Disallowed CORS private-network"),
        (true, true) => (StatusCode::OK, "OK"),
        (false, _) => (StatusCode::BAD_REQUEST, "Disallowed CORS origin"),
        (true, false) => (StatusCode::BAD_REQUEST, "Disallowed CORS method"),
    };
    let mut response = text_response(status, text, "text/plain; charset=utf-8");
    let reply = response.headers_mut();
    reply.insert(VARY, HeaderValue::from_static(VARIES));
    reply.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    reply.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    reply.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    if is_known {
        reply.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
    if let Some(asked) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        reply.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    Some(response)
}

/// Adds the headers to a reply.
pub(crate) fn mark(response: &mut Response, origin: Option<&HeaderValue>, origins: &Origins) {
    if !origins.are_configured() {
        return;
    }
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("Origin"));
    let Some(origin) = origin else { return };
    headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    if allows(origins, origin) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
}

fn allows(origins: &Origins, origin: &HeaderValue) -> bool {
    origin.to_str().is_ok_and(|origin| origins.allow(origin))
}
