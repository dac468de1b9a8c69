//! Where the sessions of a row are kept.

use std::path::PathBuf;
use std::sync::Arc;

use pleach::{BoxError, InMemorySessionService, SessionService, SqliteOptions, SqliteSessionService, Synchronous};
use tempfile::TempDir;

/// A kind of session service, by its name in parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Backend {
    Memory,
    Sqlite,
}

impl Backend {
    pub(crate) const ALL: [Self; 2] = [Self::Memory, Self::Sqlite];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "mem",
            Self::Sqlite => "sqlite",
        }
    }

    /// Opens an empty store with the backend's own default settings.
    ///
    /// # Errors
    /// The file cannot be made or opened.
    pub(crate) async fn open(self) -> Result<Store, BoxError> {
        match self {
            Self::Memory => Ok(Store { sessions: Arc::new(InMemorySessionService::new()), folder: None }),
            Self::Sqlite => {
                let folder = tempfile::tempdir()?;
                let sessions = SqliteSessionService::open(file(&folder)).await?;
                Ok(Store { sessions: Arc::new(sessions), folder: Some(folder) })
            }
        }
    }
}

/// An open store; its file goes when it is dropped.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) sessions: Arc<dyn SessionService>,
    folder: Option<TempDir>,
}

impl Store {
    /// A second service on the same data that is quick to fill: it does not wait for the disk.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) async fn unsynced(&self) -> Result<Arc<dyn SessionService>, BoxError> {
        let Some(folder) = &self.folder else { return Ok(Arc::clone(&self.sessions)) };
        let options = SqliteOptions::new().with_synchronous(Synchronous::Normal);
        Ok(Arc::new(SqliteSessionService::open_with(file(folder), options).await?))
    }
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("bench.db")
}
