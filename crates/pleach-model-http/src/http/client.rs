//! [`Http`]: sends one request.

use std::time::Duration;

use chrono::DateTime;
use pleach_core::Clock;
use pleach_http::Clients;
use pleach_model::{HttpOptions, ModelError, ModelErrorKind};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, RETRY_AFTER};

use super::body::Body;
use super::limits::{TimeLimit, Timer, within};
use super::{Limits, Outgoing, Target};
use crate::ModelSetupError;
use crate::endpoint::is_at;
use crate::wire::{Prepared, Reading};

/// The HTTP client of one model: connections, address, headers and limits.
pub(crate) struct Http {
    clients: Clients,
    target: Target,
    limits: Limits,
}

impl Http {
    pub(crate) fn new(model: &str, target: Target, limits: Limits) -> Result<Self, ModelSetupError> {
        let clients = Clients::new(limits.connect, target.endpoint.is_https())
            .map_err(|reason| ModelSetupError::Tls { model: model.to_owned(), reason })?;
        Ok(Self { clients, target, limits })
    }

    /// Completes a request with the headers of the model and the options of the request.
    pub(crate) fn outgoing(
        &self,
        model: &str,
        prepared: Prepared,
        options: Option<&HttpOptions>,
    ) -> Result<Outgoing, ModelError> {
        self.target.outgoing(model, prepared, options)
    }

    /// Returns true if this is the base URL of the model.
    pub(crate) fn is_at(&self, base_url: &str) -> bool {
        is_at(&self.target.endpoint, base_url)
    }

    /// Returns the limits of an answer.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sends a request, and waits for the beginning of the answer.
    ///
    /// # Cancel safety
    /// Dropping the future, or the body that it returns, closes the connection.
    pub(crate) async fn send<'a>(&'a self, request: Outgoing, reading: Reading<'a>) -> Result<Body<'a>, ModelError> {
        let clock = reading.call.clock;
        let limit = request.timeout.map_or(TimeLimit::Total(self.limits.total), TimeLimit::Request);
        let mut total = Timer::start(clock, limit);
        let mut first_byte = Timer::start(clock, TimeLimit::FirstByte(self.limits.first_byte));
        let accept = if reading.call.streaming { "text/event-stream" } else { "application/json" };
        let client = self.clients.of(&request.endpoint);
        let sent = client
            .post(request.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accept)
            .headers(request.headers)
            .body(request.body)
            .send();
        let response = within(sent, &mut total, &mut first_byte).await;
        let response = response.map_err(|limit| reading.timeout(limit))?.map_err(|error| {
            ModelError::new(reading.model, ModelErrorKind::Unreachable).with_cause(error.without_url())
        })?;
        let status = response.status();
        let asked = asked_wait(response.headers(), clock);
        let body = Body::new(response, reading, &self.limits, request.secrets, total);
        if let Some(encoding) = body.encoding() {
            let what = format!("its body is compressed ({encoding}), which was not asked for");
            if status.is_success() {
                return Err(reading.invalid(what));
            }
            let error = ModelError::from_status(reading.model, status.as_u16()).with_message(what);
            return Err(match asked {
                Some(wait) => error.with_retry_after(wait),
                None => error,
            });
        }
        if status.is_success() {
            return Ok(body);
        }
        Err(refused(reading, status.as_u16(), asked, body).await)
    }
}

/// Returns the error for a status, with the provider's message.
async fn refused(reading: Reading<'_>, status: u16, asked: Option<Duration>, body: Body<'_>) -> ModelError {
    let secrets = body.secrets.clone();
    let failure = body.failure().await.unwrap_or_default();
    let error = failure.into_error(reading.model, Some(status), |text| secrets.hide(text));
    let error = match asked {
        Some(wait) => error.with_retry_after(wait),
        None => error,
    };
    if (300..400).contains(&status) {
        return error.with_message("the server redirects to another address: set the base URL to that address");
    }
    error
}

/// Returns the wait that the provider asks for: `retry-after-ms`, or `retry-after` in seconds or as a date.
fn asked_wait(headers: &HeaderMap, clock: &dyn Clock) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1e3).ok();
    }
    let after = text(RETRY_AFTER.as_str())?;
    let seconds = match after.parse::<f64>() {
        Ok(seconds) => seconds,
        Err(_) => (DateTime::parse_from_rfc2822(after).ok()?.timestamp() as f64 - clock.now()).max(0.0),
    };
    Duration::try_from_secs_f64(seconds).ok()
}
