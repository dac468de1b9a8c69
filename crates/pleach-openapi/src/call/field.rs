//! Reads the values of arguments.

use pleach_core::Map;
use serde_json::Value;

use super::shape::scalar;

/// A property of a body, with the argument that sets it.
pub(super) struct Field<'v> {
    pub(super) arg: &'v str,
    pub(super) name: &'v str,
    pub(super) value: &'v Value,
}

/// Returns the value of an argument, or the default if it is absent. Null is treated as absent if the argument cannot
/// be null.
pub(super) fn value<'v>(
    args: &'v Map,
    arg: &str,
    default: Option<&'v Value>,
    excludes_null: bool,
) -> Option<&'v Value> {
    args.get(arg).filter(|value| !(excludes_null && value.is_null())).or(default)
}

/// Returns a value as text: a string unchanged, a list or object as JSON.
pub(super) fn text(value: &Value) -> String {
    scalar(value).map_or_else(|_| value.to_string(), |text| text.into_owned())
}
