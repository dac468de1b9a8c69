//! Writing a batch of appends in one transaction, usually with two calls of SQLite.

use std::sync::Arc;

use pleach_core::Event;
use pleach_session::{SessionError, SessionResult, prepare, read_stored};
use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};

use super::accepted::Accepted;
use super::batch::{Append, Appended, Batch, Renewed, SessionRow, Verdict};
use super::open::Open;
use super::{Writer, answer, rows};
use crate::fault::Fault;
use crate::layout::SqliteLayout;
use crate::sql::{self, Sql};
use crate::{column, time};

type Outcome = SessionResult<Appended>;

impl Writer {
    /// Stores the appends, commits, and answers each of them.
    pub(super) async fn append_all(&mut self, appends: Vec<Append>) {
        if appends.is_empty() {
            return;
        }
        if let Err(error) = self.connect().await {
            let file = self.file().clone();
            appends.into_iter().for_each(|append| answer(append.reply, Err(file.retold(&error))));
            return;
        }
        match self.try_append(&appends).await {
            Ok(outcomes) => {
                for (append, outcome) in appends.into_iter().zip(outcomes) {
                    answer(append.reply, outcome);
                }
            }
            // A single append can make the whole transaction fail, for example with an event id that is taken, so try
            // each one alone.
            Err(error) if appends.len() > 1 && !Fault::of(&error).is_shared() => {
                for append in appends {
                    Box::pin(self.append_all(vec![append])).await;
                }
            }
            Err(error) => self.fail(appends, error).await,
        }
    }

    /// Runs the whole transaction, repeatedly while another process holds the lock.
    async fn try_append(&mut self, appends: &[Append]) -> sqlx::Result<Vec<Outcome>> {
        loop {
            let error = match self.transact(appends).await {
                Ok(outcomes) => return Ok(outcomes),
                Err(error) => error,
            };
            self.roll_back(&error).await;
            if Fault::of(&error) != Fault::Busy || !self.lock_wait.wait() {
                return Err(error);
            }
        }
    }

    async fn transact(&mut self, appends: &[Append]) -> sqlx::Result<Vec<Outcome>> {
        let file = self.file().clone();
        let Open { connection, sql } = self.open.as_mut().ok_or(sqlx::Error::WorkerCrashed)?;
        let mut batch = Batch::new(appends);
        read(connection, sql, &sql.batch_begin, &mut batch).await?;
        if sql.layout() == SqliteLayout::Lite && repair_times(connection, &batch).await? {
            read(connection, sql, &sql.batch_read, &mut batch).await?;
        }
        let mut outcomes = Vec::with_capacity(appends.len());
        let mut accepted: Vec<Accepted<'_>> = Vec::with_capacity(appends.len());
        for (index, append) in appends.iter().enumerate() {
            let at_time = count_if_needed(connection, sql, &batch, index, append).await?;
            outcomes.push(match batch.judge(index, append, at_time, &file) {
                Verdict::Store(behind, resolved) => {
                    let one = Accepted { append, resolved, behind };
                    let appended = one.appended();
                    accepted.push(one);
                    Ok(appended)
                }
                Verdict::Stale(stored) => {
                    // A caller that has gone may have left the same append earlier in this batch.
                    let known = match accepted.iter().find(|other| other.append.is_same_event(append)) {
                        Some(other) => {
                            Some(KnownEvent { data: Arc::clone(other.data()), behind: other.behind, seen: false })
                        }
                        None => find_event(connection, sql, append).await?,
                    };
                    known.map_or_else(|| Err(stale(append, stored)), |known| known.outcome(append))
                }
                Verdict::Refuse(error) => Err(error),
            });
        }
        if accepted.is_empty() {
            sqlx::query(sql::ROLLBACK).execute(connection).await?;
        } else {
            rows::write(connection, sql.layout(), &mut self.texts, &batch, &accepted).await?;
        }
        Ok(outcomes)
    }

    /// Answers appends that were not stored.
    async fn fail(&mut self, appends: Vec<Append>, error: sqlx::Error) {
        let error = Arc::new(error);
        let file = self.file().clone();
        for append in appends {
            let mut outcome = Err(file.shared_fault(&error));
            // The fence held, so the caller has seen every event. The same event may be among them.
            if Fault::of(&error) == Fault::Duplicate
                && let Some(Open { connection, sql }) = self.open.as_mut()
            {
                outcome = match find_event(connection, sql, &append).await {
                    Ok(Some(known)) => known.outcome(&append),
                    Ok(None) => outcome,
                    Err(error) => Err(file.fault(error)),
                };
            }
            answer(append.reply, outcome);
        }
    }
}

/// Reads the rows that are needed to judge the appends.
async fn read(connection: &mut SqliteConnection, sql: &Sql, text: &Arc<str>, batch: &mut Batch) -> sqlx::Result<()> {
    let encode = |keys: serde_json::Result<String>| keys.map_err(|error| sqlx::Error::Encode(Box::new(error)));
    let found = sqlx::query(AssertSqlSafe(text.clone()))
        .bind(encode(batch.session_keys())?)
        .bind(encode(batch.app_keys())?)
        .bind(encode(batch.user_keys())?)
        .fetch_all(connection)
        .await?;
    for row in &found {
        let slot = usize::try_from(row.try_get::<i64, _>("slot")?).unwrap_or(usize::MAX);
        let state: Option<String> = row.try_get("state")?;
        match row.try_get::<i64, _>("kind")? {
            0 => {
                let rounded = |seconds| sql.layout().rounded(seconds);
                let updated = column::time(row, "update_time")?;
                let mixed = row.try_get::<i64, _>("mixed")? != 0;
                batch.found_session(
                    slot,
                    SessionRow {
                        state,
                        // No time equals NaN, so a session with an invalid time is stale until a load reports the
                        // fault.
                        update_time: updated.map_or(f64::NAN, rounded),
                        ties: column::count(row, "ties")?,
                        // With two kinds of times, the greatest is not the latest.
                        newest: if mixed { Some(f64::INFINITY) } else { column::time(row, "newest")?.map(rounded) },
                        mixed,
                    },
                );
            }
            1 => batch.found_app(slot, state),
            _ => batch.found_user(slot, state),
        }
    }
    Ok(())
}

