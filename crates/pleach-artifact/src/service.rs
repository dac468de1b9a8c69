//! The contract of every artifact service.

use std::fmt;
use std::sync::Arc;

use pleach_core::{BoxFuture, Map, Part};
use serde::{Deserialize, Serialize};

use crate::{ArtifactKey, ArtifactResult, ArtifactScope};

/// Stores artifacts. Every save under a name creates a new version.
///
/// The versions of a name start at 0 and grow with every save. A version that does not exist, including a negative one,
/// is `None` and not an error.
///
/// # Example
/// ```
/// # use pleach_artifact::{ArtifactResult, ArtifactScope, ArtifactService, SaveArtifact};
/// # use pleach_core::{Part, SessionKey};
/// async fn keep(artifacts: &dyn ArtifactService, session: &SessionKey) -> ArtifactResult<Option<Part>> {
///     let invoice = ArtifactScope::session(session).artifact("invoice.txt");
///     let version = artifacts.save_artifact(SaveArtifact::new(invoice.clone(), Part::text("189.00"))).await?;
///     artifacts.load_artifact(&invoice, Some(version)).await
/// }
/// ```
///
/// ADK: `BaseArtifactService`
// S70, S71
#[doc(alias = "BaseArtifactService")]
pub trait ArtifactService: fmt::Debug + Send + Sync + 'static {
    /// Stores a new version and returns its number.
    ///
    /// # Errors
    /// `InvalidId`, `InvalidFilename`, `MissingSession`, `UnsupportedPart` or `InvalidReference` if the request cannot
    /// be stored; `Io` or `Storage` if storing failed.
    ///
    /// # Cancel safety
    /// When the future is dropped, the version is stored whole or not at all.
    fn save_artifact(&self, req: SaveArtifact) -> BoxFuture<'_, ArtifactResult<i64>>;

    /// Returns the requested version, or the newest one if `version` is `None`. Returns `None` if there is no such
    /// version.
    ///
    /// A version that contains the tombstone of a rewind is also returned as `None`.
    ///
    /// # Errors
    /// The same as for saving, and `Corrupt` if stored data cannot be read.
    // S76
    fn load_artifact<'a>(
        &'a self,
        key: &'a ArtifactKey,
        version: Option<i64>,
    ) -> BoxFuture<'a, ArtifactResult<Option<Part>>>;

    /// Returns the sorted names in a scope: those of a session and its user, or only the user's.
    ///
    /// # Errors
    /// `InvalidId` for an unusable scope; `Io` or `Storage`.
    // S72
    fn list_artifact_keys<'a>(&'a self, scope: &'a ArtifactScope) -> BoxFuture<'a, ArtifactResult<Vec<String>>>;

    /// Removes all versions. The next save starts at 0 again. Removing a missing artifact succeeds.
    ///
    /// # Errors
    /// The same as for saving.
    // S71
    fn delete_artifact<'a>(&'a self, key: &'a ArtifactKey) -> BoxFuture<'a, ArtifactResult<()>>;

    /// Returns the numbers of all versions, smallest first.
    ///
    /// # Errors
    /// The same as for saving.
    fn list_versions<'a>(&'a self, key: &'a ArtifactKey) -> BoxFuture<'a, ArtifactResult<Vec<i64>>>;

    /// Returns the metadata of every version, smallest first.
    ///
    /// # Errors
    /// The same as for loading.
    fn list_artifact_versions<'a>(
        &'a self,
        key: &'a ArtifactKey,
    ) -> BoxFuture<'a, ArtifactResult<Vec<ArtifactVersion>>>;

    /// Returns the metadata of the requested version, or of the newest one if `version` is `None`.
    ///
    /// # Errors
    /// The same as for loading.
    fn get_artifact_version<'a>(
        &'a self,
        key: &'a ArtifactKey,
        version: Option<i64>,
    ) -> BoxFuture<'a, ArtifactResult<Option<ArtifactVersion>>>;
}

impl<S: ArtifactService + ?Sized> ArtifactService for Arc<S> {
    fn save_artifact(&self, req: SaveArtifact) -> BoxFuture<'_, ArtifactResult<i64>> {
        (**self).save_artifact(req)
    }

    fn load_artifact<'a>(
        &'a self,
        key: &'a ArtifactKey,
        version: Option<i64>,
    ) -> BoxFuture<'a, ArtifactResult<Option<Part>>> {
        (**self).load_artifact(key, version)
    }

    fn list_artifact_keys<'a>(&'a self, scope: &'a ArtifactScope) -> BoxFuture<'a, ArtifactResult<Vec<String>>> {
        (**self).list_artifact_keys(scope)
    }

    fn delete_artifact<'a>(&'a self, key: &'a ArtifactKey) -> BoxFuture<'a, ArtifactResult<()>> {
        (**self).delete_artifact(key)
    }

    fn list_versions<'a>(&'a self, key: &'a ArtifactKey) -> BoxFuture<'a, ArtifactResult<Vec<i64>>> {
        (**self).list_versions(key)
    }

    fn list_artifact_versions<'a>(
        &'a self,
        key: &'a ArtifactKey,
    ) -> BoxFuture<'a, ArtifactResult<Vec<ArtifactVersion>>> {
        (**self).list_artifact_versions(key)
    }

    fn get_artifact_version<'a>(
        &'a self,
        key: &'a ArtifactKey,
        version: Option<i64>,
    ) -> BoxFuture<'a, ArtifactResult<Option<ArtifactVersion>>> {
        (**self).get_artifact_version(key, version)
    }
}

/// A request to store a new version of an artifact.
#[derive(Clone, Debug, PartialEq)]
pub struct SaveArtifact {
    /// The artifact.
    pub key: ArtifactKey,
    /// The content: inline bytes or text. Some services also accept a reference to a file.
    // S74
    pub artifact: Part,
    /// The application's own metadata for the version.
    pub custom_metadata: Map,
}

impl SaveArtifact {
    /// Creates a request without metadata.
    pub fn new(key: ArtifactKey, artifact: impl Into<Part>) -> Self {
        Self { key, artifact: artifact.into(), custom_metadata: Map::new() }
    }

    /// Sets the application's metadata.
    pub fn with_custom_metadata(mut self, custom_metadata: Map) -> Self {
        self.custom_metadata = custom_metadata;
        self
    }
}

/// The metadata of an artifact's version.
///
/// JSON: `{version, canonical_uri, custom_metadata, create_time, mime_type}`, in camelCase over HTTP. The media type is
/// left out if there is none.
///
/// ADK: `ArtifactVersion`
// S70
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArtifactVersion {
    /// The number of the version.
    pub version: i64,
    /// The service's own URI of the version.
    #[serde(alias = "canonicalUri")]
    pub canonical_uri: String,
    /// The application's own metadata, as passed when saving.
    #[serde(alias = "customMetadata", default)]
    pub custom_metadata: Map,
    /// The time of the save, in seconds since the epoch.
    #[serde(alias = "createTime")]
    pub create_time: f64,
    /// The media type, if the service stores one.
    #[serde(alias = "mimeType", default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}
