//! Makes conformance traces comparable, and compares them.
//!
//! A trace contains generated ids, times and empty fields, which differ even between two correct runtimes.
//! [`normalise`] removes them by the rules N1 to N7 (see `tests/conformance/README.md`). [`compare`] normalises a raw
//! trace, and lists its differences from a recorded one. Nothing here depends on how a trace is made.

mod clean;
mod compare;
mod dumps;
mod group;
mod ids;
mod literal;
mod text;
mod trace;

#[cfg(test)]
mod tests;

pub(crate) use compare::same;
pub use compare::{Difference, compare, differences};
pub(crate) use dumps::{Style, dumps};
pub use trace::normalise;

use serde_json::{Map, Value};

/// Whether events are compared as one list or node by node (rule N7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The order of all events is compared.
    #[default]
    Ordered,
    /// The order is compared only among events of one node.
    PerNode,
}

/// The parts of an error that are compared (rule N6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Errors {
    /// Type and message.
    #[default]
    Full,
    /// Only the type.
    Type,
}

/// The error for a value that does not have the shape of a trace. The text describes the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

type Result<T> = std::result::Result<T, Malformed>;

/// The members of an object, or an error that describes the value in its place.
fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| Malformed(format!("{what} is not an object: {value}")))
}

/// The items of an optional list. An empty or null value means an empty list.
fn items<'a>(value: Option<&'a Value>, what: &str) -> Result<&'a [Value]> {
    match value {
        Some(Value::Array(items)) => Ok(items),
        Some(other) if is_true(other) => Err(Malformed(format!("{what} is not a list: {other}"))),
        _ => Ok(&[]),
    }
}

/// Returns true if a value is true in the corpus: null, false, 0 and empty values are false.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(b) => *b,
        Value::Number(n) => n.as_f64() != Some(0.0),
        Value::String(s) => !s.is_empty(),
        Value::Array(a) => !a.is_empty(),
        Value::Object(o) => !o.is_empty(),
    }
}
