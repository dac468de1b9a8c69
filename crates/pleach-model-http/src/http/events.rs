//! The events of a streamed answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use async_stream::{stream, try_stream};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use pleach_model::{ModelError, ModelErrorKind};
use serde_json::Value;
use sse_stream::{Error, SseByteStream};

use super::Failure;
use super::body::{Body, not_json, too_large};
use crate::wire::Reading;

/// What the reader of bytes and the reader of events know of each other.
#[derive(Default)]
struct Progress {
    /// The bytes since the last event.
    pending: AtomicUsize,
    /// Whether the body has ended, so that an event which follows was not ended by the server.
    ended: AtomicBool,
}

/// Reads the data of a body's events as JSON, up to `[DONE]` or the end of the body.
///
/// Events that only have a name, and comments, are skipped. An event that is an error ends the stream.
pub(crate) fn events<'a>(
    body: Body<'a>,
    reading: Reading<'a>,
) -> impl Stream<Item = Result<Value, ModelError>> + Send + Unpin + 'a {
    let progress = Arc::new(Progress::default());
    let secrets = body.secrets.clone();
    let mut parsed = SseByteStream::new(Box::pin(bounded(body, reading, progress.clone())));
    Box::pin(stream! {
        while let Some(event) = parsed.next().await {
            progress.pending.store(0, Relaxed);
            let data = match event {
                Ok(event) => event.data,
                Err(error) => {
                    yield Err(unreadable(reading, error, progress.ended.load(Relaxed)));
                    return;
                }
            };
            let Some(data) = data.filter(|data| !data.trim().is_empty()) else { continue };
            if data.trim() == "[DONE]" {
                yield Ok(Value::Null);
                continue;
            }
            yield match serde_json::from_str(&data) {
                Ok(value) => match Failure::read(&value) {
                    Some(failure) => Err(failure.into_error(reading.model, None, |text| secrets.hide(text))),
                    None => Ok(value),
                },
                Err(_) if progress.ended.load(Relaxed) => Err(reading.cut()),
                Err(error) => Err(reading.invalid(not_json(&error))),
            };
        }
    })
}

/// The bytes of the body, as long as no event is too large. The last event is ended if the server has not done it.
fn bounded<'a>(
    mut body: Body<'a>,
    reading: Reading<'a>,
    progress: Arc<Progress>,
) -> impl Stream<Item = Result<Bytes, ModelError>> + Send + 'a {
    try_stream! {
        while let Some(chunk) = body.chunk().await? {
            progress.pending.fetch_add(chunk.len(), Relaxed);
            yield chunk;
            // The reader of events asks for more when it has read all events of this piece.
            if progress.pending.load(Relaxed) > body.limits.response_bytes {
                Err(too_large(&reading, body.limits))?;
            }
        }
        progress.ended.store(true, Relaxed);
        yield Bytes::from_static(b"\n\n");
    }
}

fn unreadable(reading: Reading<'_>, error: Error, has_ended: bool) -> ModelError {
    match error {
        Error::Body(cause) => match cause.downcast::<ModelError>() {
            Ok(error) => *error,
            Err(cause) => reading.cut().with_cause(cause),
        },
        Error::Utf8Parse(_) if has_ended => reading.cut(),
        Error::Utf8Parse(_) => reading.invalid("the text is not UTF-8"),
        error => ModelError::new(reading.model, ModelErrorKind::InvalidResponse).with_cause(error),
    }
}
