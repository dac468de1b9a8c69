//! Makes conformance traces comparable, and compares them.
//!
//! A trace holds generated ids, times and empty fields that two correct runtimes write
//! differently. [`normalise`] takes them out by the rules N1 to N7 of the corpus (see
//! `tests/conformance/README.md`); [`compare`] applies it to a raw trace and lists how the
//! result differs from a recorded one. Nothing here knows how a trace is made.

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
    /// The order of all events counts.
    #[default]
    Ordered,
    /// The order counts only among events of one node.
    PerNode,
}

/// How much of an error is compared (rule N6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Errors {
    /// Type and message.
    #[default]
    Full,
    /// Only the type.
    Type,
}

/// A trace that does not have the shape of a trace; the text describes what was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

type Result<T> = std::result::Result<T, Malformed>;

/// The members of an object, or what was found in its place.
fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| Malformed(format!("{what} is not an object: {value}")))
}

/// The items of an optional list; an empty or null value means an empty list.
fn items<'a>(value: Option<&'a Value>, what: &str) -> Result<&'a [Value]> {
    match value {
        Some(Value::Array(items)) => Ok(items),
        Some(other) if is_true(other) => Err(Malformed(format!("{what} is not a list: {other}"))),
        _ => Ok(&[]),
    }
}

/// The corpus' idea of truth: null, false, 0 and empty things are false.
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
