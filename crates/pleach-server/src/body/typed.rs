//! [`Typed`]: a body that is checked against a shape and read into a type.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::check::{check, missing};
use super::problem::{Problem, Step};
use super::read::Payload;
use super::shape::{Kind, Shape};
use crate::error::ApiError;

/// A body that is checked against a shape and read into a type.
pub(super) trait Typed: DeserializeOwned {
    const SHAPE: &'static Shape;
}

/// Reads a body.
///
/// # Errors
/// 422 with all problems.
pub(super) fn required<T: Typed>(payload: Payload) -> Result<T, ApiError> {
    match payload {
        Payload::Absent => Err(ApiError::Invalid(vec![missing()])),
        Payload::Json(value) => of_kind(Kind::Model(T::SHAPE), value),
        Payload::Other(text) => of_kind(Kind::Model(T::SHAPE), Value::String(text)),
    }
}

/// Reads a body that may be absent or null.
///
/// # Errors
/// 422 with all problems.
pub(super) fn optional<T: Typed>(payload: Payload) -> Result<Option<T>, ApiError> {
    match payload {
        Payload::Absent | Payload::Json(Value::Null) => Ok(None),
        payload => required(payload).map(Some),
    }
}

/// Reads a value of some kind.
///
/// # Errors
/// 422 with all problems.
pub(super) fn of_kind<T: DeserializeOwned>(kind: Kind, value: Value) -> Result<T, ApiError> {
    let checked = check(kind, value).map_err(ApiError::Invalid)?;
    // This fails on values that the shape does not describe, such as the members of a compaction.
    serde_json::from_value(checked).map_err(|error| {
        let loc = vec![Step::name("body")];
        ApiError::Invalid(vec![Problem::new("value_error", loc, error.to_string())])
    })
}
