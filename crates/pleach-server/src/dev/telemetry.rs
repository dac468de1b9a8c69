//! The routes that read and set the user's consent to telemetry.
// H102

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::HeaderMap;
use serde_json::json;

use crate::api::Api;
use crate::body::TelemetryBody;
use crate::error::ApiError;
use crate::json::plain;

/// A header that other pages cannot send without a preflight.
const MARK: &str = "x-adk-telemetry-request";

pub(super) async fn read(State(api): State<Arc<Api>>) -> Response {
    plain(&json!({ "telemetry": api.consent.given() }))
}

pub(super) async fn write(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    if headers.get(MARK).is_none_or(|value| value.as_bytes() != b"true") {
        return Err(ApiError::bad_request(format!("The request needs the header `{MARK}: true`.")));
    }
    let body = TelemetryBody::of(api.payload(request).await?)?;
    api.consent.set(body.telemetry);
    Ok(plain(&json!({ "telemetry": body.telemetry })))
}
