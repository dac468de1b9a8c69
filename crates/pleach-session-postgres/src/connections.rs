//! The connections of a service: opened on demand, lent for one operation, replaced if they break.
//!
//! This is not sqlx's pool, which sends a ping whenever a connection is returned and so slows an append down by a
//! fifth. Here the next operation on a broken connection detects the fault, and every operation can be repeated.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pleach_session::{SessionError, SessionResult};
use sqlx::ConnectOptions as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout_at;

use crate::address::Address;
use crate::connect_retry::ConnectRetry;
use crate::fault::{Fault, Server, Trouble};
use crate::in_flight::{InFlight, Operation};
use crate::lent::Lent;
use crate::options::PostgresOptions;
use crate::pooling::{self, Pooling};
use crate::refusal::Refusal;
use crate::secure::Secure;
use crate::settings::Opening;

/// An operation, which can be repeated on another connection.
pub(crate) trait Ask: Send + Sync {
    type Answer: Send;

    /// Executes the operation. `again` is `true` if an earlier attempt lost its connection and may have been executed.
    fn ask(&self, connection: &mut Lent, again: bool) -> impl Future<Output = Result<Self::Answer, Trouble>> + Send;
}

/// The connections to one database; clones share them.
#[derive(Clone)]
pub(crate) struct Connections {
    shared: Arc<Shared>,
}

struct Shared {
    address: Address,
    /// The statement that begins each transaction through a pooler.
    opening: Opening,
    pooling: Mutex<Pooling>,
    size: u32,
    /// The time limit of one operation: waiting for a connection, all attempts and the pauses between them.
    acquire_timeout: Duration,
    /// One permit per connection. Waiters are served in order.
    permits: Arc<Semaphore>,
    /// Idle connections. The last one returned is used first, so that a small load uses few of them.
    idle: Mutex<Vec<Lent>>,
    in_flight: InFlight,
}

impl Connections {
    pub(crate) fn new(mut address: Address, options: &PostgresOptions) -> Self {
        let size = address.connections.unwrap_or(options.connections).max(1);
        for secure in [&mut address.secure, &mut address.pooled] {
            secure.connect = secure.connect.clone().disable_statement_logging();
        }
        let opening = Opening::new(&address.settings, options.read_only);
        if options.read_only {
            let setting = ("default_transaction_read_only", "on");
            address.secure.connect = address.secure.connect.options([setting]);
            address.settings.values.push((setting.0.to_owned(), setting.1.to_owned()));
        }
        let permits = Arc::new(Semaphore::new(size as usize));
        let acquire_timeout = address.operation_timeout.unwrap_or(options.acquire_timeout);
        let pooling = Mutex::new(address.pooling.unwrap_or(Pooling::Session));
        let idle = Mutex::default();
        let in_flight = InFlight::default();
        Self { shared: Arc::new(Shared { address, opening, pooling, size, acquire_timeout, permits, idle, in_flight }) }
    }

    pub(crate) fn acquire_timeout(&self) -> Duration {
        self.shared.acquire_timeout
    }

    pub(crate) fn server(&self) -> &Server {
        &self.shared.address.server
    }

    /// Finds out whether connections have sessions of their own, unless the URL says so.
    ///
    /// # Errors
    /// The server cannot be reached, or has a setting that a pooler in its mode cannot have.
    pub(crate) async fn find_pooling(&self) -> SessionResult<()> {
        let Shared { address, .. } = &*self.shared;
        if address.pooling.is_some() {
            return Ok(());
        }
        let retry = ConnectRetry::once(self.shared.acquire_timeout);
        let found = timeout_at(retry.deadline, pooling::find(&address.secure, &address.settings)).await;
        let found = found.map_err(|_| self.server().unavailable("it did not answer in time"))?;
        let (pooling, connection) = found.map_err(|error| self.server().fault(error))?;
        if pooling == Pooling::Transaction {
            address.check_settings_of_transactions()?;
            tracing::info!(server = %self.server(), "a pooler lends the sessions of this server for one transaction at a time");
        }
        *self.pooling() = pooling;
        self.idle().extend(connection.map(Lent::with_session));
        Ok(())
    }

    async fn open(&self) -> sqlx::Result<Lent> {
        self.open_with(&self.shared.address.secure).await
    }

    /// Opens an extra connection for work that takes long, so that the others stay available. If the connection has a
    /// session of its own, the session begins without time limits. They are not lifted later, because such a setting
    /// would stay in the session of an undetected pooler.
    pub(crate) async fn open_for_long_work(&self) -> sqlx::Result<Lent> {
        let mut unlimited = self.shared.address.secure.clone();
        unlimited.connect = unlimited.connect.options([("statement_timeout", "0"), ("lock_timeout", "0")]);
        match self.open_with(&unlimited).await {
            Err(error) if Fault::of(&error) == Fault::Refused(Refusal::Parameter) => self.open().await,
            opened => opened,
        }
    }

