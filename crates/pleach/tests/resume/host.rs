//! Where a process keeps its sessions, and how it waits: polling by hand distinguishes a deadlock from a long wait.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use pleach::{
    AppName, BoxFuture, CreateSession, Event, GetSessionConfig, InMemorySessionService, ListSessions,
    ListSessionsResponse, Map, Session, SessionError, SessionHead, SessionId, SessionKey, SessionService, Since,
    UserId,
};

/// More polls than any of the small workflows needs for an event.
const MANY: usize = 20_000;

/// So long no append takes; a longer wait is a deadlock.
const STUCK: Duration = Duration::from_secs(60);

/// A place for sessions that outlives processes.
#[derive(Debug)]
pub(crate) enum Host {
    Memory(Arc<InMemorySessionService>),
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "only SQLite has files"))]
    File {
        path: PathBuf,
        runtime: tokio::runtime::Runtime,
        observer: Arc<dyn SessionService>,
    },
}

impl Host {
    pub(crate) fn memory() -> Self {
        Self::Memory(Arc::default())
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn file(path: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let observer = open_file(path, &runtime);
        Self::File { path: path.to_owned(), runtime, observer }
    }

    /// What a new process opens.
    pub(crate) fn open(&self) -> Arc<dyn SessionService> {
        match self {
            Self::Memory(service) => Arc::clone(service) as _,
            Self::File { path, runtime, .. } => open_file(path, runtime),
        }
    }

    /// Another process that only looks.
    pub(crate) fn observer(&self) -> &dyn SessionService {
        match self {
            Self::Memory(service) => &**service,
            Self::File { observer, .. } => &**observer,
        }
    }

    /// Waits for `future`. In memory nothing outside of the future exists, so a pending one that is not woken is stuck.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        match self {
            Self::Memory(_) => poll_by_hand(future),
            Self::File { runtime, .. } => runtime
                .block_on(async { tokio::time::timeout(STUCK, future).await })
                .expect("deadlock: the run does not go on"),
        }
    }
}

#[cfg(feature = "sqlite")]
fn open_file(path: &Path, runtime: &tokio::runtime::Runtime) -> Arc<dyn SessionService> {
    let options = pleach::SqliteOptions::new().with_synchronous(pleach::Synchronous::Normal).with_read_connections(1);
    Arc::new(runtime.block_on(pleach::SqliteSessionService::open_with(path, options)).unwrap())
}

#[cfg(not(feature = "sqlite"))]
fn open_file(_: &Path, _: &tokio::runtime::Runtime) -> Arc<dyn SessionService> {
    unreachable!("only SQLite has files")
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn poll_by_hand<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let flag = Arc::new(Flag::default());
    let waker = Waker::from(Arc::clone(&flag));
    for _ in 0..MANY {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        assert!(flag.0.swap(false, Ordering::Relaxed), "deadlock: nothing will wake the run");
    }
    panic!("no progress in {MANY} polls");
}

/// A service whose k-th append fails, before or after it has stored the event.
#[derive(Debug)]
pub(crate) struct Faulty {
    pub(crate) inner: Arc<dyn SessionService>,
    /// How many appends still succeed; negative once one has failed: everything fails then.
    pub(crate) left: AtomicI64,
    pub(crate) after: bool,
}

impl Faulty {
    async fn append(&self, head: &mut SessionHead, event: Arc<Event>) -> Result<Arc<Event>, SessionError> {
        let left = self.left.fetch_sub(1, Ordering::Relaxed);
        if left > 0 {
            return self.inner.append(head, event).await;
        }
        if left == 0 && self.after {
            self.inner.append(head, event).await?;
        }
        Err(SessionError::Storage { backend: "faulty", source: "the line is cut".into() })
    }
}

impl SessionService for Faulty {
    fn create_session(&self, request: CreateSession) -> BoxFuture<'_, Result<Session, SessionError>> {
        self.inner.create_session(request)
    }

    fn get_session<'a>(
        &'a self,
        key: &'a SessionKey,
        config: GetSessionConfig,
    ) -> BoxFuture<'a, Result<Option<Session>, SessionError>> {
        self.inner.get_session(key, config)
    }

    fn events_since<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, Result<Option<Since>, SessionError>> {
        self.inner.events_since(head)
    }

    fn list_sessions(&self, request: ListSessions) -> BoxFuture<'_, Result<ListSessionsResponse, SessionError>> {
        self.inner.list_sessions(request)
    }

    fn find_sessions<'a>(
        &'a self,
        app_name: &'a AppName,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<SessionKey>, SessionError>> {
        self.inner.find_sessions(app_name, session_id)
    }

    fn delete_session<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, Result<(), SessionError>> {
        self.inner.delete_session(key)
    }

    fn append<'a>(
        &'a self,
        head: &'a mut SessionHead,
        event: Arc<Event>,
    ) -> BoxFuture<'a, Result<Arc<Event>, SessionError>> {
        Box::pin(Self::append(self, head, event))
    }

    fn user_state<'a>(
        &'a self,
        app_name: &'a AppName,
        user_id: &'a UserId,
    ) -> BoxFuture<'a, Result<Map, SessionError>> {
        self.inner.user_state(app_name, user_id)
    }
}
