//! [`OpenApiOperation`]: an operation as filters and conditions see it.

use std::fmt;

/// An operation as the document describes it. The builder passes it to filters and conditions.
#[derive(Clone, PartialEq, Eq)]
pub struct OpenApiOperation {
    pub(crate) method: http::Method,
    pub(crate) path: String,
    pub(crate) id: Option<String>,
    pub(crate) summary: String,
    pub(crate) description: String,
    pub(crate) tags: Vec<String>,
    pub(crate) is_deprecated: bool,
}

impl OpenApiOperation {
    /// Returns the HTTP method in upper case, for example `GET`.
    #[must_use]
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// Returns true if the method only reads, according to HTTP: `GET`, `HEAD`, `OPTIONS` or `TRACE`.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.method.is_safe()
    }

    /// Returns the path with its templates, for example `/pets/{petId}`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the `operationId`, if there is one.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the summary, or an empty text if there is none.
    #[must_use]
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Returns the description, or an empty text if there is none.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the tags.
    #[must_use]
    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    /// Returns true if the document marks the operation as deprecated.
    #[must_use]
    pub fn is_deprecated(&self) -> bool {
        self.is_deprecated
    }

    /// Returns the text for the model: the description, or the summary if there is none. ADK: `OpenApiSpecParser`
    pub(crate) fn text(&self) -> String {
        let text = if self.description.trim().is_empty() { &self.summary } else { &self.description };
        match (self.is_deprecated, text.is_empty()) {
            (true, true) => "Deprecated.".to_owned(),
            (true, false) => format!("Deprecated. {text}"),
            (false, _) => text.clone(),
        }
    }
}

/// The method and the path, for example `GET /pets`.
impl fmt::Display for OpenApiOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

impl fmt::Debug for OpenApiOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenApiOperation")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
