//! Writing the projection of open questions: a transaction each.

use std::collections::HashSet;

use pleach_core::{AppName, SessionId, UserId};
use pleach_session::{Asked, PROJECTION, Projected, SessionResult};
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};

use super::open::Open;
use super::{Reply, Writer, answer};
use crate::fault::Fault;
use crate::sql::{self, Sql};

/// What is to be done to the projection.
pub(crate) enum Projection {
    /// Makes its tables anew unless they are as they should be, and its index where that is missing.
    Make,
    /// Stores what is open in some sessions of an app.
    Store(AppName, Vec<Projected>),
}

impl Writer {
    pub(super) async fn project(&mut self, projection: Projection, reply: Reply<()>) {
        let outcome = self.project_patiently(&projection).await;
        answer(reply, outcome);
    }

    async fn project_patiently(&mut self, projection: &Projection) -> SessionResult<()> {
        loop {
            self.connect().await?;
            let error = match self.try_project(projection).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            self.roll_back(&error).await;
            if Fault::of(&error) != Fault::Busy || !self.patience.wait() {
                return Err(self.file().fault(error));
            }
        }
    }

    async fn try_project(&mut self, projection: &Projection) -> sqlx::Result<()> {
        let Open { connection, sql } = self.open.as_mut().ok_or(sqlx::Error::WorkerCrashed)?;
        sqlx::query(sql::BEGIN).execute(&mut *connection).await?;
        match projection {
            Projection::Make => make(connection, sql).await?,
            Projection::Store(app, sessions) => store(connection, sql, app, sessions).await?,
        }
        sqlx::query(sql::COMMIT).execute(connection).await?;
        Ok(())
    }
}

/// Under the lock: another program may have made them since they were missed.
async fn make(connection: &mut SqliteConnection, sql: &Sql) -> sqlx::Result<()> {
    let found = sqlx::query(sql::INBOX_IS_SOUND).fetch_one(&mut *connection).await?;
    if !found.try_get::<Option<bool>, _>("is_sound")?.unwrap_or(false) {
        sqlx::query(AssertSqlSafe(sql.inbox.create.clone())).execute(connection).await?;
    }
    Ok(())
}

async fn store(
    connection: &mut SqliteConnection,
    sql: &Sql,
    app: &AppName,
    sessions: &[Projected],
) -> sqlx::Result<()> {
    let open = |session: &Projected| session.open.as_ref().map_or(0, Vec::len);
    let names = |session: &Projected| (session.key.user_id.clone(), session.key.session_id.clone());
    let rows: Vec<_> = sessions
        .iter()
        .map(|one| (&one.key.user_id, &one.key.session_id, &one.created, one.events, open(one)))
        .collect();
    let query = sqlx::query(AssertSqlSafe(sql.inbox.upsert.clone())).bind(app.as_str());
    let stored = query.bind(json(&rows)?).bind(PROJECTION).fetch_all(&mut *connection).await?;
    let stored = stored.iter().map(key).collect::<sqlx::Result<HashSet<_>>>()?;
    let mut questions = Vec::new();
    for session in sessions.iter().filter(|session| stored.contains(&names(session))) {
        for Asked { place, event_id, question } in session.open.iter().flatten() {
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
    let old = sqlx::query(sql::DELETE_QUESTIONS).bind(app.as_str()).bind(json(&stored)?);
    old.execute(&mut *connection).await?;
    let new = sqlx::query(sql::INSERT_QUESTIONS).bind(app.as_str()).bind(json(&questions)?);
    new.execute(connection).await?;
    Ok(())
}

fn key(row: &SqliteRow) -> sqlx::Result<(UserId, SessionId)> {
    Ok((row.try_get::<&str, _>("user_id")?.into(), row.try_get::<&str, _>("session_id")?.into()))
}

fn json(value: &impl Serialize) -> sqlx::Result<String> {
    serde_json::to_string(value).map_err(|error| sqlx::Error::Encode(Box::new(error)))
}
