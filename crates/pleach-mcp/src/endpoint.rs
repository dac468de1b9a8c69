//! [`McpEndpoint`]: a server over HTTP.

use std::fmt;
use std::sync::Arc;

use pleach_context::{NodeError, ReadonlyContext};
use pleach_core::BoxFuture;
use pleach_http::{Endpoint, HeaderFault, Headers, Secrets};
use secrecy::{ExposeSecret as _, SecretString};

use crate::McpSetupError;

/// A function that returns the headers of a session.
pub(crate) type HeaderProvider =
    Arc<dyn Fn(ReadonlyContext) -> BoxFuture<'static, Result<Vec<(String, String)>, NodeError>> + Send + Sync>;

/// A server over streamable HTTP.
///
/// The values of headers and of the URL's query are treated as secrets. Plain HTTP is allowed to this machine, and to
/// servers that get neither headers nor a query. Debug output shows the names of headers only.
/// ADK: `StreamableHTTPConnectionParams`
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
    /// Creates an endpoint for a URL, for example `https://tickets.example.com/mcp`.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), headers: Vec::new(), session_headers: None, plain_http: false }
    }

    /// Adds a header to every request. Its value is treated as a secret.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), SecretString::from(value.into())));
        self
    }

    /// Sets a function that returns further headers, for example with the credential of the user. It is called before
    /// tools are listed and before each call. Its headers replace headers with the same name that
    /// [`header`](Self::header) has set.
    ///
    /// Requests with equal headers share a session with the server, and requests with different headers never do. Up to
    /// 64 sessions are kept; beyond that, the least recently used session is closed. ADK: `header_provider`
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

    /// Allows sending headers and the query to another machine without encryption.
    pub fn allow_plain_http(mut self) -> Self {
        self.plain_http = true;
        self
    }

    /// Checks the URL and the headers.
    pub(crate) fn check(&self, server: &str) -> Result<CheckedEndpoint, McpSetupError> {
        let endpoint = Endpoint::parse(&self.url).map_err(|fault| McpSetupError::Url {
            server: server.to_owned(),
            reason: fault.with_advice("send it with `.header(…)` instead"),
        })?;
        let mut headers = Headers::default();
        for (name, value) in &self.headers {
            set_header(&mut headers, name, value.expose_secret()).map_err(|reason| McpSetupError::Header {
                server: server.to_owned(),
                header: name.clone(),
                reason,
            })?;
        }
        let mut secrets = Secrets::default();
        secrets.add_query(&endpoint);
        let sends_headers = !self.headers.is_empty() || self.session_headers.is_some();
        if let Some(host) = endpoint.exposed_host(sends_headers).filter(|_| !self.plain_http) {
            return Err(McpSetupError::PlainHttp { server: server.to_owned(), host: host.to_owned() });
        }
        Ok(CheckedEndpoint { endpoint, headers, secrets, session_headers: self.session_headers.clone() })
    }

    /// Returns the host, for the default name of a toolset.
    pub(crate) fn host(&self) -> Option<String> {
        Endpoint::parse(&self.url).ok().map(|endpoint| endpoint.host().to_owned())
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
    pub(crate) endpoint: Endpoint,
    pub(crate) headers: Headers,
    /// The values in the query of the URL.
    pub(crate) secrets: Secrets,
    pub(crate) session_headers: Option<HeaderProvider>,
}

/// The headers that only the transport may set.
const PROTOCOL: [&str; 7] =
    ["accept", "content-length", "content-type", "host", "last-event-id", "mcp-protocol-version", "mcp-session-id"];

/// Sets a header of the program. It replaces a header of the same name.
///
/// # Errors
/// The reason why the header cannot be sent.
pub(crate) fn set_header(headers: &mut Headers, name: &str, value: &str) -> Result<(), &'static str> {
    if PROTOCOL.iter().any(|own| own.eq_ignore_ascii_case(name)) {
        return Err("the protocol sets it itself");
    }
    headers.set(name, value).map_err(HeaderFault::reason)
}
