//! The whole check of an answer, before it is stored.

use serde_json::Value;

use crate::answer_error::{self, AnswerError};
use crate::compiled::compiled;
use crate::measure::{depth_of, is_cheap_to_describe, is_too_deep};
use crate::relax::relax;

/// How many schemas may be evaluated one inside the other. The validator is recursive, and threads have 2 MB of stack.
const MAX_RECURSION: usize = 256;

/// Checks an unwrapped answer against the whole `response_schema` of its question, before it is stored.
///
/// All keywords of JSON Schema count at every depth: `enum`, `minimum`, `pattern`, `additionalProperties` and so on, in the
/// dialect that `$schema` names, else 2020-12; of `format` only those of Rust's integers. Conversions are as lenient as
/// those of Rust types are: `"7"` fits an integer.
///
/// A schema that is no valid JSON Schema is not enforced, as google-adk does not enforce it. Neither is one that refers to
/// anything but its own parts by JSON pointer, applies itself to one value for ever, or would need too much time or memory:
/// more than 20,000 values, patterns of more than 1 MB when compiled, patterns with look-around or back references.
///
/// # Errors
/// Names the field that does not fit and what it expects; without the field when finding it would take too long.
pub fn validate_answer(schema: &Value, answer: &Value) -> Result<(), AnswerError> {
    if is_too_deep(answer) {
        return Err(AnswerError::new(String::new(), "a value that is nested less than 128 levels deep"));
    }
    let Ok(compiled) = compiled(schema) else { return Ok(()) };
    if compiled.chain.saturating_mul(depth_of(answer)) > MAX_RECURSION {
        return Err(AnswerError::new(String::new(), "a value that is nested less deep"));
    }
    let validator = &compiled.validator;
    let relaxed = relax(schema, schema, answer);
    // `is_valid` caches the results of recursive schemas; collecting errors does not.
    if validator.is_valid(&relaxed) {
        return Ok(());
    }
    if !is_cheap_to_describe(schema, &relaxed) {
        return Err(AnswerError::new(String::new(), "a value of one of the allowed forms"));
    }
    Err(validator.validate(&relaxed).err().map_or_else(AnswerError::default, |error| answer_error::of(&error)))
}

/// Returns why a schema is not enforced when answers are checked; `None` for one that is. See [`validate_answer`].
#[must_use]
pub fn why_not_enforced(schema: &Value) -> Option<String> {
    compiled(schema).err().map(|reason| (*reason).to_owned())
}
