//! [`Lent`]: a connection as an operation uses it, with or without a pooler.
//!
//! Behind a pooler in transaction mode the server's session changes between two transactions. The driver parses a statement
//! in one and executes it in the next round trip, so every statement gets a transaction of its own there, unless the operation
//! has begun one. Nothing that a session keeps is used: statements have no names, and settings last until the end of the transaction.

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
    /// The connection's own, as long as it is open.
    Own,
    /// A pooler's, which lends it for one transaction; each begins with the text.
    Pooled(Opening),
}

/// Whether a transaction is open that [`Lent`] has begun.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transaction {
    None,
    Open,
}

impl Lent {
    /// A connection with a session of its own.
    pub(crate) fn with_session(connection: PgConnection) -> Self {
        Self { connection, session: Session::Own, transaction: Transaction::None }
    }

    /// A connection to a pooler.
    pub(crate) fn pooled(connection: PgConnection, opening: Opening) -> Self {
        Self { connection, session: Session::Pooled(opening), transaction: Transaction::None }
    }

    pub(crate) fn is_pooled(&self) -> bool {
        matches!(self.session, Session::Pooled(_))
    }

    /// Begins a transaction, and executes the `settings` that it begins with in the same round trip.
    pub(crate) async fn begin(&mut self, settings: &'static str) -> sqlx::Result<()> {
        let opening = match &self.session {
            Session::Own => "BEGIN;",
            Session::Pooled(opening) => opening.text(),
        };
        let text = AssertSqlSafe([opening, settings].join(" "));
        // Before its answer: the transaction may be open, although the setting that follows has failed.
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

    /// Ends a transaction that an operation has left open, which would keep its locks and a pooler's session.
    pub(crate) async fn settle(&mut self) -> sqlx::Result<()> {
        match self.transaction {
            Transaction::None => Ok(()),
            Transaction::Open => self.roll_back().await,
        }
    }

    /// Executes a statement that no transaction may contain. The settings of the URL are not set for it behind a pooler.
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
                // There is no connection to ask.
                Err(error) if Fault::of(error) == Fault::Lost => Ok(()),
                // If it fails, the transaction counts as open, and the connection is not used again.
                Err(_) => self.roll_back().await.or(Ok(())),
            };
            outcome.and(end)?;
        })
    }
}

/// The result of a statement: its rows, and how many rows it has written.
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
        // To the end: the commit comes after the rows.
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
