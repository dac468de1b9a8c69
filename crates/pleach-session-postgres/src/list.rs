//! Listings and the small read operations.

use std::collections::HashMap;
use std::sync::Arc;

use pleach_core::{AppName, Map, Scope, Session, SessionHead, SessionId, SessionKey, UserId, micros};
use pleach_session::raw_state::StoredState;
use pleach_session::{ListCursor, ListSessions, ListSessionsResponse, Listed, SharedState, readable};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow, Postgres};
use sqlx::query::Query;

use crate::connections::Ask;
use crate::fault::{Server, Trouble};
use crate::inbox_fault::outcome;
use crate::lent::Lent;
use crate::sql;
use crate::value::{self, Name, Seen, Time};

/// Lists the sessions of an app without events.
// S32
pub(crate) struct List<'r> {
    pub(crate) request: &'r ListSessions,
    pub(crate) server: &'r Server,
}

impl Ask for List<'_> {
    type Answer = ListSessionsResponse;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<ListSessionsResponse, Trouble> {
        let rows = self.query(false).fetch_all(connection).await?;
        self.response(&rows)
    }
}

impl<'r> List<'r> {
    fn query(&self, only_unsettled: bool) -> Query<'r, Postgres, PgArguments> {
        let request = self.request;
        let after = request.after.as_ref();
        // One more row than the limit shows whether there is a next page.
        let limit = request.limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1));
        sqlx::query(sql::list_sessions(only_unsettled))
            .bind(Name(request.app_name.as_str()))
            .bind(request.user_id.as_ref().map(|user| Name(user.as_str())))
            .bind(after.map(cursor_time))
            .bind(after.map(|after| Name(after.user_id.as_str())))
            .bind(after.map(|after| Name(after.session_id.as_str())))
            .bind(limit)
            .bind(request.user_id.is_none())
            .bind(request.with_state)
    }

    fn response(&self, rows: &[PgRow]) -> Result<ListSessionsResponse, Trouble> {
        let request = self.request;
        let states = self.shared_states(rows)?;
        let mut listed = Vec::new();
        for row in rows {
            if row.try_get::<i32, _>("kind")? == 0 {
                listed.push((row.try_get::<i64, _>("place")?, self.listed(row)?));
            }
        }
        listed.sort_by_key(|(place, _)| *place);
        let wanted = request.limit.unwrap_or(usize::MAX);
        let more = listed.len() > wanted;
        let mut response = ListSessionsResponse::default();
        let none = Ok(StoredState::default());
        let app = states.get(&None).unwrap_or(&none);
        for (_, listed) in listed.into_iter().take(wanted) {
            let user = listed.key.user_id.clone();
            listed.add_to(&mut response, app, states.get(&Some(user.as_str())).unwrap_or(&none));
        }
        response.next = response.sessions.last().filter(|_| more).map(place);
        Ok(response)
    }
}

/// Lists the sessions that a program has not noted as settled; `None` if there are no notes that can be read.
pub(crate) struct ListUnsettled<'r> {
    pub(crate) list: List<'r>,
    pub(crate) program: &'r str,
}

impl Ask for ListUnsettled<'_> {
    type Answer = Option<ListSessionsResponse>;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Self::Answer, Trouble> {
        // New tables have no statistics, so a nested loop could read all notes for each session, and that plan would
        // be kept.
        connection.begin("SET TRANSACTION READ ONLY; SET LOCAL enable_nestloop = off").await?;
        let query = self.list.query(true).bind(Name(self.program)).persistent(false);
        let found = query.fetch_all(&mut *connection).await;
        connection.roll_back().await?;
        match found {
            Ok(rows) => self.list.response(&rows).map(Some),
            Err(error) => outcome::<()>(error, self.list.server).map(|_| None),
        }
    }
}

/// The states that a page's sessions share: the app's under `None`, and those of its users.
type SharedStates<'r> = HashMap<Option<&'r str>, SharedState>;

