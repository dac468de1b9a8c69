//! The connections of a service: opened on demand, lent for one operation, replaced when they break.
//!
//! Not sqlx's pool, which sends a ping whenever a connection is returned and makes an append slower by a fifth. Here a broken
//! connection is detected by the next operation on it, and every operation can be repeated.

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

/// One operation, which can be repeated on another connection.
pub(crate) trait Ask: Send + Sync {
    type Answer: Send;

    /// Executes it. `again` is true when an earlier attempt lost its connection and may have been executed.
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
    /// The time limit of one operation: waiting for a connection, all attempts and the pauses between them.
    acquire_timeout: Duration,
    /// One permit per connection; waiters are served in order.
    permits: Arc<Semaphore>,
    /// Idle connections, used last in, first out, so that a small load uses few of them.
    idle: Mutex<Vec<PgConnection>>,
    in_flight: InFlight,
}

impl Connections {
    pub(crate) fn new(address: Address, options: &PostgresOptions) -> Self {
        let size = address.connections.unwrap_or(options.connections).max(1);
        let mut secure = address.secure;
        secure.connect = secure.connect.disable_statement_logging();
        if options.read_only {
            secure.connect = secure.connect.options([("default_transaction_read_only", "on")]);
        }
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

    /// Opens an extra connection for work that takes long, so that the others stay available.
    pub(crate) async fn open(&self) -> sqlx::Result<PgConnection> {
        self.shared.secure.open().await
    }

    /// Executes a load in the caller's task. Dropping the future costs a connection, nothing else.
    ///
    /// It first waits for operations whose callers have gone: a caller that drops a run and starts it again sees everything that
    /// was in flight, whose deadline is before this one's.
    pub(crate) async fn ask<A: Ask>(&self, ask: &A) -> SessionResult<A::Answer> {
        let retry = ConnectRetry::new(self.shared.acquire_timeout);
        self.shared.in_flight.wait_for_abandoned().await;
        self.ask_for(retry, ask).await
    }

    /// Executes an operation with its own deadline and retries.
    pub(crate) async fn ask_for<A: Ask>(&self, retry: ConnectRetry, ask: &A) -> SessionResult<A::Answer> {
        let _operation = self.begin()?;
        let permit = self.permit(&retry).await?;
        self.ask_with(permit, ask, retry).await
    }

    /// Executes an operation to its end, even when the caller's future is dropped.
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
                // The attempt's connection is dropped with it, because the answer may still come. The others may be unresponsive, too.
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
            // The cause has most likely broken the other connections, too.
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

    /// Waits until every operation that was started before has ended.
    pub(crate) async fn flush(&self) -> SessionResult<()> {
        if self.shared.in_flight.until_done().await { Ok(()) } else { Err(self.closed()) }
    }

    /// Refuses new operations, waits for those in flight, then closes. Closing twice is allowed.
    pub(crate) async fn close(&self) {
        self.shared.in_flight.close().await;
        let idle = std::mem::take(&mut *self.idle());
        for connection in idle {
            // Nothing is lost: every answer was given after its commit.
            let _ = connection.close().await;
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<PgConnection>> {
        // A panic elsewhere leaves the list of connections whole.
        self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without the connection's settings: they hold the password.
impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("server", &self.shared.server).field("size", &self.shared.size).finish()
    }
}
