//! The errors of nodes: [`NodeError`] for the runtime's own calls, [`Fail`] for handlers.
//!
//! A failure has a *class*, the name that becomes the event's `error_code` and that a retry policy matches. Classes
//! keep the names of the ADK (`ValueError`, `NodeTimeoutError`, …) because stored history and clients know them.

mod convert;
mod recorded;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Weak};

use pleach_core::{BoxError, NodePath, without_nul};

/// The reason why a node run failed. Cheap to clone.
///
/// The error event carries its [`class`](NodeError::class) as `error_code`. It is a [`std::error::Error`], so a user's
/// error enum can hold one with `#[error(transparent)] Node(#[from] NodeError)` and keep the class.
///
/// ADK: the exception raised out of a node.
// R415
#[derive(Clone)]
pub struct NodeError {
    record: Arc<Record>,
}

/// The contents of a [`NodeError`]. They are also its first `source()`, so they can be found if another error wraps the
/// node error transparently.
struct Record {
    class: Cow<'static, str>,
    status: Option<String>,
    message: String,
    ancestors: Vec<Cow<'static, str>>,
    /// The Rust type that the error was made from. `RetryConfig::on` matches it for types that have no class of their
    /// own.
    type_name: Option<Cow<'static, str>>,
    /// The hint on how to fix the error, if the message is google-adk's.
    hint: Option<&'static str>,
    source: Option<BoxError>,
    child: Option<Box<ChildFailure>>,
    /// A pointer to this record. A transparent wrapper returns `&Record` as its source, and the whole error must be
    /// found from there.
    me: Weak<Record>,
}

/// A failed child run, already recorded in history by the child itself.
#[derive(Clone, Debug)]
pub struct ChildFailure {
    /// The error that the child failed with.
    pub error: NodeError,
    /// The run that failed: the child or one of its descendants.
    pub path: NodePath,
}

/// Returns the ancestor class names that a retry policy may name instead of the class itself.
// R408, R415
fn ancestors_of(class: &str) -> &'static [&'static str] {
    match class {
        "WorkflowConfigurationError"
        | "WorkflowDataError"
        | "GraphValidationError"
        | "ValidationError"
        | "SessionNotFoundError"
        | "StaleSessionError" => &["ValueError", "Exception"],
        "InvocationNotFoundError" => &["NotFoundError", "ValueError", "Exception"],
        "WorkflowInvariantError" => &["RuntimeError", "Exception"],
        "StateSchemaError" => &["TypeError", "Exception"],
        "KeyError" => &["LookupError", "Exception"],
        "Exception" => &[],
        _ => &["Exception"],
    }
}

