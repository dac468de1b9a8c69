//! Replacing a stored event by a redacted one: a claim and the new document in one transaction.

use std::sync::Arc;

use pleach_core::Event;
use pleach_session::{SessionResult, check_redacted, redacted_document};
use sqlx::{Row as _, SqliteConnection};

use super::batch::Renewed;
use super::claim::Claim;
use super::open::Open;
use super::{Writer, answer};
use crate::document::event_of_row;
use crate::event_filter::bind_key;
use crate::fault::File;
use crate::layout::SqliteLayout;
use crate::sql::{self, Sql};

/// A claim of a session, and the event that replaces the stored event with its id.
pub(crate) struct Redact {
    pub(crate) claim: Claim,
    pub(crate) event: Arc<Event>,
    /// The event's JSON text.
    pub(crate) data: Arc<str>,
}

impl Writer {
    pub(super) async fn redact(&mut self, redact: Redact) {
        let outcome = loop {
            if let Err(error) = self.connect().await {
                break Err(error);
            }
            match self.try_redact(&redact).await {
                Ok(outcome) => break outcome,
                Err(error) => {
                    if let Err(error) = self.wait_after(error).await {
                        break Err(error);
                    }
                }
            }
        };
        answer(redact.claim.reply, outcome);
    }

    async fn try_redact(&mut self, redact: &Redact) -> sqlx::Result<SessionResult<Renewed>> {
        let file = self.file().clone();
        let Open { connection, sql } = self.open.as_mut().ok_or(sqlx::Error::WorkerCrashed)?;
        sqlx::query(sql::SECURE_DELETE).execute(&mut *connection).await?;
        let outcome = redact.execute(connection, sql, &file).await;
        // Ignore the result: a broken connection is noticed at its next message, and `outcome` is the answer.
        let _ = sqlx::query(sql::QUICK_DELETE).execute(&mut *connection).await;
        if let Ok(Ok(_)) = outcome {
            empty_log(connection, &file).await;
        }
        outcome
    }
}

impl Redact {
    async fn execute(
        &self,
        connection: &mut SqliteConnection,
        sql: &Sql,
        file: &File,
    ) -> sqlx::Result<SessionResult<Renewed>> {
        sqlx::query(sql::BEGIN).execute(&mut *connection).await?;
        let mut outcome = self.claim.execute(connection, &sql.claim_within, sql.layout()).await?;
        if outcome.is_ok() {
            let replaced = self.replace(connection, file, sql.layout()).await?;
            outcome = outcome.and_then(|renewed| replaced.map(|()| renewed));
        }
        let end = if outcome.is_ok() { sql::COMMIT } else { sql::ROLLBACK };
        sqlx::query(end).execute(connection).await?;
        Ok(outcome)
    }

    async fn replace(
        &self,
        connection: &mut SqliteConnection,
        file: &File,
        layout: SqliteLayout,
    ) -> sqlx::Result<SessionResult<()>> {
        let key = &*self.claim.key;
        let id = self.event.id().to_string();
        let rows = bind_key(sqlx::query(sql::EVENT_ROW), key).bind(&id).fetch_all(&mut *connection).await?;
        let document: &str = rows.first().map_or(Ok(""), |row| row.try_get("data"))?;
        let stored = rows.first().map(|row| event_of_row(row, document, key, file, layout)).transpose();
        let checked = stored.and_then(|stored| check_redacted(key, stored.as_ref(), &self.event));
        let exact = checked.and_then(|()| {
            let exact = redacted_document(document, &self.event);
            exact.map_err(|error| file.corrupt(format_args!("event {id} of session {key}"), error))
        });
        let exact = match exact {
            Ok(exact) => exact,
            Err(error) => return Ok(Err(error)),
        };
        let data = exact.map_or_else(|| Arc::clone(&self.data), Arc::from);
        bind_key(sqlx::query(sql::REPLACE_EVENT), key).bind(&id).bind(data).execute(connection).await?;
        Ok(Ok(()))
    }
}

/// Empties the write-ahead log, which until then contains the old document. A reader may prevent this.
async fn empty_log(connection: &mut SqliteConnection, file: &File) {
    let emptied = sqlx::query(sql::EMPTY_LOG).fetch_one(connection).await;
    match emptied.and_then(|row| row.try_get::<bool, _>("busy")) {
        Ok(false) => {}
        Ok(true) => {
            tracing::warn!(%file, "a reader keeps a redacted document in the write-ahead log until a later checkpoint")
        }
        Err(error) => {
            tracing::warn!(%file, %error, "a redacted document may be in the write-ahead log until a later checkpoint")
        }
    }
}
