//! Errors of models.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pleach_core::{BoxError, with_causes};

/// The number of characters of a provider's own text that an error shows.
const SHOWN: usize = 300;

/// A failed call of a model.
///
/// `Display` names the model, what failed and what to do next. It shows neither headers nor bodies; the provider's own
/// message is shortened, and left out if the provider may repeat the key in it.
///
/// ```
/// use std::time::Duration;
///
/// use pleach_model::{ModelError, ModelErrorKind};
///
/// let error = ModelError::from_status("gemini-3.5-flash", 429)
///     .with_status_text("RESOURCE_EXHAUSTED")
///     .with_retry_after(Duration::from_secs(7));
/// assert_eq!(error.kind(), ModelErrorKind::RateLimited);
/// assert!(error.is_transient());
/// assert_eq!(
///     error.to_string(),
///     "model `gemini-3.5-flash` refused the call (429 RESOURCE_EXHAUSTED): too many requests; try again after 7 s"
/// );
/// ```
#[derive(Clone, Debug)]
pub struct ModelError(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ModelErrorKind,
    model: String,
    status: Option<u16>,
    status_text: Option<String>,
    message: Option<String>,
    advice: Option<Cow<'static, str>>,
    retry_after: Option<Duration>,
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kind of a failed call, by which a caller decides how to react.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The provider refuses a setting, a part or a tool of the request.
    InvalidRequest,
    /// The request is larger than the model accepts.
    TooLarge,
    /// The key or token is missing or wrong.
    Unauthorized,
    /// The key or token does not allow this.
    Forbidden,
    /// There is no such model, or the base URL is wrong.
    NotFound,
    /// There were too many requests, or a quota is used up.
    RateLimited,
    /// The provider is overloaded or failed.
    Unavailable,
    /// The provider cannot be reached.
    Unreachable,
    /// There was no answer in time.
    Timeout,
    /// The stream ended before the answer was whole. The received part is not an answer.
    StreamCut,
    /// The answer cannot be understood.
    InvalidResponse,
    /// A [`ScriptedModel`](crate::ScriptedModel) was called more often than it has replies.
    ScriptExhausted,
    /// Anything else.
    Other,
}

impl ModelErrorKind {
    /// Returns the kind of failure that an HTTP status means.
    fn from_status_code(status: u16) -> Self {
        match status {
            400 | 405 | 406 | 409 | 415 | 422 => Self::InvalidRequest,
            401 | 407 => Self::Unauthorized,
            402 | 403 => Self::Forbidden,
            404 | 410 => Self::NotFound,
            408 | 504 => Self::Timeout,
            413 => Self::TooLarge,
            429 => Self::RateLimited,
            500..=599 => Self::Unavailable,
            _ => Self::Other,
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::InvalidRequest => "the request is not valid",
            Self::TooLarge => "the request is too large",
            Self::Unauthorized => "the credential is missing or wrong",
            Self::Forbidden => "the credential does not allow this",
            Self::NotFound => "no such model",
            Self::RateLimited => "too many requests",
            Self::Unavailable => "the provider failed",
            Self::Unreachable => "the provider cannot be reached",
            Self::Timeout => "no answer in time",
            Self::StreamCut => "the stream ended before the answer was whole",
            Self::InvalidResponse => "the answer cannot be understood",
            Self::ScriptExhausted => "the script has no reply left",
            Self::Other => "the call failed",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::InvalidRequest => "change the setting, tool or content at fault",
            Self::TooLarge => "send less history, for example by compaction",
            Self::Unauthorized => "check the key and where it is read from",
            Self::Forbidden => "check what the key, the project and the billing account allow",
            Self::NotFound => "check the model's name and the base URL",
            Self::RateLimited | Self::Unavailable => "try again later",
            Self::Unreachable => "check the network and the base URL, then try again",
            Self::Timeout => "try again, or allow more time",
            Self::StreamCut => "try again; no part of the answer was used",
            Self::InvalidResponse => "try again; the answer did not have the provider's format",
            Self::ScriptExhausted => "add replies, or let the last one repeat with `.repeating()`",
            Self::Other => "see the provider's documentation",
        }
    }
}

impl ModelError {
    /// Creates an error of the model with this name.
    pub fn new(model: impl Into<String>, kind: ModelErrorKind) -> Self {
        Self(Box::new(Inner {
            kind,
            model: model.into(),
            status: None,
            status_text: None,
            message: None,
            advice: None,
            retry_after: None,
            cause: None,
        }))
    }

    /// Creates the error that an HTTP status means.
    pub fn from_status(model: impl Into<String>, status: u16) -> Self {
        let mut error = Self::new(model, ModelErrorKind::from_status_code(status));
        error.0.status = Some(status);
        error
    }

    /// Sets the provider's own name for the failure, for example `PERMISSION_DENIED`.
    #[must_use]
    pub fn with_status_text(mut self, text: impl Into<String>) -> Self {
        self.0.status_text = Some(text.into());
        self
    }

