//! [`Events`]: the events of a streamed answer.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use async_stream::{stream, try_stream};
use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, StreamExt as _};
use pleach_core::big_integers_as_strings;
use pleach_http::Secrets;
use pleach_model::{ModelError, ModelErrorKind};
use serde_json::Value;
use sse_stream::{Error, Sse, SseByteStream};

use super::body::{Body, TOO_HEAVY, not_json, plain, too_large};
use super::halves::{Halves, mark};
use super::limits::Pace;
use super::stream_text::StreamText;
use super::weight::is_too_heavy;
use super::{Failure, Limits};
use crate::wire::Reading;

/// The events of a body as JSON, up to its end. `[DONE]` becomes null, and a list becomes its items.
///
/// Comments and events without data are skipped.
pub(crate) struct Events<'a> {
    stream: Pin<Box<dyn Stream<Item = Result<Value, Interruption>> + Send + 'a>>,
    progress: Arc<Progress>,
}

/// The reason why no further event comes.
#[derive(Debug)]
pub(crate) enum Interruption {
    /// The provider reports that the call has failed.
    Failure(ModelError),
    /// The connection broke, a limit was reached, or an event cannot be read.
    Break(ModelError),
}

impl Interruption {
    pub(crate) fn into_error(self) -> ModelError {
        match self {
            Self::Failure(error) | Self::Break(error) => error,
        }
    }
}

/// The state that the reader of bytes and the reader of events share.
#[derive(Default)]
struct Progress {
    /// The bytes since the last event.
    pending: AtomicUsize,
    /// The number of events that have been read.
    events: AtomicUsize,
    /// Whether the body has ended. If an event follows, the server did not terminate it.
    ended: AtomicBool,
    /// Whether content has come since the reader began to wait for the last piece.
    has_content: AtomicBool,
}

impl<'a> Events<'a> {
    /// Begins to read the events of a body.
    pub(crate) fn of(body: Body<'a>, reading: Reading<'a>) -> Self {
        let progress = Arc::new(Progress::default());
        Self { stream: Box::pin(read(body, reading, progress.clone())), progress }
    }

    /// Returns the next event. Nothing follows after an error.
    pub(crate) async fn next(&mut self) -> Option<Result<Value, Interruption>> {
        self.stream.next().await
    }

    /// Restarts the idle time, because the last event had content.
    pub(crate) fn note_content(&self) {
        self.progress.has_content.store(true, Relaxed);
    }

    /// Reads the end of the body if it has come already, so that the connection can be reused.
    pub(crate) fn read_end(mut self) {
        let _: Option<Option<Result<Value, Interruption>>> = self.stream.next().now_or_never();
    }
}

fn read<'a>(
    body: Body<'a>,
    reading: Reading<'a>,
    progress: Arc<Progress>,
) -> impl Stream<Item = Result<Value, Interruption>> + Send + 'a {
    let secrets = body.secrets.clone();
    let mut parsed = SseByteStream::new(Box::pin(bounded(body, reading, progress.clone())));
    stream! {
        let mut pace = Pace::default();
        let mut halves = Halves::default();
        let mut interruption = None;
        while interruption.is_none() && let Some(event) = parsed.next().await {
            pace.step().await;
            progress.pending.store(0, Relaxed);
            progress.events.fetch_add(1, Relaxed);
            let read = match event {
                Ok(event) => data(&event, reading, &secrets, progress.ended.load(Relaxed)),
                Err(error) => Err(Interruption::Break(unreadable(reading, error))),
            };
            match read {
                Ok(None) => {}
                Ok(Some((event, is_marked))) => {
                    for event in items(event) {
                        if event.is_null() {
                            halves.close();
                        }
                        if let Some(failure) = Failure::in_answer(&event) {
                            let error = failure.into_error(reading.model, None, |text| secrets.hide(text));
                            interruption = Some(Interruption::Failure(error));
                            break;
                        }
                        halves.push(event, is_marked);
                    }
                }
                Err(found) => interruption = Some(found),
            }
            while let Some(event) = halves.pop() {
                yield Ok(event);
            }
        }
        halves.close();
        while let Some(event) = halves.pop() {
            yield Ok(event);
        }
        if let Some(interruption) = interruption {
            yield Err(interruption);
        }
    }
}

