//! The route for live sessions, which this server does not support.
// H70

use http::header::UPGRADE;
use http::{HeaderMap, StatusCode};

use crate::error::ApiError;

pub(super) async fn run_live(headers: HeaderMap) -> ApiError {
    let asks = headers.get(UPGRADE).is_some_and(|wanted| wanted.as_bytes().eq_ignore_ascii_case(b"websocket"));
    if !asks {
        return ApiError::no_route();
    }
    tracing::warn!(
        route = "/run_live",
        "a client asked for a live session, which this server does not support: it gets 501"
    );
    ApiError::new(StatusCode::NOT_IMPLEMENTED, "Live sessions are not supported: use /run_sse.")
}
