//! Opening a session: the transport, and the first exchange.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rmcp::RoleClient;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientInitializeError, RunningService, serve_client};
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};

use super::child::ChildTransport;
use super::faults::Faults;
use super::notices::{Noted, Notices};
use super::target::{Target, Way};
use crate::endpoint::Headers;
use crate::error::McpError;
use crate::limits::Limits;

/// What a session is made of.
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
    let notices = Arc::new(Notices::default());
    let begun = begin(Arc::clone(target), headers.clone(), limits.clone(), faults.clone(), Arc::clone(&notices));
    // A task of its own: the session outlives the run that needs it first, and must not hold that run's span.
    let task = EndedOnDrop(tokio::spawn(begun));
    match limits.within(limits.connect, task).await {
        None => Err(McpError::Timeout { server: target.name(), what: "open a session", limit: limits.connect }),
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
            let transport = ChildTransport::start(&target.name, command, faults.secrets(), &limits, &notices)
                .map_err(|reason| McpError::Start { server: target.name(), reason })?;
            let noted = Noted { transport, notices: Arc::clone(&notices) };
            serve_client(introduction(), noted).await.map_err(fault)
        }
        Way::Http(endpoint, client) => {
            let transport = client.transport(endpoint.url.as_str(), &headers, &limits, &notices);
            let noted = Noted { transport, notices: Arc::clone(&notices) };
            serve_client(introduction(), noted).await.map_err(fault)
        }
    }
}

/// What the server learns of its client.
fn introduction() -> ClientConfig {
    let client = Implementation::new("pleach", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), client)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

/// A task that ends when nothing waits for it.
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