fn names(known: &[&'static str]) -> Vec<Cow<'static, str>> {
    known.iter().copied().map(Cow::Borrowed).collect()
}

/// The class of the error for nodes that no longer fit what the history recorded about them.
pub const WORKFLOW_CHANGED: &str = "WorkflowChangedError";

impl NodeError {
    /// Makes an error of `class` with a message.
    pub fn new(class: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        let class = class.into();
        let ancestors = names(ancestors_of(&class));
        Self::from_record(Record {
            class,
            status: None,
            message: message.into(),
            ancestors,
            type_name: None,
            hint: None,
            source: None,
            child: None,
            me: Weak::new(),
        })
    }

    /// Makes a `ValueError`: a value that does not fit.
    pub fn value(message: impl Into<String>) -> Self {
        Self::new("ValueError", message)
    }

    /// Makes a `WorkflowDataError`: data that a node needs is missing or does not fit.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new("WorkflowDataError", message)
    }

    /// Makes a `ValidationError`: a value that a type or schema refuses.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new("ValidationError", message)
    }

    /// Makes the failure of a dynamic child as the calling body sees it: its class is `DynamicNodeFailError`, and the
    /// body can catch it.
    ///
    /// If the error leaves the body, the caller fails with the child's own error, and no second error event is written.
    // R404, R705
    pub fn child(name: &str, failure: ChildFailure) -> Self {
        Self::from_record(Record {
            class: Cow::Borrowed("DynamicNodeFailError"),
            status: None,
            message: format!("Dynamic node {name} failed"),
            ancestors: names(&["Exception"]),
            type_name: None,
            hint: None,
            source: Some(Box::new(failure.error.clone())),
            child: Some(Box::new(failure)),
            me: Weak::new(),
        })
    }

    /// Turns any error of a handler into a node error.
    ///
    /// A [`NodeError`] inside is kept with its class. The handler may have returned it unchanged, wrapped it
    /// transparently, or put it anywhere below an opaque carrier such as `anyhow::Error` or `Box<dyn Error>`.
    /// Otherwise the class is the last segment of the name of `E`, or `Exception` for opaque carriers, `String` and
    /// types named `Error`.
    pub fn from_handler<E: Into<BoxError> + 'static>(error: E) -> Self {
        let type_name = std::any::type_name::<E>();
        let class = class_of(type_name);
        let error: BoxError = error.into();
        if let Some(kept) = find_record(&*error, class.is_none()) {
            return kept;
        }
        let message = error.to_string();
        let class = class.map_or(Cow::Borrowed("Exception"), |name| Cow::Owned(name.to_owned()));
        let ancestors = names(ancestors_of(&class));
        Self::from_record(Record {
            class,
            status: None,
            message,
            ancestors,
            type_name: Some(Cow::Borrowed(type_name)),
            hint: None,
            source: Some(error),
            child: None,
            me: Weak::new(),
        })
    }

    /// Replaces U+0000 in the texts, because no store accepts it. The texts may quote another program.
    fn from_record(mut record: Record) -> Self {
        if let Cow::Owned(mended) = without_nul(&record.class) {
            record.class = Cow::Owned(mended);
        }
        if let Cow::Owned(mended) = without_nul(&record.message) {
            record.message = mended;
        }
        if let Some(Cow::Owned(mended)) = record.status.as_deref().map(without_nul) {
            record.status = Some(mended);
        }
        Self { record: Arc::new_cyclic(|me| Record { me: me.clone(), ..record }) }
    }

    /// Adds the error that caused this one.
    #[must_use]
    pub fn with_source(self, source: impl Into<BoxError>) -> Self {
        self.rebuild(|record| record.source = Some(source.into()))
    }

    /// Adds a hint on how to fix the error. `Display` shows the hint after the message; the stored error event keeps
    /// only the message.
    #[must_use]
    pub fn with_hint(self, hint: &'static str) -> Self {
        self.rebuild(|record| record.hint = Some(hint))
    }

    /// Sets a canonical status text (such as `PERMISSION_DENIED`) that is reported instead of the class.
    // R415
    #[must_use]
    pub fn with_status(self, status: impl Into<String>) -> Self {
        self.rebuild(|record| record.status = Some(status.into()))
    }

    /// Sets the classes above this one, nearest first. A retry policy may list any of them.
    // R408
    #[must_use]
    pub fn with_ancestors(self, ancestors: &[&'static str]) -> Self {
        self.rebuild(|record| record.ancestors = names(ancestors))
    }

    fn rebuild(self, change: impl FnOnce(&mut Record)) -> Self {
        let mut record = match Arc::try_unwrap(self.record) {
            Ok(record) => record,
            Err(shared) => Record {
                class: shared.class.clone(),
                status: shared.status.clone(),
                message: shared.message.clone(),
                ancestors: shared.ancestors.clone(),
                type_name: shared.type_name.clone(),
                hint: shared.hint,
                source: Some(Box::new(NodeError { record: Arc::clone(&shared) })),
                child: shared.child.clone(),
                me: Weak::new(),
            },
        };
        change(&mut record);
        Self::from_record(record)
    }

    /// Returns the class name, for example `ValueError`.
    #[must_use]
    pub fn class(&self) -> &str {
        &self.record.class
    }

    /// Returns the `error_code` of the error event: the status if one is set, otherwise the class.
    // R415
    #[must_use]
    pub fn code(&self) -> &str {
        self.record.status.as_deref().unwrap_or(&self.record.class)
    }

    /// Returns the text of the error without its hint, as the error event stores it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.record.message
    }

    /// Returns the text of the error, followed by its hint and by the texts of its causes, each once.
    #[must_use]
    pub fn with_causes(&self) -> String {
        let text = self.to_string();
        let Some(source) = &self.record.source else { return text };
        let causes = pleach_core::with_causes(&**source);
        // An error that a handler returned is its own first cause.
        match causes.strip_prefix(text.as_str()) {
            Some(rest) => text + rest,
            None if text.contains(&causes) => text,
            None => format!("{text}: {causes}"),
        }
    }

    /// Returns true if `name` is this error's class, one of its ancestors, or the full name of the Rust type that it
    /// was made from. Every error is a `BaseException`.
    // R408
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        let record = &*self.record;
        record.class == name
            || record.ancestors.iter().any(|ancestor| ancestor == name)
            || record.type_name.as_deref() == Some(name)
            || name == "BaseException"
    }

    /// Returns the failed child, if this is a child's failure as its caller sees it.
    #[must_use]
    pub fn child_failure(&self) -> Option<&ChildFailure> {
        self.record.child.as_deref()
    }
}

/// Returns the name that [`NodeError::is`] accepts for errors made from an `E`: their class, or otherwise the full
/// name of the type.
pub(crate) fn name_of<E>() -> &'static str {
    let name = std::any::type_name::<E>();
    class_of(name).unwrap_or(name)
}

/// Returns the class of a Rust error type: the last segment of its path, or `None` for opaque carriers.
fn class_of(type_name: &str) -> Option<&str> {
    let bare = type_name.split('<').next().unwrap_or(type_name);
    let last = bare.rsplit("::").next().unwrap_or(bare);
    match last {
        "Error" | "String" | "Box" | "&str" | "Fail" | "str" => None,
        _ if last.starts_with('&') => None,
        _ => Some(last),
    }
}