/// Converts the text times that the other layout's service left in the batch's sessions to numbers. Returns `true` if
/// there were any. A text sorts after every number, so an event appended after them would be loaded before them.
// S66.4
async fn repair_times(connection: &mut SqliteConnection, batch: &Batch) -> sqlx::Result<bool> {
    let mut repaired = false;
    let mixed = batch.sessions.iter().filter_map(|slot| Some((&slot.key, slot.row.as_ref().filter(|row| row.mixed)?)));
    for (key, row) in mixed {
        repaired = true;
        let events = sqlx::query(sql::TEXT_TIMES)
            .bind(key.app_name.as_str())
            .bind(key.user_id.as_str())
            .bind(key.session_id.as_str())
            .fetch_all(&mut *connection)
            .await?;
        for event in &events {
            let Some(seconds) = exact_time(event)? else {
                continue;
            };
            sqlx::query(sql::REPAIR_TIME)
                .bind(seconds)
                .bind(event.try_get::<i64, _>("rowid")?)
                .execute(&mut *connection)
                .await?;
        }
        if !row.update_time.is_nan() {
            sqlx::query(sql::REPAIR_SESSION)
                .bind(key.app_name.as_str())
                .bind(key.user_id.as_str())
                .bind(key.session_id.as_str())
                .bind(row.update_time)
                .execute(&mut *connection)
                .await?;
        }
    }
    Ok(repaired)
}

/// Returns the time in the document, which has all digits, or the column's time if the document has none.
fn exact_time(event: &sqlx::sqlite::SqliteRow) -> sqlx::Result<Option<f64>> {
    let data: &str = event.try_get("event_data")?;
    let document: Option<serde_json::Value> = read_stored(data).ok();
    let exact = document.and_then(|document| document.get("timestamp")?.as_f64());
    Ok(exact.or(time::parse(event.try_get("timestamp")?)))
}

/// Counts the stored events with the time of this append, if the batch cannot know the number.
async fn count_if_needed(
    connection: &mut SqliteConnection,
    sql: &Sql,
    batch: &Batch,
    index: usize,
    append: &Append,
) -> sqlx::Result<u32> {
    if !batch.session_of(index).needs_count(append.time) {
        return Ok(0);
    }
    let row = sqlx::query(AssertSqlSafe(sql.count_at.clone()))
        .bind(append.key.app_name.as_str())
        .bind(append.key.user_id.as_str())
        .bind(append.key.session_id.as_str())
        .bind(sql.layout().column(append.time))
        .fetch_one(connection)
        .await?;
    column::count(&row, "count")
}

/// A stored event that has the id of an append.
struct KnownEvent {
    data: Arc<str>,
    behind: Renewed,
    /// Whether the caller has seen this event or a later one.
    seen: bool,
}

async fn find_event(connection: &mut SqliteConnection, sql: &Sql, append: &Append) -> sqlx::Result<Option<KnownEvent>> {
    let row = sqlx::query(AssertSqlSafe(sql.find_event.clone()))
        .bind(append.key.app_name.as_str())
        .bind(append.key.user_id.as_str())
        .bind(append.key.session_id.as_str())
        .bind(sql.layout().column(append.seen.update_time))
        .bind(i64::from(append.seen.revision.ties))
        .bind(append.event.id().to_string())
        .fetch_all(connection)
        .await?;
    let Some(row) = row.first() else {
        return Ok(None);
    };
    let update_time = column::time(row, "timestamp")?;
    let update_time = sql.layout().rounded(update_time.unwrap_or(append.time));
    let behind = Renewed::new(update_time, column::count(row, "ties")?);
    let data: Option<String> = row.try_get("event_data")?;
    let seen = row.try_get::<i64, _>("seen")? != 0;
    Ok(Some(KnownEvent { data: data.unwrap_or_default().into(), behind, seen }))
}

impl KnownEvent {
    /// Returns success if it is the same event, which happens after a response was lost.
    // S34
    fn outcome(&self, append: &Append) -> Outcome {
        let (is_same, stored) = self.compare(append);
        if !is_same {
            let key = (*append.key).clone();
            return Err(SessionError::EventAlreadyExists { key, event: append.event.id().clone() });
        }
        // The head of a caller that has seen later events does not change.
        Ok(Appended { renewed: if self.seen { append.seen } else { self.behind }, stored })
    }

    /// Returns whether it is the same event, and the stored event if it has more than the sent one.
    fn compare(&self, append: &Append) -> (bool, Option<Arc<Event>>) {
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        // If the event has operations, the sent document can equal the stored one only by chance, because its delta has
        // expected results.
        if append.sent.has_timestamp() && append.sent.actions().state_ops().is_empty() {
            let same =
                self.data == append.data || parse(&self.data).is_some_and(|stored| Some(stored) == parse(&append.data));
            return (same, None);
        }
        let Ok(stored) = serde_json::from_str::<Event>(&self.data) else { return (false, None) };
        let repeated = prepare::repeated(&append.sent, &stored).map(Arc::new);
        (repeated.is_some(), repeated)
    }
}

fn stale(append: &Append, stored: pleach_core::Revision) -> SessionError {
    SessionError::Stale { key: (*append.key).clone(), stored, ours: append.seen.revision }
}
