//! Replacing a stored event by a redacted one: a claim, and the new document, in one transaction.

use pleach_session::{SessionResult, check_redacted};
use sqlx::{Row as _, SqliteConnection};

use super::Writer;
use super::batch::Renewed;
use super::claim::{Claim, Redacted};
use super::open::Open;
use crate::document::event_of_row;
use crate::event_filter::bind_key;
use crate::fault::File;
use crate::layout::SqliteLayout;
use crate::sql::{self, Sql};

impl Writer {
    pub(super) async fn try_redact(
        &mut self,
        claim: &Claim,
        redacted: &Redacted,
    ) -> sqlx::Result<SessionResult<Renewed>> {
        let file = self.file().clone();
        let Open { connection, sql } = self.open.as_mut().ok_or(sqlx::Error::WorkerCrashed)?;
        sqlx::query(sql::SECURE_DELETE).execute(&mut *connection).await?;
        let outcome = redact(connection, sql, claim, redacted, &file).await;
        // The outcome above counts: a connection that is broken shows it at its next message.
        let _ = sqlx::query(sql::QUICK_DELETE).execute(&mut *connection).await;
        if let Ok(Ok(_)) = outcome {
            empty_log(connection, &file).await;
        }
        outcome
    }
}

async fn redact(
    connection: &mut SqliteConnection,
    sql: &Sql,
    claim: &Claim,
    redacted: &Redacted,
    file: &File,
) -> sqlx::Result<SessionResult<Renewed>> {
    sqlx::query(sql::BEGIN).execute(&mut *connection).await?;
    let mut outcome = claim.execute(connection, &sql.claim_within, sql.layout()).await?;
    if outcome.is_ok() {
        let replaced = replace(connection, claim, redacted, file, sql.layout()).await?;
        outcome = outcome.and_then(|renewed| replaced.map(|()| renewed));
    }
    let end = if outcome.is_ok() { sql::COMMIT } else { sql::ROLLBACK };
    sqlx::query(end).execute(connection).await?;
    Ok(outcome)
}

/// Empties the write-ahead log, which has the old document until then. A reader may be in the way.
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

async fn replace(
    connection: &mut SqliteConnection,
    claim: &Claim,
    redacted: &Redacted,
    file: &File,
    layout: SqliteLayout,
) -> sqlx::Result<SessionResult<()>> {
    let (key, id) = (&*claim.key, redacted.event.id().to_string());
    let rows = bind_key(sqlx::query(sql::EVENT_ROW), key).bind(&id).fetch_all(&mut *connection).await?;
    let stored = rows.first().map(|row| {
        let document = row.try_get("data").map_err(|error| file.fault(error))?;
        event_of_row(row, document, key, file, layout)
    });
    let checked = stored.transpose().and_then(|stored| check_redacted(key, stored.as_ref(), &redacted.event));
    if checked.is_ok() {
        let query = bind_key(sqlx::query(sql::REPLACE_EVENT), key).bind(&id).bind(redacted.data.clone());
        query.execute(connection).await?;
    }
    Ok(checked)
}