/// Reads the data of an event; `None` if it has none. The flag is true if the data may contain marks of halves.
fn data(
    event: &Sse,
    reading: Reading<'_>,
    secrets: &Secrets,
    has_ended: bool,
) -> Result<Option<(Value, bool)>, Interruption> {
    let data = event.data.as_deref().unwrap_or_default().trim();
    if event.event.as_deref() == Some("error") {
        let failure = Failure::in_error(data.as_bytes()).unwrap_or_default().of_a_model();
        return Err(Interruption::Failure(failure.into_error(reading.model, None, |text| secrets.hide(text))));
    }
    if data.is_empty() {
        return Ok(None);
    }
    if data == "[DONE]" {
        return Ok(Some((Value::Null, false)));
    }
    if is_too_heavy(data.as_bytes()) {
        return Err(Interruption::Break(reading.invalid(TOO_HEAVY)));
    }
    let marked = mark(data);
    let is_marked = matches!(marked, Cow::Owned(_));
    let value = match serde_json::from_slice(&big_integers_as_strings(marked.as_bytes())) {
        Ok(value) => value,
        Err(_) if has_ended => return Err(Interruption::Break(reading.cut())),
        Err(error) => {
            let what = plain(&secrets.hide(data)).map_or_else(|| not_json(&error), |said| format!("not JSON: {said}"));
            return Err(Interruption::Break(reading.invalid(what)));
        }
    };
    Ok(Some((value, is_marked)))
}

/// Returns the items of a list, or another value itself.
fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        value => vec![value],
    }
}

/// Returns the bytes of the body, and an error as soon as an event or the whole body is too large. Terminates the last
/// event if the server has not.
fn bounded<'a>(
    mut body: Body<'a>,
    reading: Reading<'a>,
    progress: Arc<Progress>,
) -> impl Stream<Item = Result<Bytes, ModelError>> + Send + 'a {
    try_stream! {
        let mut text = StreamText::default();
        let mut begin = Vec::new();
        let mut total = 0;
        if body.announces_more_than(body.limits.stream_bytes) {
            Err(stream_too_large(&reading, body.limits))?;
        }
        loop {
            if progress.has_content.swap(false, Relaxed) {
                body.restart_idle();
            }
            let Some(chunk) = body.chunk().await? else { break };
            total += chunk.len();
            if total > body.limits.stream_bytes {
                Err(stream_too_large(&reading, body.limits))?;
            }
            begin.extend(chunk.iter().take(LONGEST_BEGIN.saturating_sub(begin.len())));
            progress.pending.fetch_add(chunk.len(), Relaxed);
            yield text.push(chunk);
            // The reader of events asks for more after it has read all events of this piece.
            if progress.pending.load(Relaxed) > body.limits.response_bytes {
                Err(too_large(&reading, body.limits))?;
            }
        }
        if progress.events.load(Relaxed) == 0
            && let Some(said) = foreign_text(&body.secrets.hide(&String::from_utf8_lossy(&begin)))
        {
            Err(reading.foreign(said))?;
        }
        progress.ended.store(true, Relaxed);
        yield Bytes::from_static(b"\n\n");
    }
}

fn stream_too_large(reading: &Reading<'_>, limits: &Limits) -> ModelError {
    let limit = limits.stream_bytes;
    reading.invalid(format!("more than {limit} bytes in all; allow more with `.max_stream_bytes(…)`"))
}

/// The maximum number of bytes that are kept of a body that may not be a stream of events.
const LONGEST_BEGIN: usize = 1_024;

/// Describes a body without events, unless it was cut off.
fn foreign_text(body: &str) -> Option<String> {
    let body = body.trim_start();
    let is_field = |field: &str| field.starts_with(body) || body.starts_with(field);
    if body.is_empty() || ["data", "event", "id", "retry", ":", "{", "["].into_iter().any(is_field) {
        return None;
    }
    let said = plain(body).map_or_else(String::new, |said| format!(": {said}"));
    Some(format!("not a stream of events{said}"))
}

fn unreadable(reading: Reading<'_>, error: Error) -> ModelError {
    match error {
        Error::Body(cause) => match cause.downcast::<ModelError>() {
            Ok(error) => *error,
            Err(cause) => reading.cut().with_cause(cause),
        },
        error => ModelError::new(reading.model, ModelErrorKind::InvalidResponse).with_cause(error),
    }
}
