//! The indexes on `events`: built beside the writers, on a connection of their own.

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

/// How long to wait before looking again whether another process has built it.
const PAUSE: Duration = Duration::from_millis(100);

/// How often a lock is looked for that a pooler has put into another session.
const UNLOCKS: usize = 16;

/// A build under way.
#[derive(Debug, Default)]
pub(crate) struct IndexBuild {
    task: Mutex<Option<JoinHandle<sqlx::Result<()>>>>,
    abort: StdMutex<Option<AbortHandle>>,
}

impl IndexBuild {
    /// Waits for the index until the acquire timeout; `None` when it is not there by then. The build continues meanwhile.
    ///
    /// # Errors
    /// What the build failed with.
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

    /// Gives up a build that is under way: the server ends it, or leaves what the next build removes.
    pub(crate) fn stop(&self) {
        if let Some(build) = self.abort.lock().unwrap_or_else(PoisonError::into_inner).take() {
            build.abort();
        }
    }
}

/// Whether the index is there, as we make it; `None` without one.
pub(crate) async fn find(connection: &mut Lent, index: &'static Index) -> sqlx::Result<Option<bool>> {
    let found = sqlx::query(index.find.as_str()).persistent(false).fetch_all(connection).await?;
    found.first().map(|row| row.try_get("is_sound")).transpose()
}

/// Builds the index unless it is there.
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

/// Builds the index. Statements that wait hold no snapshot, for which the build would wait. `has_lock` is set with the lock.
async fn build_with(connection: &mut Lent, index: &'static Index, has_lock: &mut bool) -> sqlx::Result<()> {
    loop {
        if find(&mut *connection, index).await? == Some(true) {
            return Ok(());
        }
        if begins(&mut *connection, has_lock).await? {
            // As the one at work: it may have been completed since.
            if find(&mut *connection, index).await? == Some(true) {
                return Ok(());
            }
            if make(&mut *connection, index).await? {
                return Ok(());
            }
        }
        // Another process builds it. It goes by the time of the machine: a test may hold that of the runtime while a query is made.
        tokio::task::spawn_blocking(|| std::thread::sleep(PAUSE)).await.map_err(|_| sqlx::Error::WorkerCrashed)?;
    }
}

/// Returns `true` if no other process is building. Where the session is the connection's own, it holds a lock from then on. Behind a
/// pooler there is none that lasts as long, and two that begin at once meet in [`make`].
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

/// Gives the lock back, although it ends with the connection: if a pooler has lent the session, it does not. Returns whether it was found.
async fn unlock(connection: &mut Lent) -> bool {
    for _ in 0..UNLOCKS {
        let unlocked = sqlx::query(sql::UNLOCK).persistent(false).fetch_one(&mut *connection).await;
        match unlocked.and_then(|row| row.try_get("is_unlocked")) {
            Ok(true) => return true,
            // The session of a pooler is another one each time.
            Ok(false) => {}
            // Without a connection there is no lock.
            Err(_) => return true,
        }
    }
    false
}

/// Makes the index. Returns whether it is whole: another process may have been making it, too.
async fn make(connection: &mut Lent, index: &'static Index) -> sqlx::Result<bool> {
    let schema: Option<String> = match connection.is_pooled() {
        true => {
            let found = sqlx::query(sql::SCHEMA).fetch_optional(&mut *connection).await?;
            found.map(|row| row.try_get("name")).transpose()?
        }
        false => None,
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

/// Returns `true` if another process was making the same index: a deadlock, an object that is there, changed, or gone before its comment.
fn is_race(error: &sqlx::Error, is_comment: bool) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| match &*code {
        "40P01" | "42P07" | "23505" | "XX000" => true,
        "42P01" | "42704" => is_comment,
        _ => false,
    })
}
