//! Listings and the small reads.

use foldhash::HashMap;
use pleach_core::{AppName, Map, Session, SessionHead, SessionId, SessionKey, UserId, merge_view};
use pleach_session::{ListCursor, ListSessions, ListSessionsResponse, SessionResult};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _};

use crate::column;
use crate::fault::File;
use crate::load::{Reader, state};
use crate::sql::{self, Sql};
use crate::writer::Renewed;

/// The sessions of an app without events.
///
/// Two reads: the sort keys of all sessions, then the sessions of the page. Sorting is done here because a mixed file's
/// text times sort wrongly in SQL.
// S32
pub(crate) async fn sessions(reader: Reader<'_>, request: &ListSessions) -> SessionResult<ListSessionsResponse> {
    let Reader { pool, file, sql } = reader;
    let app = &request.app_name;
    let user = request.user_id.as_ref().map(UserId::as_str);
    let rows = sqlx::query(sql::LIST_PLACES).bind(app.as_str()).bind(user);
    let rows = rows.fetch_all(pool).await.map_err(|error| file.fault(error))?;
    let places = rows.iter().map(|row| place(row, file, sql)).collect::<SessionResult<Vec<_>>>()?;
    let (page, next) = ListCursor::page(places, request.after.as_ref(), request.limit);
    let ids: Vec<_> = page.iter().map(|(place, _)| (&place.user_id, &place.session_id)).collect();
    let ids = serde_json::to_string(&ids).expect("texts can always be written as JSON");
    let rows = sqlx::query(AssertSqlSafe(sql.list_states.clone())).bind(app.as_str()).bind(ids).bind(user);
    let rows = rows.bind(request.with_state);
    let rows = rows.fetch_all(pool).await.map_err(|error| file.fault(error))?;
    let states = States::read(&rows, app, file, sql)?;
    let sessions = page.into_iter().enumerate().filter_map(|(slot, (place, ()))| {
        // A session that was deleted between the two reads is not listed.
        let own = states.own.get(&slot)?;
        let key = SessionKey::new(app, &place.user_id, &place.session_id);
        Some(states.session(own, key, file))
    });
    Ok(ListSessionsResponse { sessions: sessions.collect::<SessionResult<_>>()?, next })
}

fn place(row: &SqliteRow, file: &File, sql: &Sql) -> SessionResult<(ListCursor, ())> {
    let read = || -> sqlx::Result<_> {
        let (user_id, id): (String, String) = (row.try_get("user_id")?, row.try_get("id")?);
        Ok((UserId::from(user_id), SessionId::from(id), column::time(row, "update_time")?))
    };
    let (user_id, session_id, updated) = read().map_err(|error| file.fault(error))?;
    let update_time = updated.map(|time| sql.layout().rounded(time)).ok_or_else(|| {
        file.corrupt(format_args!("the update time of session {user_id}/{session_id}"), "it is no time")
    })?;
    Ok((ListCursor { update_time, user_id, session_id }, ()))
}

/// The states a listing merges.
#[derive(Default)]
struct States<'r> {
    /// By position in the page: the state, parsed when its session is made, and the revision, if the time is valid.
    own: HashMap<usize, (&'r str, Option<Renewed>)>,
    app: Map,
    users: HashMap<&'r str, Map>,
}

impl<'r> States<'r> {
    fn read(rows: &'r [SqliteRow], app: &AppName, file: &File, sql: &Sql) -> SessionResult<Self> {
        let mut states = Self::default();
        for row in rows {
            let read = || -> sqlx::Result<(i64, i64, Option<&str>, &str)> {
                Ok((row.try_get("kind")?, row.try_get("slot")?, row.try_get("user_id")?, row.try_get("state")?))
            };
            let (kind, slot, user, text) = read().map_err(|error| file.fault(error))?;
            match (kind, user) {
                (0, _) => {
                    let seen = seen(row, sql).map_err(|error| file.fault(error))?;
                    states.own.insert(usize::try_from(slot).unwrap_or(usize::MAX), (text, seen));
                }
                (_, None) => states.app = state(Some(text), format_args!("the state of app {app}"), file)?,
                (_, Some(user)) => {
                    let place = format_args!("the state of user {app}/{user}");
                    states.users.insert(user, state(Some(text), place, file)?);
                }
            }
        }
        Ok(states)
    }

    fn session(&self, own: &(&str, Option<Renewed>), key: SessionKey, file: &File) -> SessionResult<Session> {
        let (own, seen) = *own;
        let no_time = || file.corrupt(format_args!("the update time of session {key}"), "it is no time");
        let seen = seen.ok_or_else(no_time)?;
        let own = state(Some(own), format_args!("the state of session {key}"), file)?;
        let none = Map::new();
        let user = self.users.get(key.user_id.as_str()).unwrap_or(&none);
        let merged = merge_view(own, &self.app, user);
        Ok(Session::new(SessionHead::new(key, seen.revision, seen.update_time), merged))
    }
}

fn seen(row: &SqliteRow, sql: &Sql) -> sqlx::Result<Option<Renewed>> {
    let time = column::time(row, "update_time")?;
    let ties = column::count(row, "ties")?;
    Ok(time.map(|time| Renewed::new(sql.layout().rounded(time), ties)))
}

/// Returns the names of the apps that have sessions.
pub(crate) async fn apps(reader: Reader<'_>) -> SessionResult<Vec<AppName>> {
    let Reader { pool, file, .. } = reader;
    let rows = sqlx::query(sql::LIST_APPS).fetch_all(pool).await.map_err(|error| file.fault(error))?;
    let name = |row: &SqliteRow| row.try_get::<&str, _>("app_name").map(AppName::from);
    rows.iter().map(name).collect::<sqlx::Result<_>>().map_err(|error| file.fault(error))
}

/// Returns the keys of all sessions of the app with this id.
pub(crate) async fn find(reader: Reader<'_>, app: &AppName, id: &SessionId) -> SessionResult<Vec<SessionKey>> {
    let Reader { pool, file, .. } = reader;
    let rows = sqlx::query(sql::FIND_SESSIONS).bind(app.as_str()).bind(id.as_str());
    let rows = rows.fetch_all(pool).await.map_err(|error| file.fault(error))?;
    let key = |row: &SqliteRow| {
        let user: String = row.try_get("user_id").map_err(|error| file.fault(error))?;
        Ok(SessionKey::new(app, user, id))
    };
    rows.iter().map(key).collect()
}

/// Returns the user's state, without prefixes.
pub(crate) async fn user_state(reader: Reader<'_>, app: &AppName, user: &UserId) -> SessionResult<Map> {
    let row = sqlx::query(sql::USER_STATE).bind(app.as_str()).bind(user.as_str());
    let row = row.fetch_optional(reader.pool).await.map_err(|error| reader.file.fault(error))?;
    shared_state(row, format_args!("the state of user {app}/{user}"), reader.file)
}

/// Returns the app's state, without prefixes.
pub(crate) async fn app_state(reader: Reader<'_>, app: &AppName) -> SessionResult<Map> {
    let row = sqlx::query(sql::APP_STATE).bind(app.as_str());
    let row = row.fetch_optional(reader.pool).await.map_err(|error| reader.file.fault(error))?;
    shared_state(row, format_args!("the state of app {app}"), reader.file)
}

fn shared_state(row: Option<SqliteRow>, whose: std::fmt::Arguments<'_>, file: &File) -> SessionResult<Map> {
    let Some(row) = row else {
        return Ok(Map::new());
    };
    let text: &str = row.try_get("state").map_err(|error| file.fault(error))?;
    state(Some(text), whose, file)
}
