//! Finding recently asked questions with a deadline, through an index on the times of the events that ask them.
//!
//! No column in Postgres follows the order of appends. So each scan reads the last minute again, by the caller's clock,
//! and skips events that it has already seen. The clocks of processes may differ by up to a minute.

use std::collections::HashSet;

use pleach_core::{AppName, SessionKey, micros};
use pleach_session::{InboxItem, LogPlace, NewDeadlines, ProjectionError, SessionResult};
use sqlx::Row as _;

use crate::PostgresSessionService;
use crate::connections::Ask;
use crate::fault::Trouble;
use crate::inbox_index;
use crate::inbox_sql as sql;
use crate::lent::Lent;
use crate::load::read_event;
use crate::value::{Name, Time};

/// How far before the previous scan events are read again, in seconds. Events have the time of the process that asks,
/// and become visible when its transaction ends.
const BACK: f64 = 60.0;

/// A scan: its time in seconds since the epoch, and the events that it saw within [`BACK`].
#[derive(Clone, Debug, Default)]
struct ScanPosition {
    at: f64,
    seen: HashSet<Place>,
}

/// The place of a stored event: its user, session and id.
type Place = (String, String, String);

impl PostgresSessionService {
    /// Returns the questions with a deadline that the app has asked recently, except those that the previous scan saw;
    /// `None` if there is no index.
    pub(crate) async fn deadlines_since(
        &self,
        app_name: &AppName,
        since: Option<&LogPlace>,
        now: f64,
    ) -> SessionResult<Option<NewDeadlines>> {
        if self.read_only || !*self.inbox.has_deadlines.get_or_try_init(|| self.make_deadlines()).await? {
            return Ok(None);
        }
        let first = ScanPosition { at: now, ..ScanPosition::default() };
        let last = match since {
            None => &first,
            Some(place) => match place.get::<ScanPosition>() {
                Some(last) => last,
                None => return Ok(None),
            },
        };
        let (items, seen) = self.connections.ask(&ScanDeadlines { app_name, last, now, service: self }).await?;
        Ok(Some(NewDeadlines { items, place: LogPlace::new(ScanPosition { at: now, seen }) }))
    }

    /// Creates the index, and returns `true` if it exists.
    async fn make_deadlines(&self) -> SessionResult<bool> {
        if self.connections.ask(&FindIndex).await? {
            return Ok(true);
        }
        match self.make_index(&self.inbox.deadlines_build, &sql::DEADLINES).await {
            Ok(made) => Ok(made),
            Err(ProjectionError::Failed(error) | ProjectionError::Unwritable(error)) => Err(error),
            // Another program has dropped `events` in the meantime.
            Err(ProjectionError::Missing) => Ok(false),
        }
    }
}

struct FindIndex;

impl Ask for FindIndex {
    type Answer = bool;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<bool, Trouble> {
        Ok(inbox_index::find(connection, &sql::DEADLINES).await? == Some(true))
    }
}

struct ScanDeadlines<'l> {
    app_name: &'l AppName,
    last: &'l ScanPosition,
    now: f64,
    service: &'l PostgresSessionService,
}

impl Ask for ScanDeadlines<'_> {
    /// The questions asked, and the events of the last minute.
    type Answer = (Vec<InboxItem>, HashSet<Place>);

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Self::Answer, Trouble> {
        let Self { app_name, last, now, service } = *self;
        let seen = || last.seen.iter();
        let rows = sqlx::query(sql::deadlines())
            .bind(Name(app_name.as_str()))
            .bind(Time(micros(last.at.min(now) - BACK)))
            .bind(seen().map(|(user, ..)| user.as_str()).collect::<Vec<_>>())
            .bind(seen().map(|(_, session, _)| session.as_str()).collect::<Vec<_>>())
            .bind(seen().map(|(.., id)| id.as_str()).collect::<Vec<_>>())
            .fetch_all(connection)
            .await?;
        let mut items = Vec::new();
        let mut seen = HashSet::new();
        for row in &rows {
            let (user, session, id): (&str, &str, &str) =
                (row.try_get("user_id")?, row.try_get("session_id")?, row.try_get("id")?);
            if !row.try_get::<bool, _>("is_seen")? {
                let key = SessionKey::new(app_name, user, session);
                // An event that cannot be read is skipped here; a listing of all questions reports it.
                if let Ok(event) = read_event(row, id, &key, service.connections.server()) {
                    items.extend(NewDeadlines::of_event(&key, &event));
                }
            }
            seen.insert((user.to_owned(), session.to_owned(), id.to_owned()));
        }
        Ok((items, seen))
    }
}
