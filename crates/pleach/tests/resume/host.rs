//! [`Host`]: where a process keeps its sessions, and how it waits. In memory it polls by hand, which distinguishes a
//! deadlock from a long wait.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use pleach::{InMemorySessionService, SessionService};
use pleach_testkit::{FaultPlan, FaultySessions, Operation};
use tokio::runtime::Runtime;

/// The maximum number of polls for an event. None of the small workflows needs as many.
const MANY: usize = 20_000;

/// The longest wait for an append. A longer wait is a deadlock.
const STUCK: Duration = Duration::from_secs(60);

/// A place for sessions that outlives processes.
#[derive(Debug)]
pub(crate) enum Host {
    Memory(Arc<InMemorySessionService>),
    #[cfg_attr(not(any(feature = "sqlite", feature = "postgres")), expect(dead_code, reason = "there is no database"))]
    Database {
        at: Database,
        runtime: Runtime,
        observer: Arc<dyn SessionService>,
    },
}

/// The database of a host.
#[derive(Clone, Debug)]
pub(crate) enum Database {
    #[cfg(feature = "sqlite")]
    File(std::path::PathBuf),
    /// A URL of a server.
    #[cfg(feature = "postgres")]
    Server(String),
}

impl Host {
    pub(crate) fn memory() -> Self {
        Self::Memory(Arc::default())
    }

    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn database(at: Database) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let observer = at.open(&runtime);
        Self::Database { at, runtime, observer }
    }

    /// Opens the session service of a new process.
    pub(crate) fn open(&self) -> Arc<dyn SessionService> {
        match self {
            Self::Memory(service) => Arc::clone(service) as _,
            Self::Database { at, runtime, .. } => at.open(runtime),
        }
    }

    /// The session service of another process that only reads.
    pub(crate) fn observer(&self) -> &dyn SessionService {
        match self {
            Self::Memory(service) => &**service,
            Self::Database { observer, .. } => &**observer,
        }
    }

    /// Waits for `future`. In memory nothing exists outside the future, so a pending future that is not woken is stuck.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        match self {
            Self::Memory(_) => poll_by_hand(future),
            Self::Database { runtime, .. } => runtime
                .block_on(async { tokio::time::timeout(STUCK, future).await })
                .expect("deadlock: the run makes no progress"),
        }
    }
}

impl Database {
    fn open(&self, runtime: &Runtime) -> Arc<dyn SessionService> {
        match self.clone() {
            #[cfg(feature = "sqlite")]
            Self::File(path) => {
                let options = pleach::SqliteOptions::new().with_synchronous(pleach::Synchronous::Normal);
                let options = options.with_read_connections(1);
                Arc::new(runtime.block_on(pleach::SqliteSessionService::open_with(path, options)).unwrap())
            }
            #[cfg(feature = "postgres")]
            Self::Server(url) => {
                let options = pleach::PostgresOptions::new().with_connections(1);
                Arc::new(runtime.block_on(pleach::PostgresSessionService::open_with(&url, options)).unwrap())
            }
        }
    }
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

/// Returns a service that fails after this many appends. The next append fails, and stores its event only if `stored`
/// is set. All later appends fail as well.
pub(crate) fn cut(inner: Arc<dyn SessionService>, appends: usize, stored: bool) -> FaultySessions {
    let plan = FaultPlan::new().fail_from(Operation::Append, appends + 1);
    let plan = if stored { plan.lose_reply(Operation::Append, appends + 1) } else { plan };
    FaultySessions::new(inner, plan)
}