    /// Sets the provider's own message: the text of its error, but never a header.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.0.message = Some(message.into());
        self
    }

    /// Sets the advice on what to do next, instead of the advice for the kind of failure.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<Cow<'static, str>>) -> Self {
        self.0.advice = Some(advice.into());
        self
    }

    /// Sets how long the provider asks to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Sets the error that caused this one.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<BoxError>) -> Self {
        self.0.cause = Some(cause.into().into());
        self
    }

    /// Returns the kind of failure.
    pub fn kind(&self) -> ModelErrorKind {
        self.0.kind
    }

    /// Returns the name of the model.
    pub fn model(&self) -> &str {
        &self.0.model
    }

    /// Returns the HTTP status, if there was a response.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Returns how long the provider asks to wait before the next attempt.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Returns the error that caused this one. The text of this error includes it.
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.0.cause.as_deref()
    }

    /// Returns true if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.0.kind,
            ModelErrorKind::RateLimited
                | ModelErrorKind::Unavailable
                | ModelErrorKind::Unreachable
                | ModelErrorKind::Timeout
                | ModelErrorKind::StreamCut
        )
    }

    /// Returns the stable name of the error for event error codes and HTTP bodies: the provider's own name for the
    /// failure if there is one, otherwise `ModelError`.
    // L170
    pub fn code(&self) -> &str {
        self.0.status_text.as_deref().unwrap_or("ModelError")
    }

    fn details(&self) -> String {
        let status = self.0.status.map(|status| status.to_string());
        let details: Vec<&str> = status.as_deref().into_iter().chain(self.0.status_text.as_deref()).collect();
        if details.is_empty() { String::new() } else { format!(" ({})", details.join(" ")) }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, model, message, advice, retry_after, cause, .. } = &*self.0;
        let failed = if self.0.status.is_some() { "refused the call" } else { "failed" };
        write!(f, "model `{model}` {failed}{}: {}", self.details(), kind.description())?;
        // A provider that refuses a key repeats a part of it in the message.
        if let Some(message) = message.as_ref().filter(|_| *kind != ModelErrorKind::Unauthorized) {
            write!(f, ": {}", shortened(message))?;
        }
        if let Some(cause) = cause {
            write!(f, ": {}", with_causes(&**cause))?;
        }
        match retry_after {
            Some(wait) => write!(f, "; try again after {} s", wait.as_secs_f64()),
            None => write!(f, "; {}", advice.as_deref().unwrap_or_else(|| kind.advice())),
        }
    }
}

// The cause is in the text, so there is no `source()`.
impl Error for ModelError {}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelError")
            .field("kind", &self.kind)
            .field("model", &self.model)
            .field("status", &self.status)
            .field("status_text", &self.status_text)
            .field("retry_after", &self.retry_after)
            .finish_non_exhaustive()
    }
}

/// Returns the first characters of a text, on one line.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l215_a_status_decides_what_a_caller_can_do() {
        use ModelErrorKind::*;
        for (status, kind, transient) in [
            (400, InvalidRequest, false),
            (401, Unauthorized, false),
            (403, Forbidden, false),
            (404, NotFound, false),
            (408, Timeout, true),
            (413, TooLarge, false),
            (429, RateLimited, true),
            (500, Unavailable, true),
            (503, Unavailable, true),
            (504, Timeout, true),
            (529, Unavailable, true),
            (302, Other, false),
        ] {
            let error = ModelError::from_status("m", status);
            assert_eq!((error.kind(), error.is_transient(), error.status()), (kind, transient, Some(status)));
        }
    }

    #[test]
    fn a_text_has_the_cause_and_what_to_do() {
        let cause = std::io::Error::other("connection reset");
        let error = ModelError::new("m", ModelErrorKind::StreamCut).with_cause(cause);
        assert_eq!(
            error.to_string(),
            "model `m` failed: the stream ended before the answer was whole: connection reset; \
             try again; no part of the answer was used"
        );
        assert_eq!((error.code(), error.status(), error.retry_after()), ("ModelError", None, None));
        let denied =
            ModelError::from_status("m", 403).with_status_text("PERMISSION_DENIED").with_message("no\n  access");
        assert_eq!(denied.code(), "PERMISSION_DENIED");
        assert_eq!(
            denied.to_string(),
            "model `m` refused the call (403 PERMISSION_DENIED): the credential does not allow this: no access; \
             check what the key, the project and the billing account allow"
        );
    }

    #[test]
    fn no_key_and_no_long_body_is_shown() {
        let error = ModelError::from_status("m", 401).with_message("Incorrect API key provided: sk-hush");
        assert!(!error.to_string().contains("hush") && !format!("{error:?}").contains("hush"));
        let error = ModelError::from_status("m", 400).with_message("x".repeat(10_000));
        assert!(error.to_string().chars().count() < 500, "{error}");
        assert!(!format!("{error:?}").contains("xxx"));
    }
}
