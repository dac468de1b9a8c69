//! Opening the file: checking whose tables it has, turning WAL on, and creating missing tables.

use pleach_memory::MemoryResult;
use sqlx::{Row as _, SqlitePool};

use crate::fault::{Fault, File};

const VERSION: &str = "1";

/// The contents of the file's schema.
struct Found {
    metadata: bool,
    columns: i64,
    known_columns: i64,
    scope_index: bool,
    full_text: bool,
    triggers: i64,
    module: bool,
    version: Option<String>,
}

impl Found {
    async fn look(pool: &SqlitePool) -> sqlx::Result<Self> {
        let row = sqlx::query(include_str!("../schema/detect.sql")).fetch_one(pool).await?;
        let is_there = |name: &str| row.try_get::<i64, _>(name).map(|count| count > 0);
        let metadata = is_there("metadata")?;
        let version = if metadata {
            let select = "SELECT value FROM adk_memory_metadata WHERE key = 'schema_version'";
            sqlx::query_scalar(select).fetch_optional(pool).await?
        } else {
            None
        };
        Ok(Self {
            metadata,
            columns: row.try_get("columns")?,
            known_columns: row.try_get("known_columns")?,
            scope_index: is_there("scope_index")?,
            full_text: is_there("full_text")?,
            triggers: row.try_get("triggers")?,
            module: is_there("module")?,
            version,
        })
    }

    /// Accepts a file without a memory, and google-adk's tables. Otherwise returns a description of what was found.
    fn check(&self) -> Result<(), String> {
        const COLUMNS: i64 = 9;
        match &self.version {
            Some(version) if version != VERSION => {
                return Err(format!(
                    "its memory has the schema version {version:?}, but this program knows only {VERSION:?}"
                ));
            }
            _ => {}
        }
        if self.columns > 0 && self.known_columns < COLUMNS {
            return Err("its table memory_events was made by another program".to_owned());
        }
        Ok(())
    }

    fn has_tables(&self) -> bool {
        self.metadata && self.version.is_some() && self.columns > 0 && self.scope_index
    }

    fn has_index(&self) -> bool {
        self.full_text && self.triggers == 3
    }
}

/// Refuses other programs' files, turns WAL on and creates missing tables. Returns `true` if full-text search is
/// available.
///
/// A complete file is not written to, so even a file that cannot be written can be opened.
pub(crate) async fn prepare(pool: &SqlitePool, file: &File, full_text: bool) -> MemoryResult<bool> {
    let fault = |error| file.fault(error);
    let found = Found::look(pool).await.map_err(fault)?;
    found.check().map_err(|reason| file.incompatible(reason))?;
    let full_text = full_text && found.module;
    // This comes after the check, because a refused file must not be changed. Everything also works without WAL, only
    // with more waiting.
    match sqlx::query("PRAGMA journal_mode = WAL").fetch_all(pool).await {
        Err(error) if Fault::of(&error) == Fault::Damaged => return Err(file.fault(error)),
        _ => {}
    }
    if found.has_tables() && (found.has_index() || !full_text) {
        return Ok(full_text);
    }
    match create(pool, full_text).await {
        Ok(()) => {
            // Another program may have created its own memory in the meantime.
            let found = Found::look(pool).await.map_err(fault)?;
            found.check().map_err(|reason| file.incompatible(reason))?;
            Ok(full_text)
        }
        // An old file that cannot be written is searched without an index.
        Err(error) if found.has_tables() && Fault::of(&error) == Fault::Unavailable => Ok(found.full_text && full_text),
        Err(error) => Err(file.fault(error)),
    }
}

async fn create(pool: &SqlitePool, full_text: bool) -> sqlx::Result<()> {
    let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::raw_sql(include_str!("../schema/create.sql")).execute(&mut *transaction).await?;
    if full_text {
        // Another process may have created it in the meantime.
        let is_there = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'memory_events_fts'";
        let is_there: i64 = sqlx::query_scalar(is_there).fetch_one(&mut *transaction).await?;
        sqlx::raw_sql(include_str!("../schema/create_full_text.sql")).execute(&mut *transaction).await?;
        if is_there == 0 {
            let rebuild = "INSERT INTO memory_events_fts(memory_events_fts) VALUES ('rebuild')";
            sqlx::query(rebuild).execute(&mut *transaction).await?;
        }
    }
    transaction.commit().await
}
