//! Loading one session: head, state and events in one statement, so from one snapshot and with one round trip.
//!
//! Events are parsed while later rows arrive.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use pleach_core::{Event, EventId, InvocationId, Revision, Session, SessionHead, SessionKey, micros, seconds};
use pleach_session::{GetSessionConfig, Since, read_stored};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow, Postgres};

use crate::connections::Ask;
use crate::fault::{Server, Trouble};
use crate::lent::Lent;
use crate::sql;
use crate::value::{self, Name, Seen, Time};

/// Loads a session.
pub(crate) struct Load<'k> {
    key: &'k SessionKey,
    server: &'k Server,
    wanted: EventFilter,
}

/// The events to load.
#[derive(Clone, Copy)]
enum EventFilter {
    None,
    Events {
        /// The earliest time of an event.
        after: Option<Time>,
        newest: Option<i64>,
    },
    /// The events that were appended after a revision.
    Since(Revision),
}

/// The result of reading the rows.
struct Loaded {
    session: Option<Session>,
    /// Whether the requested revision does not exist.
    unknown: bool,
}

impl<'k> Load<'k> {
    pub(crate) fn new(key: &'k SessionKey, config: &GetSessionConfig, server: &'k Server) -> Self {
        // As in google-adk, zero means that there is no filter, and times are rounded like the column with which they
        // are compared (S31).
        let after = config.after_timestamp.filter(|&after| after != 0.0 && !after.is_nan());
        let after = after.map(|after| Time(micros(after)));
        let newest = config.num_recent_events.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        let wanted = if newest == Some(0) { EventFilter::None } else { EventFilter::Events { after, newest } };
        Self { key, server, wanted }
    }

    fn query(&self) -> sqlx::query::Query<'_, Postgres, PgArguments> {
        let text = match self.wanted {
            EventFilter::None => sql::LOAD_NONE,
            EventFilter::Events { newest: None, .. } => sql::LOAD_ALL,
            EventFilter::Events { newest: Some(_), .. } => sql::LOAD_NEWEST,
            EventFilter::Since(_) => sql::LOAD_SINCE,
        };
        let query = value::query(text, self.key);
        match self.wanted {
            EventFilter::None => query,
            EventFilter::Events { after, newest: None } => query.bind(after),
            EventFilter::Events { after, newest } => query.bind(after).bind(newest),
            EventFilter::Since(revision) => query.bind(Time(revision.micros)).bind(i64::from(revision.ties)),
        }
    }

    async fn read(&self, connection: &mut Lent) -> Result<Loaded, Trouble> {
        let mut rows = self.query().fetch(connection);
        let mut session = None;
        let mut unknown = false;
        let mut events = Vec::new();
        while let Some(row) = rows.try_next().await? {
            let place: i64 = row.try_get("place")?;
            match row.try_get::<Option<&str>, _>("id")? {
                None => session = Some(self.read_head(&row)?),
                Some(_) if place < 0 => unknown = true,
                Some(id) => events.push((place, Arc::new(read_event(&row, id, self.key, self.server)?))),
            }
        }
        // The events arrive in order, unless the server executes both halves of the statement in parallel.
        if !events.is_sorted_by_key(|(place, _)| *place) {
            events.sort_by_key(|(place, _)| *place);
        }
        let events = events.into_iter().map(|(_, event)| event).collect();
        Ok(Loaded { session: session.map(|session| Session { events, ..session }), unknown })
    }

    fn read_head(&self, row: &PgRow) -> Result<Session, Trouble> {
        let key = self.key;
        let server = self.server;
        let time = row
            .try_get("timestamp")
            .map_err(|error| server.corrupt(format_args!("the update time of session {key}"), error))?;
        let seen = Seen::new(time, row.try_get("ties")?);
        let head = SessionHead::new(key.clone(), seen.revision, seen.update_time);
        let states = [value::json(row, "data")?, value::json(row, "app_state")?, value::json(row, "user_state")?];
        Ok(value::session(head, states, server)?)
    }
}

/// Reads an event from its row. The columns take precedence over the document's ids, and the document takes precedence
/// over the column's time.
// S46
pub(crate) fn read_event(row: &PgRow, id: &str, key: &SessionKey, server: &Server) -> Result<Event, Trouble> {
    let place = || format!("event {id} of session {key}");
    let mut event: Event = match value::json(row, "data")? {
        Some(text) => read_stored(text).map_err(|error| server.corrupt(place(), error))?,
        None => Event::new(),
    };
    event.set_id(EventId::from(id));
    let invocation: &str = row.try_get("invocation_id")?;
    if event.invocation_id().as_str() != invocation {
        event.set_invocation_id(InvocationId::from(invocation));
    }
    if event.timestamp() == 0.0 {
        let time: Time = row.try_get("timestamp").map_err(|error| server.corrupt(place(), error))?;
        event.set_timestamp(seconds(time.0));
    }
    Ok(event)
}

impl Ask for Load<'_> {
    type Answer = Option<Session>;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Option<Session>, Trouble> {
        Ok(self.read(connection).await?.session)
    }
}

/// Loads the events that were appended after a head. A small query comes first, because most sessions have not changed.
pub(crate) struct LoadSince<'k> {
    pub(crate) head: &'k SessionHead,
    pub(crate) server: &'k Server,
}

impl Ask for LoadSince<'_> {
    type Answer = Option<Since>;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Option<Since>, Trouble> {
        let key = self.head.key();
        let server = self.server;
        let now = Load { key, server, wanted: EventFilter::None }.read(connection).await?;
        let unchanged = |session: &Session| session.revision() == self.head.revision();
        if now.session.as_ref().is_none_or(unchanged) {
            return Ok(now.session.map(Since::Events));
        }
        let wanted = EventFilter::Since(self.head.revision());
        let loaded = Load { key, server, wanted }.read(connection).await?;
        Ok(loaded.session.map(|session| if loaded.unknown { Since::Unknown } else { Since::Events(session) }))
    }
}

/// Loads the head of a reader who has seen the session up to an event.
pub(crate) struct HeadBehind<'k> {
    pub(crate) key: &'k SessionKey,
    pub(crate) event: &'k EventId,
}

impl Ask for HeadBehind<'_> {
    type Answer = Option<SessionHead>;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Option<SessionHead>, Trouble> {
        let id = self.event.to_string();
        let rows = value::query(sql::FIND_BEHIND, self.key).bind(Name(&id)).fetch_all(connection).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let seen = Seen::new(row.try_get("timestamp")?, row.try_get("ties")?);
        Ok(Some(SessionHead::new(self.key.clone(), seen.revision, seen.update_time)))
    }
}
