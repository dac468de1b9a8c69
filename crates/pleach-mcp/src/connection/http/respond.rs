//! [`Responses`]: sends the HTTP requests of one session, and reads the messages in the responses.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use pleach_http::{ERROR_WAIT, Headers, announces_more_than, read_error};
use reqwest::{RequestBuilder, Response};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use super::events::{Event, Events};
use super::fault::HttpFault;
use crate::connection::incoming::{Answer, Incoming, Origin};
use crate::connection::introduction;
use crate::connection::notices::Notices;
use crate::limits::Limits;

/// The time limit for ending the session at the server.
const DELETE: Duration = Duration::from_secs(5);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const EITHER: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Sends HTTP requests of one session, and passes the messages in responses to the session, in order.
pub(super) struct Responses {
    http: reqwest::Client,
    url: String,
    headers: Headers,
    pub(super) limits: Limits,
    pub(super) notices: Arc<Notices>,
    incoming: UnboundedSender<Incoming>,
    /// The session id and the protocol version in the server's first answer.
    session_info: Mutex<SessionInfo>,
}

#[derive(Clone, Default)]
struct SessionInfo {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

/// The kind of a response, judged by its first bytes, because many servers send a wrong content type.
pub(super) enum Body {
    Events,
    Message,
}

impl Responses {
    pub(super) fn new(
        client: &reqwest::Client,
        url: &str,
        headers: &Headers,
        limits: &Limits,
        notices: &Arc<Notices>,
        incoming: UnboundedSender<Incoming>,
    ) -> Self {
        Self {
            http: client.clone(),
            url: url.to_owned(),
            headers: headers.clone(),
            limits: limits.clone(),
            notices: Arc::clone(notices),
            incoming,
            session_info: Mutex::default(),
        }
    }

    /// Posts a message.
    pub(super) async fn post(&self, message: Vec<u8>) -> Result<Response, HttpFault> {
        let request = self.http.post(&self.url).header(ACCEPT, EITHER).header(CONTENT_TYPE, JSON).body(message);
        Ok(self.with_headers(request).send().await?)
    }

    /// Opens a stream: the general stream, or the rest of a stream after its last event.
    pub(super) async fn open(&self, last_event: Option<&str>) -> Result<Response, HttpFault> {
        let mut request = self.http.get(&self.url).header(ACCEPT, STREAM);
        if let Some(value) = last_event.and_then(|id| HeaderValue::from_str(id).ok()) {
            request = request.header(LAST_EVENT, value);
        }
        let mut response = self.with_headers(request).send().await?;
        if response.status() != StatusCode::OK {
            let fault = self.refusal(&mut response).await.1;
            if fault.is_of_session() {
                self.notices.note_forgotten();
            }
            return Err(fault);
        }
        if is_event_stream(&response) { Ok(response) } else { Err(HttpFault::NoAnswer("opens no stream of events")) }
    }

    /// Ends the session at the server.
    pub(super) async fn delete(&self) -> Result<(), HttpFault> {
        if self.session_info().session.is_none() {
            return Ok(());
        }
        let sent = self.with_headers(self.http.delete(&self.url)).send();
        // If the server does not end the session now, it will end it after some time.
        self.limits.within(DELETE, sent).await.map_or(Ok(()), |sent| Ok(sent.map(drop)?))
    }

    fn with_headers(&self, mut request: RequestBuilder) -> RequestBuilder {
        let mut headers = HeaderMap::new();
        self.headers.write(&mut headers);
        request = request.headers(headers);
        let session_info = self.session_info();
        if let Some(session) = session_info.session {
            request = request.header(SESSION, session);
        }
        if let Some(version) = session_info.version {
            request = request.header(VERSION, version);
        }
        request
    }

