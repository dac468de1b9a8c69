//! Advancing a session's revision without an event: one transaction in one call.

use std::sync::Arc;

use pleach_core::{SessionKey, next_time};
use pleach_session::{SessionError, SessionResult};
use sqlx::{AssertSqlSafe, Row as _};

use super::batch::Renewed;
use super::open::Open;
use super::{Reply, Writer, answer};
use crate::column;
use crate::fault::Fault;

/// A claim of a session.
pub(crate) struct Claim {
    pub(crate) key: Arc<SessionKey>,
    /// The revision that the caller has seen; the fence.
    pub(crate) seen: Renewed,
    /// The new update time as stored in a column, later than the last one.
    pub(crate) time: f64,
    pub(crate) reply: Reply<Renewed>,
}

impl Writer {
    pub(super) async fn claim(&mut self, claim: Claim) {
        let outcome = loop {
            if let Err(error) = self.connect().await {
                break Err(error);
            }
            let error = match self.try_claim(&claim).await {
                Ok(outcome) => break outcome,
                Err(error) => error,
            };
            self.roll_back(&error).await;
            if Fault::of(&error) != Fault::Busy || !self.lock_wait.wait() {
                break Err(self.file().fault(error));
            }
        };
        answer(claim.reply, outcome);
    }

    async fn try_claim(&mut self, claim: &Claim) -> sqlx::Result<SessionResult<Renewed>> {
        let Open { connection, sql } = self.open.as_mut().ok_or(sqlx::Error::WorkerCrashed)?;
        let layout = sql.layout();
        let (key, seen, mut time) = (&*claim.key, claim.seen, claim.time);
        loop {
            let rows = sqlx::query(AssertSqlSafe(sql.claim.clone()))
                .bind(key.app_name.as_str())
                .bind(key.user_id.as_str())
                .bind(key.session_id.as_str())
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
            // An event has that microsecond, so its revision is an old one.
            time = next_time(time);
        }
    }
}
