//! Advancing a session's revision without an event.

use std::sync::Arc;

use pleach_core::{SessionKey, next_time};
use pleach_session::{SessionError, SessionResult};
use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};

use super::batch::Renewed;
use super::open::Open;
use super::{Reply, Writer, answer};
use crate::column;
use crate::event_filter::bind_key;
use crate::fault::Fault;
use crate::layout::SqliteLayout;

/// A claim of a session.
pub(crate) struct Claim {
    pub(crate) key: Arc<SessionKey>,
    /// The revision that the caller has seen, which is the fence.
    pub(crate) seen: Renewed,
    /// The new update time as stored in a column. It is later than the last one.
    pub(crate) time: f64,
    pub(crate) reply: Reply<Renewed>,
}

impl Writer {
    pub(super) async fn claim(&mut self, claim: Claim) {
        let outcome = loop {
            if let Err(error) = self.connect().await {
                break Err(error);
            }
            match self.try_claim(&claim).await {
                Ok(outcome) => break outcome,
                Err(error) => {
                    if let Err(error) = self.wait_after(error).await {
                        break Err(error);
                    }
                }
            }
        };
        answer(claim.reply, outcome);
    }

    /// Waits if a transaction failed because another process holds the file. Returns any other failure as an error.
    pub(super) async fn wait_after(&mut self, error: sqlx::Error) -> SessionResult<()> {
        self.roll_back(&error).await;
        if Fault::of(&error) != Fault::Busy || !self.lock_wait.wait() {
            return Err(self.file().fault(error));
        }
        Ok(())
    }

    /// Claims the session in one transaction, with one call.
    async fn try_claim(&mut self, claim: &Claim) -> sqlx::Result<SessionResult<Renewed>> {
        let Open { connection, sql } = self.open.as_mut().ok_or(sqlx::Error::WorkerCrashed)?;
        claim.execute(connection, &sql.claim, sql.layout()).await
    }
}

impl Claim {
    /// Executes the text of a claim.
    pub(super) async fn execute(
        &self,
        connection: &mut SqliteConnection,
        text: &Arc<str>,
        layout: SqliteLayout,
    ) -> sqlx::Result<SessionResult<Renewed>> {
        let (key, seen, mut time) = (&*self.key, self.seen, self.time);
        loop {
            let rows = bind_key(sqlx::query(AssertSqlSafe(text.clone())), key)
                .bind(layout.column(time))
                .bind(seen.revision.micros)
                .bind(i64::from(seen.revision.ties))
                .fetch_all(&mut *connection)
                .await?;
            let Some(row) = rows.first() else { return Ok(Err(SessionError::NotFound(key.clone()))) };
            let update_time = column::time(row, "update_time")?.map_or(f64::NAN, |time| layout.rounded(time));
            let stored = Renewed::new(update_time, column::count(row, "ties")?);
            if row.try_get::<bool, _>("claimed")? {
                return Ok(Ok(stored));
            }
            if stored.revision != seen.revision {
                return Ok(Err(SessionError::Stale { key: key.clone(), stored: stored.revision, ours: seen.revision }));
            }
            // An event has that microsecond, so the revision would be an old one.
            time = next_time(time);
        }
    }
}
