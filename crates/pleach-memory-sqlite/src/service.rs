//! The service. Additions go through one connection, and searches run in parallel with them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pleach_core::{AppName, BoxFuture, Event, Map, Session, SessionId, UserId, private_files};
use pleach_memory::{
    AddEvents, AddMemory, MemoryError, MemoryResult, MemoryService, SearchMemory, SearchMemoryResponse,
    parse_local_time,
};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, SqlitePool};

use crate::fault::File;
use crate::options::SqliteMemoryOptions;
use crate::row::{self, ENTRIES_SESSION, NewRow};
use crate::{metadata, schema, words};

/// The session id of events that come from no known session.
const UNKNOWN_SESSION: &str = "__unknown_session_id__";

/// The number of searches that may run at the same time.
const READ_CONNECTIONS: u32 = 4;

/// How long additions of this process wait for each other, in addition to the busy timeout.
const QUEUE_PATIENCE: Duration = Duration::from_secs(30);

/// Memory in an SQLite file, searched by words. ADK: `SqliteMemoryService`.
///
/// The tables are google-adk's, and google-adk may search and add entries at the same time. Any number of services, in
/// any number of processes, may have the same file open. It may also be the file of a session service.
///
/// Every event with text is an entry; thoughts are ignored. Adding an event again replaces its entry, and adding a
/// session never removes an entry. A search finds the entries that contain any of the query's words, best match first
/// (BM25). Among equal matches, newer entries come first.
///
/// An entry's id is its number in the file, or the id that it had in [`AddMemory`]. An entry's metadata consist of
/// the metadata that it was added with, plus `session_id` and `event_id`. pleach stores the metadata in a table of
/// its own, so google-adk sees the entry without them. The table is created when the first metadata are stored. An
/// entry of [`AddMemory`] has its id as `event_id`, and the session `__pleach_entries__`. If it has no time, it gets
/// the current time. There is no `delete_memory`.
///
/// The service needs a Tokio runtime with the time driver enabled.
///
/// # Example
/// ```
/// # use pleach_memory::MemoryResult;
/// # use pleach_memory_sqlite::SqliteMemoryService;
/// # async fn example() -> MemoryResult<()> {
/// let memory = SqliteMemoryService::open("memory.db").await?;
/// memory.close().await;
/// # Ok(())
/// # }
/// ```
// S82
#[derive(Clone, Debug)]
pub struct SqliteMemoryService {
    file: File,
    options: SqliteMemoryOptions,
    full_text: bool,
    /// A single connection. Additions queue for it instead of competing for the file's lock.
    writer: SqlitePool,
    readers: SqlitePool,
}

impl SqliteMemoryService {
    /// Opens a file with the default options.
    ///
    /// # Errors
    /// The errors of [`open_with`](Self::open_with).
    ///
    /// # Cancel safety
    /// The same as [`open_with`](Self::open_with).
    pub async fn open(path: impl AsRef<Path>) -> MemoryResult<Self> {
        Self::open_with(path, SqliteMemoryOptions::default()).await
    }

    /// Opens a file and switches it to WAL. The file, its folders and its tables are created if they are missing.
    ///
    /// # Errors
    /// - `Incompatible` for a memory of another version or program, and for SQLite's in-memory names.
    /// - `Corrupt` for a file that is damaged or not a database.
    /// - `Locked` if other processes hold the file beyond the busy timeout.
    /// - `Unavailable` if the file cannot be opened or written.
    ///
    /// Each error names the file. A refused file is not changed.
    ///
    /// # Cancel safety
    /// If the future is dropped, the file may have been created, with all of its tables or with none.
    pub async fn open_with(path: impl AsRef<Path>, options: SqliteMemoryOptions) -> MemoryResult<Self> {
        let path = path.as_ref();
        let file = File::new(path);
        if path.as_os_str().is_empty() || path.as_os_str() == ":memory:" {
            let reason = "every connection would see a database of its own; use the in-memory memory service";
            return Err(file.incompatible(reason));
        }
        if let Some(folder) = path.parent() {
            private_files::make_folders(folder).map_err(|error| file.unavailable(error))?;
        }
        // SQLite gives its companion files the same permissions, and reports the errors when it opens the file.
        let _ = private_files::make_file(path);
        let connect = SqliteConnectOptions::new()
            .filename(path)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(options.busy_timeout)
            .disable_statement_logging();
        // The pool has no timers, because it may outlive the runtime that opened it.
        let pool = SqlitePoolOptions::new()
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .acquire_timeout(options.busy_timeout + QUEUE_PATIENCE);
        let writer = pool.clone().max_connections(1).connect_lazy_with(connect.clone().create_if_missing(true));
        let readers = pool.max_connections(READ_CONNECTIONS).connect_lazy_with(connect.read_only(true));
        let full_text = schema::prepare(&writer, &file, options.full_text).await?;
        Ok(Self { file, options, full_text, writer, readers })
    }

