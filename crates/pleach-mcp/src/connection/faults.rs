//! [`Faults`]: creates the errors of a session, without secrets.

use std::sync::Arc;
use std::time::Duration;

use pleach_http::{Headers, Secrets};
use rmcp::model::ErrorData;
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;

use super::http::HttpFault;
use super::incoming::Unusable;
use super::notices::{Limit, Notices};
use super::target::Target;
use crate::error::McpError;

/// The maximum number of characters of a server's message that are shown.
const LONGEST_MESSAGE: usize = 2_000;
/// The maximum number of characters of an unreadable message that are shown.
const LONGEST_UNREADABLE: usize = 300;

/// Creates the errors of one session.
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
        if let Some(limit) = notices.exceeded() {
            return self.exceeded(limit);
        }
        match error {
            ClientInitializeError::JsonRpcError(data) => self.refused(&data),
            ClientInitializeError::TransportError { error, .. } => match self.transport_error(&error).0 {
                McpError::Lost { reason, .. } => self.unreachable(reason),
                error => error,
            },
            ClientInitializeError::ConnectionClosed(_) => {
                self.unreachable("it ended before the session began; what it says of that is in the log")
            }
            ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
                self.unreachable("it speaks no version of the protocol that pleach knows")
            }
            _ => self.unreachable("it does not answer as MCP servers do"),
        }
    }

    /// Returns the error of a request, and whether the session can no longer be used.
    pub(super) fn of_request(&self, error: ServiceError, notices: &Notices) -> (McpError, bool) {
        let lost = |reason: &str| McpError::Lost { server: self.server(), reason: reason.to_owned() };
        match error {
            ServiceError::McpError(data) => (self.refused(&data), false),
            ServiceError::TransportClosed => {
                let exceeded = notices.exceeded().map(|limit| self.exceeded(limit));
                (exceeded.unwrap_or_else(|| lost("it has ended or closed it")), true)
            }
            ServiceError::TransportSend(error) => self.transport_error(&error),
            ServiceError::UnexpectedResponse => (self.answer("sent a response of the wrong kind"), false),
            ServiceError::Cancelled { .. } => (self.answer("cancelled the request"), false),
            _ => (lost("the client gave the request up"), true),
        }
    }

    pub(super) fn answer(&self, reason: impl Into<String>) -> McpError {
        McpError::Answer { server: self.server(), reason: reason.into() }
    }

    /// Returns the error for a server that has not answered in time.
    pub(super) fn overdue(&self, what: &'static str, limit: Duration, notices: &Notices) -> McpError {
        if notices.break_off() {
            McpError::Unfinished { server: self.server(), what, limit }
        } else {
            McpError::Timeout { server: self.server(), what, limit }
        }
    }

    fn transport_error(&self, error: &DynamicTransportError) -> (McpError, bool) {
        let Some(fault) = error.error.downcast_ref::<HttpFault>() else {
            let reason = self.shown(&error.error.to_string());
            return (McpError::Lost { server: self.server(), reason }, true);
        };
        let error = match fault {
            HttpFault::TooLarge => self.too_large(),
            HttpFault::NoAnswer(reason) => self.answer(*reason),
            HttpFault::Status { status, reason } => {
                McpError::Lost { server: self.server(), reason: self.status_reason(*status, reason.as_deref()) }
            }
            fault => McpError::Lost { server: self.server(), reason: self.shown(&fault.to_string()) },
        };
        (error, !fault.keeps_session())
    }

    fn status_reason(&self, status: u16, reason: Option<&str>) -> String {
        match (status, reason) {
            (401, _) => "HTTP 401: it wants other credentials".to_owned(),
            (403, _) => "HTTP 403: the credentials do not suffice".to_owned(),
            (_, Some(reason)) => self.shown(&format!("HTTP {status}: {reason}")),
            (_, None) => format!("HTTP {status}"),
        }
    }

    fn exceeded(&self, limit: Limit) -> McpError {
        match limit {
            Limit::Message => self.too_large(),
            Limit::Exchange(excess) => {
                McpError::Exceeded { server: self.server(), option: excess.option, limit: excess.limit }
            }
        }
    }

    fn refused(&self, data: &ErrorData) -> McpError {
        if let Some(reason) = Unusable::of(data) {
            return self.answer(self.cut(reason, LONGEST_UNREADABLE));
        }
        McpError::Refused { server: self.server(), code: data.code.0, message: self.shown(&data.message) }
    }

    fn too_large(&self) -> McpError {
        McpError::TooLarge { server: self.server(), limit: self.message_bytes }
    }

    fn server(&self) -> String {
        self.server.as_ref().to_owned()
    }

    /// Returns the beginning of a message of the server or the client, without secrets.
    fn shown(&self, text: &str) -> String {
        self.cut(text, LONGEST_MESSAGE)
    }

    fn cut(&self, text: &str, longest: usize) -> String {
        let hidden = self.secrets.hide(text);
        match hidden.char_indices().nth(longest) {
            Some((end, _)) => format!("{}…", &hidden[..end]),
            None => hidden,
        }
    }
}
