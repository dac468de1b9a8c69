//! The route that adds a session to the memory.
// H39

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use pleach_core::SessionKey;
use pleach_session::GetSessionConfig;

use crate::api::Api;
use crate::body::MemoryBody;
use crate::error::ApiError;
use crate::json::null;
use crate::path::UserPath;

pub(super) async fn remember(
    State(api): State<Arc<Api>>,
    path: UserPath,
    request: Request,
) -> Result<Response, ApiError> {
    let body = MemoryBody::of(api.payload(request).await?)?;
    let memory = api.memory()?;
    let key = SessionKey::new(path.app, path.user, body.session_id);
    let session = api.sessions.get_session(&key, GetSessionConfig::all()).await?.ok_or_else(ApiError::no_session)?;
    memory.add_session_to_memory(&session).await?;
    Ok(null())
}
