//! Opens a session: starts the transport, and makes the first exchange.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pleach_http::Headers;
use rmcp::RoleClient;
use rmcp::model::ClientConfig;
use rmcp::service::{ClientInitializeError, RunningService, serve_client};
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};

use super::child::ChildWire;
use super::faults::Faults;
use super::http::HttpWire;
use super::introduction;
use super::notices::Notices;
use super::target::{Target, Way};
use super::wire::Served;
use crate::error::McpError;
use crate::limits::Limits;

/// The parts of a new session.
pub(super) struct Opened {
    pub(super) service: RunningService<RoleClient, ClientConfig>,
    pub(super) notices: Arc<Notices>,
    pub(super) faults: Faults,
}

/// Starts or reaches the server.
///
/// # Cancel safety
/// Dropping the future ends what it has started.
pub(super) async fn open(target: &Arc<Target>, headers: &Headers, limits: &Limits) -> Result<Opened, McpError> {
    let faults = Faults::new(target, headers, limits.message_bytes);
    if Handle::try_current().is_err() {
        return Err(faults.unreachable("it is used outside of a tokio runtime"));
    }
    let notices = Arc::new(Notices::new(limits));
    let begun = begin(Arc::clone(target), headers.clone(), limits.clone(), faults.clone(), Arc::clone(&notices));
    // The session is opened in a task of its own. It outlives the run that needs it first, and must not hold that run's
    // span.
    let task = EndedOnDrop(tokio::spawn(begun));
    match limits.within(limits.connect, task).await {
        None => Err(faults.overdue("open a session", limits.connect, &notices)),
        Some(Err(_)) => Err(faults.unreachable("opening the session panicked")),
        Some(Ok(service)) => Ok(Opened { service: service?, notices, faults }),
    }
}

async fn begin(
    target: Arc<Target>,
    headers: Headers,
    limits: Limits,
    faults: Faults,
    notices: Arc<Notices>,
) -> Result<RunningService<RoleClient, ClientConfig>, McpError> {
    let fault = |error: ClientInitializeError| faults.of_first_exchange(error, &notices);
    match &target.way {
        Way::Command(command) => {
            let wire = ChildWire::start(&target.name, command, faults.secrets(), &limits, &notices)
                .map_err(|reason| McpError::Start { server: target.name(), reason })?;
            serve_client(introduction::of_client(), Served::new(wire, &notices)).await.map_err(fault)
        }
        Way::Http(endpoint, client) => {
            let wire = HttpWire::new(client, endpoint.endpoint.url().as_str(), &headers, &limits, &notices);
            serve_client(introduction::of_client(), Served::new(wire, &notices)).await.map_err(fault)
        }
    }
}

/// A task that is aborted when this handle is dropped.
struct EndedOnDrop<T>(JoinHandle<T>);

impl<T> Future for EndedOnDrop<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for EndedOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
