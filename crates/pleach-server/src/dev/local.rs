//! [`Local`]: requests that come from this machine.
// H94

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::api::Api;
use crate::error::ApiError;
use crate::peer::Peer;

/// The environment variable that opens the routes to other machines.
const OPEN: &str = "ADK_ALLOW_REMOTE_AGENT_BUILDER";

/// The headers that reveal a proxy or a tunnel. Behind a proxy, the peer of the connection is not the client.
const FORWARDED: &[&str] = &["forwarded", "x-forwarded-for", "x-forwarded-host"];

/// An extractor for routes that change or execute something: it refuses requests from other machines, unless
/// `ADK_ALLOW_REMOTE_AGENT_BUILDER` is set. If the routes are nested in another service, the peer is unknown, and all
/// these requests are refused.
pub(super) struct Local;

impl FromRequestParts<Arc<Api>> for Local {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, ApiError> {
        if api.open_to_others || is_local(parts) {
            return Ok(Self);
        }
        Err(ApiError::forbidden(format!(
            "This route of the development server is for clients on its machine only. The environment variable {OPEN}=1 lets others in."
        )))
    }
}

/// Returns true if the environment opens the routes to other machines.
pub(crate) fn are_open_to_others() -> bool {
    let value = std::env::var(OPEN).unwrap_or_default().trim().to_lowercase();
    matches!(value.as_str(), "1" | "true" | "yes")
}

fn is_local(parts: &Parts) -> bool {
    let is_forwarded = FORWARDED.iter().any(|name| parts.headers.contains_key(*name));
    let peer = parts.extensions.get::<Peer>();
    !is_forwarded && peer.is_some_and(|Peer(address)| address.ip().to_canonical().is_loopback())
}
