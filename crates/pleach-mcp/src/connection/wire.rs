//! [`Wire`]: a transport of messages. [`Served`]: adapts it to rmcp, and answers the server's own requests.

use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use pleach_core::BoxFuture;
use rmcp::RoleClient;
use rmcp::model::{
    ClientNotification, ClientRequest, ClientResult, CustomResult, ElicitResult, ElicitationAction, ErrorCode,
    ErrorData, JsonRpcMessage, RequestId, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::json;

use super::incoming::{Answer, Incoming};
use super::introduction;
use super::ledger::Asked;
use super::notices::Notices;

/// A message for the server.
pub(super) type Outgoing = TxJsonRpcMessage<RoleClient>;

/// A transport of messages to and from a server.
pub(super) trait Wire: Send {
    type Error: std::error::Error + Send + Sync + 'static;

    /// Sends a message. Over HTTP, the future completes when the exchange has ended, including its answer.
    fn send(&mut self, message: Outgoing) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static;

    /// Returns the next answer or request; `None` after the server has ended. Notices are handled as they are read,
    /// because rmcp would handle each notice in a task of its own, in any order.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    fn receive(&mut self) -> impl Future<Output = Option<Incoming>> + Send;

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// A [`Wire`] as a transport for rmcp, which gets only answers. Their results are raw JSON, except for the result of
/// the first exchange.
pub(super) struct Served<W> {
    wire: W,
    notices: Arc<Notices>,
    /// The answers to requests of the server that are being sent.
    replies: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl<W: Wire + 'static> Served<W> {
    pub(super) fn new(wire: W, notices: &Arc<Notices>) -> Self {
        Self { wire, notices: Arc::clone(notices), replies: FuturesUnordered::new() }
    }

    fn note_sent(&self, message: &Outgoing) -> Option<i64> {
        match message {
            JsonRpcMessage::Request(request) => {
                let id = number(&request.id)?;
                let asked = match request.request {
                    ClientRequest::InitializeRequest(_) => Asked::Introduction,
                    _ => Asked::Other,
                };
                self.notices.ledger().ask(id, asked);
                Some(id)
            }
            JsonRpcMessage::Notification(notice) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notice.notification
                    && let Some(id) = cancelled.params.request_id.as_ref().and_then(number)
                {
                    self.notices.ledger().forget(id);
                }
                None
            }
            _ => None,
        }
    }

    /// Begins to answer a request of the server.
    fn reply(&mut self, id: RequestId, method: &str) {
        let sent = self.wire.send(reply(id, method));
        let notices = Arc::clone(&self.notices);
        self.replies.push(Box::pin(async move {
            if sent.await.is_err() {
                tracing::debug!("an answer did not reach the MCP server");
            }
            notices.ledger().end_request();
        }));
    }

    /// Returns the message for rmcp, if the request is still waiting.
    fn handed_on(&self, id: i64, answer: Answer) -> Option<RxJsonRpcMessage<RoleClient>> {
        let asked = self.notices.ledger().answered(id)?;
        let request = RequestId::Number(id);
        let error = match answer {
            Answer::Result(result) if asked == Asked::Introduction => match introduction::read(result) {
                Some(result) => return Some(JsonRpcMessage::response(result.into(), request)),
                None => ErrorData::new(ErrorCode::INTERNAL_ERROR, "it gives no result of the first exchange", None),
            },
            Answer::Result(result) => {
                return Some(JsonRpcMessage::response(ServerResult::CustomResult(CustomResult(result)), request));
            }
            Answer::Refused { code, message } => ErrorData::new(ErrorCode(code), message, None),
            Answer::Unusable(unusable) => unusable.mark(id),
        };
        Some(JsonRpcMessage::error(error, Some(request)))
    }
}

impl<W: Wire + 'static> Transport<RoleClient> for Served<W> {
    type Error = W::Error;

    fn send(&mut self, message: Outgoing) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let id = self.note_sent(&message);
        let sent = self.wire.send(message);
        let notices = Arc::clone(&self.notices);
        async move {
            let sent = sent.await;
            if let (Err(_), Some(id)) = (&sent, id) {
                notices.ledger().forget(id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let incoming = {
                let replies = &mut self.replies;
                let received = async {
                    let mut receives = pin!(self.wire.receive());
                    loop {
                        if replies.is_empty() {
                            return receives.await;
                        }
                        match select(receives, replies.next()).await {
                            Either::Left((received, _)) => return received,
                            Either::Right((_, still)) => receives = still,
                        }
                    }
                };
                match select(pin!(received), pin!(self.notices.ended.cancelled())).await {
                    Either::Left((incoming, _)) => incoming,
                    Either::Right(_) => None,
                }
            };
            match incoming {
                None => {
                    self.notices.ended.cancel();
                    return None;
                }
                Some(Incoming::Answer { id, answer }) => {
                    if let Some(message) = self.handed_on(id, answer) {
                        return Some(message);
                    }
                }
                Some(Incoming::Request { id, method }) => self.reply(id, &method),
                Some(Incoming::Notice(_)) => {}
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.notices.ended.cancel();
        self.wire.close()
    }
}

impl<W> Drop for Served<W> {
    fn drop(&mut self) {
        self.notices.ended.cancel();
    }
}

/// Returns the id of a request of this client, which is always a number.
pub(super) fn number(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(id) => Some(*id),
        RequestId::String(_) => None,
    }
}

/// Returns the beginning of a name that a server has chosen.
fn shown(name: &str) -> String {
    name.chars().take(100).collect()
}

/// Returns the answer to a request of a server: pings are answered, the list of roots is empty, and all other requests
/// are declined.
fn reply(id: RequestId, method: &str) -> Outgoing {
    let result = match method {
        "ping" => ClientResult::empty(()),
        "roots/list" => ClientResult::CustomResult(CustomResult(json!({"roots": []}))),
        "elicitation/create" => ClientResult::ElicitResult(ElicitResult::new(ElicitationAction::Decline)),
        method => {
            let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, shown(method), None);
            return JsonRpcMessage::error(error, Some(id));
        }
    };
    JsonRpcMessage::response(result, id)
}
