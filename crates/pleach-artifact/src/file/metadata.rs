//! The `metadata.json` next to each version.
// S77

use std::io::ErrorKind;
use std::path::Path;

use pleach_core::{Map, without_data};
use serde::{Deserialize, Serialize};

use super::disk;
use crate::{ArtifactError, ArtifactResult};

/// The stored metadata of a version. ADK: `FileArtifactVersion`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) version: i64,
    #[serde(alias = "canonical_uri", default)]
    pub(super) canonical_uri: String,
    #[serde(alias = "custom_metadata", default)]
    pub(super) custom_metadata: Map,
    #[serde(alias = "create_time", default, skip_serializing_if = "Option::is_none")]
    pub(super) create_time: Option<f64>,
    /// The media type. If it is present, the file holds bytes, not text.
    #[serde(alias = "mime_type", default, skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<String>,
    #[serde(alias = "file_name", default)]
    pub(super) file_name: String,
    #[serde(alias = "display_name", default, skip_serializing_if = "Option::is_none")]
    pub(super) display_name: Option<String>,
}

impl Metadata {
    /// Reads a file; `None` if it does not exist.
    pub(super) fn read(path: &Path) -> ArtifactResult<Option<Self>> {
        let bytes = match disk::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(ArtifactError::Io { path: path.to_owned(), source });
            }
        };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| ArtifactError::Corrupt { path: path.to_owned(), source: without_data(error) })
    }

    /// Returns the media type if the file holds bytes. An empty media type is treated as absent.
    pub(super) fn media_type(&self) -> Option<&str> {
        self.mime_type.as_deref().filter(|mime| !mime.is_empty())
    }
}