    /// Closes the file once the operations in progress have ended. Later operations fail as `Unavailable`.
    ///
    /// # Cancel safety
    /// Closing continues if the future is dropped.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// Stores events in one transaction. If the future is dropped, all of them are stored or none.
    async fn add(
        &self,
        app_name: &AppName,
        user_id: &UserId,
        session_id: Option<&SessionId>,
        events: &[Arc<Event>],
        custom_metadata: &Map,
    ) -> MemoryResult<()> {
        let session_id = session_id.map(SessionId::as_str).filter(|id| !id.is_empty()).unwrap_or(UNKNOWN_SESSION);
        let rows = events.iter().filter_map(|event| NewRow::of(event, custom_metadata, self.options.max_indexed_bytes));
        self.store(app_name, user_id, session_id, rows.collect()).await
    }

    /// Stores entries in one transaction. If the future is dropped, all of them are stored or none.
    async fn add_entries(&self, req: AddMemory) -> MemoryResult<()> {
        let (app_name, user_id) = (req.app_name.clone(), req.user_id.clone());
        let mut rows = Vec::new();
        for (index, (id, entry)) in req.into_entries().into_iter().enumerate() {
            let time = entry_time(index, entry.timestamp.as_deref())?;
            rows.extend(NewRow::of_entry(id, entry, time, self.options.max_indexed_bytes));
        }
        self.store(&app_name, &user_id, ENTRIES_SESSION, rows.into_iter().collect()).await
    }

    async fn store(
        &self,
        app_name: &AppName,
        user_id: &UserId,
        session_id: &str,
        rows: serde_json::Result<Vec<NewRow>>,
    ) -> MemoryResult<()> {
        let rows = rows.map_err(|error| self.file.fault(sqlx::Error::Encode(error.into())))?;
        if rows.is_empty() {
            return Ok(());
        }
        self.write(app_name, user_id, session_id, rows).await.map_err(|error| self.file.fault(error))
    }

    async fn write(
        &self,
        app_name: &AppName,
        user_id: &UserId,
        session_id: &str,
        rows: Vec<NewRow>,
    ) -> sqlx::Result<()> {
        // A transaction that is dropped before its commit is rolled back.
        let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
        let has_metadata = rows.iter().any(|row| !row.custom_metadata.is_empty());
        let keeps_metadata = metadata::prepare(&mut transaction, has_metadata).await?;
        for row in rows {
            let id: i64 = sqlx::query_scalar(include_str!("../schema/upsert.sql"))
                .bind(app_name.as_str())
                .bind(user_id.as_str())
                .bind(session_id)
                .bind(row.event_id)
                .bind(row.author)
                .bind(row.timestamp)
                .bind(row.content_json)
                .bind(row.search_text)
                .fetch_one(&mut *transaction)
                .await?;
            if keeps_metadata {
                metadata::replace(&mut transaction, id, &row.custom_metadata).await?;
            }
        }
        transaction.commit().await
    }

    async fn search(&self, req: SearchMemory) -> MemoryResult<SearchMemoryResponse> {
        let words = words::of_query(&req.query);
        if words.is_empty() {
            return Ok(SearchMemoryResponse::default());
        }
        let (statement, wanted) = if self.full_text {
            (include_str!("../schema/search_full_text.sql"), words::match_any(&words))
        } else {
            let patterns = serde_json::Value::from(words::like_patterns(&words));
            (include_str!("../schema/search_like.sql"), patterns.to_string())
        };
        let rows = sqlx::query(statement)
            .bind(req.app_name.as_str())
            .bind(req.user_id.as_str())
            .bind(wanted)
            .bind(self.options.max_results)
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.file.fault(error))?;
        let given = metadata::of(&self.readers, &rows, &self.file).await?;
        let entry = |row| row::entry(row, given.get(&row::id(row, &self.file)?), &self.file);
        let memories = rows.iter().map(entry).collect::<MemoryResult<_>>()?;
        Ok(SearchMemoryResponse { memories })
    }
}

/// Returns the time of an entry that comes from no event. The default is the current time.
fn entry_time(index: usize, timestamp: Option<&str>) -> MemoryResult<f64> {
    let Some(text) = timestamp else {
        return Ok(SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs_f64());
    };
    parse_local_time(text).ok_or_else(|| MemoryError::InvalidEntry {
        index,
        field: "timestamp",
        reason: format!("{text:?} is not a time; write it like 2025-10-09T08:53:20"),
    })
}

impl MemoryService for SqliteMemoryService {
    fn add_session_to_memory<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, MemoryResult<()>> {
        let key = session.key();
        Box::pin(async move {
            self.add(&key.app_name, &key.user_id, Some(&key.session_id), &session.events, &Map::new()).await
        })
    }

    fn add_events_to_memory(&self, req: AddEvents) -> BoxFuture<'_, MemoryResult<()>> {
        Box::pin(async move {
            let AddEvents { app_name, user_id, session_id, events, custom_metadata } = &req;
            self.add(app_name, user_id, session_id.as_ref(), events, custom_metadata).await
        })
    }

    fn add_memory(&self, req: AddMemory) -> BoxFuture<'_, MemoryResult<()>> {
        Box::pin(self.add_entries(req))
    }

    fn search_memory(&self, req: SearchMemory) -> BoxFuture<'_, MemoryResult<SearchMemoryResponse>> {
        Box::pin(self.search(req))
    }
}
