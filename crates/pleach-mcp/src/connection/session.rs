//! [`Session`]: one connection with a server, from the first exchange to its end.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use pleach_core::{Clock, Map};
use pleach_http::within;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientConfig, ClientRequest, ListToolsRequest, PaginatedRequestParams,
    PingRequest, ServerCapabilities,
};
use rmcp::service::{Peer, RunningService, ServiceError};
use serde_json::Value;

use super::faults::Faults;
use super::incoming::Report;
use super::kept_list::KeptList;
use super::notices::Notices;
use super::open::Opened;
use super::pages::{Next, Pages, Reading};
use super::request::Sent;
use crate::declared::{Listed, ListedTool};
use crate::error::McpError;
use crate::limits::Limits;

/// The time limit for ending a session. Ending a child takes three seconds at most.
const CLOSE: Duration = Duration::from_secs(6);

/// The time limit for a ping, which is sent if the server did not answer the last request in time.
const PING: Duration = Duration::from_secs(5);

/// A connection with a server on which both have agreed on a version of the protocol.
pub(crate) struct Session {
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, ClientConfig>>>,
    notices: Arc<Notices>,
    faults: Faults,
    limits: Limits,
    /// The time when the session began, by the clock.
    pub(super) began: f64,
    /// Whether a request was not answered in time and no request has been answered since.
    is_silent: AtomicBool,
    /// Whether a request has been answered.
    has_answered: AtomicBool,
    tools: Mutex<Option<KeptList>>,
}

impl Session {
    pub(super) fn new(opened: Opened, limits: &Limits) -> Self {
        let Opened { service, notices, faults } = opened;
        Self {
            peer: service.peer().clone(),
            service: Mutex::new(Some(service)),
            notices,
            faults,
            limits: limits.clone(),
            began: limits.clock.now(),
            is_silent: AtomicBool::new(false),
            has_answered: AtomicBool::new(false),
            tools: Mutex::default(),
        }
    }

    /// Returns true if a request can be sent.
    pub(super) fn is_alive(&self) -> bool {
        self.notices.is_open() && !self.peer.is_transport_closed()
    }

    /// Returns true if the server answered in the session and then forgot it, because it was restarted. This is not a
    /// failure to reach the server.
    pub(super) fn was_forgotten(&self) -> bool {
        self.notices.is_forgotten() && self.has_answered.load(Ordering::Acquire)
    }

    /// Returns true if the session can be used. If the server did not answer the last request in time, pings it first.
    /// The session cannot be used if the server hangs.
    pub(super) async fn answers(&self) -> bool {
        if !self.is_silent.load(Ordering::Acquire) {
            return true;
        }
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answered = async { Sent::new(&self.peer, ping).await?.answer().await };
        let pinged = self.within("answer a ping", PING.min(self.limits.list), &self.limits.clock, answered).await;
        let is_gone = matches!(pinged, Err(McpError::Timeout { .. } | McpError::Unfinished { .. }));
        if is_gone {
            self.notices.note_broken();
        }
        !is_gone && self.is_alive()
    }

    /// Returns true if the server has the capability that `chosen` selects.
    pub(crate) fn has<T>(&self, chosen: fn(&ServerCapabilities) -> &Option<T>) -> bool {
        self.peer.peer_info().is_none_or(|info| chosen(&info.capabilities).is_some())
    }

    /// Calls a tool. `clock` is the invocation's clock, which limits the call.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call at the server.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map,
        clock: &dyn Clock,
        mut report: impl FnMut(Report),
    ) -> Result<Value, McpError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let answered = async {
            let mut sent = Sent::new(&self.peer, request).await?;
            let Some(token) = sent.progress_token() else { return sent.answer().await };
            let mut reports = self.notices.watch(token);
            loop {
                // Reports that came before the answer are passed on before it.
                match select(pin!(reports.next()), pin!(sent.answer())).await {
                    Either::Left((Some(next), _)) => report(next),
                    Either::Left((None, answer)) => return answer.await,
                    Either::Right((answer, _)) => return answer,
                }
            }
        };
        self.within("answer the call", self.limits.call, clock, answered).await
    }

    /// Sends a request other than a call.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request at the server.
    pub(crate) async fn ask(&self, what: &'static str, request: ClientRequest) -> Result<Value, McpError> {
        let answered = async { Sent::new(&self.peer, request).await?.answer().await };
        self.within(what, self.limits.list, &self.limits.clock, answered).await
    }

    /// Reads all pages of a list. An unreadable page ends the list. If it is the first page, the result is an error.
    pub(crate) async fn list<T>(
        &self,
        request: fn(PaginatedRequestParams) -> ClientRequest,
        reading: &Reading<T>,
    ) -> Result<Vec<T>, McpError> {
        let read = async {
            let mut pages = Pages::new(self.faults.name(), reading);
            let mut cursor = None;
            loop {
                let params = PaginatedRequestParams::default().with_cursor(cursor.take());
                let answer = Sent::new(&self.peer, request(params)).await?.answer().await;
                let next = answer.and_then(|page| pages.take(&page).map_err(|_| ServiceError::UnexpectedResponse));
                match next {
                    Ok(Next::Page(next)) => cursor = Some(next),
                    Ok(Next::End) => return Ok(pages.into_entries()),
                    Err(ServiceError::McpError(_) | ServiceError::UnexpectedResponse) if !pages.is_at_start() => {
                        pages.warn(
                            "the MCP server's list has a page that cannot be read: only the pages before it are used",
                        );
                        return Ok(pages.into_entries());
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        self.within(reading.what, self.limits.list, &self.limits.clock, read).await
    }

    /// Returns the tools of the server. They are listed again only after it has reported a change.
    pub(crate) async fn tools(&self, declare: impl FnOnce(Vec<ListedTool>) -> Listed) -> Result<Listed, McpError> {
        let version = self.notices.list_version();
        let kept = self.kept_tools();
        if let Some(listed) = kept.as_ref().and_then(|kept| kept.current(version, self.limits.clock.now())) {
            return Ok(Arc::clone(listed));
        }
        let request = |params| ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
        let reading = Reading { what: "list its tools", key: "tools", entry: ListedTool::read };
        let listed = declare(self.list(request, &reading).await?);
        let kept = KeptList::after(kept.as_ref(), version, Arc::clone(&listed), self.limits.clock.now());
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        Ok(listed)
    }

    fn kept_tools(&self) -> Option<KeptList> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for an answer until the limit is over or the session ends.
    async fn within<T>(
        &self,
        what: &'static str,
        limit: Duration,
        clock: &dyn Clock,
        answered: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, McpError> {
        let open = async {
            match select(pin!(answered), pin!(self.notices.ended.cancelled())).await {
                Either::Left((answer, _)) => answer,
                Either::Right(_) => Err(ServiceError::TransportClosed),
            }
        };
        let answer = within(clock.sleep(limit), open).await;
        self.is_silent.store(answer.is_none(), Ordering::Release);
        let Some(answer) = answer else {
            return Err(self.faults.overdue(what, limit, &self.notices));
        };
        self.has_answered.fetch_or(answer.is_ok(), Ordering::AcqRel);
        answer.map_err(|error| {
            let (error, is_broken) = self.faults.of_request(error, &self.notices);
            if is_broken {
                self.notices.note_broken();
            }
            error
        })
    }

    /// Ends the session and everything that it has started.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the rest of the work to a task.
    pub(super) async fn close(&self) {
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut service) = service else { return };
        if self.limits.within(CLOSE, service.close()).await.is_none() {
            tracing::warn!(server = self.faults.name(), "closing the session with the MCP server takes too long");
        }
    }
}
