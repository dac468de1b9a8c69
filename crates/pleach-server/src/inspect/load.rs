//! Loads sessions for requests of the inspector.

use std::sync::Arc;

use http::Uri;
use pleach_core::{InvocationId, Session, SessionKey};
use pleach_session::GetSessionConfig;

use crate::api::Api;
use crate::error::ApiError;
use crate::query;

/// Loads a session with all events and calls `read` with it on a separate thread, so that other requests do not wait
/// for a long log. Only a few requests do this at the same time; the others queue.
///
/// # Errors
/// 404 if there is no such session, failures of the storage, and errors of `read`.
pub(super) async fn read<T: Send + 'static>(
    api: &Arc<Api>,
    key: &SessionKey,
    read: impl FnOnce(&Api, &Session) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let place = api.readers.place().await;
    let loaded = api.sessions.get_session(key, GetSessionConfig::all()).await?.ok_or_else(ApiError::no_session)?;
    let api = Arc::clone(api);
    let work = move || {
        // The permit is held until the work is done, even if the client disconnects.
        let _place = place;
        read(&api, &loaded)
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a session could not be read");
        Err(ApiError::Internal)
    })
}

/// Checks that the session exists.
///
/// # Errors
/// 404 if there is no such session, and failures of the storage.
pub(super) async fn require(api: &Api, key: &SessionKey) -> Result<(), ApiError> {
    api.sessions.get_session(key, GetSessionConfig::recent(1)).await?.map(drop).ok_or_else(ApiError::no_session)
}

/// Returns the invocation that a request names. If it names none, returns the session's last invocation with nodes or
/// messages.
///
/// # Errors
/// 404 for an unknown invocation.
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

/// Returns how many items a request wants: by default `usual`, and at most `most`.
///
/// # Errors
/// 422 for a word that is not an integer.
pub(super) fn limit(uri: &Uri, usual: usize, most: usize) -> Result<usize, ApiError> {
    let wanted = query::integer(uri, "limit")?.map(|wanted| usize::try_from(wanted).unwrap_or(0));
    Ok(wanted.unwrap_or(usual).clamp(1, most))
}
