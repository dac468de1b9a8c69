//! [`McpEndpoint`]: a server that is reached over HTTP.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use pleach_context::{NodeError, ReadonlyContext};
use pleach_core::BoxFuture;
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};

use crate::McpSetupError;
use crate::secrets::Secrets;

/// Makes the headers of a session.
pub(crate) type HeaderProvider =
    Arc<dyn Fn(ReadonlyContext) -> BoxFuture<'static, Result<Vec<(String, String)>, NodeError>> + Send + Sync>;

/// A server that is reached over streamable HTTP.
///
/// The values of headers and of the URL's query are treated like keys. Plain HTTP is for this machine, and for servers that get neither.
/// Debug output shows the names of headers only. ADK: `StreamableHTTPConnectionParams`
///
/// ```
/// # use pleach_mcp::McpEndpoint;
/// let tickets = McpEndpoint::new("https://tickets.example.com/mcp").header("authorization", "Bearer key");
/// # let _ = tickets;
/// ```
#[derive(Clone)]
#[must_use]
#[doc(alias = "StreamableHTTPConnectionParams")]
pub struct McpEndpoint {
    url: String,
    headers: Vec<(String, SecretString)>,
    session_headers: Option<HeaderProvider>,
    plain_http: bool,
}

impl McpEndpoint {
    /// Names the URL, for example `https://tickets.example.com/mcp`.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), headers: Vec::new(), session_headers: None, plain_http: false }
    }

    /// Adds a header to every request. Its value is treated like a key.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), SecretString::from(value.into())));
        self
    }

    /// Sets a function that makes further headers, for example with the credential of the user. It is asked before tools are listed
    /// and before each call; a header replaces one of [`header`](Self::header).
    ///
    /// Equal headers share a session with the server, and different ones never do. Up to 64 sessions are kept; beyond that the one
    /// that was used longest ago is closed. ADK: `header_provider`
    #[doc(alias = "header_provider")]
    pub fn session_headers<F, Fut, H, N, V>(mut self, provider: F) -> Self
    where
        F: Fn(ReadonlyContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<H, NodeError>> + Send + 'static,
        H: IntoIterator<Item = (N, V)>,
        N: Into<String>,
        V: Into<String>,
    {
        self.session_headers = Some(Arc::new(move |ctx| {
            let made = provider(ctx);
            Box::pin(
                async move { Ok(made.await?.into_iter().map(|(name, value)| (name.into(), value.into())).collect()) },
            )
        }));
        self
    }

    /// Allows sending headers and a query to another machine without encryption.
    pub fn allow_plain_http(mut self) -> Self {
        self.plain_http = true;
        self
    }

    /// Checks the URL and the headers.
    pub(crate) fn check(&self, server: &str) -> Result<CheckedEndpoint, McpSetupError> {
        let url = read_url(server, &self.url)?;
        let mut headers = Headers::default();
        for (name, value) in &self.headers {
            headers.set(name, value.expose_secret()).map_err(|reason| McpSetupError::Header {
                server: server.to_owned(),
                header: name.clone(),
                reason,
            })?;
        }
        let mut secrets = Secrets::default();
        for (name, value) in url.query_pairs() {
            secrets.add(&name, &value);
        }
        let written = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        written.for_each(|(name, value)| secrets.add(name, value));
        let has_query = url.query().is_some_and(|query| !query.is_empty());
        let sends_secrets = has_query || !self.headers.is_empty() || self.session_headers.is_some();
        if url.scheme() == "http" && !is_loopback(&url) && sends_secrets && !self.plain_http {
            let host = url.host_str().unwrap_or_default().to_owned();
            return Err(McpSetupError::PlainHttp { server: server.to_owned(), host });
        }
        Ok(CheckedEndpoint { url, headers, secrets, session_headers: self.session_headers.clone() })
    }

    /// Returns the host, for the default name of a toolset.
    pub(crate) fn host(&self) -> Option<String> {
        Url::parse(self.url.trim()).ok()?.host_str().map(str::to_owned)
    }
}

impl fmt::Debug for McpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("McpEndpoint").field("host", &self.host()).field("headers", &names).finish_non_exhaustive()
    }
}

/// An endpoint whose URL and headers can be used.
pub(crate) struct CheckedEndpoint {
    pub(crate) url: Url,
    pub(crate) headers: Headers,
    /// The values in the query of the URL.
    pub(crate) secrets: Secrets,
    pub(crate) session_headers: Option<HeaderProvider>,
}

impl CheckedEndpoint {
    pub(crate) fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(&self.url)
    }
}

/// Headers by name, in the order of their names. Their values are overwritten in memory when they are dropped.
#[derive(Clone, Default)]
pub(crate) struct Headers(Vec<(HeaderName, SecretString)>);

impl Headers {
    /// Sets a header; it replaces one of the same name.
    ///
    /// # Errors
    /// Why it cannot be sent.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        sensitive(value).map_err(|_| "its value has a line break or another control character")?;
        let name = HeaderName::try_from(name).map_err(|_| "its name has characters that no header may have")?;
        if PROTOCOL.contains(&name.as_str()) {
            return Err("the protocol sets it itself");
        }
        match self.0.binary_search_by(|(other, _)| other.as_str().cmp(name.as_str())) {
            Ok(place) => self.0[place].1 = SecretString::from(value),
            Err(place) => self.0.insert(place, (name, SecretString::from(value))),
        }
        Ok(())
    }

    /// Writes them for a request.
    pub(crate) fn written(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        self.0.iter().filter_map(|(name, value)| Some((name.clone(), sensitive(value.expose_secret()).ok()?)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.expose_secret()))
    }
}

impl PartialEq for Headers {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Headers of the transport.
const PROTOCOL: [&str; 7] =
    ["accept", "content-length", "content-type", "host", "last-event-id", "mcp-protocol-version", "mcp-session-id"];

/// A value that no log shows.
fn sensitive(value: &str) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
    let mut value = HeaderValue::from_str(value)?;
    value.set_sensitive(true);
    Ok(value)
}

fn read_url(server: &str, text: &str) -> Result<Url, McpSetupError> {
    let fault = |reason: &str| McpSetupError::Url { server: server.to_owned(), reason: reason.to_owned() };
    let url = Url::parse(text.trim()).map_err(|error| fault(&format!("cannot be read: {error}")))?;
    if !matches!(url.scheme(), "https" | "http") || url.host_str().is_none() {
        return Err(fault("must begin with `https://` or `http://` and name a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("contains a user name or password: send it with `.header(…)` instead"));
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
