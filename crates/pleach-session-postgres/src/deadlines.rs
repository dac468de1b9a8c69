//! The questions with a deadline that were asked lately: by the times of the events that ask, through an index of these.
//!
//! Nothing in Postgres is in the order of appends. So each look reads the events of the last minute by the caller's clock, but those that
//! it has seen before; the clocks of processes may differ by as much.

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

/// How far before the last look events are read again, in seconds: they have the time of the process that asks, and appear when its
/// transaction ends.
const BACK: f64 = 60.0;

/// A look: when it was, in seconds since the epoch, and the events behind [`BACK`] that were seen.
#[derive(Clone, Debug, Default)]
struct Looked {
    at: f64,
    seen: HashSet<Place>,
}

/// A stored event: its user, session and id.
type Place = (String, String, String);

impl PostgresSessionService {
    /// Returns the questions with a deadline that the app has asked lately, but those that were seen at the last look; `None` without the
    /// index.
    pub(crate) async fn deadlines_since(
        &self,
        app_name: &AppName,
        since: Option<&LogPlace>,
        now: f64,
    ) -> SessionResult<Option<NewDeadlines>> {
        if self.read_only || !*self.inbox.has_deadlines.get_or_try_init(|| self.make_deadlines()).await? {
            return Ok(None);
        }
        let first = Looked { at: now, ..Looked::default() };
        let last = match since {
            None => &first,
            Some(place) => match place.get::<Looked>() {
                Some(last) => last,
                None => return Ok(None),
            },
        };
        let (items, seen) = self.connections.ask(&Look { app_name, last, now, service: self }).await?;
        Ok(Some(NewDeadlines { items, place: LogPlace::new(Looked { at: now, seen }) }))
    }

    /// Makes the index, and returns whether it is there.
    async fn make_deadlines(&self) -> SessionResult<bool> {
        if self.connections.ask(&Find).await? {
            return Ok(true);
        }
        match self.make_index(&self.inbox.deadlines_build, &sql::DEADLINES).await {
            Ok(made) => Ok(made),
            Err(ProjectionError::Failed(error) | ProjectionError::Unwritable(error)) => Err(error),
            // Another program has dropped `events` meanwhile.
            Err(ProjectionError::Missing) => Ok(false),
        }
    }
}

struct Find;

impl Ask for Find {
    type Answer = bool;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<bool, Trouble> {
        Ok(inbox_index::find(connection, &sql::DEADLINES).await? == Some(true))
    }
}

struct Look<'l> {
    app_name: &'l AppName,
    last: &'l Looked,
    now: f64,
    service: &'l PostgresSessionService,
}

impl Ask for Look<'_> {
    /// What was asked, and the events of the last minute.
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
        let (mut items, mut seen) = (Vec::new(), HashSet::new());
        for row in &rows {
            let (user, session, id): (&str, &str, &str) =
                (row.try_get("user_id")?, row.try_get("session_id")?, row.try_get("id")?);
            if !row.try_get::<bool, _>("is_seen")? {
                let key = SessionKey::new(app_name, user, session);
                // One that cannot be read asks nothing here: a listing of all questions reports it.
                if let Ok(event) = read_event(row, id, &key, service.connections.server()) {
                    items.extend(NewDeadlines::of_event(&key, &event));
                }
            }
            seen.insert((user.to_owned(), session.to_owned(), id.to_owned()));
        }
        Ok((items, seen))
    }
}
