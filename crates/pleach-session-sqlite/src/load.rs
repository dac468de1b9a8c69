//! Loading one session: head, state and events in one statement, which is one snapshot and one trip.
//!
//! Events arrive as texts of up to 256 documents, so that SQLite's thread reads on while this side parses.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use pleach_core::{Event, EventId, InvocationId, Map, Session, SessionHead, SessionKey, merge_view};
use pleach_session::raw_state;
use pleach_session::{GetSessionConfig, SessionError, SessionResult};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _, Sqlite, SqlitePool};

use crate::column;
use crate::fault::File;
use crate::layout::SqliteLayout;
use crate::sql::{Loads, Sql};
use crate::time;
use crate::writer::Renewed;

type Query<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

/// Between the documents of one text: JSON never has it raw (S47).
const SEPARATOR: char = '\u{1e}';

/// Loads the session with exactly this id.
pub(crate) async fn session(
    pool: &SqlitePool,
    file: &File,
    sql: &Sql,
    key: &SessionKey,
    config: &GetSessionConfig,
) -> SessionResult<Option<Session>> {
    let filter = Filter::of(config, sql.layout());
    let mut rows = filter.query(sql, key).fetch(pool);
    let fault = |error| file.fault(error);
    let Some(head) = rows.try_next().await.map_err(fault)? else {
        return Ok(None);
    };
    // Events whose session row is missing are not a session (case 102).
    if head.try_get::<i64, _>("chunk").map_err(fault)? >= 0 {
        return Ok(None);
    }
    let (head, state) = read_head(&head, key, file, sql.layout())?;
    let mut chunks = Vec::new();
    while let Some(row) = rows.try_next().await.map_err(fault)? {
        let number: i64 = row.try_get("chunk").map_err(fault)?;
        let chunk = Chunk::of(&row).map_err(fault)?;
        chunks.push((number, chunk.events(key, file)?));
    }
    drop(rows);
    chunks.sort_by_key(|(number, _)| *number);
    let mut events: Vec<_> = chunks.into_iter().flat_map(|(_, events)| events).collect();
    if events.iter().any(|event| lacks_columns(event)) {
        events = events_with_columns(pool, file, sql, key, &filter).await?;
    }
    Ok(Some(Session { head, state, events }))
}

