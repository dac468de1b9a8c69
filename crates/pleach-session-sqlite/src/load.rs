//! Loading one session: head, state and events in one statement, so from one snapshot and with one round trip.
//!
//! Events arrive as texts of up to 256 documents, so that SQLite's thread reads while this thread parses. Long
//! documents are left out of those texts and read one by one, so that no text exceeds SQLite's limit. A stored document
//! never changes, so later reads belong to the snapshot of the first statement, unless the session was deleted in
//! between.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use pleach_core::{EventId, Revision, Session, SessionHead, SessionKey};
use pleach_session::raw_state::{self, StoredState};
use pleach_session::{GetSessionConfig, SessionError, SessionResult, Since, report_unreadable};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _, SqliteConnection, SqlitePool};

use crate::column;
use crate::document::{Chunk, LeftOut, LongRow, complete, event_of_row, lacks_columns, row_left_out};
use crate::event_filter::{EventFilter, bind_key};
use crate::fault::File;
use crate::layout::SqliteLayout;
use crate::sql::{LONG_DOCUMENT, Sql};
use crate::writer::Renewed;

/// The parts of a service that loads need.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'s> {
    pub(crate) pool: &'s SqlitePool,
    pub(crate) file: &'s File,
    pub(crate) sql: &'s Sql,
}

/// A session, and the position where the selected events begin, if it was requested and is known.
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
    let loaded = load(reader, key, &EventFilter::of(config, reader.sql.layout())).await?;
    Ok(loaded.map(|loaded| loaded.session))
}

/// Loads the events that were appended after a head. A small query comes first, because most sessions have not changed.
pub(crate) async fn since(reader: Reader<'_>, head: &SessionHead) -> SessionResult<Option<Since>> {
    let Some(now) = load(reader, head.key(), &EventFilter::None).await? else {
        return Ok(None);
    };
    if now.session.revision() == head.revision() {
        return Ok(Some(Since::Events(now.session)));
    }
    let wanted = EventFilter::since(head.revision(), reader.sql.layout());
    let loaded = load(reader, head.key(), &wanted).await?;
    Ok(loaded.map(|loaded| match loaded.anchor {
        Some(_) => Since::Events(loaded.session),
        None => Since::Unknown,
    }))
}

/// Loads the head of a reader who has seen the session up to an event.
pub(crate) async fn head_behind(
    reader: Reader<'_>,
    key: &SessionKey,
    event: &EventId,
) -> SessionResult<Option<SessionHead>> {
    let fault = |error| reader.file.fault(error);
    let query = bind_key(sqlx::query(AssertSqlSafe(reader.sql.find_behind.clone())), key).bind(event.to_string());
    let rows = query.fetch_all(reader.pool).await.map_err(fault)?;
    let Some(row) = rows.first() else { return Ok(None) };
    let Some(time) = column::time(row, "timestamp").map_err(fault)? else { return Ok(None) };
    let ties = column::count(row, "ties").map_err(fault)?;
    let seen = Renewed::new(reader.sql.layout().rounded(time), ties);
    Ok(Some(SessionHead::new(key.clone(), seen.revision, seen.update_time)))
}

/// Compares the session's revision with the revision of a head.
pub(crate) async fn check_head(reader: Reader<'_>, head: &SessionHead) -> SessionResult<()> {
    let key = head.key();
    let ours = head.revision();
    let fault = |error| reader.file.fault(error);
    let query = bind_key(sqlx::query(AssertSqlSafe(reader.sql.revision.clone())), key);
    let rows = query.fetch_all(reader.pool).await.map_err(fault)?;
    let Some(row) = rows.first() else { return Err(SessionError::NotFound(key.clone())) };
    let time = column::time(row, "update_time").map_err(fault)?;
    let ties = column::count(row, "ties").map_err(fault)?;
    let stored =
        time.map_or_else(Revision::default, |time| Renewed::new(reader.sql.layout().rounded(time), ties).revision);
    if stored == ours { Ok(()) } else { Err(SessionError::Stale { key: key.clone(), stored, ours }) }
}

