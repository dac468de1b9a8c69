//! The routes that describe the server: its health, its version and its apps.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use pleach_context::Node;
use serde_json::{Value, json};

use crate::api::Api;
use crate::error::ApiError;
use crate::json::plain;
use crate::query;

/// The language that is reported for apps. Clients of google-adk must know it.
pub(super) const APP_LANGUAGE: &str = "python";

/// The path of [`health`].
pub(crate) const HEALTH: &str = "/health";

// H20
pub(crate) async fn health() -> Response {
    plain(&json!({ "status": "ok" }))
}

// H21
pub(crate) async fn version() -> Response {
    plain(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "language": "rust",
        "language_version": env!("CARGO_PKG_RUST_VERSION"),
    }))
}

// H22, H23
pub(super) async fn list_apps(State(api): State<Arc<Api>>, uri: Uri) -> Result<Response, ApiError> {
    if !query::flag(&uri, "detailed")? {
        return Ok(plain(&api.runners.keys().map(String::as_str).collect::<Vec<_>>().into()));
    }
    let apps: Vec<Value> = api.runners.iter().map(|(name, runner)| summary(name, &**runner.root())).collect();
    Ok(plain(&json!({ "apps": apps })))
}

/// Returns the entry of an app in the list of apps.
fn summary(name: &str, root: &dyn Node) -> Value {
    json!({
        "name": name,
        "rootAgentName": root.spec().name.as_str(),
        "description": root.spec().description,
        "language": APP_LANGUAGE,
        "isComputerUse": false,
        "agents": null,
    })
}

// H25
pub(super) async fn finalize(_: Request) -> ApiError {
    ApiError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "Agent identities are a service of Google Cloud, which this server does not support.",
    )
}
