//! Creating and deleting sessions.

use std::sync::{Arc, OnceLock};

use pleach_core::{Session, SessionHead, SessionKey};
use pleach_session::raw_state::{self, RawDelta};
use pleach_session::{CreateSession, SessionError, SessionResult, prepare};
use sqlx::Row as _;

use crate::append::object_fault;
use crate::connections::Ask;
use crate::fault::{Server, Trouble};
use crate::lent::Lent;
use crate::value::{self, Seen, Time};
use crate::{limits, sql};

/// A request to create a session.
pub(crate) struct Create {
    key: Arc<SessionKey>,
    server: Server,
    time: Time,
    /// The session's own part of the state, as JSON text.
    own: String,
    /// The app's part of the state, as JSON text.
    app: String,
    /// The user's part of the state, as JSON text.
    user: String,
}

impl Create {
    /// Checks and serialises everything that needs no connection. Ids are not trimmed, and may be blank.
    // S30
    pub(crate) fn new(request: CreateSession, server: &Server) -> SessionResult<Self> {
        let seconds = prepare::create_time(&request);
        let id = request.session_id.unwrap_or_else(|| prepare::session_id_or_new(None));
        let key = Arc::new(SessionKey::new(request.app_name, request.user_id, id));
        let state = prepare::check_new_session(&key, seconds, request.state)?;
        limits::check_key(&key)?;
        let time = limits::check_time(&key, "create_time", seconds)?;
        let unwritable = |error| server.fault(sqlx::Error::Encode(Box::new(error)));
        let state = RawDelta::from_map(&state).map_err(unwritable)?;
        let text = |object| raw_state::to_text(object).map_err(unwritable);
        let (own, app, user) = (text(&state.session)?, text(&state.app)?, text(&state.user)?);
        Ok(Self { key, server: server.clone(), time, own, app, user })
    }
}

impl Ask for Create {
    type Answer = Session;

    async fn ask(&self, connection: &mut Lent, again: bool) -> Result<Session, Trouble> {
        let key = &self.key;
        let rows = sqlx::query(sql::CREATE_SESSION)
            .bind(key.app_name.as_str())
            .bind(key.user_id.as_str())
            .bind(key.session_id.as_str())
            .bind(self.own.as_str())
            .bind(self.time)
            .bind(self.app.as_str())
            .bind(self.user.as_str())
            .fetch_all(connection)
            .await
            .map_err(|error| object_fault(error, key, &self.server))?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        let mut own = value::json(row, "state")?;
        if own.is_none() && again {
            own = value::json(row, "same_state")?;
        }
        let Some(own) = own else {
            return Err(SessionError::AlreadyExists((**key).clone()).into());
        };
        let seen = Seen::new(self.time, 0);
        let head = SessionHead::new(key.clone(), seen.revision, seen.update_time);
        let states = [Some(own), value::json(row, "app_state")?, value::json(row, "user_state")?];
        Ok(value::session(head, states, &self.server)?)
    }
}

/// A request to delete a session.
pub(crate) struct Delete {
    key: SessionKey,
    /// The creation time of the session to delete. A repeated delete must not remove a session that was created with the
    /// same key since the first attempt.
    created: OnceLock<String>,
}

impl Delete {
    pub(crate) fn new(key: &SessionKey) -> Self {
        Self { key: key.clone(), created: OnceLock::new() }
    }
}

impl Ask for Delete {
    type Answer = ();

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<(), Trouble> {
        let created = match self.created.get() {
            Some(created) => created,
            None => {
                let rows = value::query(sql::FIND_CREATION, &self.key).fetch_all(&mut *connection).await?;
                let Some(row) = rows.first() else { return Ok(()) };
                let found = row.try_get("create_time")?;
                self.created.get_or_init(|| found)
            }
        };
        value::query(sql::DELETE_SESSION, &self.key).bind(created).execute(connection).await?;
        Ok(())
    }
}