/// The number of times that a session is read again because it was deleted and created again in between.
const TRIES: usize = 4;

async fn load(reader: Reader<'_>, key: &SessionKey, wanted: &EventFilter) -> SessionResult<Option<Loaded>> {
    let mut connection = reader.pool.acquire().await.map_err(|error| reader.file.fault(error))?;
    for _ in 0..TRIES {
        match read(reader, &mut connection, key, wanted).await? {
            Read::Done(loaded) => return Ok(loaded),
            Read::Gone => {}
        }
    }
    let what = format!("session {key} in {}", reader.file);
    Err(SessionError::Locked { what, source: "it is deleted and created again while it is read".into() })
}

/// The result of reading a session.
enum Read {
    Done(Option<Loaded>),
    /// Events were deleted in between.
    Gone,
}

async fn read(
    reader: Reader<'_>,
    connection: &mut SqliteConnection,
    key: &SessionKey,
    wanted: &EventFilter,
) -> SessionResult<Read> {
    match read_together(reader, connection, key, wanted).await {
        // Load row by row, so that the error names the event.
        Err(SessionError::Corrupt { .. }) => load_rows(reader, connection, key, wanted).await,
        read => read,
    }
}

async fn read_together(
    reader: Reader<'_>,
    connection: &mut SqliteConnection,
    key: &SessionKey,
    wanted: &EventFilter,
) -> SessionResult<Read> {
    let mut left_out = Vec::new();
    let Some(mut loaded) = read_chunks(reader, connection, key, wanted, &mut left_out).await? else {
        return Ok(Read::Done(None));
    };
    for LeftOut { index, row } in left_out {
        let Some(row) = long_document(reader, connection, key, &row).await? else { return Ok(Read::Gone) };
        let event = &mut loaded.session.events[index];
        *event = Arc::new(complete(event, &text_of(&row, reader.file)?, key, reader.file)?);
    }
    if loaded.session.events.iter().any(|event| lacks_columns(event)) {
        return load_rows(reader, connection, key, wanted).await;
    }
    Ok(Read::Done(Some(loaded)))
}

/// Reads head and events. Documents that were left out are listed by the index of their events.
async fn read_chunks(
    reader: Reader<'_>,
    connection: &mut SqliteConnection,
    key: &SessionKey,
    wanted: &EventFilter,
    left_out: &mut Vec<LeftOut>,
) -> SessionResult<Option<Loaded>> {
    let Reader { file, sql, .. } = reader;
    let mut rows = wanted.query(sql, key).fetch(connection);
    let fault = |error| file.fault(error);
    let Some(head) = rows.try_next().await.map_err(fault)? else {
        return Ok(None);
    };
    // If events have no session row, there is no session (case 102).
    if head.try_get::<i64, _>("chunk").map_err(fault)? >= 0 {
        return Ok(None);
    }
    let mut loaded = first(&head, key, reader)?;
    let mut chunks = Vec::new();
    while let Some(row) = rows.try_next().await.map_err(fault)? {
        let number: i64 = row.try_get("chunk").map_err(fault)?;
        let mut lacking = Vec::new();
        let events = Chunk::of(&row).map_err(fault)?.events(key, file, &mut lacking)?;
        chunks.push((number, events, lacking));
    }
    chunks.sort_by_key(|(number, ..)| *number);
    for (_, events, lacking) in chunks {
        let before = loaded.session.events.len();
        left_out.extend(lacking.into_iter().map(|one| LeftOut { index: before + one.index, ..one }));
        loaded.session.events.extend(events);
    }
    Ok(Some(loaded))
}