fn read_head(
    row: &SqliteRow,
    key: &SessionKey,
    file: &File,
    layout: SqliteLayout,
) -> SessionResult<(SessionHead, Map)> {
    let read = || -> sqlx::Result<_> {
        let states = (row.try_get("data")?, row.try_get("app_state")?, row.try_get("user_state")?);
        let updated = column::time(row, "update_time")?.and_then(|time| time.seconds);
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

/// Up to 256 events: their documents in one text and, where columns overrule them, what the columns say (S46).
struct Chunk<'r> {
    documents: &'r str,
    /// JSON arrays of texts.
    ids: Option<&'r str>,
    invocations: Option<&'r str>,
}

impl<'r> Chunk<'r> {
    fn of(row: &'r SqliteRow) -> sqlx::Result<Self> {
        Ok(Self { documents: row.try_get("data")?, ids: row.try_get("ids")?, invocations: row.try_get("invocations")? })
    }

    fn events(&self, key: &SessionKey, file: &File) -> SessionResult<Vec<Arc<Event>>> {
        let mut events =
            self.documents.split(SEPARATOR).map(|text| parse(text, key, file)).collect::<SessionResult<Vec<_>>>()?;
        if let (Some(ids), Some(invocations)) = (self.ids, self.invocations) {
            let texts = |json| serde_json::from_str::<Vec<Cow<'_, str>>>(json);
            let columns = texts(ids).and_then(|ids| Ok(ids.into_iter().zip(texts(invocations)?)));
            let columns = columns.map_err(|error| file.corrupt(format_args!("an id of session {key}"), error))?;
            for (event, (id, invocation)) in events.iter_mut().zip(columns) {
                overrule(event, &id, &invocation);
            }
        }
        Ok(events.into_iter().map(Arc::new).collect())
    }
}

/// Reads a document; an empty one stands for none, which leaves everything to the columns (case 74).
fn parse(document: &str, key: &SessionKey, file: &File) -> SessionResult<Event> {
    if document.is_empty() {
        return Ok(Event::new());
    }
    serde_json::from_str(document).map_err(|error| file.corrupt(format_args!("an event of session {key}"), error))
}

fn overrule(event: &mut Event, id: &str, invocation: &str) {
    if *event.id() != id {
        event.set_id(EventId::from(id));
    }
    if event.invocation_id().as_str() != invocation {
        event.set_invocation_id(InvocationId::from(invocation));
    }
}

/// A document another program left without an id or a time; ours never do.
fn lacks_columns(event: &Event) -> bool {
    event.id().is_empty() || event.timestamp() == 0.0
}

/// Reads the same events again, with what their documents lack taken from the columns. Google-adk makes up a random id
/// and the current time for them in the lite layout, at each read; the columns say the same thing every time.
async fn events_with_columns(
    pool: &SqlitePool,
    file: &File,
    sql: &Sql,
    key: &SessionKey,
    filter: &Filter,
) -> SessionResult<Vec<Arc<Event>>> {
    let rows = filter.bind(&sql.load_rows, key).fetch_all(pool).await.map_err(|error| file.fault(error))?;
    rows.iter().map(|row| event_of_row(row, key, file, sql.layout()).map(Arc::new)).collect()
}

fn event_of_row(row: &SqliteRow, key: &SessionKey, file: &File, layout: SqliteLayout) -> SessionResult<Event> {
    let fault = |error| -> SessionError { file.fault(error) };
    let document: Option<&str> = row.try_get("event_data").map_err(fault)?;
    let mut event = parse(document.unwrap_or_default(), key, file)?;
    let id: &str = row.try_get("id").map_err(fault)?;
    match layout {
        SqliteLayout::V1 => overrule(&mut event, id, row.try_get("invocation_id").map_err(fault)?),
        SqliteLayout::Lite if event.id().is_empty() => event.set_id(EventId::from(id)),
        SqliteLayout::Lite => {}
    }
    if event.timestamp() == 0.0 {
        let time = column::time(row, "timestamp").map_err(fault)?;
        event.set_timestamp(time.and_then(|time| time.seconds).unwrap_or(0.0));
    }
    Ok(event)
}

/// Which events are wanted.
struct Filter {
    /// The earliest time, as a number and as the text form that mixed files compare with (S66.4).
    after: Option<(f64, String)>,
    newest: Option<i64>,
}

impl Filter {
    fn of(config: &GetSessionConfig, layout: SqliteLayout) -> Self {
        // Zero means no filter here, as in google-adk (S31).
        let after = config.after_timestamp.filter(|&after| after != 0.0);
        Self {
            after: after.map(|after| (layout.rounded(after), time::to_text(after))),
            newest: config.num_recent_events.map(|count| i64::try_from(count).unwrap_or(i64::MAX)),
        }
    }

    fn query<'q>(&'q self, sql: &'q Sql, key: &'q SessionKey) -> Query<'q> {
        if self.newest == Some(0) {
            return bind_key(sqlx::query(AssertSqlSafe(sql.load_head.clone())), key);
        }
        self.bind(&sql.load, key)
    }

    fn bind<'q>(&'q self, texts: &'q Loads, key: &'q SessionKey) -> Query<'q> {
        let text = match (&self.after, self.newest) {
            (None, None) => &texts.all,
            (None, Some(_)) => &texts.newest,
            (Some(_), None) => &texts.after,
            (Some(_), Some(_)) => &texts.newest_after,
        };
        let mut query = bind_key(sqlx::query(AssertSqlSafe(text.clone())), key);
        if let Some((number, text)) = &self.after {
            query = query.bind(number).bind(text.as_str());
        }
        match self.newest {
            Some(newest) => query.bind(newest),
            None => query,
        }
    }
}

fn bind_key<'q>(query: Query<'q>, key: &'q SessionKey) -> Query<'q> {
    query.bind(key.app_name.as_str()).bind(key.user_id.as_str()).bind(key.session_id.as_str())
}
