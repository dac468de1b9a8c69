//! Storing the projection of open questions.

use std::collections::HashSet;

use pleach_core::{AppName, SessionId, SessionKey, UserId};
use pleach_session::{Asked, Projected, ProjectionResult};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::connections::Ask;
use crate::fault::{Server, Trouble};
use crate::inbox_fault::outcome;
use crate::inbox_sql as sql;
use crate::lent::Lent;

/// The open questions of some sessions of an app, to be stored.
pub(crate) struct Store {
    pub(crate) app_name: AppName,
    pub(crate) server: Server,
    pub(crate) sessions: Vec<Projected>,
}

type Names = (UserId, SessionId);

impl Store {
    async fn store(&self, connection: &mut Lent) -> sqlx::Result<()> {
        // A plan that was made while a table was small reads the whole table, and would still be used when the table
        // has grown. So statements are planned for each batch. The plan for checking a foreign key is kept in any
        // case, so it must use the index.
        connection.begin("SET LOCAL enable_seqscan = off").await?;
        let stored = self.store_sessions(connection).await?;
        let users: Vec<&str> = stored.iter().map(|(user, _)| user.as_str()).collect();
        let ids: Vec<&str> = stored.iter().map(|(_, id)| id.as_str()).collect();
        let old = sqlx::query(sql::delete()).bind(self.app_name.as_str()).bind(users).bind(ids);
        old.persistent(false).execute(&mut *connection).await?;
        self.store_questions(connection, &stored).await?;
        connection.commit().await
    }

    /// Returns the sessions that are not already projected from newer events.
    async fn store_sessions(&self, connection: &mut Lent) -> sqlx::Result<HashSet<Names>> {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let sessions = || self.sessions.iter();
        let rows = sqlx::query(sql::upsert())
            .bind(self.app_name.as_str())
            .bind(sessions().map(|session| session.key.user_id.as_str()).collect::<Vec<_>>())
            .bind(sessions().map(|session| session.key.session_id.as_str()).collect::<Vec<_>>())
            .bind(sessions().map(|session| session.created.as_str()).collect::<Vec<_>>())
            .bind(sessions().map(|session| number(session.events)).collect::<Vec<_>>())
            .bind(sessions().map(|session| number(session.questions().len())).collect::<Vec<_>>())
            .persistent(false)
            .fetch_all(connection)
            .await?;
        let names = |row: &PgRow| {
            let (user, session): (&str, &str) = (row.try_get("user_id")?, row.try_get("session_id")?);
            Ok((user.into(), session.into()))
        };
        rows.iter().map(names).collect()
    }

    async fn store_questions(&self, connection: &mut Lent, stored: &HashSet<Names>) -> sqlx::Result<()> {
        let is_stored = |key: &SessionKey| stored.contains(&(key.user_id.clone(), key.session_id.clone()));
        let mut rows: Vec<(&SessionKey, &Asked, String)> = Vec::new();
        for session in self.sessions.iter().filter(|session| is_stored(&session.key)) {
            let asked = session.questions().iter();
            rows.extend(asked.map(|asked| (&session.key, asked, asked.event_id.to_string())));
        }
        let rows = || rows.iter();
        sqlx::query(sql::insert())
            .bind(self.app_name.as_str())
            .bind(rows().map(|(key, ..)| key.user_id.as_str()).collect::<Vec<_>>())
            .bind(rows().map(|(key, ..)| key.session_id.as_str()).collect::<Vec<_>>())
            .bind(rows().map(|(_, asked, _)| i64::from(asked.place)).collect::<Vec<_>>())
            .bind(rows().map(|(_, asked, _)| asked.question.asked_at).collect::<Vec<_>>())
            .bind(rows().map(|(_, asked, _)| asked.question.assignee.as_deref()).collect::<Vec<_>>())
            .bind(rows().map(|(.., event)| event.as_str()).collect::<Vec<_>>())
            .bind(rows().map(|(_, asked, _)| asked.question.id.as_str()).collect::<Vec<_>>())
            .execute(connection)
            .await?;
        Ok(())
    }
}

impl Ask for Store {
    type Answer = ProjectionResult<()>;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<ProjectionResult<()>, Trouble> {
        let error = match self.store(connection).await {
            Ok(()) => return Ok(Ok(())),
            Err(error) => error,
        };
        // A broken connection has no transaction to end, and the next operation notices the fault.
        let _ = connection.settle().await;
        outcome(error, &self.server)
    }
}
