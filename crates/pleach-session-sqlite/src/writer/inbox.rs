//! Writing the projection of open questions, each change in its own transaction.

use std::collections::HashSet;

use pleach_core::{AppName, SessionId, SessionKey, UserId};
use pleach_session::{Asked, Projected, ProjectionError, ProjectionResult, SessionResult};
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};

use super::open::Open;
use super::{Reply, Writer, answer};
use crate::fault::Fault;
use crate::inbox_sql::{self, Inbox, OBJECTS};
use crate::sql;

/// The least distance in rows between the places that are recorded as searched, in addition to the last place.
const FAR: i64 = 4096;

/// A change of the inbox tables.
pub(crate) enum InboxWrite {
    /// Creates the tables again, unless they are as they should be.
    Make,
    /// Adds events that may concern questions. `searched` records that the log was searched from after this row up to
    /// this event.
    Found { events: Vec<EventRow>, searched: Option<(i64, EventRow)> },
    /// Stores the open questions of some sessions of an app.
    Store(AppName, Vec<Projected>),
}

/// An event and its row number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventRow {
    pub(crate) row: i64,
    app: String,
    user: String,
    session: String,
    event: String,
}

impl EventRow {
    pub(crate) fn of(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            row: row.try_get("place")?,
            app: row.try_get("app_name")?,
            user: row.try_get("user_id")?,
            session: row.try_get("session_id")?,
            event: row.try_get("event_id")?,
        })
    }

    /// Returns the session of the event, within an app.
    pub(crate) fn session(&self, app: &AppName) -> SessionKey {
        SessionKey::new(app, self.user.as_str(), self.session.as_str())
    }
}

impl Writer {
    pub(super) async fn write_inbox(&mut self, write: InboxWrite, reply: Reply<ProjectionResult<()>>) {
        let outcome = self.write_inbox_patiently(&write).await;
        answer(reply, outcome);
    }

    async fn write_inbox_patiently(&mut self, write: &InboxWrite) -> SessionResult<ProjectionResult<()>> {
        loop {
            self.connect().await?;
            let error = match self.try_write_inbox(write).await {
                Ok(()) => return Ok(Ok(())),
                Err(error) => error,
            };
            self.roll_back(&error).await;
            if inbox_sql::is_missing(&error) {
                return Ok(Err(ProjectionError::Missing));
            }
            if Fault::is_read_only(&error) {
                return Ok(Err(ProjectionError::Unwritable(self.file().fault(error))));
            }
            if Fault::of(&error) != Fault::Busy || !self.lock_wait.wait() {
                return Err(self.file().fault(error));
            }
        }
    }

    async fn try_write_inbox(&mut self, write: &InboxWrite) -> sqlx::Result<()> {
        let Open { connection, sql } = self.open.as_mut().ok_or(sqlx::Error::WorkerCrashed)?;
        let inbox = &sql.inbox;
        sqlx::query(sql::BEGIN).execute(&mut *connection).await?;
        match write {
            InboxWrite::Make => make(connection, inbox).await?,
            InboxWrite::Found { events, searched } => {
                add(connection, inbox, events).await?;
                if let Some((from, last)) = searched {
                    advance(connection, inbox, *from, last).await?;
                }
            }
            InboxWrite::Store(app, sessions) => store(connection, inbox, app, sessions).await?,
        }
        sqlx::query(sql::COMMIT).execute(connection).await?;
        Ok(())
    }
}

/// Creates the tables. This runs under the lock, because another program may have created them since they were found
/// missing.
async fn make(connection: &mut SqliteConnection, inbox: &Inbox) -> sqlx::Result<()> {
    let found: Vec<String> = sqlx::query_scalar(OBJECTS).fetch_all(&mut *connection).await?;
    if inbox.is_sound(&found) {
        return Ok(());
    }
    for text in [&inbox.drop].into_iter().chain(&inbox.create) {
        sqlx::query(AssertSqlSafe(text.clone())).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn add(connection: &mut SqliteConnection, inbox: &Inbox, events: &[EventRow]) -> sqlx::Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = events.iter().map(|place| (&place.app, &place.user, &place.session, &place.event)).collect();
    sqlx::query(AssertSqlSafe(inbox.add_events.clone())).bind(json(&rows)?).execute(connection).await?;
    Ok(())
}

/// Records that the log was searched from after the row `from` up to `last`.
async fn advance(connection: &mut SqliteConnection, inbox: &Inbox, from: i64, last: &EventRow) -> sqlx::Result<()> {
    let searched = sqlx::query(AssertSqlSafe(inbox.searched.clone()))
        .bind(from)
        .bind(last.row)
        .bind(&last.app)
        .bind(&last.user)
        .bind(&last.session)
        .bind(&last.event)
        .execute(&mut *connection)
        .await?;
    if searched.rows_affected() > 0 {
        let thin = sqlx::query(AssertSqlSafe(inbox.thin.clone())).bind(from).bind(last.row).bind(FAR);
        thin.execute(connection).await?;
    }
    Ok(())
}

async fn store(
    connection: &mut SqliteConnection,
    inbox: &Inbox,
    app: &AppName,
    sessions: &[Projected],
) -> sqlx::Result<()> {
    let open = |session: &Projected| session.questions().len();
    let names = |session: &Projected| (session.key.user_id.clone(), session.key.session_id.clone());
    let rows: Vec<_> = sessions
        .iter()
        .map(|one| (&one.key.user_id, &one.key.session_id, &one.created, one.events, open(one)))
        .collect();
    let query = sqlx::query(AssertSqlSafe(inbox.upsert.clone())).bind(app.as_str());
    let stored = query.bind(json(&rows)?).fetch_all(&mut *connection).await?;
    let stored = stored.iter().map(key).collect::<sqlx::Result<HashSet<_>>>()?;
    let mut questions = Vec::new();
    for session in sessions.iter().filter(|session| stored.contains(&names(session))) {
        for Asked { place, event_id, question } in session.questions() {
            let (user, id) = (&session.key.user_id, &session.key.session_id);
            questions.push((
                user,
                id,
                place,
                question.asked_at,
                &question.assignee,
                event_id.to_string(),
                &question.id,
            ));
        }
    }
    let old = sqlx::query(AssertSqlSafe(inbox.delete.clone())).bind(app.as_str()).bind(json(&stored)?);
    old.execute(&mut *connection).await?;
    let new = sqlx::query(AssertSqlSafe(inbox.insert.clone())).bind(app.as_str()).bind(json(&questions)?);
    new.execute(connection).await?;
    Ok(())
}

fn key(row: &SqliteRow) -> sqlx::Result<(UserId, SessionId)> {
    Ok((row.try_get::<&str, _>("user_id")?.into(), row.try_get::<&str, _>("session_id")?.into()))
}

fn json(value: &impl Serialize) -> sqlx::Result<String> {
    serde_json::to_string(value).map_err(|error| sqlx::Error::Encode(Box::new(error)))
}
