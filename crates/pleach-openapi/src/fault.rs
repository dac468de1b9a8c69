//! [`OpenApiFault`]: a fault of a document, and its place.

use std::fmt;

/// A fault of a document, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenApiFault {
    /// The place in the document as a JSON pointer, for example `/paths/~1pets/get/parameters/0`.
    pub pointer: String,
    /// The operation that has the fault or refers to it, for example `GET /pets`; `None` for a fault of the whole
    /// document.
    pub operation: Option<String>,
    /// The kind of the fault.
    pub kind: OpenApiFaultKind,
}

impl fmt::Display for OpenApiFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() { "/" } else { &self.pointer };
        match &self.operation {
            Some(operation) => write!(f, "{operation}: {} (at {pointer})", self.kind),
            None => write!(f, "{} (at {pointer})", self.kind),
        }
    }
}

/// The kind of a fault. Its text describes the faulty place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenApiFaultKind {
    /// The version of OpenAPI is not 3.0 or 3.1.
    #[error("the version `{0}` of OpenAPI is not supported: 3.0 and 3.1 are")]
    Version(String),
    /// A required member is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A value has the wrong type or form.
    #[error("the value must be {0}")]
    Expected(&'static str),
    /// A reference leads to another document.
    #[error("the reference `{0}` leads to another document: bundle the documents into one")]
    RemoteRef(String),
    /// A reference leads to nothing.
    #[error("the reference `{0}` leads to nothing")]
    DanglingRef(String),
    /// A reference is not a JSON pointer.
    #[error("the reference `{0}` is not a JSON pointer into the document")]
    UnsupportedRef(String),
    /// A chain of references leads to itself.
    #[error("the reference `{0}` leads to itself")]
    RefCycle(String),
    /// Two operations have the same `operationId`.
    #[error("the operationId `{id}` is also used by {other}")]
    DuplicateOperationId {
        /// The id.
        id: String,
        /// The other operation.
        other: String,
    },
    /// A part of the path is not declared as a parameter.
    #[error("the path has `{{{0}}}`, and no path parameter declares it")]
    UndeclaredPathParameter(String),
    /// A path parameter does not occur in the path.
    #[error("the path has no `{{{0}}}` for the parameter")]
    UnusedPathParameter(String),
    /// The template of the path cannot be read.
    #[error("the path {0}")]
    Path(&'static str),
    /// A parameter cannot be sent.
    #[error("the parameter `{name}` {reason}")]
    Parameter {
        /// The parameter's name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The request body has no content type that can be sent.
    #[error("none of the content types of the request body can be sent: {0}")]
    ContentType(String),
    /// The schemas of all operations together are larger than this many bytes. Each operation has a copy of the schemas
    /// that it refers to.
    #[error("the schemas of the operations are larger than {0} bytes together: choose fewer operations")]
    TooLarge(usize),
    /// The schemas of the operation are larger than this many bytes.
    #[error("the schemas of the operation are larger than {0} bytes")]
    OperationTooLarge(usize),
    /// The URL of a server cannot be used.
    #[error("the server URL `{url}` {reason}")]
    Server {
        /// The URL as the document has it.
        url: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// No alternative of the security requirements can be satisfied.
    #[error("its security cannot be met: {0}")]
    Security(String),
    /// Headers or credentials would be sent without encryption.
    #[error("`{host}` would get credentials or headers without encryption: use https, or call `.allow_plain_http()`")]
    PlainHttp {
        /// The host.
        host: String,
    },
}

/// The faults of one operation, while it is read.
#[derive(Debug, Default)]
pub(crate) struct Faults(pub(crate) Vec<OpenApiFault>);

impl Faults {
    pub(crate) fn add(&mut self, pointer: &str, kind: OpenApiFaultKind) {
        self.0.push(OpenApiFault { pointer: pointer.to_owned(), operation: None, kind });
    }

    /// Returns the value of a result. An error is added to the faults.
    pub(crate) fn take<T>(&mut self, pointer: &str, result: Result<T, OpenApiFaultKind>) -> Option<T> {
        result.map_err(|kind| self.add(pointer, kind)).ok()
    }

    /// Returns the faults, assigned to an operation.
    pub(crate) fn of(self, operation: &str) -> Vec<OpenApiFault> {
        let named = |fault: OpenApiFault| OpenApiFault { operation: Some(operation.to_owned()), ..fault };
        self.0.into_iter().map(named).collect()
    }
}
