//! The service: additions through one connection, searches beside it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pleach_core::{AppName, BoxFuture, Event, Session, SessionId, UserId};
use pleach_memory::{AddEvents, MemoryResult, MemoryService, SearchMemory, SearchMemoryResponse};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, SqlitePool};

use crate::fault::File;
use crate::options::SqliteMemoryOptions;
use crate::row::{self, NewRow};
use crate::{private, schema, words};

/// The session id of entries that come from no known session.
const UNKNOWN_SESSION: &str = "__unknown_session_id__";

/// How many searches run at the same time.
const READ_CONNECTIONS: u32 = 4;

/// How long additions of this process wait for each other, in addition to the busy timeout.
const QUEUE_PATIENCE: Duration = Duration::from_secs(30);

/// Memory in an SQLite file, searched by words. ADK: `SqliteMemoryService`.
///
/// The tables are google-adk's, and google-adk may search and add at the same time. Any number of services, in any
/// number of processes, may have the same file open; it may also be the file of a session service.
///
/// Every event that says something in text is an entry; thoughts do not count. Adding an event again replaces its
/// entry, and adding a session never removes one. A search finds the entries that hold any of the question's words,
/// best match first (BM25), the newer ones first among equals.
///
/// An entry's id is its number in the file, its metadata `{session_id, event_id}`. The metadata of
/// [`AddEvents`] is not kept. There is no `add_memory` and no `delete_memory`.
///
/// Needs a Tokio runtime with its time driver on.
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
    /// One connection: additions queue for it instead of fighting for the file's lock.
    writer: SqlitePool,
    readers: SqlitePool,
}

impl SqliteMemoryService {
    /// Opens a file with the default options.
    ///
    /// # Errors
    /// Those of [`open_with`](Self::open_with).
    ///
    /// # Cancel safety
    /// That of [`open_with`](Self::open_with).
    pub async fn open(path: impl AsRef<Path>) -> MemoryResult<Self> {
        Self::open_with(path, SqliteMemoryOptions::default()).await
    }

    /// Opens a file and switches it to WAL; creates it, the folders it lies in and its tables when they are not there.
    ///
    /// # Errors
    /// `Incompatible` for a memory of another version or program and for SQLite's in-memory names, `Corrupt` for what
    /// is no database or a damaged one, `Locked` when other processes hold it beyond the busy timeout, `Unavailable`
    /// when it cannot be opened or written. Each names the file; a refused file is not changed.
    ///
    /// # Cancel safety
    /// When the future is dropped, the file may have been created; its tables are all there or none.
    pub async fn open_with(path: impl AsRef<Path>, options: SqliteMemoryOptions) -> MemoryResult<Self> {
        let path = path.as_ref();
        let file = File::new(path);
        if path.as_os_str().is_empty() || path.as_os_str() == ":memory:" {
            let reason = "every connection would see a database of its own; use the in-memory memory service";
            return Err(file.incompatible(reason));
        }
        if let Some(folder) = path.parent() {
            private::make_folders(folder).map_err(|error| file.unavailable(error))?;
        }
        private::make_file(path);
        let connect = SqliteConnectOptions::new()
            .filename(path)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(options.busy_timeout)
            .disable_statement_logging();
        // No timers, because a pool may outlive the runtime that opened it.
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

    /// Closes the file, after the operations under way; later ones fail as `Unavailable`.
    ///
    /// # Cancel safety
    /// Closing continues when the future is dropped.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// Stores events in one transaction: when the future is dropped, all of them or none.
    async fn add(
        &self,
        app_name: &AppName,
        user_id: &UserId,
        session_id: Option<&SessionId>,
        events: &[Arc<Event>],
    ) -> MemoryResult<()> {
        let session_id = session_id.map(SessionId::as_str).filter(|id| !id.is_empty()).unwrap_or(UNKNOWN_SESSION);
        let rows = events.iter().filter_map(|event| NewRow::of(event, self.options.max_indexed_bytes));
        let rows = rows.collect::<serde_json::Result<Vec<_>>>();
        let rows = rows.map_err(|error| self.file.fault(sqlx::Error::Encode(error.into())))?;
        if rows.is_empty() {
            return Ok(());
        }
        self.store(app_name, user_id, session_id, rows).await.map_err(|error| self.file.fault(error))
    }

    async fn store(
        &self,
        app_name: &AppName,
        user_id: &UserId,
        session_id: &str,
        rows: Vec<NewRow>,
    ) -> sqlx::Result<()> {
        // Dropped before its commit, a transaction is rolled back.
        let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
        for row in rows {
            sqlx::query(include_str!("../schema/upsert.sql"))
                .bind(app_name.as_str())
                .bind(user_id.as_str())
                .bind(session_id)
                .bind(row.event_id)
                .bind(row.author)
                .bind(row.timestamp)
                .bind(row.content_json)
                .bind(row.search_text)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await
    }

    async fn search(&self, req: SearchMemory) -> MemoryResult<SearchMemoryResponse> {
        let words = words::of_query(&req.query);
        if words.is_empty() {
            return Ok(SearchMemoryResponse::default());
        }
        let (statement, wanted) = match self.full_text {
            true => (include_str!("../schema/search_full_text.sql"), words::match_any(&words)),
            false => {
                let patterns = serde_json::Value::from(words::like_patterns(&words));
                (include_str!("../schema/search_like.sql"), patterns.to_string())
            }
        };
        let rows = sqlx::query(statement)
            .bind(req.app_name.as_str())
            .bind(req.user_id.as_str())
            .bind(wanted)
            .bind(self.options.max_results)
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.file.fault(error))?;
        let memories = rows.iter().map(|row| row::entry(row, &self.file)).collect::<MemoryResult<_>>()?;
        Ok(SearchMemoryResponse { memories })
    }
}

impl MemoryService for SqliteMemoryService {
    fn add_session_to_memory<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, MemoryResult<()>> {
        let key = session.key();
        Box::pin(self.add(&key.app_name, &key.user_id, Some(&key.session_id), &session.events))
    }

    fn add_events_to_memory(&self, req: AddEvents) -> BoxFuture<'_, MemoryResult<()>> {
        Box::pin(async move { self.add(&req.app_name, &req.user_id, req.session_id.as_ref(), &req.events).await })
    }

    fn search_memory(&self, req: SearchMemory) -> BoxFuture<'_, MemoryResult<SearchMemoryResponse>> {
        Box::pin(self.search(req))
    }
}
