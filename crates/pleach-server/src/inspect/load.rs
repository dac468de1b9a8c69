//! Loading a session, and reading what a request asks of it.

use http::Uri;
use pleach_core::{InvocationId, Session, SessionKey};
use pleach_session::GetSessionConfig;

use crate::api::Api;
use crate::error::ApiError;
use crate::query;

/// Loads a session with all events.
///
/// # Errors
/// 404 when there is none, and failures of the storage.
pub(super) async fn load(api: &Api, key: &SessionKey) -> Result<Session, ApiError> {
    api.sessions.get_session(key, GetSessionConfig::all()).await?.ok_or_else(ApiError::no_session)
}

/// Returns the invocation that a request names, or else the last one of the session that has nodes or messages.
///
/// # Errors
/// 404 for an invocation that the session does not have.
pub(super) fn invocation(uri: &Uri, session: &Session) -> Result<Option<InvocationId>, ApiError> {
    let named = query::text(uri, "invocation").filter(|id| !id.is_empty()).map(InvocationId::from);
    let Some(named) = named else {
        let runs = |id: &&InvocationId| !id.is_empty();
        let says = session.events.iter().rev().filter(|event| event.content().is_some() || !event.path().is_root());
        return Ok(says.map(|event| event.invocation_id()).find(runs).cloned());
    };
    let is_known = session.events.iter().any(|event| *event.invocation_id() == named);
    let unknown = || ApiError::not_found(format!("Invocation not found: {named}"));
    is_known.then(|| named.clone()).ok_or_else(unknown).map(Some)
}

/// Returns how many items a request wants: `usual` unless it says so, and at most `most`.
///
/// # Errors
/// 422 for a word that is no integer.
pub(super) fn limit(uri: &Uri, usual: usize, most: usize) -> Result<usize, ApiError> {
    let wanted = query::integer(uri, "limit")?.map(|wanted| usize::try_from(wanted).unwrap_or(0));
    Ok(wanted.unwrap_or(usual).clamp(1, most))
}
