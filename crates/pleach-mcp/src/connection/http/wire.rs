//! [`HttpWire`]: the messages of a session over HTTP.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{Either, select};
use pleach_http::Headers;
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::exchange::Exchange;
use super::fault::HttpFault;
use super::listen::Listener;
use super::respond::Responses;
use crate::connection::incoming::Incoming;
use crate::connection::notices::Notices;
use crate::connection::wire::{Outgoing, Wire, number};
use crate::limits::Limits;

/// The maximum number of requests of a session in flight. Further requests wait.
const MOST_REQUESTS: usize = 128;

/// The messages of a session.
pub(in crate::connection) struct HttpWire {
    shared: Arc<Shared>,
    /// Requests of the server, and one answer for each waiting request. The server's requests have been counted
    /// already.
    incoming: UnboundedReceiver<Incoming>,
}

struct Shared {
    responses: Arc<Responses>,
    slots: Semaphore,
    /// The tokens that end the exchanges of cancelled requests, by request id.
    under_way: Mutex<HashMap<i64, CancellationToken>>,
    /// Whether the general stream is open, or will be opened again.
    listens: Arc<AtomicBool>,
    closed: CancellationToken,
}

/// The kinds of messages that are sent differently.
enum Kind {
    Request {
        id: i64,
        is_introduction: bool,
    },
    /// The notice that the session has begun.
    Initialized,
    /// The notice that a request is cancelled.
    Cancelled {
        id: Option<i64>,
    },
    Other,
}

impl HttpWire {
    pub(in crate::connection) fn new(
        client: &reqwest::Client,
        url: &str,
        headers: &Headers,
        limits: &Limits,
        notices: &Arc<Notices>,
    ) -> Self {
        let (sender, incoming) = unbounded_channel();
        let shared = Shared {
            responses: Arc::new(Responses::new(client, url, headers, limits, notices, sender)),
            slots: Semaphore::new(MOST_REQUESTS),
            under_way: Mutex::default(),
            listens: Arc::default(),
            closed: CancellationToken::new(),
        };
        Self { shared: Arc::new(shared), incoming }
    }
}

impl Wire for HttpWire {
    type Error = HttpFault;

    fn send(&mut self, message: Outgoing) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let shared = Arc::clone(&self.shared);
        async move { shared.send(message).await }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.shared.closed.cancel();
        self.shared.responses.delete().await
    }
}

impl Drop for HttpWire {
    fn drop(&mut self) {
        self.shared.closed.cancel();
    }
}

impl Shared {
    async fn send(self: Arc<Self>, message: Outgoing) -> Result<(), HttpFault> {
        let kind = kind(&message);
        let message = serde_json::to_vec(&message).map_err(|error| HttpFault::Broken(error.to_string()))?;
        match kind {
            Kind::Request { id, is_introduction } => self.ask(id, is_introduction, message).await,
            Kind::Initialized => {
                self.tell(message).await?;
                if self.responses.has_session() {
                    self.listen();
                }
                Ok(())
            }
            Kind::Cancelled { id } => {
                let told = self.tell(message).await;
                // The stream of the answer stays open until the server has got the notice.
                if let Some(given_up) = id.and_then(|id| self.under_way().remove(&id)) {
                    given_up.cancel();
                }
                told
            }
            Kind::Other => self.tell(message).await,
        }
    }

    async fn ask(&self, id: i64, is_introduction: bool, message: Vec<u8>) -> Result<(), HttpFault> {
        let given_up = self.closed.child_token();
        self.under_way().insert(id, given_up.clone());
        let (responses, listens) = (Arc::clone(&self.responses), Arc::clone(&self.listens));
        let exchange = Exchange { responses, id, is_introduction, listens };
        let run = async {
            let _slot = self.slots.acquire().await;
            exchange.run(message).await
        };
        let ended = match select(pin!(run), pin!(given_up.cancelled())).await {
            Either::Left((ended, _)) => ended,
            Either::Right(_) => Ok(()),
        };
        self.under_way().remove(&id);
        ended
    }

    /// Posts a message that gets no answer.
    async fn tell(&self, message: Vec<u8>) -> Result<(), HttpFault> {
        let told = async {
            let mut response = self.responses.post(message).await?;
            if response.status().is_success() {
                return Ok(());
            }
            let fault = self.responses.refusal(&mut response).await.1;
            if fault.is_of_session() {
                self.responses.notices.note_forgotten();
            }
            Err(fault)
        };
        let limit = self.responses.limits.list;
        let late = || Err(HttpFault::NoAnswer("did not take a message in time"));
        self.responses.limits.within(limit, told).await.unwrap_or_else(late)
    }

    /// Opens the general stream, in a task that ends with the session.
    fn listen(&self) {
        self.listens.store(true, Ordering::Release);
        let (listener, listens) = (Listener::new(&self.responses), Arc::clone(&self.listens));
        let closed = self.closed.clone();
        tokio::spawn(async move {
            select(pin!(listener.run()), pin!(closed.cancelled())).await;
            listens.store(false, Ordering::Release);
        });
    }

    fn under_way(&self) -> std::sync::MutexGuard<'_, HashMap<i64, CancellationToken>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kind(message: &Outgoing) -> Kind {
    match message {
        JsonRpcMessage::Request(request) => match number(&request.id) {
            Some(id) => {
                let is_introduction = matches!(request.request, ClientRequest::InitializeRequest(_));
                Kind::Request { id, is_introduction }
            }
            None => Kind::Other,
        },
        JsonRpcMessage::Notification(notice) => match &notice.notification {
            ClientNotification::InitializedNotification(_) => Kind::Initialized,
            ClientNotification::CancelledNotification(cancelled) => {
                Kind::Cancelled { id: cancelled.params.request_id.as_ref().and_then(number) }
            }
            _ => Kind::Other,
        },
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Kind::Other,
    }
}
