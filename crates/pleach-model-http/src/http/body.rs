//! The body of an answer, piece by piece.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pleach_model::{ModelError, ModelErrorKind};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;

use super::limits::{Deadline, within};
use super::secrets::Secrets;
use super::{Failure, Limits};
use crate::wire::Reading;

/// How much of an error's body is read.
const LARGEST_FAILURE: usize = 64 << 10;

/// How long to wait for the whole body of an error: the status is known already.
const FAILURE_WAIT: Duration = Duration::from_secs(5);

/// The body of an answer. Dropping it before its end closes the connection.
pub(crate) struct Body<'a> {
    response: Response,
    reading: Reading<'a>,
    pub(super) limits: &'a Limits,
    /// What is hidden in messages of the provider.
    pub(super) secrets: Arc<Secrets>,
    deadline: Deadline,
}

impl<'a> Body<'a> {
    pub(super) fn new(
        response: Response,
        reading: Reading<'a>,
        limits: &'a Limits,
        secrets: Arc<Secrets>,
        deadline: Deadline,
    ) -> Self {
        Self { response, reading, limits, secrets, deadline }
    }

    /// Whether the body is one JSON document, not a stream of events.
    pub(crate) fn is_json(&self) -> bool {
        self.is_of("application/json")
    }

    /// Whether the body is a page for people, such as one to log in.
    pub(crate) fn is_page(&self) -> bool {
        self.is_of("text/html")
    }

    fn is_of(&self, kind: &str) -> bool {
        let own = self.response.headers().get(CONTENT_TYPE).and_then(|own| own.to_str().ok());
        own.is_some_and(|own| own.trim_start().starts_with(kind))
    }

    /// Returns the next piece; `None` at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, ModelError> {
        let next = self.response.chunk();
        let chunk = within(next, self.reading.call.clock, self.limits.idle, &mut self.deadline).await;
        let chunk = chunk.ok_or_else(|| self.reading.timeout())?;
        chunk.map_err(|error| self.reading.cut().with_cause(error.without_url()))
    }

    /// Returns the whole body as JSON.
    pub(crate) async fn json(mut self) -> Result<Value, ModelError> {
        let mut text = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if text.len() + chunk.len() > self.limits.response_bytes {
                return Err(too_large(&self.reading, self.limits));
            }
            text.extend_from_slice(&chunk);
        }
        let answer = serde_json::from_slice(&text).map_err(|error| {
            ModelError::new(self.reading.model, ModelErrorKind::InvalidResponse).with_cause(not_json(&error))
        })?;
        match Failure::read(&answer) {
            Some(failure) => Err(failure.into_error(self.reading.model, None, |text| self.secrets.hide(text))),
            None => Ok(answer),
        }
    }

    /// Returns what the body of an error says, as far as it can be read.
    pub(super) async fn failure(mut self) -> Option<Failure> {
        let Self { response, reading, limits, deadline, .. } = &mut self;
        let mut text = Vec::new();
        let read = async {
            while text.len() < LARGEST_FAILURE
                && let Ok(Some(chunk)) = response.chunk().await
            {
                text.extend_from_slice(&chunk);
            }
        };
        let limit = limits.idle.min(FAILURE_WAIT);
        // What came in time may be the whole of it, on a connection that stays open.
        let _: Option<()> = within(read, reading.call.clock, limit, deadline).await;
        Failure::read(&serde_json::from_slice(&text).ok()?)
    }
}

pub(super) fn too_large(reading: &Reading<'_>, limits: &Limits) -> ModelError {
    reading.invalid(format!("more than {} bytes; allow more with `.max_response_bytes(…)`", limits.response_bytes))
}

/// Where an answer is not JSON, without a word of it.
pub(super) fn not_json(error: &serde_json::Error) -> String {
    format!("not JSON: {:?} error at line {} column {}", error.classify(), error.line(), error.column())
}
