//! The routes of the development server.
// H100, H101

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{OriginalUri, RawPathParams, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::header::{CACHE_CONTROL, LOCATION};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use serde_json::json;

use super::options::Logo;
use super::static_files::Found;
use super::{absent, graph, static_files, telemetry, traces};
use crate::api::Api;
use crate::error::ApiError;
use crate::inspection::Inspection;
use crate::json::plain;
use crate::routes::Routes;

/// The path below which the UI's files are served.
const FILES: &str = "/dev-ui/";

/// The paths below [`FILES`] whose files the server generates: the UI's config, and the logo.
const MADE: [&str; 2] = ["assets/config/runtime-config.json", "config"];

/// Returns the routes of the development server.
pub(crate) fn router() -> Router<Arc<Api>> {
    development().merge(ui_routes())
}

/// Returns true if a path belongs to a UI file. Such files also answer HEAD. They share one route.
pub(crate) fn is_file(path: &str) -> bool {
    path.strip_prefix(FILES).is_some_and(|file| !MADE.contains(&file))
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
        .route(FILES, get(index))
        .route("/dev-ui/{*path}", get(file))
}

async fn to_ui(State(api): State<Arc<Api>>) -> Response {
    to(&format!("{}{FILES}", api.prefix))
}

/// Serves `/dev-ui/`: the first page of the UI, or a redirect to the inspector if there is no UI.
async fn index(api: State<Arc<Api>>, headers: HeaderMap, uri: OriginalUri) -> Result<Response, ApiError> {
    if api.dev_ui.is_none() && api.inspection != Inspection::Off {
        return Ok(to(&format!("{}/inspect/", api.prefix)));
    }
    shown(&api, "", &headers, &uri).await
}

async fn file(
    api: State<Arc<Api>>,
    path: RawPathParams,
    headers: HeaderMap,
    uri: OriginalUri,
) -> Result<Response, ApiError> {
    let path = path.iter().next().map(|(_, path)| path.to_owned()).unwrap_or_default();
    let plain = static_files::plain_path(&path).unwrap_or_default();
    // The UI's folder may contain files with these names. They are ignored, because they are not made for this server.
    match MADE.iter().position(|made| plain == Path::new(made)) {
        Some(0) => Ok(runtime_config(&api)),
        Some(_) => Ok(config(&api)),
        None => shown(&api, &path, &headers, &uri).await,
    }
}

async fn shown(api: &Api, path: &str, headers: &HeaderMap, uri: &Uri) -> Result<Response, ApiError> {
    let ui = api.dev_ui.as_ref().ok_or_else(ApiError::no_route)?;
    match static_files::serve(&ui.folder, path, headers).await? {
        Found::File(response) => Ok(response),
        Found::Folder => {
            let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
            Ok(to(&format!("{}{}/{query}", api.prefix, uri.path())))
        }
    }
}

fn to(path: &str) -> Response {
    match HeaderValue::from_str(path) {
        Ok(location) => (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, location)]).into_response(),
        Err(_) => ApiError::no_route().into_response(),
    }
}

// H101
fn runtime_config(api: &Api) -> Response {
    let mut config = json!({ "backendUrl": api.backend_url, "telemetry": api.consent.given() });
    if let Some(logo) = logo(api) {
        config["logo"] = json!({ "text": logo.text, "imageUrl": logo.image_url });
    }
    let mut response = plain(&config);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn config(api: &Api) -> Response {
    let logo = logo(api);
    let (text, image_url) = (logo.map(|logo| &logo.text), logo.map(|logo| &logo.image_url));
    plain(&json!({ "logo_text": text, "logo_image_url": image_url }))
}

fn logo(api: &Api) -> Option<&Logo> {
    api.dev_ui.as_ref()?.logo.as_ref()
}
