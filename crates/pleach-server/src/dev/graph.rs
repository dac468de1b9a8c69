//! The routes that describe and draw apps.
// H105–H108

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::Uri;
use pleach_core::{Event, Map};
use pleach_session::GetSessionConfig;
use serde_json::json;

use super::agent_graph::{Pair, agent_graph};
use super::app_graph::describe;
use super::workflow_picture::{find, levels, picture};
use crate::api::Api;
use crate::error::ApiError;
use crate::json::plain;
use crate::path::{AppPath, EventPath};
use crate::query;

/// Describes the structure of an app.
pub(super) async fn build(State(api): State<Arc<Api>>, AppPath(app): AppPath) -> Result<Response, ApiError> {
    Ok(plain(&describe(api.runner(&app)?)))
}

/// Draws one level of an app and all workflows below it, by path.
pub(super) async fn images(State(api): State<Arc<Api>>, AppPath(app): AppPath, uri: Uri) -> Result<Response, ApiError> {
    let is_dark = query::flag(&uri, "dark_mode")?;
    let path = query::text(&uri, "node").unwrap_or_default();
    let root = api.runner(&app)?.root();
    let level = find(&**root, &path).ok_or_else(|| no_node(&path))?;
    let pictures = levels(level, &path).into_iter();
    let pictures: Map = pictures.map(|(at, level)| (at, json!({ "dotSrc": picture(level, is_dark) }))).collect();
    Ok(plain(&pictures.into()))
}

fn no_node(path: &str) -> ApiError {
    ApiError::not_found(format!("Node not found: {path}"))
}

/// Draws the agents of an app.
pub(super) async fn app(State(api): State<Arc<Api>>, AppPath(app): AppPath, uri: Uri) -> Result<Response, ApiError> {
    let root = api.runner(&app)?.root();
    Ok(dot_reply(agent_graph(&**root, &[], query::flag(&uri, "dark_mode")?)))
}

/// Draws the agents of an app, and marks the calls and answers of one event.
pub(super) async fn event(State(api): State<Arc<Api>>, path: EventPath) -> Result<Response, ApiError> {
    let session = api.sessions.get_session(&path.key, GetSessionConfig::all()).await?;
    let events = session.map(|session| session.events).unwrap_or_default();
    let Some(event) = events.into_iter().find(|event| event.id().to_string() == path.event) else {
        return Ok(dot_reply(None));
    };
    let root = api.runner(path.key.app_name.as_str())?.root();
    Ok(dot_reply(agent_graph(&**root, &pairs(&event), true)))
}

/// Returns who called or answered whom. If the event has no calls and responses, returns only its author.
fn pairs(event: &Event) -> Vec<Pair> {
    let author = event.author().to_owned();
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    let calls = event.function_calls().map(|call| (author.clone(), name(&call.name)));
    let calls: Vec<Pair> = calls.collect();
    if !calls.is_empty() {
        return calls;
    }
    let answers: Vec<Pair> =
        event.function_responses().map(|response| (name(&response.name), author.clone())).collect();
    if answers.is_empty() { vec![(author, String::new())] } else { answers }
}

fn dot_reply(dot: Option<String>) -> Response {
    plain(&dot.map_or_else(|| json!({}), |dot| json!({ "dotSrc": dot })))
}
