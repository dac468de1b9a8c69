//! Listings and the small read operations.

use std::collections::HashMap;
use std::sync::Arc;

use pleach_core::{AppName, Map, Scope, SessionHead, SessionId, SessionKey, UserId};
use pleach_session::raw_state::StoredState;
use pleach_session::{ListCursor, ListSessions, ListSessionsResponse, Listed, SessionResult, SharedState, readable};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _};

use crate::column;
use crate::fault::File;
use crate::inbox_sql::is_missing;
use crate::listing_sql::{ListingFilter, PlaceColumns};
use crate::load::{Reader, state};
use crate::sql::{self, Sql};
use crate::writer::Renewed;

/// The position of a session in a listing, and its row number.
type Place = (ListCursor, i64);

/// Returns the sessions of an app without events. The positions of the page are read first, then the rows of its
/// sessions.
// S32
pub(crate) async fn sessions(reader: Reader<'_>, request: &ListSessions) -> SessionResult<ListSessionsResponse> {
    let Reader { pool, file, sql } = reader;
    let (page, next) = ListCursor::page(places(reader, request).await?, request.after.as_ref(), request.limit);
    let rows: Vec<i64> = page.iter().map(|(_, row)| *row).collect();
    let rows = serde_json::to_string(&rows).expect("numbers can always be written as JSON");
    let rows = sqlx::query(AssertSqlSafe(sql.list_states.clone())).bind(request.app_name.as_str()).bind(rows);
    let rows = rows.bind(request.with_state).fetch_all(pool).await.map_err(|error| file.fault(error))?;
    let states = States::read(&rows, &request.app_name, reader).map_err(|error| file.fault(error))?;
    let mut response = ListSessionsResponse { next, ..ListSessionsResponse::default() };
    for (place, row) in page {
        let key = SessionKey::new(&request.app_name, &place.user_id, &place.session_id);
        // A session that was deleted between the two reads is not listed.
        if let Some(own) = states.own.get(&row).filter(|own| own.is_of(&key)) {
            states.list(own, key, file, &mut response);
        }
    }
    Ok(response)
}

/// Returns the positions of at least one session more than the page has. Also returns the positions of all sessions
/// whose times are not of the layout's own kind.
async fn places(reader: Reader<'_>, request: &ListSessions) -> SessionResult<Vec<Place>> {
    let rows = match place_rows(reader, request, request.unsettled_for.as_deref()).await {
        // Nothing has been noted in this file yet.
        Err(error) if request.unsettled_for.is_some() && is_missing(&error) => place_rows(reader, request, None).await,
        rows => rows,
    };
    let places = rows.and_then(|rows| rows.iter().map(|row| place(row, reader.sql)).collect());
    places.map_err(|error| reader.file.fault(error))
}

async fn place_rows(reader: Reader<'_>, request: &ListSessions, program: Option<&str>) -> sqlx::Result<Vec<SqliteRow>> {
    let Reader { pool, sql, .. } = reader;
    let app = request.app_name.as_str();
    let user = request.user_id.as_ref().map(UserId::as_str);
    let after = PlaceColumns::of(request.after.as_ref(), sql.layout());
    let filter = ListingFilter { of_user: user.is_some(), unsettled: program.is_some() };
    // In SQLite, -1 means that there is no limit.
    let limit = request.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1));
    let page = sqlx::query(AssertSqlSafe(sql.listing.page(filter))).bind(app).bind(user);
    let mut page = page.bind(after.time).bind(after.user).bind(after.session).bind(limit);
    let mut odd = sqlx::query(AssertSqlSafe(sql.listing.odd(filter))).bind(app).bind(user);
    if let Some(program) = program {
        (page, odd) = (page.bind(program), odd.bind(program));
    }
    let mut rows = page.fetch_all(pool).await?;
    rows.extend(odd.fetch_all(pool).await?);
    Ok(rows)
}

fn place(row: &SqliteRow, sql: &Sql) -> sqlx::Result<Place> {
    let (user_id, id): (String, String) = (row.try_get("user_id")?, row.try_get("id")?);
    let update_time = column::time(row, "update_time")?.map_or(NO_TIME, |time| sql.layout().rounded(time));
    // Adding 0.0 turns -0 into 0, because they are equal in SQLite.
    let place = ListCursor { update_time: update_time + 0.0, user_id: user_id.into(), session_id: id.into() };
    Ok((place, row.try_get("place")?))
}

