//! Server-sent events: makes streams and their blocks.
// H53

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http::header::CACHE_CONTROL;
use http::{HeaderName, HeaderValue, StatusCode};
use pleach_core::{Event, SessionKey};

use crate::api::Api;
use crate::error::{ApiError, text_response};
use crate::json::public_json;

/// The header that asks proxies to forward every block at once.
const NO_BUFFER: HeaderName = HeaderName::from_static("x-accel-buffering");

/// How long a stream that follows a session may be silent before it sends a comment.
const PING: Duration = Duration::from_secs(15);

/// Returns a response that streams blocks.
pub(crate) fn response(blocks: impl Stream<Item = String> + Send + 'static) -> Response {
    let bytes = blocks.map(|block| Ok::<_, Infallible>(Bytes::from(block)));
    let mut response = text_response(StatusCode::OK, Body::from_stream(bytes), "text/event-stream; charset=utf-8");
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(NO_BUFFER, HeaderValue::from_static("no"));
    response
}

/// Returns a response that streams the new events of a session for as long as its client is connected. While there are
/// none, it sends comments, which clients skip. Otherwise neither the server nor a proxy would notice that the client
/// has disconnected.
///
/// # Errors
/// 429 if the user has too many such streams.
pub(crate) fn following(
    api: &Arc<Api>,
    key: &SessionKey,
    blocks: impl Stream<Item = String> + Send + 'static,
) -> Result<Response, ApiError> {
    let most = api.limits.followers_per_user;
    let place = api.followers.take("followers", &key.app_name, &key.user_id, most)?;
    let clock = Arc::clone(&api.clock);
    let pinged = stream::unfold((Box::pin(blocks), clock, place), |(mut blocks, clock, place)| async move {
        let block = tokio::select! {
            biased;
            block = blocks.next() => block?,
            () = clock.sleep(PING) => ": ping\n\n".to_owned(),
        };
        Some((block, (blocks, clock, place)))
    });
    Ok(response(pinged))
}

/// Returns a block. `json` is one line, because JSON escapes line breaks.
pub(crate) fn block(json: &str) -> String {
    format!("data: {json}\n\n")
}

/// Returns a block whose id is a position in the log. An id with a line break is left out.
pub(crate) fn block_with_id(id: &str, json: &str) -> String {
    if id.contains(['\n', '\r', '\0']) { block(json) } else { format!("id: {id}\ndata: {json}\n\n") }
}

/// Returns the blocks of an event. If the event has both a message and files, and `splits_artifacts` is true, there are
/// two blocks, which pages show separately.
///
/// # Errors
/// See [`public_json`].
// H58
pub(crate) fn event_blocks(event: &Event, splits_artifacts: bool) -> Result<String, ApiError> {
    let has_parts = event.content().is_some_and(|content| !content.parts().is_empty());
    if !splits_artifacts || !has_parts || event.actions().artifact_delta().is_empty() {
        return Ok(block(&public_json(event)?));
    }
    let (mut message, mut files) = (event.clone(), event.clone());
    message.actions_mut().artifact_delta_mut().clear();
    files.set_content(None);
    Ok(block(&public_json(&message)?) + &block(&public_json(&files)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h53_no_text_of_an_event_ends_its_line() {
        let event = Event::message("a\n\ndata: {\"b\":1}\r\n\u{2028}").with_state("k\nl", "\r\n");
        let blocks = event_blocks(&event, true).unwrap();
        assert!(blocks.ends_with("\n\n"));
        assert_eq!(blocks.trim_end().lines().count(), 1, "{blocks}");
        assert!(!blocks.contains('\r'));
    }

    #[test]
    fn an_id_that_would_end_its_line_is_left_out() {
        assert_eq!(block_with_id("e1", "{}"), "id: e1\ndata: {}\n\n");
        for id in ["e\ndata: x", "e\rx", "e\0"] {
            assert_eq!(block_with_id(id, "{}"), "data: {}\n\n");
        }
    }
}
