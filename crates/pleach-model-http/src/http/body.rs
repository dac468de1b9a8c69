//! [`Body`]: the body of an answer, read piece by piece.

use std::sync::Arc;

use bytes::Bytes;
use pleach_http::{ERROR_WAIT, Secrets, announces_more_than, read_error};
use pleach_model::ModelError;
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use serde_json::Value;

use super::failure::shortened;
use super::halves::read_document;
use super::limits::{Pace, TimeLimit, Timer, within};
use super::weight::is_too_heavy;
use super::{Failure, Limits};
use crate::wire::Reading;

/// The content codings that compress.
const COMPRESSIONS: [&str; 6] = ["br", "compress", "deflate", "gzip", "x-gzip", "zstd"];

/// The maximum number of characters of a coding's name that are shown.
const LONGEST_ENCODING: usize = 32;

/// The body of an answer. Dropping it before its end closes the connection.
pub(crate) struct Body<'a> {
    response: Response,
    reading: Reading<'a>,
    pub(super) limits: &'a Limits,
    /// The values that are hidden in messages of the provider.
    pub(super) secrets: Arc<Secrets>,
    /// The limit of the whole request.
    total: Timer,
    /// The limit since the last content. It starts when the reader begins to wait for the next piece.
    idle: Option<Timer>,
    pace: Pace,
}

impl<'a> Body<'a> {
    pub(super) fn new(
        response: Response,
        reading: Reading<'a>,
        limits: &'a Limits,
        secrets: Arc<Secrets>,
        total: Timer,
    ) -> Self {
        Self { response, reading, limits, secrets, total, idle: None, pace: Pace::default() }
    }

    /// Returns true if the body is one JSON document, not a stream of events.
    pub(crate) fn is_json(&self) -> bool {
        self.has_content_type("application/json")
    }

    /// Returns true if the body is a page for people, such as a login page.
    pub(crate) fn is_page(&self) -> bool {
        self.has_content_type("text/html")
    }

    /// Returns true if the content type is a stream of events.
    pub(crate) fn is_stream(&self) -> bool {
        self.has_content_type("text/event-stream")
    }

    fn has_content_type(&self, kind: &str) -> bool {
        let own = self.response.headers().get(CONTENT_TYPE).and_then(|own| own.to_str().ok());
        own.is_some_and(|own| own.trim_start().to_ascii_lowercase().starts_with(kind))
    }

    /// Returns true if the response announces more bytes than `limit`.
    pub(super) fn announces_more_than(&self, limit: usize) -> bool {
        announces_more_than(&self.response, limit)
    }

    /// Returns the coding of a compressed body.
    pub(super) fn encoding(&self) -> Option<String> {
        let encoding = self.response.headers().get(CONTENT_ENCODING)?;
        let encoding = shortened(&String::from_utf8_lossy(encoding.as_bytes()), LONGEST_ENCODING).to_ascii_lowercase();
        // Some servers write a character set here.
        encoding.split(',').any(|coding| COMPRESSIONS.contains(&coding.trim())).then_some(encoding)
    }

    /// Returns the next piece; `None` at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, ModelError> {
        let Self { response, reading, limits, total, idle, pace, .. } = self;
        let idle = idle.get_or_insert_with(|| Timer::start(reading.call.clock, TimeLimit::Idle(limits.idle)));
        // A piece that has arrived wins over a limit, so with a fast server no limit would be noticed. Check the limits
        // now and then.
        if pace.step().await {
            for timer in [&mut *total, &mut *idle] {
                if timer.is_over().await {
                    return Err(reading.timeout(timer.limit()));
                }
            }
        }
        let chunk = within(response.chunk(), total, idle).await.map_err(|limit| reading.timeout(limit))?;
        chunk.map_err(|error| reading.cut().with_cause(error.without_url()))
    }

    /// Restarts the idle time, because content has come.
    pub(super) fn restart_idle(&mut self) {
        self.idle = None;
    }

    /// Returns the whole body as JSON.
    ///
    /// A whole document is accepted even if the connection breaks or stays open after it.
    pub(crate) async fn json(mut self) -> Result<Value, ModelError> {
        if self.announces_more_than(self.limits.response_bytes) {
            return Err(too_large(&self.reading, self.limits));
        }
        let mut text = Vec::new();
        let end = loop {
            match self.chunk().await {
                Ok(Some(chunk)) => self.take(&mut text, &chunk)?,
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        if is_too_heavy(&text) {
            return Err(self.reading.invalid(TOO_HEAVY));
        }
        let answer = match (read_document(&text), end) {
            (Ok(answer), _) => answer,
            (Err(_), Some(error)) => return Err(error),
            (Err(error), None) => return Err(self.unreadable(&text, &error)),
        };
        match Failure::in_document(&answer) {
            Some(failure) => Err(failure.into_error(self.reading.model, None, |text| self.secrets.hide(text))),
            None => Ok(answer),
        }
    }

    /// Adds a piece to the text of a document.
    fn take(&mut self, text: &mut Vec<u8>, chunk: &[u8]) -> Result<(), ModelError> {
        if text.len() + chunk.len() > self.limits.response_bytes {
            return Err(too_large(&self.reading, self.limits));
        }
        // Servers send blanks to keep the connection open.
        if !chunk.trim_ascii().is_empty() {
            self.restart_idle();
        }
        text.extend_from_slice(chunk);
        Ok(())
    }

    fn unreadable(&self, text: &[u8], error: &serde_json::Error) -> ModelError {
        let said = self.secrets.hide(&String::from_utf8_lossy(text));
        match plain(&said) {
            Some(said) => self.reading.foreign(format!("not JSON: {said}")),
            None if said.trim_start().starts_with('<') => self.reading.foreign(not_json(error)),
            None => self.reading.invalid(not_json(error)),
        }
    }

    /// Reads the body of an error, or the part of it that comes in time.
    pub(super) async fn failure(mut self) -> Option<Failure> {
        let Self { response, reading, limits, total, .. } = &mut self;
        let mut text = Vec::new();
        let read = read_error(response, &mut text, usize::MAX, |_| {});
        let limit = TimeLimit::Failure(limits.idle.min(ERROR_WAIT));
        // If the connection stays open, the bytes that came in time may be the whole body.
        let _: Result<bool, TimeLimit> = within(read, total, &mut Timer::start(reading.call.clock, limit)).await;
        Failure::in_error(&text)
    }
}

/// The error for a document that would take too much memory.
pub(super) const TOO_HEAVY: &str = "its JSON has too many values";

/// The maximum number of characters that are shown of a text that is not JSON.
const SHOWN: usize = 200;

/// Returns the beginning of a text that is neither JSON nor a page.
pub(super) fn plain(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && !text.starts_with(['{', '[', '"', '<'])).then(|| shortened(text, SHOWN))
}

pub(super) fn too_large(reading: &Reading<'_>, limits: &Limits) -> ModelError {
    reading.invalid(format!("more than {} bytes; allow more with `.max_response_bytes(…)`", limits.response_bytes))
}

/// Describes where an answer is not JSON, without quoting it.
pub(super) fn not_json(error: &serde_json::Error) -> String {
    format!("not JSON: {:?} error at line {} column {}", error.classify(), error.line(), error.column())
}