/// The position of sessions whose times cannot be read.
const NO_TIME: f64 = 0.0;

/// A listed session.
struct ListedRow<'r> {
    user: String,
    id: String,
    state: Option<std::borrow::Cow<'r, str>>,
    /// The revision, if the time is valid.
    seen: Option<Renewed>,
}

impl ListedRow<'_> {
    fn is_of(&self, key: &SessionKey) -> bool {
        key.user_id.as_str() == self.user && key.session_id.as_str() == self.id
    }
}

/// The states that a listing merges.
struct States<'r> {
    /// The sessions by row number. A state is read when its session is created.
    own: HashMap<i64, ListedRow<'r>>,
    app: SharedState,
    users: HashMap<String, SharedState>,
}

impl<'r> States<'r> {
    fn read(rows: &'r [SqliteRow], app: &AppName, reader: Reader<'_>) -> sqlx::Result<Self> {
        let Reader { file, sql, .. } = reader;
        let mut states = Self { own: HashMap::new(), app: Ok(StoredState::default()), users: HashMap::new() };
        for row in rows {
            let (kind, user): (i64, Option<String>) = (row.try_get("kind")?, row.try_get("user_id")?);
            let text = column::text(row, "state")?;
            match (kind, user) {
                (0, Some(user)) => {
                    let own = ListedRow { user, id: row.try_get("id")?, state: text, seen: seen(row, sql)? };
                    states.own.insert(row.try_get("place")?, own);
                }
                (_, None) => states.app = shared(text.as_deref(), format_args!("the state of app {app}"), file),
                (_, Some(user)) => {
                    let state = shared(text.as_deref(), format_args!("the state of user {app}/{user}"), file);
                    states.users.insert(user, state);
                }
            }
        }
        Ok(states)
    }

    fn list(&self, own: &ListedRow<'_>, key: SessionKey, file: &File, response: &mut ListSessionsResponse) {
        let none = Ok(StoredState::default());
        let user = self.users.get(key.user_id.as_str()).unwrap_or(&none);
        let no_time = || file.corrupt(format_args!("the update time of session {key}"), "it is not a time");
        let head = own.seen.map(|seen| SessionHead::new(key.clone(), seen.revision, seen.update_time));
        let head = head.ok_or_else(no_time);
        let time_if_unreadable = NO_TIME;
        let state = state(own.state.as_deref(), format_args!("the state of session {key}"), file);
        Listed { key, head, time_if_unreadable, state }.add_to(response, &self.app, user);
    }
}

fn shared(text: Option<&str>, place: std::fmt::Arguments<'_>, file: &File) -> SharedState {
    state(text, place, file).map_err(Arc::new)
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

/// Returns the user's state, without key prefixes.
pub(crate) async fn user_state(reader: Reader<'_>, app: &AppName, user: &UserId) -> SessionResult<Map> {
    let row = sqlx::query(sql::USER_STATE).bind(app.as_str()).bind(user.as_str());
    let row = row.fetch_optional(reader.pool).await.map_err(|error| reader.file.fault(error))?;
    let state = shared_state(row, format_args!("the state of user {app}/{user}"), reader.file)?;
    Ok(readable(state, Scope::User, app, user))
}

/// Returns the app's state, without key prefixes.
pub(crate) async fn app_state(reader: Reader<'_>, app: &AppName) -> SessionResult<Map> {
    let row = sqlx::query(sql::APP_STATE).bind(app.as_str());
    let row = row.fetch_optional(reader.pool).await.map_err(|error| reader.file.fault(error))?;
    let state = shared_state(row, format_args!("the state of app {app}"), reader.file)?;
    Ok(readable(state, Scope::App, app, &UserId::from("")))
}

fn shared_state(row: Option<SqliteRow>, whose: std::fmt::Arguments<'_>, file: &File) -> SessionResult<StoredState> {
    let Some(row) = row else {
        return Ok(StoredState::default());
    };
    let text = column::text(&row, "state").map_err(|error| file.fault(error))?;
    state(text.as_deref(), whose, file)
}