/// Finds the node error in `error`: the error itself or one that it wraps transparently. If `deep`, all causes are
/// searched.
fn find_record(error: &(dyn Error + 'static), deep: bool) -> Option<NodeError> {
    if let Some(found) = error.downcast_ref::<NodeError>() {
        return Some(found.clone());
    }
    let mut below = error.source();
    while let Some(cause) = below {
        if let Some(record) = cause.downcast_ref::<Record>() {
            return record.me.upgrade().map(|record| NodeError { record });
        }
        if !deep {
            return None;
        }
        if let Some(found) = cause.downcast_ref::<NodeError>() {
            return Some(found.clone());
        }
        below = cause.source();
    }
    None
}

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.record.class, self.record.message)
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.record.hint {
            Some(hint) => write!(f, "{}: {hint}", self.record.message.trim_end_matches('.')),
            None => f.write_str(&self.record.message),
        }
    }
}

impl Error for NodeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.record)
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.class)
    }
}

/// Shows the class in brackets, because the message above it in a chain of causes lacks the class.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({})", self.class)
    }
}

impl Error for Record {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// The error of `async fn` handlers and of `main`. Any error converts into it via `?`.
///
/// It does not implement [`std::error::Error`], so that every error can convert into it. It contains a [`NodeError`].
pub struct Fail(NodeError);

/// The result of handlers and programs: `Result<T>` with [`Fail`].
pub type Result<T, E = Fail> = std::result::Result<T, E>;

impl Fail {
    /// Makes a failure with a text and no class of its own (class `Exception`).
    pub fn msg(message: impl Into<String>) -> Self {
        Self(NodeError::new("Exception", message))
    }

    /// Returns the node error inside.
    #[must_use]
    pub fn into_node_error(self) -> NodeError {
        self.0
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Fail {
    fn from(error: E) -> Self {
        Self(NodeError::from_handler(error))
    }
}

impl From<Fail> for BoxError {
    fn from(fail: Fail) -> Self {
        Box::new(fail.0)
    }
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Shows the message and the chain of causes. A `main` that returns the failure prints this.
impl fmt::Debug for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut told = self.0.to_string();
        let mut cause = self.0.record.source();
        while let Some(error) = cause {
            // Leaves out a cause whose text was already shown, and a record, because it repeats its node error.
            let text = error.to_string();
            if !told.contains(&text) && !error.is::<Record>() {
                write!(f, "\n  caused by: {text}")?;
                told = text;
            }
            cause = error.source();
        }
        Ok(())
    }
}

/// Sets the class of a failure: `Err("none left").class("OutOfStock")?`.
pub trait ResultExt<T> {
    /// Turns the error into a [`NodeError`] with this class and keeps the error as the cause.
    ///
    /// # Errors
    /// The error of `self`, with the class.
    fn class(self, class: &'static str) -> std::result::Result<T, NodeError>;
}

impl<T, E: Into<BoxError>> ResultExt<T> for std::result::Result<T, E> {
    fn class(self, class: &'static str) -> std::result::Result<T, NodeError> {
        self.map_err(|error| {
            let error: BoxError = error.into();
            NodeError::new(class, error.to_string()).with_source(error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct PayError;
    impl fmt::Display for PayError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("refused")
        }
    }
    impl Error for PayError {}

    #[derive(Debug, thiserror::Error)]
    enum Wrapped {
        #[error(transparent)]
        Node(#[from] NodeError),
    }

    fn classified<E: Into<BoxError> + 'static>(error: E) -> (String, String) {
        let error = NodeError::from_handler(error);
        (error.class().to_owned(), error.message().to_owned())
    }

    #[test]
    fn r415_class_is_the_type_name_and_opaque_carriers_are_exceptions() {
        assert_eq!(classified(PayError), ("PayError".into(), "refused".into()));
        assert_eq!(classified("plain"), ("Exception".into(), "plain".into()));
        assert_eq!(classified(Fail::from(PayError)), ("PayError".into(), "refused".into()));
    }

    #[test]
    fn r415_a_node_error_keeps_its_class_through_a_transparent_enum() {
        let inner = NodeError::new("KeyError", "'k'");
        assert_eq!(classified(Wrapped::Node(inner.clone())).0, "KeyError");
        assert_eq!(classified(Fail::from(Wrapped::from(inner))).0, "KeyError");
    }

    #[test]
    fn r408_an_error_matches_its_ancestors() {
        let error = NodeError::data("x");
        assert!(error.is("WorkflowDataError") && error.is("ValueError") && error.is("Exception"));
        assert!(!error.is("KeyError"));
    }

    #[test]
    fn r415_a_status_text_replaces_the_class_as_code() {
        let error = NodeError::value("x").with_status("PERMISSION_DENIED");
        assert_eq!((error.code(), error.class()), ("PERMISSION_DENIED", "ValueError"));
    }
}
