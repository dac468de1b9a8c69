//! The inspector: pages and a JSON API that show sessions. If there are Runners, it can also send messages and answers,
//! resume invocations and fork sessions.
//!
//! `pleach-inspect` reads the logs. This module loads them and limits the requests. Every route of a session parses its
//! path with the extractors of the API, which check the caller.

mod apps;
mod config;
mod files;
mod fork;
mod inspector;
mod live;
mod load;
mod mover;
mod moves;
mod picture;
mod session;
mod sessions;
mod state;
mod timeline;
mod tree;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

pub use inspector::Inspector;

use crate::api::Api;
use crate::inspection::Inspection;
use crate::routes::{self, service};

/// Returns the routes of a server with this kind of inspector.
pub(crate) fn with_inspector(inspection: Inspection) -> Router<Arc<Api>> {
    match inspection {
        Inspection::Off => routes::router(),
        Inspection::Full => routes::router().merge(router()),
        Inspection::ReadOnly => alone(),
    }
}

/// Returns the routes of a standalone inspector. It has no routes of the API, because some of them write.
fn alone() -> Router<Arc<Api>> {
    Router::new()
        .route("/", get(files::to_page))
        .route("/health", get(service::health))
        .route("/version", get(service::version))
        .merge(router())
        .fallback(routes::no_route)
}

fn router() -> Router<Arc<Api>> {
    const APP: &str = "/inspect/api/apps/{app}";
    const SESSION: &str = "/inspect/api/apps/{app}/users/{user}/sessions/{session}";
    Router::new()
        .route("/inspect", get(files::to_page))
        .route("/inspect/", get(files::page))
        .route("/inspect/files/{name}", get(files::file))
        .route("/inspect/api/config", get(config::read))
        .route("/inspect/api/apps", get(apps::list))
        .route(&format!("{APP}/picture"), get(picture::of_app))
        .route(&format!("{APP}/sessions"), get(sessions::list))
        .route(SESSION, get(session::read))
        .route(&format!("{SESSION}/timeline"), get(timeline::read))
        .route(&format!("{SESSION}/events/{{event}}"), get(timeline::event))
        .route(&format!("{SESSION}/tree"), get(tree::read))
        .route(&format!("{SESSION}/state"), get(state::read))
        .route(&format!("{SESSION}/picture"), get(picture::of_run))
        .route(&format!("{SESSION}/live"), get(live::follow))
        .route(&format!("{SESSION}/moves"), post(moves::start))
        .route(&format!("{SESSION}/forks"), post(fork::make))
}
