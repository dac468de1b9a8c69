//! Artifacts: named files with versions, kept for a session or for a user.
//!
//! This crate owns the [`ArtifactService`] trait and two complete services, [`InMemoryArtifactService`] and
//! [`FileArtifactService`]. The file service reads and writes the folders of google-adk's own service. The engine
//! decides how an artifact is recorded in an event (`artifact_delta`).

mod error;
mod file;
mod inmemory;
mod key;
mod reference;
mod service;
mod validate;

pub use error::{ArtifactError, ArtifactResult};
pub use file::FileArtifactService;
pub use inmemory::InMemoryArtifactService;
pub use key::{ArtifactKey, ArtifactScope, PAYLOADS_APP_SUFFIX, USER_PREFIX};
pub use reference::{ArtifactReference, rewind_tombstone};
pub use service::{ArtifactService, ArtifactVersion, SaveArtifact};
