//! The metadata of entries, in a table of pleach's own, because google-adk's table has no column for them. A file
//! without metadata has no such table.

use std::collections::HashMap;

use pleach_core::Map;
use pleach_memory::MemoryResult;
use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, SqlitePool};

use crate::fault::File;
use crate::row;

const IS_THERE: &str = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'pleach_memory_metadata_1'";
const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS pleach_memory_metadata_1 (id INTEGER PRIMARY KEY, custom_metadata TEXT NOT NULL)";

/// Creates the table if it is needed. Returns `true` if it exists.
pub(crate) async fn prepare(transaction: &mut SqliteConnection, needed: bool) -> sqlx::Result<bool> {
    if needed {
        sqlx::query(CREATE).execute(transaction).await?;
        return Ok(true);
    }
    let count: i64 = sqlx::query_scalar(IS_THERE).fetch_one(transaction).await?;
    Ok(count > 0)
}

/// Stores the metadata of an entry, replacing earlier metadata.
pub(crate) async fn replace(transaction: &mut SqliteConnection, id: i64, metadata: &Map) -> sqlx::Result<()> {
    if metadata.is_empty() {
        sqlx::query("DELETE FROM pleach_memory_metadata_1 WHERE id = ?1").bind(id).execute(transaction).await?;
        return Ok(());
    }
    let text = serde_json::to_string(metadata).map_err(|error| sqlx::Error::Encode(error.into()))?;
    let replace = "INSERT OR REPLACE INTO pleach_memory_metadata_1 (id, custom_metadata) VALUES (?1, ?2)";
    sqlx::query(replace).bind(id).bind(text).execute(transaction).await?;
    Ok(())
}

/// Returns the metadata of the entries that have any, by entry number.
pub(crate) async fn of(pool: &SqlitePool, entries: &[SqliteRow], file: &File) -> MemoryResult<HashMap<i64, Map>> {
    let fault = |error| file.fault(error);
    let count: i64 = sqlx::query_scalar(IS_THERE).fetch_one(pool).await.map_err(fault)?;
    if entries.is_empty() || count == 0 {
        return Ok(HashMap::new());
    }
    let ids = entries.iter().map(|entry| row::id(entry, file)).collect::<MemoryResult<Vec<i64>>>()?;
    let select = sqlx::query(include_str!("../schema/metadata.sql")).bind(Value::from(ids).to_string());
    let rows = select.fetch_all(pool).await.map_err(fault)?;
    let read = |row: &SqliteRow| {
        let id = row::id(row, file)?;
        let corrupt = |error| file.corrupt(format_args!("custom_metadata of entry {id}"), error);
        let text: String = row.try_get("custom_metadata").map_err(fault)?;
        Ok((id, serde_json::from_str(&text).map_err(corrupt)?))
    };
    rows.iter().map(read).collect()
}
