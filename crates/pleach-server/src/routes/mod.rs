//! The routes of the API server.

mod abort;
mod app_info;
mod artifacts;
pub(crate) mod follow;
mod initial_events;
mod live;
mod memory;
mod run;
pub(crate) mod service;
mod sessions;

use std::sync::Arc;

use axum::Router;
use axum::extract::{OriginalUri, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any, delete, get, patch, post};
use http::header::LOCATION;
use http::{HeaderValue, StatusCode};

use crate::api::Api;
use crate::description;
use crate::error::ApiError;

/// Returns all routes.
pub(crate) fn router() -> Router<Arc<Api>> {
    let routes = Routes(Router::new())
        .at(service::HEALTH, get(service::health))
        .at("/version", get(service::version))
        .at("/openapi.json", get(description::openapi))
        .at("/docs", get(description::docs))
        .at("/list-apps", get(service::list_apps))
        .at("/agent-identity/finalize", post(service::finalize))
        .at("/apps/{app}/app-info", get(app_info::app_info))
        .at("/apps/{app}/users/{user}/sessions", get(sessions::list).post(sessions::create))
        .at("/apps/{app}/users/{user}/memory", patch(memory::remember))
        .at("/run", post(run::run))
        .at("/run_sse", post(run::run_sse))
        .at("/run_live", get(live::run_live));
    sessions(routes).0.fallback(no_route)
}

fn sessions(routes: Routes) -> Routes {
    const SESSION: &str = "/apps/{app}/users/{user}/sessions/{session}";
    let session = get(sessions::read).post(sessions::create_named).delete(sessions::delete).patch(sessions::update);
    // An empty artifact name is allowed: `artifacts/` is not redirected to `artifacts`.
    let named = || get(artifacts::read).merge(delete(artifacts::delete));
    let mut routes = routes
        .at(SESSION, session)
        .at(&format!("{SESSION}/abort"), post(abort::abort))
        .at(&format!("{SESSION}/events"), get(follow::follow));
    routes.0 = routes
        .0
        .route(&format!("{SESSION}/artifacts"), get(artifacts::list).post(artifacts::save))
        .route(&format!("{SESSION}/artifacts/"), named())
        .route(&format!("{SESSION}/artifacts/{{*rest}}"), named());
    routes
}

/// Routes that also accept a trailing slash.
#[derive(Default)]
pub(crate) struct Routes(Router<Arc<Api>>);

impl Routes {
    /// Adds a route, and a redirect to it from the path with a trailing slash.
    // H7
    pub(crate) fn at(self, path: &str, route: MethodRouter<Arc<Api>>) -> Self {
        Self(self.0.route(path, route).route(&format!("{path}/"), any(without_slash)))
    }

    #[cfg(feature = "dev")]
    pub(crate) fn into_router(self) -> Router<Arc<Api>> {
        self.0
    }
}

async fn without_slash(State(api): State<Arc<Api>>, OriginalUri(uri): OriginalUri) -> Response {
    let path = uri.path().trim_end_matches('/');
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    match HeaderValue::from_str(&format!("{}{path}{query}", api.prefix)) {
        Ok(location) => (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, location)]).into_response(),
        Err(_) => ApiError::no_route().into_response(),
    }
}

pub(crate) async fn no_route() -> ApiError {
    ApiError::no_route()
}

pub(crate) async fn wrong_method() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
}