    async fn open_with(&self, secure: &Secure) -> sqlx::Result<Lent> {
        let Shared { address, opening, .. } = &*self.shared;
        let pooling = *self.pooling();
        match pooling {
            Pooling::Session => secure.open().await.map(Lent::with_session),
            Pooling::Transaction => {
                let connection = address.pooled.open().await?;
                Ok(Lent::pooled(connection, opening.clone()))
            }
        }
    }

    /// Executes a load in the caller's task. Dropping the future closes a connection and has no other effect.
    ///
    /// It first waits for operations whose callers have gone away; their deadlines come before its own. So a caller
    /// that drops a run and starts it again sees everything that was in flight.
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

    /// Executes an operation to its end, even if the caller's future is dropped.
    pub(crate) async fn ask_to_completion<A: Ask + 'static>(&self, ask: A) -> SessionResult<A::Answer> {
        let retry = ConnectRetry::new(self.shared.acquire_timeout);
        let operation = self.begin()?;
        let permit = self.permit(&retry).await?;
        let own = self.clone();
        let _caller = operation.caller();
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
                // The attempt's connection is dropped with it, because the answer may still come. The idle
                // connections may be unresponsive as well.
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
            if fault == Fault::Pooled {
                self.give_up_sessions()?;
            }
            if !fault.is_passing() || !retry.wait().await {
                return Err(self.server().fault(error));
            }
        }
    }

    async fn attempt<A: Ask>(&self, ask: &A, again: bool) -> Result<A::Answer, Trouble> {
        let idle = self.idle().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.open().await?,
        };
        let outcome = ask.ask(&mut connection, again).await;
        match &outcome {
            // The cause has most likely broken the other connections as well.
            Err(Trouble::Sql(error)) if Fault::of(error) == Fault::Lost => self.idle().clear(),
            Err(Trouble::Sql(error)) if Fault::of(error) == Fault::Pooled => {}
            _ => {
                if connection.settle().await.is_ok() {
                    self.give_back(connection);
                }
            }
        }
        outcome
    }

    /// Keeps a connection for the next operation, unless the service has changed the way it uses connections since this
    /// one was lent.
    fn give_back(&self, connection: Lent) {
        // Hold the lock, so that no switch happens in between: a switch clears the idle connections after it has set
        // the mode.
        let pooling = self.pooling();
        if connection.is_pooled() == (*pooling == Pooling::Transaction) {
            self.idle().push(connection);
        }
    }

    /// From now on, uses connections as if a pooler in transaction mode were in front of the server.
    pub(crate) fn give_up_sessions(&self) -> SessionResult<()> {
        self.shared.address.check_settings_of_transactions()?;
        let before = std::mem::replace(&mut *self.pooling(), Pooling::Transaction);
        if before == Pooling::Session {
            self.idle().clear();
            tracing::warn!(
                server = %self.server(),
                "a prepared statement was lost, because a pooler lends the sessions of this server for one transaction at a time; \
                 put `pooler=transaction` into the URL"
            );
        }
        Ok(())
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

    /// Waits until every operation that started earlier has ended.
    pub(crate) async fn flush(&self) -> SessionResult<()> {
        if self.shared.in_flight.until_done().await { Ok(()) } else { Err(self.closed()) }
    }

    /// Refuses new operations, waits for those in flight, then closes the connections. Closing twice is allowed.
    pub(crate) async fn close(&self) {
        self.shared.in_flight.close().await;
        let idle = std::mem::take(&mut *self.idle());
        for connection in idle {
            // Nothing is lost, because every answer was sent after its commit.
            let _ = connection.close().await;
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Lent>> {
        // A panic elsewhere leaves the list of connections intact.
        self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pooling(&self) -> MutexGuard<'_, Pooling> {
        self.shared.pooling.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Omits the connection's settings, because they hold the password.
impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.shared.size;
        let pooling = *self.pooling();
        let mut connections = f.debug_struct("Connections");
        connections.field("server", self.server()).field("size", &size).field("pooling", &pooling).finish()
    }
}

#[cfg(test)]
mod tests {
    use pleach_contract::own_tests::Schema;

    use super::*;

    /// An operation in progress while another one detects a pooler.
    struct Switched<'c>(&'c Connections);

    impl Ask for Switched<'_> {
        type Answer = bool;

        async fn ask(&self, connection: &mut Lent, _: bool) -> Result<bool, Trouble> {
            self.0.give_up_sessions()?;
            sqlx::raw_sql("SELECT 1").execute(&mut *connection).await?;
            Ok(connection.is_pooled())
        }
    }

    #[tokio::test]
    async fn a_connection_that_was_lent_before_a_switch_is_not_used_after_it() {
        let Some(schema) = Schema::for_test().await else { return };
        let address = Address::parse(&schema.url()).unwrap();
        let connections = Connections::new(address, &PostgresOptions::new());
        assert!(!connections.ask(&Switched(&connections)).await.unwrap(), "it was opened with a session");
        assert!(connections.idle().is_empty());
        for _ in 0..2 {
            assert!(connections.ask(&Switched(&connections)).await.unwrap());
            assert!(connections.idle().iter().all(Lent::is_pooled));
            assert_eq!(connections.idle().len(), 1, "one of the right kind is kept");
        }
    }
}
