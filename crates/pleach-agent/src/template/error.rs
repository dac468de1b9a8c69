//! [`TemplateError`]: the failures of making an instruction from its template.

use std::fmt;

use pleach_core::{BoxError, with_causes};

/// The reason why an instruction cannot be made from its template.
#[derive(Debug)]
#[non_exhaustive]
pub enum TemplateError {
    /// The session's state does not have the key. Set it, or write `{key?}`.
    MissingState {
        /// The key, with its prefix.
        key: String,
        /// The agent that has the instruction.
        agent: String,
    },
    /// The session does not have the artifact. Save it, or write `{artifact.name?}`.
    MissingArtifact {
        /// The name of the artifact.
        name: String,
        /// The agent that has the instruction.
        agent: String,
    },
    /// The runner has no artifact service.
    NoArtifactService,
    /// An artifact cannot be loaded.
    Artifact {
        /// The name of the artifact.
        name: String,
        /// The underlying error.
        source: BoxError,
    },
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // google-adk stores these texts in events, so they must not change.
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

// `source()` returns nothing because the text already contains the cause.
impl std::error::Error for TemplateError {}

impl TemplateError {
    /// Returns the stable name of the error for the error codes of events and for HTTP bodies.
    // L17
    pub fn code(&self) -> &'static str {
        match self {
            Self::MissingState { .. } | Self::MissingArtifact { .. } => "KeyError",
            Self::NoArtifactService => "ValueError",
            Self::Artifact { .. } => "ArtifactError",
        }
    }
}
