//! Lists the apps: all served apps, and all apps that have sessions.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use pleach_core::AppName;
use pleach_session::{ListSessions, SessionError};
use serde_json::{Value, json};

use super::mover::mover;
use crate::Caller;
use crate::api::Api;
use crate::error::ApiError;
use crate::json::plain;

pub(super) async fn list(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, ApiError> {
    let mut names: BTreeSet<String> = api.runners.keys().cloned().collect();
    // Not every session service can list its apps.
    let known = match api.sessions.list_apps().await {
        Err(SessionError::Unsupported { .. }) => Vec::new(),
        known => known?,
    };
    for app in known {
        if may_see(&api, &caller, &app).await? {
            names.insert(app.to_string());
        }
    }
    let apps: Vec<Value> =
        names.iter().map(|name| json!({ "name": name, "readOnly": mover(&api, name).is_none() })).collect();
    Ok(plain(&json!({ "apps": apps })))
}

/// Returns true if the caller may see an app that is not served. A caller that is bound to a user sees the apps in
/// which that user has sessions.
async fn may_see(api: &Api, caller: &Caller, app: &AppName) -> Result<bool, ApiError> {
    match caller {
        Caller::Anyone => Ok(true),
        Caller::User(user) => {
            let wanted = ListSessions::new(app.clone()).with_user(user.clone()).with_limit(1).without_state();
            Ok(!api.sessions.list_sessions(wanted).await?.sessions.is_empty())
        }
        Caller::Unknown => Ok(false),
    }
}
