//! The state of a session, and what changed it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use pleach_inspect::{StateKey, state_history};
use serde::Serialize;

use super::load::load;
use crate::api::Api;
use crate::error::ApiError;
use crate::json::reply;
use crate::path::SessionPath;

#[derive(Serialize)]
struct Keys {
    keys: Vec<StateKey>,
}

pub(super) async fn read(State(api): State<Arc<Api>>, SessionPath(key): SessionPath) -> Result<Response, ApiError> {
    reply(&Keys { keys: state_history(&load(&api, &key).await?) })
}
