//! Replies in JSON: camelCase, without the values that a client must not see.
// H1, H2

use axum::response::Response;
use http::StatusCode;
use pleach_core::{CamelCase, to_camel};
use serde::Serialize;
use serde_json::Value;

use crate::error::{ApiError, json_response};
use crate::redact::{clean, is_suspect};

/// Returns a reply with a value of one of pleach's types.
///
/// # Errors
/// 500 if the value has no JSON form. All of these types have one.
pub(crate) fn reply<T: Serialize + ?Sized>(value: &T) -> Result<Response, ApiError> {
    Ok(json_response(StatusCode::OK, public_json(value)?))
}

/// Returns a reply with this JSON, unchanged.
pub(crate) fn plain(value: &Value) -> Response {
    json_response(StatusCode::OK, value.to_string())
}

/// Returns the reply of an operation without a result.
pub(crate) fn null() -> Response {
    json_response(StatusCode::OK, "null".to_owned())
}

/// Returns the JSON text of a value as clients see it.
///
/// # Errors
/// See [`reply`].
pub(crate) fn public_json<T: Serialize + ?Sized>(value: &T) -> Result<String, ApiError> {
    let text = serde_json::to_string(&CamelCase(value)).map_err(no_json)?;
    if !is_suspect(&text) {
        return Ok(text);
    }
    // The document is not parsed from the text, because parsers limit the depth, and a session is nested deeper than
    // its events.
    let mut document = to_camel(value).map_err(no_json)?;
    clean(&mut document);
    Ok(document.to_string())
}

fn no_json(error: serde_json::Error) -> ApiError {
    tracing::error!(%error, "a reply has no JSON form");
    ApiError::Internal
}