/// Loads everything again with one row for each event, for documents without an id or a time.
async fn load_rows(
    reader: Reader<'_>,
    connection: &mut SqliteConnection,
    key: &SessionKey,
    wanted: &EventFilter,
) -> SessionResult<Read> {
    let Reader { file, sql, .. } = reader;
    let fault = |error| file.fault(error);
    let mut rows = wanted.query_rows(sql, key).fetch_all(&mut *connection).await.map_err(fault)?;
    // Every row has a number; the head's is -1.
    let number = |row: &SqliteRow| row.try_get::<i64, _>("chunk").unwrap_or(i64::MAX);
    rows.sort_by_key(number);
    let [head, events @ ..] = &*rows else {
        return Ok(Read::Done(None));
    };
    if number(head) >= 0 {
        return Ok(Read::Done(None));
    }
    let mut loaded = first(head, key, reader)?;
    for row in events {
        let long = match row_left_out(&text_of(row, file)?) {
            None => None,
            Some(long) => match long_document(reader, connection, key, &long).await? {
                None => return Ok(Read::Gone),
                found => found,
            },
        };
        let document = text_of(long.as_ref().unwrap_or(row), file)?;
        loaded.session.events.push(Arc::new(event_of_row(row, &document, key, file, sql.layout())?));
    }
    Ok(Read::Done(Some(loaded)))
}

/// Reads the row of a document that was left out; `None` if it has been deleted in the meantime.
async fn long_document(
    reader: Reader<'_>,
    connection: &mut SqliteConnection,
    key: &SessionKey,
    row: &LongRow,
) -> SessionResult<Option<SqliteRow>> {
    let query = bind_key(sqlx::query(LONG_DOCUMENT), key).bind(row.number).bind(row.id.as_str());
    // Fetch all rows: SQLite frees its copy of the document only when the statement ends.
    let rows = query.fetch_all(connection).await.map_err(|error| reader.file.fault(error))?;
    Ok(rows.into_iter().next())
}

fn text_of<'r>(row: &'r SqliteRow, file: &File) -> SessionResult<Cow<'r, str>> {
    Ok(column::text(row, "data").map_err(|error| file.fault(error))?.unwrap_or_default())
}

/// Returns the session of the first row, without its events.
fn first(row: &SqliteRow, key: &SessionKey, reader: Reader<'_>) -> SessionResult<Loaded> {
    let Reader { file, sql, .. } = reader;
    let session = read_head(row, key, file, sql.layout())?;
    let anchor = row.try_get("anchor").map_err(|error| file.fault(error))?;
    Ok(Loaded { session, anchor })
}

fn read_head(row: &SqliteRow, key: &SessionKey, file: &File, layout: SqliteLayout) -> SessionResult<Session> {
    let read = || -> sqlx::Result<_> {
        let states = (column::text(row, "data")?, column::text(row, "app_state")?, column::text(row, "user_state")?);
        let updated = column::time(row, "update_time")?;
        Ok((states, updated, column::count(row, "ties")?))
    };
    let ((own, app, user), updated, ties) = read().map_err(|error| file.fault(error))?;
    let own = state(own.as_deref(), format_args!("the state of session {key}"), file)?;
    let app = state(app.as_deref(), format_args!("the state of app {}", key.app_name), file)?;
    let user = state(user.as_deref(), format_args!("the state of user {}/{}", key.app_name, key.user_id), file)?;
    let (view, unreadable) = own.merged(&app, &user);
    report_unreadable(key, &unreadable);
    let updated =
        updated.ok_or_else(|| file.corrupt(format_args!("the update time of session {key}"), "it is not a time"))?;
    let seen = Renewed::new(layout.rounded(updated), ties);
    let head = SessionHead::new(key.clone(), seen.revision, seen.update_time);
    Ok(Session::new(head, view).with_unreadable(unreadable))
}

/// Reads a state column; a missing row is an empty state.
pub(crate) fn state(text: Option<&str>, place: std::fmt::Arguments<'_>, file: &File) -> SessionResult<StoredState> {
    let read = |text| raw_state::decode(text).map_err(|error| file.corrupt(place, error));
    text.map_or_else(|| Ok(StoredState::default()), read)
}
