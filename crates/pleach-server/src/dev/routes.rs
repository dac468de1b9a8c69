//! The routes of the development server.
// H100, H101

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawPathParams, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::header::{CACHE_CONTROL, LOCATION};
use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::{DevUi, absent, graph, static_files, telemetry, traces};
use crate::api::Api;
use crate::error::ApiError;
use crate::json::plain;
use crate::routes::Routes;

/// Returns the routes of the development server, and those of the UI if it hosts one.
pub(crate) fn router(has_ui: bool) -> Router<Arc<Api>> {
    if has_ui { development().merge(ui_routes()) } else { development() }
}

fn development() -> Router<Arc<Api>> {
    const APP: &str = "/dev/apps/{app}";
    let routes = Routes::default()
        .at("/config/telemetry", get(telemetry::read).post(telemetry::write))
        .at(&format!("{APP}/build_graph"), get(graph::build))
        .at(&format!("{APP}/build_graph_image"), get(graph::images))
        .at(&format!("{APP}/graph"), get(graph::app))
        .at(&format!("{APP}/users/{{user}}/sessions/{{session}}/events/{{event}}/graph"), get(graph::event))
        .at(&format!("{APP}/debug/trace/{{name}}"), get(traces::of_event))
        .at(&format!("{APP}/debug/trace/session/{{name}}"), get(traces::of_session));
    absent::add(routes).into_router()
}

fn ui_routes() -> Router<Arc<Api>> {
    Router::new()
        .route("/", get(to_ui))
        .route("/dev-ui", get(to_ui))
        .route("/dev-ui/", get(index))
        // The UI's folder may have a file of this name, which knows nothing of this server.
        .route("/dev-ui/assets/config/runtime-config.json", get(runtime_config))
        .route("/dev-ui/config", get(config))
        .route("/dev-ui/{*path}", get(file))
}

async fn to_ui(State(api): State<Arc<Api>>) -> Response {
    match HeaderValue::from_str(&format!("{}/dev-ui/", api.prefix)) {
        Ok(location) => (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, location)]).into_response(),
        Err(_) => ApiError::no_route().into_response(),
    }
}

async fn index(State(api): State<Arc<Api>>) -> Result<Response, ApiError> {
    static_files::serve(&ui(&api)?.folder, "").await
}

async fn file(State(api): State<Arc<Api>>, path: RawPathParams) -> Result<Response, ApiError> {
    let path = path.iter().next().map(|(_, path)| path.to_owned()).unwrap_or_default();
    static_files::serve(&ui(&api)?.folder, &path).await
}

async fn runtime_config(State(api): State<Arc<Api>>) -> Result<Response, ApiError> {
    let mut config = json!({ "backendUrl": api.backend_url, "telemetry": api.consent.given() });
    if let Some(logo) = &ui(&api)?.logo {
        config["logo"] = json!({ "text": logo.text, "imageUrl": logo.image_url });
    }
    let mut response = plain(&config);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

async fn config(State(api): State<Arc<Api>>) -> Result<Response, ApiError> {
    let logo = ui(&api)?.logo.as_ref();
    let (text, image_url) = (logo.map(|logo| &logo.text), logo.map(|logo| &logo.image_url));
    Ok(plain(&json!({ "logo_text": text, "logo_image_url": image_url })))
}

/// Returns the UI. The routes are only there with one.
fn ui(api: &Api) -> Result<&DevUi, ApiError> {
    api.dev_ui.as_ref().ok_or_else(ApiError::no_route)
}
