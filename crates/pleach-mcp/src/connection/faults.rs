//! What went wrong with a server, in words that hold no secret.

use std::error::Error;
use std::sync::Arc;

use rmcp::model::ErrorData;
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::notices::Notices;
use super::target::Target;
use crate::endpoint::Headers;
use crate::error::McpError;
use crate::secrets::Secrets;

/// The characters of a server's message that are shown.
const LONGEST_MESSAGE: usize = 2_000;

type HttpError = StreamableHttpError<reqwest::Error>;

/// Makes the errors of one session.
#[derive(Clone)]
pub(super) struct Faults {
    server: Arc<str>,
    secrets: Arc<Secrets>,
    message_bytes: usize,
}

impl Faults {
    pub(super) fn new(target: &Target, headers: &Headers, message_bytes: usize) -> Self {
        Self { server: Arc::clone(&target.name), secrets: Arc::new(target.secrets(headers)), message_bytes }
    }

    pub(super) fn name(&self) -> &str {
        &self.server
    }

    pub(super) fn secrets(&self) -> &Arc<Secrets> {
        &self.secrets
    }

    pub(super) fn unreachable(&self, reason: impl Into<String>) -> McpError {
        McpError::Connect { server: self.server(), reason: reason.into() }
    }

    /// Returns the error of the first exchange.
    pub(super) fn of_first_exchange(&self, error: ClientInitializeError, notices: &Notices) -> McpError {
        if notices.is_exceeded() {
            return self.too_large();
        }
        match error {
            ClientInitializeError::JsonRpcError(data) => self.refused(&data),
            ClientInitializeError::TransportError { error, .. } => {
                self.unreachable(self.transport(&error).unwrap_or_else(|| "the connection broke".to_owned()))
            }
            ClientInitializeError::ConnectionClosed(_) => {
                self.unreachable("it ended before the session began; what it says of that is in the log")
            }
            ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
                self.unreachable("it speaks no version of the protocol that pleach knows")
            }
            _ => self.unreachable("it does not answer as MCP servers do"),
        }
    }

    /// Returns the error of a request, and whether the session is of no further use.
    pub(super) fn of_request(&self, error: ServiceError, notices: &Notices) -> (McpError, bool) {
        let lost = |reason: &str| McpError::Lost { server: self.server(), reason: reason.to_owned() };
        match error {
            ServiceError::McpError(data) => (self.refused(&data), false),
            ServiceError::TransportClosed if notices.is_exceeded() => (self.too_large(), true),
            ServiceError::TransportClosed => (lost("it has ended or closed it"), true),
            ServiceError::TransportSend(error) => self.of_transport(&error),
            ServiceError::UnexpectedResponse => (self.answer("answered with something else than was asked for"), false),
            ServiceError::Cancelled { .. } => (self.answer("cancelled the request"), false),
            _ => (lost("the client gave the request up"), true),
        }
    }

    pub(super) fn answer(&self, reason: &'static str) -> McpError {
        McpError::Answer { server: self.server(), reason }
    }

    fn of_transport(&self, error: &DynamicTransportError) -> (McpError, bool) {
        let is_of = |chosen: fn(&HttpError) -> bool| error.error.downcast_ref().is_some_and(chosen);
        if is_of(|error| matches!(error, HttpError::ResponseBodyTooLarge { .. })) {
            return (self.too_large(), false);
        }
        // A server that is overloaded keeps its sessions.
        let is_broken = !is_of(|error| matches!(error, HttpError::HttpStatus(_)));
        let reason = self.transport(error).unwrap_or_else(|| "the connection broke".to_owned());
        (McpError::Lost { server: self.server(), reason }, is_broken)
    }

    /// Returns what broke a transport.
    fn transport(&self, error: &DynamicTransportError) -> Option<String> {
        let Some(error) = error.error.downcast_ref::<HttpError>() else {
            return Some(self.shown(&error.error.to_string()));
        };
        Some(match error {
            HttpError::AuthRequired(_) => "HTTP 401: it wants other credentials".to_owned(),
            HttpError::InsufficientScope(_) => "HTTP 403: the credentials do not suffice".to_owned(),
            HttpError::HttpStatus(status) => format!("HTTP {}", status.status),
            HttpError::Client(error) if error.is_connect() => {
                format!("no connection: {}", self.shown(&innermost(error)))
            }
            HttpError::Client(error) => match error.status() {
                Some(status) => format!("HTTP {}", status.as_u16()),
                None => self.shown(&innermost(error)),
            },
            HttpError::TransportChannelClosed => return None,
            error => self.shown(&error.to_string()),
        })
    }

    fn refused(&self, data: &ErrorData) -> McpError {
        McpError::Refused { server: self.server(), code: data.code.0, message: self.shown(&data.message) }
    }

    fn too_large(&self) -> McpError {
        McpError::TooLarge { server: self.server(), limit: self.message_bytes }
    }

    fn server(&self) -> String {
        self.server.as_ref().to_owned()
    }

    /// Returns the beginning of a text of the server or the client, without secrets.
    fn shown(&self, text: &str) -> String {
        let hidden = self.secrets.hide(text);
        match hidden.char_indices().nth(LONGEST_MESSAGE) {
            Some((end, _)) => format!("{}…", &hidden[..end]),
            None => hidden,
        }
    }
}

/// Returns the text of the cause of all causes: those above it repeat that a request failed.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}
