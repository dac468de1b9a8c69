//! [`Sent`]: one request, which is cancelled at the server when it is dropped.

use futures_util::FutureExt as _;
use rmcp::model::{CancelledNotificationParam, ClientRequest, RequestId, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::Value;

use super::wire::number;

/// A request that was sent. Dropping it before it is answered sends `notifications/cancelled`.
pub(super) struct Sent {
    handle: RequestHandle<RoleClient>,
    open: Option<RequestId>,
}

impl Sent {
    pub(super) async fn new(peer: &Peer<RoleClient>, request: ClientRequest) -> Result<Self, ServiceError> {
        let handle = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
        Ok(Self { open: Some(handle.id.clone()), handle })
    }

    /// Returns the number that identifies the request in the server's reports of progress.
    pub(super) fn progress_token(&self) -> Option<i64> {
        number(&self.handle.progress_token.0)
    }

    /// Returns the result as the server wrote it.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: the next call waits for the same answer.
    pub(super) async fn answer(&mut self) -> Result<Value, ServiceError> {
        let answer = (&mut self.handle.rx).await;
        self.open = None;
        match answer.unwrap_or(Err(ServiceError::TransportClosed))? {
            ServerResult::CustomResult(result) => Ok(result.0),
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        let Some(id) = self.open.take() else { return };
        let cancelled = CancelledNotificationParam::new(Some(id), Some("the caller gave the request up".to_owned()));
        // One poll puts the message into the queue of the session. Its confirmation is not awaited.
        let notified = self.handle.peer.notify_cancelled(cancelled);
        let _ = tokio::task::unconstrained(notified).now_or_never();
    }
}
