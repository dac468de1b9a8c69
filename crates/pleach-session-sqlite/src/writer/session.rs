//! Creating and deleting sessions, each in its own transaction.

use std::sync::Arc;

use pleach_core::SessionKey;
use pleach_session::raw_state::{self, RawDelta, RawObject};
use pleach_session::{SessionError, SessionResult};
use sqlx::{AssertSqlSafe, Row as _};

use super::texts::Shape;
use super::{Reply, Writer, answer};
use crate::fault::{Fault, File};
use crate::sql;

/// A request to create a session.
pub(crate) struct Create {
    /// The key with its final id, which is trimmed if the layout trims ids, or generated.
    pub(crate) key: Arc<SessionKey>,
    /// The requested id, with its surrounding blanks. A row with exactly this id also makes the id taken.
    // S30
    pub(crate) asked_id: String,
    pub(crate) state: RawDelta,
    /// The creation time in seconds since the epoch, as stored in a column.
    pub(crate) time: f64,
    pub(crate) reply: Reply<Created>,
}

/// The three initial states of a new session, as JSON text.
pub(crate) struct Created {
    pub(crate) session: String,
    pub(crate) app: String,
    pub(crate) user: String,
}

/// A request to delete a session. The ids are tried in order until one is found.
pub(crate) struct Delete {
    pub(crate) key: SessionKey,
    pub(crate) trimmed: Option<SessionKey>,
    pub(crate) reply: Reply<()>,
}

/// The state rows as they are before a session is created.
struct Found {
    taken: bool,
    padded_taken: bool,
    app: Option<String>,
    user: Option<String>,
}

impl Writer {
    pub(super) async fn create(&mut self, create: Create) {
        let outcome = loop {
            if let Err(error) = self.connect().await {
                break Err(error);
            }
            let error = match self.try_create(&create).await {
                Ok(outcome) => break outcome,
                Err(error) => error,
            };
            self.roll_back(&error).await;
            if Fault::of(&error) != Fault::Busy || !self.lock_wait.wait() {
                break Err(self.file().fault(error));
            }
        };
        answer(create.reply, outcome);
    }

    async fn try_create(&mut self, create: &Create) -> sqlx::Result<SessionResult<Created>> {
        let found = self.begin_create(create).await?;
        let key = &*create.key;
        let time = self.layout()?.column(create.time);
        let states = match new_states(&found, create, self.file()) {
            Ok(states) => states,
            Err(error) => {
                sqlx::query(sql::ROLLBACK).execute(self.open_connection()?).await?;
                return Ok(Err(error));
            }
        };
        // An existing row that the request does not change keeps its text and its time.
        let write_app = found.app.is_none() || !create.state.app.is_empty();
        let write_user = found.user.is_none() || !create.state.user.is_empty();
        if write_app || write_user {
            let shape = Shape { apps: usize::from(write_app), users: usize::from(write_user), ..Shape::default() };
            let text = self.texts.of(shape);
            let mut query = sqlx::query(AssertSqlSafe(text));
            if write_app {
                query = query.bind(key.app_name.as_str()).bind(&states.app).bind(time.clone());
            }
            if write_user {
                query = query.bind(key.app_name.as_str()).bind(key.user_id.as_str());
                query = query.bind(&states.user).bind(time.clone());
            }
            query.execute(self.open_connection()?).await?;
        }
        sqlx::query(sql::INSERT_SESSION)
            .bind(key.app_name.as_str())
            .bind(key.user_id.as_str())
            .bind(key.session_id.as_str())
            .bind(&states.session)
            .bind(time)
            .execute(self.open_connection()?)
            .await?;
        Ok(Ok(states))
    }

    async fn begin_create(&mut self, create: &Create) -> sqlx::Result<Found> {
        let key = &*create.key;
        let rows = sqlx::query(sql::CREATE_BEGIN)
            .bind(key.app_name.as_str())
            .bind(key.user_id.as_str())
            .bind(key.session_id.as_str())
            .bind(create.asked_id.as_str())
            .fetch_all(self.open_connection()?)
            .await?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        Ok(Found {
            taken: row.try_get::<i64, _>("taken")? > 0,
            padded_taken: row.try_get::<i64, _>("padded_taken")? > 0,
            app: row.try_get("app_state")?,
            user: row.try_get("user_state")?,
        })
    }

    pub(super) async fn delete(&mut self, delete: Delete) {
        let outcome = loop {
            if let Err(error) = self.connect().await {
                break Err(error);
            }
            let error = match self.try_delete(&delete).await {
                Ok(()) => break Ok(()),
                Err(error) => error,
            };
            self.roll_back(&error).await;
            if Fault::of(&error) != Fault::Busy || !self.lock_wait.wait() {
                break Err(self.file().fault(error));
            }
        };
        answer(delete.reply, outcome);
    }

    async fn try_delete(&mut self, delete: &Delete) -> sqlx::Result<()> {
        let mut key = &delete.key;
        if let Some(trimmed) = &delete.trimmed
            && !self.exists(key).await?
        {
            key = trimmed;
        }
        sqlx::query(sql::DELETE_SESSION)
            .bind(key.app_name.as_str())
            .bind(key.user_id.as_str())
            .bind(key.session_id.as_str())
            .execute(self.open_connection()?)
            .await?;
        Ok(())
    }

    async fn exists(&mut self, key: &SessionKey) -> sqlx::Result<bool> {
        let rows = sqlx::query(sql::SESSION_EXISTS)
            .bind(key.app_name.as_str())
            .bind(key.user_id.as_str())
            .bind(key.session_id.as_str())
            .fetch_all(self.open_connection()?)
            .await?;
        Ok(!rows.is_empty())
    }
}

fn new_states(found: &Found, create: &Create, file: &File) -> SessionResult<Created> {
    let key = &create.key;
    if found.taken || found.padded_taken {
        let id = if found.taken { key.session_id.as_str() } else { &create.asked_id };
        let taken = SessionKey::new(&key.app_name, &key.user_id, id);
        return Err(SessionError::AlreadyExists(taken));
    }
    let merge = |stored: &Option<String>, delta: &RawObject, whose: &str| {
        raw_state::merge(stored.as_deref().unwrap_or("{}"), delta)
            .map_err(|error| file.corrupt(format_args!("the {whose} state of {key}"), error))
    };
    Ok(Created {
        session: merge(&None, &create.state.session, "new")?,
        app: merge(&found.app, &create.state.app, "app")?,
        user: merge(&found.user, &create.state.user, "user")?,
    })
}
