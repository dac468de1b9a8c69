//! The indexes on `events`: built concurrently with writes, each on a connection of its own.

use std::sync::{Mutex as StdMutex, PoisonError};
use std::time::Duration;

use sqlx::Row as _;
use tokio::sync::Mutex;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, timeout_at};

use crate::connections::Connections;
use crate::fault::Fault;
use crate::inbox_sql::{self as sql, Index};
use crate::lent::Lent;

/// How long to wait before checking again whether another process has built the index.
const PAUSE: Duration = Duration::from_millis(100);

/// How often to try to release the lock, which through a pooler may belong to another session.
const UNLOCKS: usize = 16;

/// A build in progress.
#[derive(Debug, Default)]
pub(crate) struct IndexBuild {
    task: Mutex<Option<JoinHandle<sqlx::Result<()>>>>,
    abort: StdMutex<Option<AbortHandle>>,
}

impl IndexBuild {
    /// Waits for the index until the acquire timeout. Returns `None` if it is not complete by then; the build
    /// continues.
    ///
    /// # Errors
    /// The error with which the build failed.
    pub(crate) async fn wait(&self, connections: &Connections, index: &'static Index) -> Option<sqlx::Result<()>> {
        let deadline = Instant::now() + connections.acquire_timeout();
        let mut task = timeout_at(deadline, self.task.lock()).await.ok()?;
        let build = task.get_or_insert_with(|| {
            let own = connections.clone();
            let build = tokio::spawn(async move { build(&own, index).await });
            *self.abort.lock().unwrap_or_else(PoisonError::into_inner) = Some(build.abort_handle());
            build
        });
        let joined = timeout_at(deadline, build).await.ok()?;
        *task = None;
        Some(joined.unwrap_or_else(|_| Err(sqlx::Error::WorkerCrashed)))
    }

    /// Abandons a build in progress. The server ends it, or leaves an incomplete index that the next build removes.
    pub(crate) fn stop(&self) {
        if let Some(build) = self.abort.lock().unwrap_or_else(PoisonError::into_inner).take() {
            build.abort();
        }
    }
}

/// Returns whether the index is as we create it; `None` if there is no index.
pub(crate) async fn find(connection: &mut Lent, index: &'static Index) -> sqlx::Result<Option<bool>> {
    let found = sqlx::query(index.find.as_str()).persistent(false).fetch_all(connection).await?;
    found.first().map(|row| row.try_get("is_sound")).transpose()
}

/// Builds the index unless it exists.
async fn build(connections: &Connections, index: &'static Index) -> sqlx::Result<()> {
    loop {
        let mut connection = connections.open_for_long_work().await?;
        let mut has_lock = false;
        let built = build_with(&mut connection, index, &mut has_lock).await;
        let is_shown = matches!(&built, Err(error) if Fault::of(error) == Fault::Pooled);
        let is_lent = has_lock && !unlock(&mut connection).await || is_shown;
        let is_new = is_lent && !connection.is_pooled() && connections.give_up_sessions().is_ok();
        let closed = connection.close().await;
        match built {
            Err(_) if is_shown && is_new => {}
            Err(error) => return Err(error),
            Ok(()) => return closed,
        }
    }
}

/// Builds the index. A statement that waits must hold no snapshot, because a build waits until older snapshots are
/// gone. `has_lock` is set once the lock is held.
async fn build_with(connection: &mut Lent, index: &'static Index, has_lock: &mut bool) -> sqlx::Result<()> {
    loop {
        if find(&mut *connection, index).await? == Some(true) {
            return Ok(());
        }
        if begins(&mut *connection, has_lock).await? {
            // Now that no other process is building, check again: the index may have been completed in the meantime.
            if find(&mut *connection, index).await? == Some(true) {
                return Ok(());
            }
            if make(&mut *connection, index).await? {
                return Ok(());
            }
        }
        // Another process is building it. The pause uses real time, because a test may pause the runtime's clock while
        // a query is made.
        tokio::task::spawn_blocking(|| std::thread::sleep(PAUSE)).await.map_err(|_| sqlx::Error::WorkerCrashed)?;
    }
}

/// Returns `true` if no other process is building. If the connection has a session of its own, the session holds a
/// lock from now on. Through a pooler no lock lasts that long, so two builds may begin at the same time; [`make`]
/// handles that.
async fn begins(connection: &mut Lent, has_lock: &mut bool) -> sqlx::Result<bool> {
    if connection.is_pooled() {
        return sqlx::query(sql::IS_BUILT)
            .fetch_one(connection)
            .await?
            .try_get::<bool, _>("is_built")
            .map(|built| !built);
    }
    if !*has_lock {
        *has_lock = sqlx::query(sql::TRY_LOCK).persistent(false).fetch_one(connection).await?.try_get("is_locked")?;
    }
    Ok(*has_lock)
}

/// Releases the lock. It ends with the connection, unless a pooler has lent the session. Returns `true` if the lock was
/// found.
async fn unlock(connection: &mut Lent) -> bool {
    for _ in 0..UNLOCKS {
        let unlocked = sqlx::query(sql::UNLOCK).persistent(false).fetch_one(&mut *connection).await;
        match unlocked.and_then(|row| row.try_get("is_unlocked")) {
            Ok(true) => return true,
            // A pooler's session may be a different one each time.
            Ok(false) => {}
            // Without a connection there is no lock.
            Err(_) => return true,
        }
    }
    false
}

/// Creates the index. Returns `true` if it is complete: another process may have been creating it as well.
async fn make(connection: &mut Lent, index: &'static Index) -> sqlx::Result<bool> {
    let schema: Option<String> = if connection.is_pooled() {
        let found = sqlx::query(sql::SCHEMA).fetch_optional(&mut *connection).await?;
        found.map(|row| row.try_get("name")).transpose()?
    } else {
        None
    };
    let [drop, create, comment] = index.make(schema.as_deref());
    for (text, is_comment) in [(drop, false), (create, false), (comment, true)] {
        match connection.execute_alone(text).await {
            Err(error) if is_race(&error, is_comment) => return Ok(false),
            outcome => outcome?,
        }
    }
    Ok(true)
}

/// Returns `true` if another process was creating the same index. Signs of this are a deadlock, or an object that
/// already exists, has changed, or is gone before its comment.
fn is_race(error: &sqlx::Error, is_comment: bool) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| match &*code {
        "40P01" | "42P07" | "23505" | "XX000" => true,
        "42P01" | "42704" => is_comment,
        _ => false,
    })
}
