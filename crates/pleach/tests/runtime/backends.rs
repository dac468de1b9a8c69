//! Support for tests on every backend. Such a test is a function of a [`Backend`], and [`on_backends`] makes a test for each backend.

use std::sync::Arc;

use pleach::{InMemorySessionService, Runner, RunnerBuilder, RunnerExt as _, SessionService};
use pleach_contract::own_tests::Schema;
use tempfile::TempDir;

/// The backend in which a test keeps its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(all(feature = "sqlite", feature = "postgres")),
    expect(dead_code, reason = "not every backend is compiled in")
)]
pub(crate) enum Backend {
    Memory,
    SqliteLite,
    SqliteV1,
    Postgres,
}

/// An empty store for sessions, which is removed with this value.
pub(crate) enum Place {
    Memory(Arc<InMemorySessionService>),
    File { folder: TempDir, scheme: &'static str },
    Server(Schema),
}

impl Backend {
    /// Makes a store, or prints why the test is skipped.
    pub(crate) async fn place(self) -> Option<Place> {
        let file = |scheme| Place::File { folder: tempfile::tempdir().unwrap(), scheme };
        match self {
            Self::Memory => Some(Place::Memory(Arc::default())),
            Self::SqliteLite => Some(file("sqlite")),
            Self::SqliteV1 => Some(file("sqlite+aiosqlite")),
            Self::Postgres => Schema::for_test().await.map(Place::Server),
        }
    }
}

impl Place {
    /// The session service of a new process.
    pub(crate) async fn open(&self) -> Arc<dyn SessionService> {
        match self {
            Self::Memory(sessions) => Arc::clone(sessions) as _,
            Self::File { folder, scheme } => {
                let file = folder.path().join("sessions.db");
                pleach::connect(&format!("{scheme}:///{}", file.display())).await.unwrap()
            }
            Self::Server(schema) => pleach::connect(&schema.url()).await.unwrap(),
        }
    }

    /// A Runner's builder in a new process, for the app `t`.
    pub(crate) async fn builder(&self) -> RunnerBuilder {
        Runner::builder("t").sessions(self.open().await)
    }
}

/// Makes one named test for each function and backend, with the attribute of the tests.
macro_rules! on_backends {
    (#[$test:meta] $($name:ident),+ $(,)?) => {
        on_backends! { @tests memory Memory #[$test] $($name),+ }
        #[cfg(feature = "sqlite")]
        on_backends! { @tests sqlite_lite SqliteLite #[$test] $($name),+ }
        #[cfg(feature = "sqlite")]
        on_backends! { @tests sqlite_v1 SqliteV1 #[$test] $($name),+ }
        #[cfg(feature = "postgres")]
        on_backends! { @tests postgres Postgres #[$test] $($name),+ }
    };
    (@tests $backend:ident $case:ident #[$test:meta] $($name:ident),+) => {
        mod $backend {
            $(
                #[$test]
                async fn $name() {
                    super::$name(crate::backends::Backend::$case).await;
                }
            )+
        }
    };
}
pub(crate) use on_backends;
