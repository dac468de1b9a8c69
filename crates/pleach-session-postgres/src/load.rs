//! Loading one session: head, state and events in one statement, which is one snapshot and one round trip.
//!
//! Events are parsed while the rows behind them arrive.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use pleach_core::{Event, EventId, InvocationId, Session, SessionHead, SessionKey, merge_view, micros, seconds};
use pleach_session::{GetSessionConfig, SessionResult};
use sqlx::postgres::{PgArguments, PgRow, Postgres};
use sqlx::{PgConnection, Row as _};

use crate::connections::Ask;
use crate::fault::{Server, Trouble};
use crate::sql;
use crate::value::{self, Seen, Time};

/// A session that is about to be loaded.
pub(crate) struct Load<'k> {
    key: &'k SessionKey,
    server: &'k Server,
    /// The earliest time of an event.
    after: Option<Time>,
    newest: Option<i64>,
}

impl<'k> Load<'k> {
    pub(crate) fn new(key: &'k SessionKey, config: &GetSessionConfig, server: &'k Server) -> Self {
        // Zero means no filter here, as in google-adk, and times are rounded like the column they are compared with (S31).
        let after = config.after_timestamp.filter(|&after| after != 0.0 && !after.is_nan());
        Self {
            key,
            server,
            after: after.map(|after| Time(micros(after).clamp(EARLIEST, LATEST))),
            newest: config.num_recent_events.map(|count| i64::try_from(count).unwrap_or(i64::MAX)),
        }
    }

    fn query(&self) -> sqlx::query::Query<'_, Postgres, PgArguments> {
        let query = sqlx::query(if self.newest.is_some() { sql::LOAD_NEWEST } else { sql::LOAD_ALL })
            .bind(self.key.app_name.as_str())
            .bind(self.key.user_id.as_str())
            .bind(self.key.session_id.as_str())
            .bind(self.after);
        match self.newest {
            Some(newest) => query.bind(newest),
            None => query,
        }
    }

    fn read_head(&self, row: &PgRow) -> Result<Session, Trouble> {
        let (key, server) = (self.key, self.server);
        let state = merge_view(
            value::state(value::json(row, "data")?, format_args!("the state of session {key}"), server)?,
            &value::state(value::json(row, "app_state")?, format_args!("the state of app {}", key.app_name), server)?,
            &value::state(
                value::json(row, "user_state")?,
                format_args!("the state of user {}/{}", key.app_name, key.user_id),
                server,
            )?,
        );
        let time = row
            .try_get("timestamp")
            .map_err(|error| server.corrupt(format_args!("the update time of session {key}"), error))?;
        let seen = Seen::new(time, row.try_get("ties")?);
        Ok(Session::new(SessionHead::new(key.clone(), seen.revision, seen.update_time), state))
    }

    /// The columns win over what the document says of ids, and the document over what they say of the time (S46).
    fn read_event(&self, row: &PgRow, id: &str) -> Result<Event, Trouble> {
        let place = || format!("event {id} of session {}", self.key);
        let mut event: Event = match value::json(row, "data")? {
            Some(text) => serde_json::from_str(text).map_err(|error| self.server.corrupt(place(), error))?,
            None => Event::new(),
        };
        event.set_id(EventId::from(id));
        let invocation: &str = row.try_get("invocation_id")?;
        if event.invocation_id().as_str() != invocation {
            event.set_invocation_id(InvocationId::from(invocation));
        }
        if event.timestamp() == 0.0 {
            let time: Time = row.try_get("timestamp").map_err(|error| self.server.corrupt(place(), error))?;
            event.set_timestamp(seconds(time.0));
        }
        Ok(event)
    }
}

/// What a `timestamp` column can be compared with.
const EARLIEST: i64 = -210_866_803_200_000_000;
const LATEST: i64 = 253_402_300_799_999_999;

impl Ask for Load<'_> {
    type Answer = Option<Session>;

    async fn ask(&self, connection: &mut PgConnection, _: bool) -> Result<Option<Session>, Trouble> {
        let mut rows = self.query().fetch(connection);
        let mut session = None;
        let mut events = Vec::new();
        while let Some(row) = rows.try_next().await? {
            match row.try_get::<Option<&str>, _>("id")? {
                None => session = Some(self.read_head(&row)?),
                Some(id) => events.push((row.try_get::<i64, _>("place")?, Arc::new(self.read_event(&row, id)?))),
            }
        }
        // They arrive in order, unless the server works on both halves of the statement at once.
        if !events.is_sorted_by_key(|(place, _)| *place) {
            events.sort_by_key(|(place, _)| *place);
        }
        let events = events.into_iter().map(|(_, event)| event).collect();
        Ok(session.map(|session| Session { events, ..session }))
    }
}

/// Loads a session; `None` when there is none.
pub(crate) async fn session(
    connections: &crate::connections::Connections,
    key: &SessionKey,
    config: &GetSessionConfig,
) -> SessionResult<Option<Session>> {
    connections.ask(&Load::new(key, config, connections.server())).await
}
