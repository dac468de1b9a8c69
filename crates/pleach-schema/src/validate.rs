//! The complete check of an answer, before it is stored.

use serde_json::Value;

use crate::answer_error::{self, AnswerError};
use crate::compiled::compiled;
use crate::measure::{depth_of, is_cheap_to_describe, is_too_deep};
use crate::relax::relax;

/// The largest number of schemas that may be evaluated one inside the other. The validator is recursive, and threads
/// have 2 MB of stack.
const MAX_RECURSION: usize = 256;

/// Checks an unwrapped answer against the whole `response_schema` of its question, before it is stored.
///
/// All keywords of JSON Schema apply at every depth: `enum`, `minimum`, `pattern`, `additionalProperties` and so on.
/// The dialect is the one that `$schema` names, otherwise 2020-12. The keyword `format` applies only for the formats
/// of Rust's integers. Conversions are as lenient as for Rust types: `"7"` fits an integer.
///
/// A schema that is not a valid JSON Schema is not enforced, as in google-adk. The same applies to a schema that
/// - refers to something other than its own parts by JSON pointer,
/// - applies itself to one value without end, or
/// - would need too much time or memory: it has more than 20,000 values, a pattern of more than 1 MB when compiled,
///   or a pattern with look-around or back references.
///
/// # Errors
/// Names the field that does not fit and what it expects. The field is left out if finding it would take too long.
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
    // `is_valid` caches the results of recursive schemas, but collecting errors does not.
    if validator.is_valid(&relaxed) {
        return Ok(());
    }
    if !is_cheap_to_describe(schema, &relaxed) {
        return Err(AnswerError::new(String::new(), "a value of one of the allowed forms"));
    }
    Err(validator.validate(&relaxed).err().map_or_else(AnswerError::default, |error| answer_error::of(&error)))
}

/// Returns the reason why a schema is not enforced when answers are checked; `None` if it is enforced. See
/// [`validate_answer`].
#[must_use]
pub fn why_not_enforced(schema: &Value) -> Option<String> {
    compiled(schema).err().map(|reason| (*reason).to_owned())
}
