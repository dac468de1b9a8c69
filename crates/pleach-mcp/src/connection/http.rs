//! The HTTP client under streamable HTTP: encryption, no redirects, and no URL in errors.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use mcp_sse_stream::{Error as SseError, Sse};
use reqwest::redirect::Policy;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::common::client_side_sse::SseRetryPolicy;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::notices::Notices;
use crate::endpoint::{CheckedEndpoint, Headers};
use crate::limits::Limits;

/// How many requests of a session are under way at once; further ones wait.
const MOST_REQUESTS: usize = 128;

/// The waits before a stream that broke is opened again. Then the calls that wait for it fail: rmcp would try for ever.
const WAITS: [Duration; 3] = [Duration::from_millis(250), Duration::from_millis(500), Duration::from_secs(1)];

/// How often a broken stream is opened again.
#[derive(Debug)]
struct Reopening;

impl SseRetryPolicy for Reopening {
    fn retry(&self, attempts: usize) -> Option<Duration> {
        WAITS.get(attempts).copied()
    }
}

/// A client whose errors hold no URL: its query may be a key, and errors are logged.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    /// Those of the session that the client is for.
    notices: Arc<Notices>,
}

type Events = BoxStream<'static, Result<Sse, SseError>>;

type Failure = StreamableHttpError<reqwest::Error>;
type HttpHeaders = HashMap<HeaderName, HeaderValue>;

impl Client {
    /// # Errors
    /// Why no encrypted connections can be made.
    pub(crate) fn new(endpoint: &CheckedEndpoint, connect: Duration) -> Result<Self, String> {
        let tls = match trusting_the_system() {
            Err(_) if !endpoint.is_https() => trusting_none(),
            tls => tls,
        };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls.map_err(|error| error.to_string())?)
            .connect_timeout(connect)
            .user_agent(concat!("pleach/", env!("CARGO_PKG_VERSION")))
            // A redirect would carry headers that hold keys to another address.
            .redirect(Policy::none());
        if endpoint.is_loopback() {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| error.without_url().to_string())?;
        Ok(Self { http, notices: Arc::default() })
    }

    /// Returns the messages of a new session.
    pub(super) fn transport(
        &self,
        url: &str,
        headers: &Headers,
        limits: &Limits,
        notices: &Arc<Notices>,
    ) -> StreamableHttpClientTransport<Self> {
        let mut config = StreamableHttpClientTransportConfig::with_uri(url)
            .custom_headers(headers.written().collect())
            // A request that a server has refused with its session may have taken effect: it is not sent again.
            .reinit_on_expired_session(false)
            .max_concurrent_requests(MOST_REQUESTS)
            .max_sse_event_size(limits.message_bytes)
            .max_json_response_size(limits.message_bytes);
        config.retry_config = Arc::new(Reopening);
        StreamableHttpClientTransport::with_client(
            Self { http: self.http.clone(), notices: Arc::clone(notices) },
            config,
        )
    }

    /// Notes a stream that could not be opened: without it calls get no answers and no changes are reported, so that the next request
    /// needs a new session.
    fn opened(&self, opened: Result<Events, Failure>) -> Result<Events, Failure> {
        // A status is an answer: many servers refuse the stream of notifications with one.
        if let Err(StreamableHttpError::Client(error)) = &opened
            && error.status().is_none()
        {
            self.notices.note_broken();
        }
        opened.map(|events| self.noted(events)).map_err(without_url)
    }

    /// Notes an event that is too large: rmcp only ends the request that waits for it.
    fn noted(&self, events: Events) -> Events {
        let notices = Arc::clone(&self.notices);
        let note = move |event: &Result<Sse, SseError>| {
            if let Err(SseError::Body(error)) = event
                && error.to_string().contains("exceeded the maximum size")
            {
                notices.note_exceeded();
            }
        };
        events.inspect(note).boxed()
    }
}

fn trusting_the_system() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}

/// A configuration that trusts no server, for servers that are reached without encryption.
fn trusting_none() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

fn without_url(failure: Failure) -> Failure {
    match failure {
        StreamableHttpError::Client(error) => StreamableHttpError::Client(error.without_url()),
        other => other,
    }
}

impl StreamableHttpClient for Client {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        url: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: HttpHeaders,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(url, message, session, auth, headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        url: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: HttpHeaders,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let sent = self.http.post_message_with_response_limits(url, message, session, auth, headers, limits);
        Ok(match sent.await.map_err(without_url)? {
            StreamableHttpPostResponse::Sse(events, session) => {
                StreamableHttpPostResponse::Sse(self.noted(events), session)
            }
            other => other,
        })
    }

    async fn delete_session(
        &self,
        url: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: HttpHeaders,
    ) -> Result<(), Failure> {
        self.http.delete_session(url, session, auth, headers).await.map_err(without_url)
    }

    async fn get_stream(
        &self,
        url: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: HttpHeaders,
    ) -> Result<Events, Failure> {
        let opened = self.http.get_stream(url, session, last_event, auth, headers).await;
        self.opened(opened)
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        url: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: HttpHeaders,
        limit: usize,
    ) -> Result<Events, Failure> {
        let opened = self.http.get_stream_with_max_sse_event_size(url, session, last_event, auth, headers, limit);
        self.opened(opened.await)
    }
}
