//! Pictures of workflows: as JSON, or as an SVG document with `?format=svg`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, StatusCode, Uri, header};
use pleach_context::{Node as _, NodeKind, Outline};
use pleach_core::{Event, InvocationId, NodePath, Session};
use pleach_inspect::{Picture, PictureError, RunSummary, RunTree, observed_outline};
use serde::Serialize;

use super::load::{self, invocation};
use crate::api::Api;
use crate::error::{ApiError, text_response};
use crate::json::{null, reply};
use crate::path::{AppPath, SessionPath};
use crate::query;

/// A picture, and the source of its graph.
#[derive(Serialize)]
struct Drawn {
    picture: Picture,
    source: Source,
}

/// The source of a picture's graph.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    /// The workflow of the app.
    Workflow,
    /// The runs of the invocation.
    Runs,
}

/// Draws the workflow of an app that is served.
pub(super) async fn of_app(State(api): State<Arc<Api>>, AppPath(app): AppPath, uri: Uri) -> Result<Response, ApiError> {
    let outline = api.runner(&app)?.root().outline();
    answer(Some((outline, Source::Workflow)), None, &uri)
}

/// Draws an invocation; `null` if the session has no invocation with nodes.
pub(super) async fn of_run(
    State(api): State<Arc<Api>>,
    SessionPath(key): SessionPath,
    uri: Uri,
) -> Result<Response, ApiError> {
    let read = move |api: &Api, session: &Session| {
        let Some(invocation) = invocation(&uri, session)? else { return answer(None, None, &uri) };
        let runs = RunSummary::of(&session.events, &invocation);
        let drawn = match workflow(api, session.key().app_name.as_str(), &session.events, &invocation) {
            Some(outline) => Some((outline, Source::Workflow)),
            None => observed_outline(&RunTree::of(&session.events, &invocation))
                .map_err(too_large)?
                .map(|outline| (outline, Source::Runs)),
        };
        answer(drawn, Some(&runs), &uri)
    };
    load::read(&api, &key, read).await
}

/// Returns the workflow of an app, if it may be the workflow that the runs belong to. Agents have no graph.
fn workflow(api: &Api, app: &str, events: &[Arc<Event>], invocation: &InvocationId) -> Option<Outline> {
    let outline = api.runners.get(app)?.root().outline();
    let own = events.iter().filter(|event| event.invocation_id() == invocation);
    let mut roots = own.filter_map(|event| event.path().segments().next());
    let is_own = roots.next().is_none_or(|root| NodePath::from(root).name() == outline.name.as_str());
    (outline.kind == NodeKind::Workflow && outline.graph.is_some() && is_own).then_some(outline)
}

fn answer(drawn: Option<(Outline, Source)>, runs: Option<&RunSummary>, uri: &Uri) -> Result<Response, ApiError> {
    let Some((outline, source)) = drawn else { return Ok(null()) };
    let picture = Picture::of(&outline, runs).map_err(too_large)?;
    if query::text(uri, "format").as_deref() != Some("svg") {
        return reply(&Drawn { picture, source });
    }
    let mut response = text_response(StatusCode::OK, picture.to_svg(), "image/svg+xml");
    // Names are escaped. If one were not, this policy would still prevent scripts from running.
    let policy = HeaderValue::from_static("default-src 'none'");
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

/// Returns 422 with the reason, which the page shows instead of the picture.
fn too_large(error: PictureError) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
}