    fn session_info(&self) -> SessionInfo {
        self.session_info.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn has_session(&self) -> bool {
        self.session_info().session.is_some()
    }

    /// Stores the session id in the response to the first request.
    pub(super) fn note_session(&self, response: &Response) {
        self.session_info.lock().unwrap_or_else(PoisonError::into_inner).session =
            response.headers().get(SESSION).cloned();
    }

    /// Stores the protocol version in the first answer of the session.
    fn note_version(&self, answer: &Answer) {
        let mut session_info = self.session_info.lock().unwrap_or_else(PoisonError::into_inner);
        if let (None, Answer::Result(Value::Object(result))) = (&session_info.version, answer) {
            session_info.version = HeaderValue::from_str(introduction::version(result)).ok();
        }
    }

    /// Returns the body of a refusal, and the fault.
    pub(super) async fn refusal(&self, response: &mut Response) -> (Vec<u8>, HttpFault) {
        let status = response.status().as_u16();
        let mut body = Vec::new();
        // The body of a refusal of credentials does not help a model, and an overloaded server should send nothing
        // more.
        if !matches!(status, 401 | 403 | 429) {
            let note = |count| self.notices.count_bytes(count);
            let read = read_error(response, &mut body, self.limits.message_bytes, note);
            self.limits.within(ERROR_WAIT, read).await;
        }
        let reason = reason(&body);
        (body, HttpFault::Status { status, reason })
    }

    /// Reads the next piece of a response.
    pub(super) async fn chunk(&self, response: &mut Response) -> Result<Option<Vec<u8>>, HttpFault> {
        let chunk = response.chunk().await?;
        if let Some(chunk) = &chunk {
            self.notices.count_bytes(chunk.len());
        }
        Ok(chunk.map(|chunk| chunk.to_vec()))
    }

    /// Returns true if a response announces a message above the limit. The limit does not apply to a stream, which may
    /// have many messages.
    pub(super) fn announces_too_much(&self, response: &Response) -> bool {
        !is_event_stream(response) && announces_more_than(response, self.limits.message_bytes)
    }

    /// Reads the rest of a response whose beginning is known.
    pub(super) async fn rest(&self, response: &mut Response, mut body: Vec<u8>) -> Result<Vec<u8>, HttpFault> {
        let limit = self.limits.message_bytes;
        while body.len() <= limit {
            match self.chunk(response).await? {
                Some(chunk) => body.extend_from_slice(&chunk),
                None => return Ok(body),
            }
        }
        Err(HttpFault::TooLarge)
    }

    /// Returns a reader for the events of a response.
    pub(super) fn events(&self) -> Events {
        Events::new(self.limits.message_bytes)
    }

    /// Reads a message, and passes it to the session. Returns true if it answers the request.
    pub(super) fn take(&self, text: &[u8], origin: Origin) -> bool {
        let mut is_answered = false;
        for incoming in self.notices.read(text, origin) {
            if let Incoming::Answer { answer, .. } = &incoming {
                is_answered = true;
                self.note_version(answer);
            }
            // If there is no receiver, the session has ended.
            let _ = self.incoming.send(incoming);
        }
        is_answered
    }

    /// Reads the message of an event.
    pub(super) fn take_event(&self, event: &Event, origin: Origin) -> bool {
        event.data.as_ref().is_some_and(|data| !data.trim_ascii().is_empty() && self.take(data, origin))
    }
}

/// Returns the kind of a response.
pub(super) fn body_kind(response: &Response, beginning: &[u8]) -> Body {
    let text = beginning.trim_ascii_start();
    let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    if fields.iter().any(|field| text.starts_with(field)) {
        return Body::Events;
    }
    match is_event_stream(response) && !text.starts_with(b"{") && !text.starts_with(b"[") {
        true => Body::Events,
        false => Body::Message,
    }
}

fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    kind.to_ascii_lowercase().trim_ascii_start().starts_with(b"text/event-stream")
}

/// Returns the reason in the body of a refusal: a message in its JSON, or the text itself.
fn reason(body: &[u8]) -> Option<String> {
    let said = match serde_json::from_slice::<Value>(body) {
        Ok(value) => {
            let error = value.get("error").unwrap_or(&value);
            let keys = ["message", "error_description", "detail", "title"];
            let texts = [error, &value].into_iter().flat_map(|holder| keys.iter().filter_map(|key| holder.get(key)));
            texts.chain([error]).find_map(Value::as_str).map(str::to_owned)
        }
        // A page for people is not a reason.
        Err(_) => Some(String::from_utf8_lossy(body).into_owned()).filter(|text| !text.trim_start().starts_with('<')),
    };
    said.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn the_reason_of_a_refusal_is_found() {
        for (body, expected) in [
            (r#"{"error":{"message":"no session"}}"#, Some("no session")),
            (r#"{"error":"no session"}"#, Some("no session")),
            (r#"{"error":"e","error_description":"no session"}"#, Some("no session")),
            (r#"{"detail":"no session"}"#, Some("no session")),
            (r#""no session""#, Some("no session")),
            ("no session\n", Some("no session")),
            ("<html>no session</html>", None),
            (r#"{"detail":[1]}"#, None),
            ("", None),
        ] {
            assert_eq!(reason(body.as_bytes()).as_deref(), expected, "{body}");
        }
    }
}
