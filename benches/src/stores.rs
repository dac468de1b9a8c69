//! The stores in which the sessions of a row are kept.

use std::path::PathBuf;
use std::sync::Arc;

use pleach::{
    BoxError, InMemorySessionService, PostgresSessionService, SessionService, SqliteOptions, SqliteSessionService,
    Synchronous,
};
use pleach_contract::own_tests::schema::{self, Schema};
use tempfile::TempDir;

/// The reason why rows on Postgres are skipped without a server.
const NO_SERVER: &str = "PLEACH_TEST_POSTGRES_URL names no server (`cargo xtask bench` starts one)";

/// A kind of session service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Memory,
    Sqlite,
    Postgres,
}

impl Backend {
    pub(crate) const ALL: [Self; 3] = [Self::Memory, Self::Sqlite, Self::Postgres];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "mem",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    /// The reason why the backend cannot be used here, or `None` if it can.
    pub(crate) fn missing(self) -> Option<&'static str> {
        (self == Self::Postgres && schema::server().is_none()).then_some(NO_SERVER)
    }

    /// Opens an empty store with the backend's own default settings.
    ///
    /// # Errors
    /// The file or the schema cannot be made or opened.
    pub(crate) async fn open(self) -> Result<Store, BoxError> {
        let (sessions, place): (Arc<dyn SessionService>, _) = match self {
            Self::Memory => (Arc::new(InMemorySessionService::new()), Storage::Memory),
            Self::Sqlite => {
                let place = Storage::Folder(tempfile::tempdir()?);
                (Arc::new(SqliteSessionService::open(place.file()).await?), place)
            }
            Self::Postgres => {
                let schema = Schema::create(schema::server().ok_or(NO_SERVER)?).await?;
                let sessions = PostgresSessionService::open(&schema.url()).await?;
                schema.run(OTHER_SESSIONS).await?;
                (Arc::new(sessions), Storage::Schema(schema))
            }
        };
        Ok(Store { backend: self, sessions, place })
    }
}

/// Stores ten thousand events of other sessions, and makes the statistics that a server in use has. With empty tables
/// the planner would choose scans, which are fast for the first appends and slow for all later ones.
const OTHER_SESSIONS: &str = "\
    INSERT INTO sessions SELECT 'bench', 'other' || n % 100, n, '{}', now(), now() FROM generate_series(1, 500) n;
    INSERT INTO events SELECT gen_random_uuid(), app_name, user_id, id, 'e', now() - n * interval '1 s',
        jsonb_build_object('text', repeat('The order left the warehouse. ', 17)) FROM sessions, generate_series(1, 20) n;
    INSERT INTO user_states SELECT DISTINCT app_name, user_id, '{}'::jsonb, now() FROM sessions;
    ANALYZE sessions, events, user_states";

/// An open store. Its data is deleted when it is dropped.
pub(crate) struct Store {
    backend: Backend,
    pub(crate) sessions: Arc<dyn SessionService>,
    pub(crate) place: Storage,
}

/// The place of the data. It is dropped after the service.
pub(crate) enum Storage {
    Memory,
    Folder(TempDir),
    Schema(Schema),
}

impl Store {
    /// Returns a store without the sessions of the last pass. On a server the same store is used again, because its
    /// connections are warm and old sessions do not disturb a run.
    ///
    /// # Errors
    /// The old store cannot be closed or the new one cannot be opened.
    pub(crate) async fn renew(self) -> Result<Self, BoxError> {
        if self.backend == Backend::Postgres {
            return Ok(self);
        }
        self.sessions.close().await?;
        self.backend.open().await
    }

    /// A second service on the same data. It fills quickly because it does not wait for the disk.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) async fn unsynced(&self) -> Result<Arc<dyn SessionService>, BoxError> {
        match &self.place {
            Storage::Folder(_) => {
                let options = SqliteOptions::new().with_synchronous(Synchronous::Normal);
                Ok(Arc::new(SqliteSessionService::open_with(self.place.file(), options).await?))
            }
            Storage::Schema(schema) => {
                let url = format!("{}%20-csynchronous_commit%3Doff", schema.url());
                Ok(Arc::new(PostgresSessionService::open(&url).await?))
            }
            Storage::Memory => Ok(Arc::clone(&self.sessions)),
        }
    }

    /// Brings the server's statistics up to date after many events were written.
    ///
    /// # Errors
    /// The server does not answer.
    pub(crate) async fn settle(&self) -> Result<(), BoxError> {
        match &self.place {
            Storage::Schema(schema) => Ok(schema.run("ANALYZE sessions, events").await?),
            Storage::Memory | Storage::Folder(_) => Ok(()),
        }
    }
}

impl Storage {
    /// The file of SQLite; `None` for the other stores.
    pub(crate) fn file(&self) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.path().join("bench.db"),
            Self::Memory | Self::Schema(_) => PathBuf::new(),
        }
    }
}
