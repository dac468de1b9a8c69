//! [`Client`]: sends requests, within their limits. It follows no redirects, and its errors hold no URL.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderValue, StatusCode};
use pleach_core::{Clock, with_causes};
use reqwest::Response;
use reqwest::redirect::Policy;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use crate::call::Outgoing;

/// How much is read of the body of an error.
const ERROR_BYTES: usize = 16 << 10;

/// How long things may take, by the clock, and how large a body may be.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) connect: Duration,
    pub(crate) call: Duration,
    pub(crate) response_bytes: usize,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The clients of a toolset: one for this machine, which uses no proxy, and one for others.
pub(crate) struct Client {
    near: reqwest::Client,
    far: reqwest::Client,
    pub(crate) limits: Limits,
}

/// An answer with its body.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) content_type: Option<String>,
    /// Where a redirect leads to, without its query.
    pub(crate) location: Option<String>,
    pub(crate) body: Vec<u8>,
    /// Whether there is more than `body`. Only of errors.
    pub(crate) is_cut: bool,
}

/// Why there is no answer. The model sees the text.
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
    /// The name of its kind, for spans and events.
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
    /// Why no encrypted connections can be made.
    pub(crate) fn new(limits: Limits, needs_encryption: bool) -> Result<Self, String> {
        let tls = match trusting_the_system() {
            Err(_) if !needs_encryption => trusting_none(),
            tls => tls,
        };
        let tls = tls.map_err(|error| error.to_string())?;
        let builder = || {
            reqwest::Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .connect_timeout(limits.connect)
                .user_agent(concat!("pleach/", env!("CARGO_PKG_VERSION")))
                // A redirect would carry credentials and arguments to another address.
                .redirect(Policy::none())
        };
        let fault = |error: reqwest::Error| error.without_url().to_string();
        let near = builder().no_proxy().build().map_err(fault)?;
        let far = builder().build().map_err(fault)?;
        Ok(Self { near, far, limits })
    }

    /// Sends a request and reads the answer.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub(crate) async fn send(&self, request: Outgoing, is_loopback: bool) -> Result<Answer, CallError> {
        let exchange = std::pin::pin!(self.exchange(request, is_loopback));
        match select(exchange, self.limits.clock.sleep(self.limits.call)).await {
            Either::Left((answer, _)) => answer,
            Either::Right(_) => Err(CallError::Timeout(self.limits.call)),
        }
    }

    async fn exchange(&self, request: Outgoing, is_loopback: bool) -> Result<Answer, CallError> {
        let client = if is_loopback { &self.near } else { &self.far };
        let mut headers = request.headers;
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json, text/*;q=0.9, */*;q=0.5"));
        let mut builder = client.request(request.method, request.url).headers(headers);
        if let Some(body) = request.body {
            builder = builder.body(body);
        }
        let sent = builder.send().await.map_err(reqwest::Error::without_url);
        let mut response = sent.map_err(|error| match error.is_connect() {
            true => CallError::Unreachable(with_causes(&error).to_string()),
            false => CallError::Broken(with_causes(&error).to_string()),
        })?;
        let status = response.status();
        let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let content_type = text(CONTENT_TYPE);
        let location = text(LOCATION).map(|location| location.split(['?', '#']).next().unwrap_or_default().to_owned());
        let (body, is_cut) = self.body(&mut response, status).await?;
        Ok(Answer { status, content_type, location, body, is_cut })
    }

    /// Reads the body: of an error its beginning.
    async fn body(&self, response: &mut Response, status: StatusCode) -> Result<(Vec<u8>, bool), CallError> {
        let limit = self.limits.response_bytes;
        let announced = response.content_length().unwrap_or(0);
        if status.is_success() && usize::try_from(announced).map_or(true, |announced| announced > limit) {
            return Err(CallError::TooLarge(limit));
        }
        let most = if status.is_success() { limit } else { limit.min(ERROR_BYTES) };
        let mut body = Vec::new();
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok((body, false)),
                // What an error says is a help, and no more.
                Err(_) if !status.is_success() => return Ok((body, true)),
                Err(error) => return Err(CallError::Broken(with_causes(&error.without_url()).to_string())),
            };
            if body.len() + chunk.len() <= most {
                body.extend_from_slice(&chunk);
            } else if status.is_success() {
                return Err(CallError::TooLarge(limit));
            } else {
                body.extend_from_slice(&chunk[..most - body.len()]);
                return Ok((body, true));
            }
        }
    }
}

fn trusting_the_system() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}

/// A configuration that trusts no server, for servers that are reached without encryption.
fn trusting_none() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}
