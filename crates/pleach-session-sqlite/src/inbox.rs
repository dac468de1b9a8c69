//! The inbox: open questions, read from a projection that is brought up to date first.
//!
//! Appends do not update the projection. A listing searches the part of the log that no listing has searched yet. It
//! searches for events, from any writer, that may concern questions. If a session's number of such events differs
//! from the number in the projection, the session is projected again, from these events alone. Reads run in parallel
//! with the writer, which stores the results in small portions.

use std::sync::atomic::Ordering;

use futures_util::future::try_join;
use futures_util::{Stream, TryStreamExt as _};
use pleach_core::{AppName, Event, SessionKey};
use pleach_session::{
    Behind, Gathering, ListQuestions, ListQuestionsResponse, PAGE, Projected, Projection, ProjectionError,
    ProjectionResult, QuestionRow, SessionError, SessionResult,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _};

use crate::SqliteSessionService;
use crate::column;
use crate::document::event_of_row;
use crate::inbox_sql::{OBJECTS, is_missing};
use crate::writer::{EventRow, InboxWrite, Message};

/// The number of events that are searched at once.
const SEARCHED: i64 = 32_768;
/// The number of found events that are stored in one transaction: few enough that appends wait no longer than for each
/// other.
const FOUND: usize = 1024;

impl Projection for SqliteSessionService {
    async fn make(&self, anew: bool) -> ProjectionResult<()> {
        if anew || !self.inbox.is_made.load(Ordering::Acquire) {
            self.writer.wait_for_abandoned().await?;
            let found: Vec<String> =
                sqlx::query_scalar(OBJECTS).fetch_all(&self.readers).await.map_err(|error| self.trouble(error))?;
            if !self.sql.inbox.is_sound(&found) {
                self.write(InboxWrite::Make).await?;
            }
            self.inbox.is_made.store(true, Ordering::Release);
        }
        Ok(())
    }

    async fn behind(&self, request: &ListQuestions, after: Option<&Behind>) -> ProjectionResult<Vec<Behind>> {
        if after.is_none() {
            self.writer.wait_for_abandoned().await?;
            self.search().await?;
        }
        let text = if request.user_id.is_some() { &self.sql.inbox.stale_of_user } else { &self.sql.inbox.stale };
        let rows = sqlx::query(AssertSqlSafe(text.clone()))
            .bind(request.app_name.as_str())
            .bind(request.user_id.as_ref().map(|user| user.as_str()))
            .bind(after.map_or("", |after| after.user.as_str()))
            .bind(after.map_or("", |after| after.session.as_str()))
            .bind(i64::from(after.is_some()))
            .bind(i64::try_from(PAGE).unwrap_or(i64::MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.trouble(error))?;
        let behind = |row: &SqliteRow| -> sqlx::Result<Behind> {
            let (user, session) = (row.try_get("user_id")?, row.try_get("session_id")?);
            let events: i64 = row.try_get("events")?;
            Ok(Behind { user, session, events: events.unsigned_abs() })
        };
        rows.iter().map(behind).collect::<sqlx::Result<_>>().map_err(|error| self.trouble(error))
    }

    async fn gather(&self, request: &ListQuestions, sessions: &[Behind]) -> ProjectionResult<Vec<Projected>> {
        let fault = |error| self.trouble(error);
        let keys: Vec<_> = sessions.iter().map(|behind| (&behind.user, &behind.session)).collect();
        let keys = serde_json::to_string(&keys).map_err(|error| fault(sqlx::Error::Encode(Box::new(error))))?;
        let query = sqlx::query(AssertSqlSafe(self.sql.inbox.events.clone()));
        let mut rows = query.bind(request.app_name.as_str()).bind(keys).fetch(&self.readers);
        let mut gathering = Gathering::default();
        while let Some(row) = rows.try_next().await.map_err(fault)? {
            let slot = usize::try_from(row.try_get::<i64, _>("slot").map_err(fault)?).unwrap_or(usize::MAX);
            let Some(behind) = sessions.get(slot) else { continue };
            let created: String = row.try_get("created").map_err(fault)?;
            let key = SessionKey::new(&request.app_name, behind.user.as_str(), behind.session.as_str());
            // The column by which the row can be found again.
            let id: &str = row.try_get("ids").map_err(fault)?;
            let event = of_its_session(self.event(&row, &key))?.map(|mut event| {
                event.set_id(id);
                event
            });
            gathering.push(slot, event, || (key, created));
        }
        Ok(gathering.finish())
    }

    async fn store(&self, app: &AppName, sessions: Vec<Projected>) -> ProjectionResult<()> {
        self.write(InboxWrite::Store(app.clone(), sessions)).await
    }

    async fn answer(&self, request: &ListQuestions) -> ProjectionResult<ListQuestionsResponse> {
        let inbox = &self.sql.inbox;
        let text = match (&request.user_id, &request.assignee) {
            (None, None) => &inbox.all,
            (Some(_), None) => &inbox.of_user,
            (None, Some(_)) => &inbox.of_assignee,
            (Some(_), Some(_)) => &inbox.of_both,
        };
        let after = request.after.as_ref();
        // One more row than requested shows whether there is a next page.
        let limit = request.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1));
        let rows = sqlx::query(AssertSqlSafe(text.clone()))
            .bind(request.app_name.as_str())
            .bind(request.user_id.as_ref().map(|user| user.as_str()))
            .bind(request.assignee.as_deref())
            .bind(after.map_or(f64::NEG_INFINITY, |after| after.asked_at))
            .bind(after.map_or("", |after| after.user_id.as_str()))
            .bind(after.map_or("", |after| after.session_id.as_str()))
            .bind(after.map_or(-1, |after| i64::from(after.place)))
            .bind(limit)
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.trouble(error))?;
        let mut items = Vec::with_capacity(rows.len());
        for row in &rows {
            let found = question_row(row).map_err(|error| self.trouble(error))?;
            let session = found.key(&request.app_name);
            let event = of_its_session(self.event(row, &session))?;
            items.push(found.read(session, event));
        }
        Ok(ListQuestionsResponse::cut(items, request.limit))
    }

    fn warn_of_walks(&self, reason: &SessionError) {
        if !self.inbox.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                file = %self.file, %reason,
                "the inbox is not kept: every listing of open questions loads every session; make the file writable"
            );
        }
    }
}