impl List<'_> {
    fn shared_states<'r>(&self, rows: &'r [PgRow]) -> Result<SharedStates<'r>, Trouble> {
        let app = &self.request.app_name;
        let mut states = HashMap::new();
        for row in rows {
            if row.try_get::<i32, _>("kind")? == 0 {
                continue;
            }
            let user: Option<&str> = row.try_get("user_id")?;
            let text = value::json(row, "state")?;
            let state = match user {
                None => value::state(text, format_args!("the state of app {app}"), self.server),
                Some(user) => value::state(text, format_args!("the state of user {app}/{user}"), self.server),
            };
            states.insert(user, state.map_err(Arc::new));
        }
        Ok(states)
    }

    fn listed(&self, row: &PgRow) -> Result<Listed, Trouble> {
        let (user, id): (&str, &str) = (row.try_get("user_id")?, row.try_get("id")?);
        let key = SessionKey::new(&self.request.app_name, user, id);
        let state = value::state(value::json(row, "state")?, format_args!("the state of session {key}"), self.server);
        let ties = row.try_get("ties")?;
        let head = row.try_get("update_time").map(|time| {
            let seen = Seen::new(time, ties);
            SessionHead::new(key.clone(), seen.revision, seen.update_time)
        });
        let head = head.map_err(|error| self.server.corrupt(format_args!("the update time of session {key}"), error));
        // Only an infinite time cannot be read, and a cursor with it could not be written as JSON.
        let time_if_unreadable = if row.try_get("is_first")? { f64::MIN } else { f64::MAX };
        Ok(Listed { key, head, time_if_unreadable, state })
    }
}

/// Returns the column value of a position's time. NaN sorts as in [`ListCursor::order`].
fn cursor_time(place: &ListCursor) -> Time {
    let time = place.update_time;
    Time(micros(if time.is_nan() { f64::INFINITY.copysign(time) } else { time }))
}

fn place(session: &Session) -> ListCursor {
    ListCursor {
        update_time: session.last_update_time(),
        user_id: session.user_id().clone(),
        session_id: session.id().clone(),
    }
}

/// Lists the names of the apps that have sessions.
pub(crate) struct Apps;

impl Ask for Apps {
    type Answer = Vec<AppName>;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Vec<AppName>, Trouble> {
        let rows = sqlx::query(sql::LIST_APPS).fetch_all(connection).await?;
        let name = |row: &PgRow| row.try_get::<&str, _>("app_name").map(AppName::from);
        Ok(rows.iter().map(name).collect::<sqlx::Result<_>>()?)
    }
}

/// Finds the keys of all sessions of the app with one id.
pub(crate) struct Find<'r> {
    pub(crate) app_name: &'r AppName,
    pub(crate) session_id: &'r SessionId,
}

impl Ask for Find<'_> {
    type Answer = Vec<SessionKey>;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Vec<SessionKey>, Trouble> {
        let query = sqlx::query(sql::FIND_SESSIONS);
        let query = query.bind(Name(self.app_name.as_str())).bind(Name(self.session_id.as_str()));
        let rows = query.fetch_all(connection).await?;
        let key = |row: &PgRow| Ok(SessionKey::new(self.app_name, row.try_get::<&str, _>("user_id")?, self.session_id));
        rows.iter().map(key).collect()
    }
}

/// Reads the user's state, without key prefixes.
pub(crate) struct UserState<'r> {
    pub(crate) app_name: &'r AppName,
    pub(crate) user_id: &'r UserId,
    pub(crate) server: &'r Server,
}

impl Ask for UserState<'_> {
    type Answer = Map;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Map, Trouble> {
        let (app, user) = (self.app_name, self.user_id);
        let query = sqlx::query(sql::USER_STATE).bind(Name(app.as_str())).bind(Name(user.as_str()));
        let rows = query.fetch_all(connection).await?;
        let text = rows.first().map(|row| value::json(row, "state")).transpose()?.flatten();
        let state = value::state(text, format_args!("the state of user {app}/{user}"), self.server)?;
        Ok(readable(state, Scope::User, app, user))
    }
}

/// Reads an app's state, without key prefixes.
pub(crate) struct AppState<'r> {
    pub(crate) app_name: &'r AppName,
    pub(crate) server: &'r Server,
}

impl Ask for AppState<'_> {
    type Answer = Map;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Map, Trouble> {
        let app = self.app_name;
        let rows = sqlx::query(sql::APP_STATE).bind(Name(app.as_str())).fetch_all(connection).await?;
        let text = rows.first().map(|row| value::json(row, "state")).transpose()?.flatten();
        let state = value::state(text, format_args!("the state of app {app}"), self.server)?;
        Ok(readable(state, Scope::App, app, &UserId::from("")))
    }
}

/// Checks that the database responds and has the tables.
pub(crate) struct Check;

impl Ask for Check {
    type Answer = ();

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<(), Trouble> {
        sqlx::query(sql::ANYTHING).fetch_all(connection).await?;
        Ok(())
    }
}
