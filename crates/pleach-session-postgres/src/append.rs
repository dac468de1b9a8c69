//! Appending: one statement, and what to make of its answer.

use std::sync::Arc;

use pleach_core::{Event, SessionHead, SessionKey};
use pleach_session::raw_state::{self, RawDelta, RawObject};
use pleach_session::{SessionError, SessionResult, prepare};
use sqlx::postgres::{PgArguments, Postgres};
use sqlx::{PgConnection, Row as _};

use crate::connections::Ask;
use crate::fault::{Fault, Server, Trouble};
use crate::value::{self, Seen, Time};
use crate::{limits, sql};

/// How often a statement is sent again because another writer came first while it waited for the row, and left the
/// revision as it was.
const RACES: usize = 8;

/// One append, with all that writing it needs.
pub(crate) struct Append {
    key: Arc<SessionKey>,
    server: Server,
    /// What the caller has seen; the fence.
    seen: Seen,
    event: Arc<Event>,
    time: Time,
    /// The event as JSON text.
    data: String,
    /// The deltas as JSON text; `None` where there is nothing to merge.
    own: Option<String>,
    app: Option<String>,
    user: Option<String>,
}

/// The event to be appended, found stored.
struct Known {
    /// The revision right behind it.
    behind: Seen,
    /// Whether the caller had seen it; `None` when nobody can tell any more.
    was_seen: Option<bool>,
}

impl Append {
    /// Checks and writes everything that needs no connection. `event` is ready to be stored.
    pub(crate) fn new(head: &SessionHead, event: &Arc<Event>, server: &Server) -> SessionResult<Self> {
        let key = head.shared_key().clone();
        let time = limits::check_event(&key, event)?;
        let data = prepare::event_text(&key, event)?;
        let unwritable = |error| server.fault(sqlx::Error::Encode(Box::new(error)));
        let delta = RawDelta::from_map(event.actions().state_delta()).map_err(unwritable)?;
        let text = |object: &RawObject| match object.is_empty() {
            true => Ok(None),
            false => raw_state::to_text(object).map(Some).map_err(unwritable),
        };
        let (own, app, user) = (text(&delta.session)?, text(&delta.app)?, text(&delta.user)?);
        let seen = Seen { revision: head.revision(), update_time: head.last_update_time() };
        Ok(Self { key, server: server.clone(), seen, event: event.clone(), time, data, own, app, user })
    }

    fn query(&self) -> sqlx::query::Query<'_, Postgres, PgArguments> {
        let shared = self.app.is_some() || self.user.is_some();
        let query = value::query(if shared { sql::APPEND_SHARED } else { sql::APPEND }, &self.key)
            .bind(Time(self.seen.revision.micros))
            .bind(i64::from(self.seen.revision.ties))
            .bind(self.time)
            .bind(self.event.id().to_string())
            .bind(self.event.invocation_id().as_str())
            .bind(self.data.as_str())
            .bind(self.own.as_deref());
        if shared { query.bind(self.app.as_deref()).bind(self.user.as_deref()) } else { query }
    }

    /// The revision that is stored now; `None` without a session.
    async fn found(&self, connection: &mut PgConnection) -> sqlx::Result<Option<Seen>> {
        let rows = value::query(sql::FIND_REVISION, &self.key).fetch_all(connection).await?;
        rows.first().map(|row| Ok(Seen::new(row.try_get("update_time")?, row.try_get("ties")?))).transpose()
    }

    /// Looks for an event with this id: a success if it is this one, as after an answer that was lost (S34).
    async fn known(&self, connection: &mut PgConnection) -> Result<Option<Known>, Trouble> {
        let rows = value::query(sql::FIND_EVENT, &self.key)
            .bind(Time(self.seen.revision.micros))
            .bind(i64::from(self.seen.revision.ties))
            .bind(self.event.id().to_string())
            .bind(self.data.as_str())
            .fetch_all(connection)
            .await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        if !row.try_get::<bool, _>("same")? {
            let key = (*self.key).clone();
            return Err(SessionError::EventAlreadyExists { key, event: self.event.id().clone() }.into());
        }
        let behind = Seen::new(row.try_get("timestamp")?, row.try_get("ties")?);
        Ok(Some(Known { behind, was_seen: row.try_get("seen")? }))
    }

    fn stale(&self, found: Seen) -> SessionError {
        SessionError::Stale { key: (*self.key).clone(), stored: found.revision, ours: self.seen.revision }
    }
}

impl Ask for Append {
    type Answer = Seen;

    async fn ask(&self, connection: &mut PgConnection, _: bool) -> Result<Seen, Trouble> {
        for _ in 0..RACES {
            // All rows: the commit comes behind the first.
            let rows = match self.query().fetch_all(&mut *connection).await {
                Ok(rows) => rows,
                // Behind the fence: the caller has seen all there is.
                Err(error) if Fault::of(&error) == Fault::Duplicate => {
                    return self.known(connection).await?.map(|_| self.seen).ok_or(Trouble::Sql(error));
                }
                Err(error) => return Err(not_an_object(error, &self.key, &self.server)),
            };
            if let Some(row) = rows.first() {
                return Ok(Seen::new(self.time, row.try_get::<i64, _>("before")? + 1));
            }
            match self.found(connection).await? {
                None => return Err(SessionError::NotFound((*self.key).clone()).into()),
                Some(found) if found.revision != self.seen.revision => {
                    return match self.known(connection).await? {
                        // A caller that has seen the event stays where it is.
                        Some(Known { was_seen: Some(true), .. }) => Ok(self.seen),
                        Some(Known { was_seen: Some(false), behind }) => Ok(behind),
                        _ => Err(self.stale(found).into()),
                    };
                }
                Some(_) => {}
            }
        }
        let source = "other writers kept coming first".into();
        Err(SessionError::Locked { what: format!("session {} in {}", self.key, self.server), source }.into())
    }
}

/// Names the state that could not be merged into (case 88).
pub(crate) fn not_an_object(error: sqlx::Error, key: &SessionKey, server: &Server) -> Trouble {
    if Fault::of(&error) != Fault::NotAnObject {
        return error.into();
    }
    let table = error.as_database_error().and_then(|error| error.table()).unwrap_or_default();
    let whose = match table {
        "app_states" => format!("the state of app {}", key.app_name),
        "user_states" => format!("the state of user {}/{}", key.app_name, key.user_id),
        _ => format!("the state of session {key}"),
    };
    server.corrupt(whose, "it is not a JSON object").into()
}
