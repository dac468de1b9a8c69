//! Where a process keeps its sessions, and how it waits: polling by hand distinguishes a deadlock from a long wait.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use pleach::{InMemorySessionService, SessionService};
use pleach_testing::{FaultPlan, FaultySessions, Operation};

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

/// A service whose append behind this many others fails, having stored the event or not, and every one behind it.
pub(crate) fn cut(inner: Arc<dyn SessionService>, appends: usize, stored: bool) -> FaultySessions {
    let plan = FaultPlan::new().fail_from(Operation::Append, appends + 1);
    let plan = if stored { plan.lose_reply(Operation::Append, appends + 1) } else { plan };
    FaultySessions::new(inner, plan)
}
