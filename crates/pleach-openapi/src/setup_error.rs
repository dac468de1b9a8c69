//! [`OpenApiSetupError`]: the reasons why a toolset cannot be built.

use crate::OpenApiFault;

/// The maximum number of faults that the text of an error lists.
const LISTED: usize = 20;

/// The reason why a toolset for an OpenAPI document cannot be built. No error shows a credential, a header's value or
/// the text of the document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenApiSetupError {
    /// The document is neither JSON nor YAML, or is too large or too deep.
    #[error("the OpenAPI document cannot be read: {reason}")]
    Unreadable {
        /// The reason, with line and column.
        reason: String,
    },
    /// The document has faults. The error lists all faults of the chosen operations.
    #[error("the OpenAPI document `{name}` has {}", listed(.faults))]
    Document {
        /// The toolset's name.
        name: String,
        /// The faults, in the order of the document's paths.
        faults: Vec<OpenApiFault>,
    },
    /// The choice leaves no operation, or names an operation that the document does not have.
    #[error("the choice of operations of the OpenAPI document `{name}` {reason}")]
    Choice {
        /// The toolset's name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// A URL of the program cannot be used.
    #[error("the URL of `.{option}(…)` for the OpenAPI document `{name}` {reason}")]
    Url {
        /// The toolset's name.
        name: String,
        /// The method of the builder that sets it.
        option: &'static str,
        /// The reason.
        reason: String,
    },
    /// A variable of the server's URL cannot have this value, or does not exist.
    #[error("the server variable `{variable}` of the OpenAPI document `{name}` {reason}")]
    ServerVariable {
        /// The toolset's name.
        name: String,
        /// The variable.
        variable: String,
        /// The reason.
        reason: String,
    },
    /// A header cannot be sent.
    #[error("the requests of the OpenAPI document `{name}` cannot have the header `{header}`: {reason}")]
    Header {
        /// The toolset's name.
        name: String,
        /// The header's name.
        header: String,
        /// The reason.
        reason: &'static str,
    },
    /// The prefix makes names that models refuse.
    #[error("the prefix `{prefix}` for the tools of the OpenAPI document `{name}` {reason}")]
    Prefix {
        /// The toolset's name.
        name: String,
        /// The prefix.
        prefix: String,
        /// The reason.
        reason: &'static str,
    },
    /// A credential fits no security scheme of the chosen operations.
    #[error("a credential for the OpenAPI document `{name}` cannot be used: {reason}")]
    Credential {
        /// The toolset's name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// Encrypted connections cannot be made.
    #[error("TLS cannot be used: {reason}; install the CA certificates of your system")]
    Tls {
        /// The cause.
        reason: String,
    },
}

impl pleach_core::SetupError for OpenApiSetupError {}

fn listed(faults: &[OpenApiFault]) -> String {
    let count = faults.len();
    let mut text = if count == 1 { "a fault".to_owned() } else { format!("{count} faults") };
    for fault in faults.iter().take(LISTED) {
        text.push_str(&format!("\n- {fault}"));
    }
    if count > LISTED {
        text.push_str(&format!("\n- and {} more", count - LISTED));
    }
    text
}
