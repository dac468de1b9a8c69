//! The runs of an invocation as a tree.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::Uri;
use pleach_core::Session;
use pleach_inspect::RunTree;

use super::load::{self, invocation};
use crate::api::Api;
use crate::error::ApiError;
use crate::json::{null, reply};
use crate::path::SessionPath;

/// Returns the tree of the named invocation, or of the last one; `null` for a session without invocations.
pub(super) async fn read(
    State(api): State<Arc<Api>>,
    SessionPath(key): SessionPath,
    uri: Uri,
) -> Result<Response, ApiError> {
    let read = move |_: &Api, session: &Session| match invocation(&uri, session)? {
        Some(invocation) => reply(&RunTree::of(&session.events, &invocation)),
        None => Ok(null()),
    };
    load::read(&api, &key, read).await
}
