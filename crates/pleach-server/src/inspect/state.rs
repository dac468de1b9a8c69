//! The state of a session, and the events that changed it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use pleach_core::Session;
use pleach_inspect::{StateKey, state_history};
use serde::Serialize;

use super::load;
use crate::api::Api;
use crate::error::ApiError;
use crate::json::reply;
use crate::path::SessionPath;

#[derive(Serialize)]
struct Keys {
    keys: Vec<StateKey>,
}

pub(super) async fn read(State(api): State<Arc<Api>>, SessionPath(key): SessionPath) -> Result<Response, ApiError> {
    let read = |_: &Api, session: &Session| {
        let mut keys = state_history(session);
        keys.iter_mut().for_each(StateKey::hide_secrets);
        reply(&Keys { keys })
    };
    load::read(&api, &key, read).await
}
