//! Detecting the kind of a file.
// S64, S66.3

use sqlx::{Row as _, SqliteConnection};

use crate::layout::SqliteLayout;
use crate::sql;

/// The kind of a supported file.
#[derive(Debug)]
pub(crate) struct Found {
    /// The layout of its tables; `None` if it has no tables.
    pub(crate) layout: Option<SqliteLayout>,
    /// Whether all tables that hold sessions exist. google-adk's lite files have no index.
    pub(crate) is_readable: bool,
    /// Whether all tables and the index exist.
    pub(crate) is_complete: bool,
    /// Whether the table of versions is empty.
    pub(super) is_half_made: bool,
}

const TABLES: i64 = 4;
const TABLES_AND_INDEX: i64 = TABLES + 1;

/// Inspects a file. The inner error describes why the file is not supported, and what to do.
pub(crate) async fn detect(connection: &mut SqliteConnection) -> sqlx::Result<Result<Found, String>> {
    let row = sqlx::query(sql::DETECT).fetch_one(&mut *connection).await?;
    let count = |column: &str| row.try_get::<i64, _>(column);
    if count("event_columns")? > 0 && count("has_event_data")? == 0 {
        return Ok(Err(if count("has_actions")? > 0 { OLD } else { FOREIGN }.to_owned()));
    }
    if count("missing_columns")? > 0 {
        return Ok(Err(FOREIGN.to_owned()));
    }
    let has_metadata = count("has_metadata")? > 0;
    let time_type: Option<&str> = row.try_get("time_type")?;
    let has_sessions = count("session_columns")? > 0;
    let layout = match by_time_type(time_type, has_sessions) {
        // google-adk creates this table first in the v1 layout. A lite file may also have it (S66.3).
        Ok(None) if has_metadata => Some(SqliteLayout::V1),
        Ok(layout) => layout,
        Err(reason) => return Ok(Err(reason)),
    };
    let (is_readable, present) = (count("tables")? == TABLES, count("present")? == TABLES_AND_INDEX);
    if layout != Some(SqliteLayout::V1) {
        return Ok(Ok(Found { layout, is_readable, is_complete: present, is_half_made: false }));
    }
    let version = if has_metadata { version(connection).await? } else { None };
    match version.as_deref() {
        Some("1") | None => {
            let is_half_made = has_metadata && version.is_none();
            Ok(Ok(Found { layout, is_readable, is_complete: present && has_metadata, is_half_made }))
        }
        Some("0") => Ok(Err(OLD.to_owned())),
        Some(version) => Ok(Err(format!(
            "its schema version is {version}, but this version of pleach knows only version 1: use a newer pleach"
        ))),
    }
}

const OLD: &str = "it has the layout of google-adk before 1.22 (schema version 0, pickled actions): copy it into a new \
                   file with `adk migrate session --source_db_url OLD --dest_db_url NEW` and open that";

const FOREIGN: &str = "its tables sessions and events are another program's: use a separate file";

/// The declared type of the update times decides, because the table of versions does not.
// S66.3
fn by_time_type(time_type: Option<&str>, has_sessions: bool) -> Result<Option<SqliteLayout>, String> {
    match time_type.map(str::to_ascii_uppercase).as_deref() {
        Some("REAL") => Ok(Some(SqliteLayout::Lite)),
        Some("DATETIME" | "TIMESTAMP") => Ok(Some(SqliteLayout::V1)),
        Some(other) => Err(format!(
            "its tables have an update_time of type {other:?}, which no known layout has: use a separate file"
        )),
        None if has_sessions => Err(FOREIGN.to_owned()),
        None => Ok(None),
    }
}

async fn version(connection: &mut SqliteConnection) -> sqlx::Result<Option<String>> {
    let rows = sqlx::query(sql::VERSION).fetch_all(connection).await?;
    rows.first().map(|row| row.try_get("value")).transpose()
}
