//! The settings of the server that the page needs.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use crate::api::Api;
use crate::inspection::Inspection;
use crate::json::plain;

pub(super) async fn read(State(api): State<Arc<Api>>) -> Response {
    plain(&json!({ "readOnly": api.inspection == Inspection::ReadOnly, "version": env!("CARGO_PKG_VERSION") }))
}
