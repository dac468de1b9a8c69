//! Answers for tabs of the UI whose data this server does not have: they stay empty.
// H110, H111, H115–H117

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use serde_json::{Value, json};

use crate::api::Api;
use crate::error::{ApiError, text_response};
use crate::json::plain;
use crate::path::AppPath;

/// Returns the routes.
pub(super) fn router() -> Router<Arc<Api>> {
    Router::new()
        .route("/dev/apps/{app}/tests", get(list))
        .route("/dev/apps/{app}/eval-sets", get(eval_sets))
        .route("/dev/apps/{app}/eval_sets", get(list))
        .route("/dev/apps/{app}/eval-results", get(eval_results))
        .route("/dev/apps/{app}/eval_results", get(list))
        .route("/dev/apps/{app}/metrics-info", get(metrics))
        .route("/dev/apps/{app}/builder", get(builder))
        .route("/dev/apps/{app}/debug/trace/{event}", get(no_trace))
        .route("/dev/apps/{app}/debug/trace/session/{session}", get(list))
}

async fn list(api: State<Arc<Api>>, app: AppPath) -> Result<Response, ApiError> {
    of(&api, &app, json!([]))
}

async fn eval_sets(api: State<Arc<Api>>, app: AppPath) -> Result<Response, ApiError> {
    of(&api, &app, json!({ "evalSetIds": [] }))
}

async fn eval_results(api: State<Arc<Api>>, app: AppPath) -> Result<Response, ApiError> {
    of(&api, &app, json!({ "evalResultIds": [] }))
}

async fn metrics(api: State<Arc<Api>>, app: AppPath) -> Result<Response, ApiError> {
    of(&api, &app, json!({ "metricsInfo": [] }))
}

async fn builder(api: State<Arc<Api>>, AppPath(app): AppPath) -> Result<Response, ApiError> {
    api.runner(&app)?;
    Ok(text_response(StatusCode::OK, "", "text/plain; charset=utf-8"))
}

async fn no_trace(api: State<Arc<Api>>, AppPath(app): AppPath) -> ApiError {
    api.runner(&app).err().unwrap_or_else(|| ApiError::not_found("Trace not found"))
}

fn of(api: &Api, AppPath(app): &AppPath, answer: Value) -> Result<Response, ApiError> {
    api.runner(app)?;
    Ok(plain(&answer))
}
