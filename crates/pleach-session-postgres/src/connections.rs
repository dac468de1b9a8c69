//! The connections of a service: opened when needed, lent for one operation, replaced when they break.
//!
//! Not sqlx's pool: that one sends a ping whenever a connection comes back, which costs an append a fifth of its speed. A
//! broken connection is noticed here by the operation that meets it, and every operation can be repeated.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pleach_session::{SessionError, SessionResult};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout_at;

use crate::address::Address;
use crate::connect_retry::ConnectRetry;
use crate::fault::{Fault, Server, Trouble};
use crate::in_flight::{InFlight, Operation};
use crate::options::PostgresOptions;
use crate::secure::Secure;

/// One operation, which may be asked for again on another connection.
pub(crate) trait Ask: Send + Sync {
    type Answer: Send;

    /// Carries it out. `again` says that an earlier attempt lost its connection and may have been carried out.
    fn ask(
        &self,
        connection: &mut PgConnection,
        again: bool,
    ) -> impl Future<Output = Result<Self::Answer, Trouble>> + Send;
}

/// The connections to one database; clones share them.
#[derive(Clone)]
pub(crate) struct Connections {
    shared: Arc<Shared>,
}

struct Shared {
    secure: Secure,
    server: Server,
    size: u32,
    /// What one operation may take: waiting for a connection, every attempt and the pauses between them.
    acquire_timeout: Duration,
    /// One permit per connection that may be open; waiters are served in order.
    permits: Arc<Semaphore>,
    /// Connections nobody uses; the last one back is the first one out, so that few are used when few are needed.
    idle: Mutex<Vec<PgConnection>>,
    in_flight: InFlight,
}

impl Connections {
    pub(crate) fn new(address: Address, options: &PostgresOptions) -> Self {
        let size = address.connections.unwrap_or(options.connections).max(1);
        let mut secure = address.secure;
        secure.connect = secure.connect.disable_statement_logging();
        let permits = Arc::new(Semaphore::new(size as usize));
        let acquire_timeout = address.operation_timeout.unwrap_or(options.acquire_timeout);
        let server = address.server;
        let (idle, in_flight) = (Mutex::default(), InFlight::default());
        Self { shared: Arc::new(Shared { secure, server, size, acquire_timeout, permits, idle, in_flight }) }
    }

    pub(crate) fn acquire_timeout(&self) -> Duration {
        self.shared.acquire_timeout
    }

    pub(crate) fn server(&self) -> &Server {
        &self.shared.server
    }

    /// Opens a connection for work that takes long and keeps none of the others from theirs.
    pub(crate) async fn open(&self) -> sqlx::Result<PgConnection> {
        self.shared.secure.open().await
    }

    /// Carries out a load in the caller's own time. Dropping the future costs a connection, nothing else.
    ///
    /// It does not overtake what callers that went away have left behind: whoever drops a run and starts it again finds
    /// all that was under way, whose deadline is before this one's.
    pub(crate) async fn ask<A: Ask>(&self, ask: &A) -> SessionResult<A::Answer> {
        let retry = ConnectRetry::new(self.shared.acquire_timeout);
        self.shared.in_flight.wait_for_abandoned().await;
        self.ask_for(retry, ask).await
    }

    /// Carries out an operation with its own deadline and retries.
    pub(crate) async fn ask_for<A: Ask>(&self, retry: ConnectRetry, ask: &A) -> SessionResult<A::Answer> {
        let _operation = self.begin()?;
        let permit = self.permit(&retry).await?;
        self.ask_with(permit, ask, retry).await
    }

    /// Carries out an operation to its end, even when the caller's future is dropped meanwhile.
    pub(crate) async fn ask_to_the_end<A: Ask + 'static>(&self, ask: A) -> SessionResult<A::Answer> {
        let retry = ConnectRetry::new(self.shared.acquire_timeout);
        let operation = self.begin()?;
        let permit = self.permit(&retry).await?;
        let (own, _caller) = (self.clone(), operation.caller());
        let task = tokio::spawn(async move {
            let _operation = operation;
            own.ask_with(permit, &ask, retry).await
        });
        task.await.unwrap_or_else(|_| Err(self.server().unavailable("the runtime is shutting down")))
    }

    async fn ask_with<A: Ask>(
        &self,
        _permit: OwnedSemaphorePermit,
        ask: &A,
        mut retry: ConnectRetry,
    ) -> SessionResult<A::Answer> {
        let mut again = false;
        loop {
            let Ok(outcome) = timeout_at(retry.deadline, self.attempt(ask, again)).await else {
                // Its connection went with the attempt: the answer may still come. The others may be as deaf.
                self.idle().clear();
                return Err(self.server().unavailable("it did not answer in time"));
            };
            let error = match outcome {
                Ok(answer) => return Ok(answer),
                Err(Trouble::Answer(error)) => return Err(error),
                Err(Trouble::Sql(error)) => error,
            };
            let fault = Fault::of(&error);
            again |= fault == Fault::Lost;
            if !fault.is_passing() || !retry.wait().await {
                return Err(self.server().fault(error));
            }
        }
    }

    async fn attempt<A: Ask>(&self, ask: &A, again: bool) -> Result<A::Answer, Trouble> {
        let idle = self.idle().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.shared.secure.open().await?,
        };
        let outcome = ask.ask(&mut connection, again).await;
        match &outcome {
            // What broke this one has most likely broken the others.
            Err(Trouble::Sql(error)) if Fault::of(error) == Fault::Lost => self.idle().clear(),
            _ => self.idle().push(connection),
        }
        outcome
    }

    fn begin(&self) -> SessionResult<Operation> {
        self.shared.in_flight.begin().ok_or_else(|| self.closed())
    }

    fn closed(&self) -> SessionError {
        self.server().unavailable("the session service is closed")
    }

    async fn permit(&self, retry: &ConnectRetry) -> SessionResult<OwnedSemaphorePermit> {
        match timeout_at(retry.deadline, self.shared.permits.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            // The semaphore itself is never closed.
            _ => Err(self.server().unavailable("no connection became free in time")),
        }
    }

    /// Waits until every operation that was started before is done.
    pub(crate) async fn flush(&self) -> SessionResult<()> {
        if self.shared.in_flight.until_done().await { Ok(()) } else { Err(self.closed()) }
    }

    /// Refuses what is new, waits for what was started, then closes; closing twice is fine.
    pub(crate) async fn close(&self) {
        self.shared.in_flight.close().await;
        let idle = std::mem::take(&mut *self.idle());
        for connection in idle {
            // Nothing is left to lose: every answer given was given after its commit.
            let _ = connection.close().await;
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<PgConnection>> {
        // A list of connections is whole whatever happened to the thread that held it.
        self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without the connection's settings: they hold the password.
impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("server", &self.shared.server).field("size", &self.shared.size).finish()
    }
}
