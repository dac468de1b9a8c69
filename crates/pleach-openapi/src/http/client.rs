//! [`Client`]: sends requests within their limits. It follows no redirects, and its errors contain no URL.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderValue, StatusCode};
use pleach_core::Clock;
use pleach_http::{BodyFault, Clients, ERROR_WAIT, Endpoint, causes, read_error, read_whole, within};
use reqwest::Response;

use crate::call::Outgoing;

/// The limits of a call: times by the clock, and the size of a body.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) connect: Duration,
    pub(crate) call: Duration,
    pub(crate) response_bytes: usize,
    /// The program's clock for all calls; `None` uses the clock of each invocation.
    pub(crate) clock: Option<Arc<dyn Clock>>,
}

/// The clients of a toolset.
pub(crate) struct Client {
    clients: Clients,
    pub(crate) limits: Limits,
}

/// An answer with its body.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) content_type: Option<String>,
    /// The target of a redirect, without its query.
    pub(crate) location: Option<String>,
    pub(crate) body: Vec<u8>,
    /// Whether `body` is only the beginning of the answer's body. Only bodies of errors are cut.
    pub(crate) is_cut: bool,
}

/// The reason why there is no answer. The model sees the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    #[error("the server did not answer within {} s; whether the call took effect is not known", .0.as_secs_f64())]
    Timeout(Duration),
    #[error("the connection broke before the answer was complete; whether the call took effect is not known: {0}")]
    Broken(String),
    #[error("the answer is larger than {0} bytes: ask for less")]
    TooLarge(usize),
}

impl CallError {
    /// Returns the name of the kind, for spans and events.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Timeout(_) => "timeout",
            Self::Broken(_) => "broken",
            Self::TooLarge(_) => "too_large",
        }
    }
}

impl Client {
    /// # Errors
    /// The reason why no encrypted connections can be made.
    pub(crate) fn new(limits: Limits, needs_encryption: bool) -> Result<Self, String> {
        Ok(Self { clients: Clients::new(limits.connect, needs_encryption)?, limits })
    }

    /// Sends a request to an endpoint, and reads the answer. `clock` is the invocation's clock.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub(crate) async fn send(
        &self,
        request: Outgoing,
        endpoint: &Endpoint,
        clock: &Arc<dyn Clock>,
    ) -> Result<Answer, CallError> {
        let clock = self.limits.clock.as_ref().unwrap_or(clock);
        let limit = self.limits.call;
        let answer = within(clock.sleep(limit), self.exchange(request, endpoint, clock)).await;
        answer.unwrap_or(Err(CallError::Timeout(limit)))
    }

    async fn exchange(
        &self,
        request: Outgoing,
        endpoint: &Endpoint,
        clock: &Arc<dyn Clock>,
    ) -> Result<Answer, CallError> {
        let mut headers = request.headers;
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json, text/*;q=0.9, */*;q=0.5"));
        let mut builder = self.clients.of(endpoint).request(request.method, request.url).headers(headers);
        if let Some(body) = request.body {
            builder = builder.body(body);
        }
        let mut response = builder.send().await.map_err(|error| {
            if error.is_connect() { CallError::Unreachable(causes(error)) } else { CallError::Broken(causes(error)) }
        })?;
        let status = response.status();
        let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let content_type = text(CONTENT_TYPE);
        let location = text(LOCATION).map(|location| location.split(['?', '#']).next().unwrap_or_default().to_owned());
        let (body, is_cut) = self.body(&mut response, clock).await?;
        Ok(Answer { status, content_type, location, body, is_cut })
    }

    /// Reads the body, or the beginning of the body of an error, and returns whether there is more.
    async fn body(&self, response: &mut Response, clock: &Arc<dyn Clock>) -> Result<(Vec<u8>, bool), CallError> {
        let limit = self.limits.response_bytes;
        if response.status().is_success() {
            let body = read_whole(response, limit).await.map_err(|fault| match fault {
                BodyFault::TooLarge => CallError::TooLarge(limit),
                BodyFault::Broken(reason) => CallError::Broken(reason),
            })?;
            return Ok((body, false));
        }
        let mut body = Vec::new();
        let read = read_error(response, &mut body, limit, |_| {});
        let is_whole = within(clock.sleep(ERROR_WAIT), read).await.unwrap_or(false);
        Ok((body, !is_whole))
    }
}