impl SqliteSessionService {
    /// Searches the events that were appended since the last search of the log.
    async fn search(&self) -> ProjectionResult<()> {
        loop {
            let found = sqlx::query(AssertSqlSafe(self.sql.inbox.find.clone()))
                .bind(SEARCHED)
                .fetch_one(&self.readers)
                .await
                .map_err(|error| self.trouble(error))?;
            let read =
                || -> sqlx::Result<(i64, Option<i64>)> { Ok((found.try_get("searched")?, found.try_get("next")?)) };
            let (searched, next) = read().map_err(|error| self.trouble(error))?;
            let Some(next) = next else { return Ok(()) };
            self.search_rows(searched, next).await?;
        }
    }

    /// Searches the rows after `searched`, up to `next`. While a portion of the found events is stored, the next one is
    /// read.
    async fn search_rows(&self, searched: i64, next: i64) -> ProjectionResult<()> {
        let mut rows =
            sqlx::query(AssertSqlSafe(self.sql.inbox.search.clone())).bind(searched).bind(next).fetch(&self.readers);
        let mut found = self.read_found(&mut rows, next).await?;
        loop {
            let Found { events, last } = found;
            let is_end = last.is_some() || events.len() < FOUND;
            if events.is_empty() && last.is_none() {
                return Ok(());
            }
            let store = self.write(InboxWrite::Found { events, searched: last.map(|last| (searched, last)) });
            if is_end {
                return store.await;
            }
            ((), found) = try_join(store, self.read_found(&mut rows, next)).await?;
        }
    }

    /// Reads up to [`FOUND`] events, or fewer at the end.
    async fn read_found(
        &self,
        rows: &mut (impl Stream<Item = sqlx::Result<SqliteRow>> + Unpin),
        last: i64,
    ) -> ProjectionResult<Found> {
        let mut found = Found::default();
        while found.events.len() < FOUND
            && let Some(row) = rows.try_next().await.map_err(|error| self.trouble(error))?
        {
            let read = || Ok((EventRow::of(&row)?, row.try_get::<Option<bool>, _>("concerns")?));
            let (place, concerns) = read().map_err(|error| self.trouble(error))?;
            found.last = (place.row == last).then(|| place.clone());
            if concerns == Some(true) {
                found.events.push(place);
            }
        }
        Ok(found)
    }

    fn event(&self, row: &SqliteRow, key: &SessionKey) -> SessionResult<Event> {
        let document = column::text(row, "data").map_err(|error| self.file.fault(error))?;
        event_of_row(row, &document.unwrap_or_default(), key, &self.file, self.layout())
    }

    async fn write(&self, write: InboxWrite) -> ProjectionResult<()> {
        self.writer.ask(|reply| Message::Inbox(write, reply)).await?
    }

    fn trouble(&self, error: sqlx::Error) -> ProjectionError {
        if is_missing(&error) { ProjectionError::Missing } else { ProjectionError::Failed(self.file.fault(error)) }
    }
}

/// A portion of the found events.
#[derive(Default)]
struct Found {
    events: Vec<EventRow>,
    /// The event of the last row to search. If it is missing because it was deleted in the meantime, the end of the
    /// search cannot be recorded.
    last: Option<EventRow>,
}

/// Separates failures of the storage from damaged data of a single session.
fn of_its_session<T>(read: SessionResult<T>) -> ProjectionResult<SessionResult<T>> {
    match read {
        Err(error) if !error.is_of_one_session() => Err(error.into()),
        read => Ok(read),
    }
}

fn question_row(row: &SqliteRow) -> sqlx::Result<QuestionRow<'_>> {
    Ok(QuestionRow {
        user: row.try_get("user_id")?,
        session: row.try_get("session_id")?,
        place: row.try_get("place")?,
        asked_at: row.try_get("asked_at")?,
        question: row.try_get("question_id")?,
    })
}
