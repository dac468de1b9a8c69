//! Why an instruction cannot be made of its template.

use std::fmt;

use pleach_core::{BoxError, with_causes};

/// Why an instruction cannot be made of its template.
#[derive(Debug)]
#[non_exhaustive]
pub enum TemplateError {
    /// The session's state does not have the key. Set it, or write `{key?}`.
    MissingState {
        /// The key, with its prefix.
        key: String,
        /// The agent whose instruction it is.
        agent: String,
    },
    /// The session does not have the artifact. Save it, or write `{artifact.name?}`.
    MissingArtifact {
        /// The name.
        name: String,
        /// The agent whose instruction it is.
        agent: String,
    },
    /// The runner has no artifact service.
    NoArtifactService,
    /// An artifact cannot be loaded.
    Artifact {
        /// The name.
        name: String,
        /// Why not.
        source: BoxError,
    },
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // These texts are stored in events as google-adk stores them.
            Self::MissingState { key, agent } => {
                write!(f, "Context variable not found: `{key}` in agent '{agent}'.")
            }
            Self::MissingArtifact { name, agent } => write!(f, "Artifact '{name}' not found in agent '{agent}'."),
            Self::NoArtifactService => f.write_str("Artifact service is not initialized."),
            Self::Artifact { name, source } => {
                write!(f, "artifact '{name}' cannot be loaded into an instruction: {}", with_causes(&**source))
            }
        }
    }
}

// The cause is in the text, so there is no `source()`.
impl std::error::Error for TemplateError {}

impl TemplateError {
    /// Returns the stable name of the error for event error codes and HTTP bodies.
    // L17
    pub fn code(&self) -> &'static str {
        match self {
            Self::MissingState { .. } | Self::MissingArtifact { .. } => "KeyError",
            Self::NoArtifactService => "ValueError",
            Self::Artifact { .. } => "ArtifactError",
        }
    }
}
