//! Loading one session: head, state and events in one statement, which is one snapshot and one trip.
//!
//! Events arrive as texts of up to 256 documents, so that SQLite's thread reads on while this side parses.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use pleach_core::{Map, Session, SessionHead, SessionKey, merge_view};
use pleach_session::{GetSessionConfig, SessionResult, Since, raw_state};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};

use crate::column;
use crate::document::{Chunk, event_of_row, lacks_columns};
use crate::fault::File;
use crate::layout::SqliteLayout;
use crate::sql::Sql;
use crate::wanted::Wanted;
use crate::writer::Renewed;

/// What loads need of a service.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'s> {
    pub(crate) pool: &'s SqlitePool,
    pub(crate) file: &'s File,
    pub(crate) sql: &'s Sql,
}

/// A session, and where the events before the wanted ones end, if that was asked and is known.
struct Loaded {
    session: Session,
    anchor: Option<i64>,
}

/// Loads the session with exactly this id.
pub(crate) async fn session(
    reader: Reader<'_>,
    key: &SessionKey,
    config: &GetSessionConfig,
) -> SessionResult<Option<Session>> {
    let loaded = load(reader, key, &Wanted::of(config, reader.sql.layout())).await?;
    Ok(loaded.map(|loaded| loaded.session))
}

/// What was appended behind a head: a small look first, because most sessions have not changed.
pub(crate) async fn since(reader: Reader<'_>, head: &SessionHead) -> SessionResult<Option<Since>> {
    let Some(now) = load(reader, head.key(), &Wanted::None).await? else {
        return Ok(None);
    };
    if now.session.revision() == head.revision() {
        return Ok(Some(Since::Events(now.session)));
    }
    let wanted = Wanted::since(head.revision(), reader.sql.layout());
    let loaded = load(reader, head.key(), &wanted).await?;
    Ok(loaded.map(|loaded| match loaded.anchor {
        Some(_) => Since::Events(loaded.session),
        None => Since::Unknown,
    }))
}

async fn load(reader: Reader<'_>, key: &SessionKey, wanted: &Wanted) -> SessionResult<Option<Loaded>> {
    let Reader { pool, file, sql } = reader;
    let mut rows = wanted.query(sql, key).fetch(pool);
    let fault = |error| file.fault(error);
    let Some(head) = rows.try_next().await.map_err(fault)? else {
        return Ok(None);
    };
    // Events whose session row is missing are not a session (case 102).
    if head.try_get::<i64, _>("chunk").map_err(fault)? >= 0 {
        return Ok(None);
    }
    let mut loaded = first(&head, key, reader)?;
    let mut chunks = Vec::new();
    while let Some(row) = rows.try_next().await.map_err(fault)? {
        let number: i64 = row.try_get("chunk").map_err(fault)?;
        let chunk = Chunk::of(&row).map_err(fault)?;
        chunks.push((number, chunk.events(key, file)?));
    }
    drop(rows);
    chunks.sort_by_key(|(number, _)| *number);
    loaded.session.events = chunks.into_iter().flat_map(|(_, events)| events).collect();
    if loaded.session.events.iter().any(|event| lacks_columns(event)) {
        return load_rows(reader, key, wanted).await;
    }
    Ok(Some(loaded))
}

/// Loads everything again with a row for each event, for what documents lack: head and events are of one moment here, too.
async fn load_rows(reader: Reader<'_>, key: &SessionKey, wanted: &Wanted) -> SessionResult<Option<Loaded>> {
    let Reader { pool, file, sql } = reader;
    let mut rows = wanted.query_rows(sql, key).fetch_all(pool).await.map_err(|error| file.fault(error))?;
    // A row without a number would be a fault of the statement; the head is -1.
    let number = |row: &SqliteRow| row.try_get::<i64, _>("chunk").unwrap_or(i64::MAX);
    rows.sort_by_key(number);
    let [head, events @ ..] = &*rows else {
        return Ok(None);
    };
    if number(head) >= 0 {
        return Ok(None);
    }
    let mut loaded = first(head, key, reader)?;
    let events = events.iter().map(|row| event_of_row(row, key, file, sql.layout()).map(Arc::new));
    loaded.session.events = events.collect::<SessionResult<_>>()?;
    Ok(Some(loaded))
}

/// The session of the first row, without its events.
fn first(row: &SqliteRow, key: &SessionKey, reader: Reader<'_>) -> SessionResult<Loaded> {
    let Reader { file, sql, .. } = reader;
    let (head, state) = read_head(row, key, file, sql.layout())?;
    let anchor = row.try_get("anchor").map_err(|error| file.fault(error))?;
    Ok(Loaded { session: Session::new(head, state), anchor })
}

fn read_head(
    row: &SqliteRow,
    key: &SessionKey,
    file: &File,
    layout: SqliteLayout,
) -> SessionResult<(SessionHead, Map)> {
    let read = || -> sqlx::Result<_> {
        let states = (row.try_get("data")?, row.try_get("app_state")?, row.try_get("user_state")?);
        let updated = column::time(row, "update_time")?;
        Ok((states, updated, column::count(row, "ties")?))
    };
    let (states, updated, ties) = read().map_err(|error| file.fault(error))?;
    let (own, app, user): (Option<&str>, Option<&str>, Option<&str>) = states;
    let state = merge_view(
        state(own, format_args!("the state of session {key}"), file)?,
        &state(app, format_args!("the state of app {}", key.app_name), file)?,
        &state(user, format_args!("the state of user {}/{}", key.app_name, key.user_id), file)?,
    );
    let updated =
        updated.ok_or_else(|| file.corrupt(format_args!("the update time of session {key}"), "it is no time"))?;
    let seen = Renewed::new(layout.rounded(updated), ties);
    Ok((SessionHead::new(key.clone(), seen.revision, seen.update_time), state))
}

/// Reads a state column; a missing row is an empty state.
pub(crate) fn state(text: Option<&str>, place: std::fmt::Arguments<'_>, file: &File) -> SessionResult<Map> {
    text.map_or_else(|| Ok(Map::new()), |text| raw_state::decode(text).map_err(|error| file.corrupt(place, error)))
}
