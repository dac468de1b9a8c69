//! [`Lent`]: a connection as an operation uses it, with or without a pooler.
//!
//! Through a pooler in transaction mode, the server's session changes between two transactions. The driver parses a
//! statement in one round trip and executes it in the next. So every statement gets a transaction of its own, unless
//! the operation has begun one. Nothing that a session keeps is used: statements have no names, and settings last only
//! until the end of the transaction.

use std::fmt;

use async_stream::try_stream;
use futures_util::TryStreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgQueryResult, PgRow, PgStatement, PgTypeInfo, Postgres};
use sqlx::{AssertSqlSafe, Connection as _, Either, Execute, Executor, PgConnection, SqlStr};

use crate::fault::Fault;
use crate::settings::Opening;

/// A connection, lent for one operation.
pub(crate) struct Lent {
    connection: PgConnection,
    session: Session,
    transaction: Transaction,
}

/// The owner of the server's session.
enum Session {
    /// The connection owns the session, as long as it is open.
    Own,
    /// A pooler owns the session and lends it for one transaction at a time. Each transaction begins with this text.
    Pooled(Opening),
}

/// Whether [`Lent`] has begun a transaction that is still open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transaction {
    None,
    Open,
}

impl Lent {
    /// Wraps a connection that has a session of its own.
    pub(crate) fn with_session(connection: PgConnection) -> Self {
        Self { connection, session: Session::Own, transaction: Transaction::None }
    }

    /// Wraps a connection to a pooler.
    pub(crate) fn pooled(connection: PgConnection, opening: Opening) -> Self {
        Self { connection, session: Session::Pooled(opening), transaction: Transaction::None }
    }

    pub(crate) fn is_pooled(&self) -> bool {
        matches!(self.session, Session::Pooled(_))
    }

    /// Begins a transaction, and executes `settings` in the same round trip.
    pub(crate) async fn begin(&mut self, settings: &'static str) -> sqlx::Result<()> {
        let opening = match &self.session {
            Session::Own => "BEGIN;",
            Session::Pooled(opening) => opening.text(),
        };
        let text = AssertSqlSafe([opening, settings].join(" "));
        // Set this before the answer comes: the transaction may be open even if the setting after it failed.
        self.transaction = Transaction::Open;
        sqlx::raw_sql(text).execute(&mut self.connection).await?;
        Ok(())
    }

    pub(crate) async fn commit(&mut self) -> sqlx::Result<()> {
        self.end("COMMIT").await
    }

    pub(crate) async fn roll_back(&mut self) -> sqlx::Result<()> {
        self.end("ROLLBACK").await
    }

    async fn end(&mut self, text: &'static str) -> sqlx::Result<()> {
        sqlx::raw_sql(text).execute(&mut self.connection).await?;
        self.transaction = Transaction::None;
        Ok(())
    }

    /// Ends a transaction that an operation has left open, because it would keep its locks and a pooler's session.
    pub(crate) async fn settle(&mut self) -> sqlx::Result<()> {
        match self.transaction {
            Transaction::None => Ok(()),
            Transaction::Open => self.roll_back().await,
        }
    }

    /// Executes a statement that must not be in a transaction. Through a pooler, the settings of the URL do not apply
    /// to it.
    pub(crate) async fn execute_alone(&mut self, text: String) -> sqlx::Result<()> {
        sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut self.connection).await.map(drop)
    }

    pub(crate) async fn close(self) -> sqlx::Result<()> {
        self.connection.close().await
    }

    /// Executes a statement in a transaction of its own.
    fn fetch_in_transaction<'e, 'c: 'e, 'q: 'e, E>(&'c mut self, query: Unnamed<E>) -> Answers<'e>
    where
        E: 'q + Execute<'q, Postgres>,
    {
        Box::pin(try_stream! {
            let mut outcome = self.begin("").await;
            if outcome.is_ok() {
                let mut answers = self.connection.fetch_many(query);
                loop {
                    match answers.try_next().await {
                        Ok(Some(answer)) => yield answer,
                        Ok(None) => break,
                        Err(error) => {
                            outcome = Err(error);
                            break;
                        }
                    }
                }
            }
            let end = match &outcome {
                Ok(()) => self.commit().await,
                // The connection is gone, and the transaction with it.
                Err(error) if Fault::of(error) == Fault::Lost => Ok(()),
                // If this fails, the transaction is treated as open, and the connection is not used again.
                Err(_) => self.roll_back().await.or(Ok(())),
            };
            outcome.and(end)?;
        })
    }
}

/// The result of a statement: its rows, and the number of rows that it wrote.
type Answers<'e> = BoxStream<'e, sqlx::Result<Either<PgQueryResult, PgRow>>>;

impl<'c> Executor<'c> for &'c mut Lent {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> Answers<'e>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        match (&self.session, self.transaction) {
            (Session::Own, _) => self.connection.fetch_many(query),
            (Session::Pooled(_), Transaction::Open) => self.connection.fetch_many(Unnamed(query)),
            (Session::Pooled(_), Transaction::None) => self.fetch_in_transaction(Unnamed(query)),
        }
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, sqlx::Result<Option<PgRow>>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let rows = self.fetch(query);
        // Fetch to the end, because the commit comes after the rows.
        Box::pin(async move { Ok(rows.try_collect::<Vec<_>>().await?.into_iter().next()) })
    }

    fn prepare_with<'e>(self, text: SqlStr, types: &'e [PgTypeInfo]) -> BoxFuture<'e, sqlx::Result<PgStatement>>
    where
        'c: 'e,
    {
        match self.session {
            Session::Own => self.connection.prepare_with(text, types),
            Session::Pooled(_) => {
                let reason = "a statement cannot be prepared in a session that a pooler lends";
                Box::pin(std::future::ready(Err(sqlx::Error::Configuration(reason.into()))))
            }
        }
    }
}

/// A query whose statement gets no name in the server's session.
struct Unnamed<E>(E);

impl<'q, E: Execute<'q, Postgres>> Execute<'q, Postgres> for Unnamed<E> {
    fn sql(self) -> SqlStr {
        self.0.sql()
    }

    fn statement(&self) -> Option<&PgStatement> {
        self.0.statement()
    }

    fn take_arguments(&mut self) -> Result<Option<PgArguments>, BoxDynError> {
        self.0.take_arguments()
    }

    fn persistent(&self) -> bool {
        false
    }
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent").field("is_pooled", &self.is_pooled()).finish_non_exhaustive()
    }
}
