//! Artifacts as files, in the folders that google-adk's file service uses.

mod disk;
mod layout;
mod metadata;
mod store;

use std::path::PathBuf;
use std::sync::Arc;

use pleach_core::{BoxFuture, Clock, Part};

use crate::{
    ArtifactError, ArtifactKey, ArtifactResult, ArtifactScope, ArtifactService, ArtifactVersion, SaveArtifact,
};
use store::Store;

/// Keeps artifacts below a folder, one folder per version.
///
/// ```text
/// ROOT/apps/{app}/users/{user}/sessions/{session}/artifacts/{name}/versions/{n}/{last part of name}
/// ROOT/apps/{app}/users/{user}/artifacts/{name}/versions/{n}/{last part of name}
/// ```
///
/// A `metadata.json` lies next to each file. A version is written in a separate folder, which is then renamed, so
/// readers, including other processes, see it whole or not at all. If the scope has no session, a name without the
/// prefix `user:` is stored for the user as well, and is listed without the prefix. Only the owner may read the
/// folders and files (on Unix: 0700 and 0600), and no symbolic link below the root is followed. Files are read and
/// written on tokio's blocking threads, so a tokio runtime must be running.
///
/// # Example
/// ```
/// # use std::sync::Arc;
/// # use pleach_artifact::{ArtifactResult, ArtifactScope, ArtifactService, FileArtifactService, SaveArtifact};
/// # use pleach_core::{Clock, Part, SessionKey};
/// async fn keep(clock: Arc<dyn Clock>) -> ArtifactResult<i64> {
///     let files = FileArtifactService::open("artifacts", clock).await?;
///     let report = ArtifactScope::session(&SessionKey::new("shop", "ana", "s1")).artifact("report.md");
///     files.save_artifact(SaveArtifact::new(report, Part::text("# Sales"))).await
/// }
/// ```
///
/// ADK: `FileArtifactService`
// S77
// S73
#[derive(Debug)]
pub struct FileArtifactService {
    store: Arc<Store>,
}

impl FileArtifactService {
    /// Opens the folder, creating it if it is missing; `clock` provides the creation times of versions.
    ///
    /// # Errors
    /// `Io` if the folder cannot be created or found.
    ///
    /// # Cancel safety
    /// The folder may have been created if the future is dropped.
    pub async fn open(root: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> ArtifactResult<Self> {
        let root = root.into();
        let store = blocking(move || Store::open(root, clock)).await?;
        Ok(Self { store: Arc::new(store) })
    }

    /// Runs an operation on a blocking thread.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> ArtifactResult<T> + Send + 'static,
    ) -> BoxFuture<'static, ArtifactResult<T>> {
        let store = Arc::clone(&self.store);
        Box::pin(blocking(move || work(&store)))
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> ArtifactResult<T> + Send + 'static) -> ArtifactResult<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down and did not start the work.
            Err(error) => Err(ArtifactError::Storage { backend: "file", source: error.into() }),
        },
    }
}

impl ArtifactService for FileArtifactService {
    fn save_artifact(&self, req: SaveArtifact) -> BoxFuture<'_, ArtifactResult<i64>> {
        self.run(move |store| store.save(&req))
    }

    fn load_artifact<'a>(
        &'a self,
        key: &'a ArtifactKey,
        version: Option<i64>,
    ) -> BoxFuture<'a, ArtifactResult<Option<Part>>> {
        let key = key.clone();
        self.run(move |store| store.load(&key, version))
    }

    fn list_artifact_keys<'a>(&'a self, scope: &'a ArtifactScope) -> BoxFuture<'a, ArtifactResult<Vec<String>>> {
        let scope = scope.clone();
        self.run(move |store| store.list_keys(&scope))
    }

    fn delete_artifact<'a>(&'a self, key: &'a ArtifactKey) -> BoxFuture<'a, ArtifactResult<()>> {
        let key = key.clone();
        self.run(move |store| store.delete(&key))
    }

    fn list_versions<'a>(&'a self, key: &'a ArtifactKey) -> BoxFuture<'a, ArtifactResult<Vec<i64>>> {
        let key = key.clone();
        self.run(move |store| store.versions(&key))
    }

    fn list_artifact_versions<'a>(
        &'a self,
        key: &'a ArtifactKey,
    ) -> BoxFuture<'a, ArtifactResult<Vec<ArtifactVersion>>> {
        let key = key.clone();
        self.run(move |store| store.version_infos(&key))
    }

    fn get_artifact_version<'a>(
        &'a self,
        key: &'a ArtifactKey,
        version: Option<i64>,
    ) -> BoxFuture<'a, ArtifactResult<Option<ArtifactVersion>>> {
        let key = key.clone();
        self.run(move |store| store.version_info(&key, version))
    }
}
