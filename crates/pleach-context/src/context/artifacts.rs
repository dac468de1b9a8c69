//! The methods of `Context` for files.
// R220

use pleach_artifact::{ArtifactError, ArtifactKey, ArtifactScope, ArtifactService, ArtifactVersion, SaveArtifact};
use pleach_core::{Map, Part};

use super::Context;
use crate::NodeError;

impl Context {
    fn artifacts(&self) -> Result<(&dyn ArtifactService, ArtifactScope), NodeError> {
        let service = self.inner.invocation.services().artifacts.as_deref();
        let service = service.ok_or_else(|| {
            NodeError::value("Artifact service is not initialized.")
                .with_hint("give the runner one with `.artifacts(…)`")
        })?;
        Ok((service, ArtifactScope::session(self.invocation().session_key())))
    }

    fn artifact(&self, filename: &str) -> Result<(&dyn ArtifactService, ArtifactKey), NodeError> {
        let (service, scope) = self.artifacts()?;
        Ok((service, scope.artifact(filename)))
    }

    /// Saves a file as a new version and returns the version number. The run's next event lists the file.
    ///
    /// A name starting with `user:` is shared by all sessions of the user.
    ///
    /// # Errors
    /// - A `ValueError` if there is no artifact service.
    /// - The error of the service if it refuses the file.
    /// - A `RuntimeError` in a step, or if the run has ended, even while the file was being saved.
    ///
    /// # Cancel safety
    /// If the future is dropped, the service may have saved the version, but no event lists it. A later save gets the
    /// next number.
    pub async fn save_artifact(&self, filename: &str, artifact: impl Into<Part>) -> Result<i64, NodeError> {
        self.save_artifact_with(filename, artifact, Map::new()).await
    }

    /// Saves a file with metadata of its own. See [`Context::save_artifact`].
    ///
    /// # Errors
    /// As [`Context::save_artifact`].
    ///
    /// # Cancel safety
    /// As [`Context::save_artifact`].
    pub async fn save_artifact_with(
        &self,
        filename: &str,
        artifact: impl Into<Part>,
        metadata: Map,
    ) -> Result<i64, NodeError> {
        let (service, key) = self.artifact(filename)?;
        self.check_change(&self.cell())?;
        let request = SaveArtifact::new(key, artifact).with_custom_metadata(metadata);
        let version = service.save_artifact(request).await.map_err(artifact_error)?;
        let mut cell = self.cell();
        // If the run has ended, the file is saved but no event lists it.
        self.check_change(&cell)?;
        cell.lane.actions.artifact_delta_mut().insert(filename.to_owned(), version);
        Ok(version)
    }

    /// Loads a file: the named version, or the newest one. Returns `None` if there is none.
    ///
    /// # Errors
    /// A `ValueError` if there is no artifact service; the error of the service if it refuses the request.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn load_artifact(&self, filename: &str, version: Option<i64>) -> Result<Option<Part>, NodeError> {
        let (service, key) = self.artifact(filename)?;
        service.load_artifact(&key, version).await.map_err(artifact_error)
    }

    /// Returns the names of the session's and the user's files, sorted.
    ///
    /// # Errors
    /// A `ValueError` if there is no artifact service; the error of the service if it refuses the request.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn list_artifacts(&self) -> Result<Vec<String>, NodeError> {
        let (service, scope) = self.artifacts()?;
        service.list_artifact_keys(&scope).await.map_err(artifact_error)
    }

    /// Returns the metadata of one version of a file: the named version, or the newest one.
    ///
    /// # Errors
    /// A `ValueError` if there is no artifact service; the error of the service if it refuses the request.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn get_artifact_version(
        &self,
        filename: &str,
        version: Option<i64>,
    ) -> Result<Option<ArtifactVersion>, NodeError> {
        let (service, key) = self.artifact(filename)?;
        service.get_artifact_version(&key, version).await.map_err(artifact_error)
    }
}

fn artifact_error(error: ArtifactError) -> NodeError {
    NodeError::new(error.code(), error.to_string()).with_source(error)
}
