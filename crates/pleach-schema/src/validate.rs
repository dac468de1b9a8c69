//! The whole check of an answer, before it is stored.

use jsonschema::{PatternOptions, Validator};
use serde_json::{Value, json};

use crate::answer_error::{self, AnswerError};
use crate::measure::{chain_of, depth_of, is_cheap_to_describe, is_too_deep};
use crate::relax::relax;

/// The size of a compiled pattern, in bytes.
const MAX_PATTERN: usize = 1 << 20;
/// How many schemas may be evaluated one inside the other. The validator is recursive, and threads have 2 MB of stack.
const MAX_RECURSION: usize = 256;
/// The ranges of the formats of Rust's integers; schemars writes bounds for the small ones only.
const INTEGERS: [(&str, i64, u64); 6] = [
    ("int32", i32::MIN as i64, i32::MAX as u64),
    ("uint32", 0, u32::MAX as u64),
    ("int64", i64::MIN, i64::MAX as u64),
    ("uint64", 0, u64::MAX),
    ("int", i64::MIN, i64::MAX as u64),
    ("uint", 0, u64::MAX),
];

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
    let Ok(chain) = chain_of(schema) else { return Ok(()) };
    if chain.saturating_mul(depth_of(answer)) > MAX_RECURSION {
        return Err(AnswerError::new(String::new(), "a value that is nested less deep"));
    }
    let Ok(validator) = compile(schema) else { return Ok(()) };
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
    match chain_of(schema) {
        Ok(_) => compile(schema).err(),
        Err(reason) => Some(reason),
    }
}

/// # Errors
/// Returns why the validator does not accept the schema.
fn compile(schema: &Value) -> Result<Validator, String> {
    let mut schema = schema.clone();
    add_integer_bounds(&mut schema);
    let patterns = PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN);
    let options = jsonschema::options().with_pattern_options(patterns).should_validate_formats(false);
    options.build(&schema).map_err(|error| {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "it".to_owned() } else { format!("`{place}`") };
        format!(
            "{place} is no valid JSON Schema, or a pattern that is too large or uses look-around or back references"
        )
    })
}

/// The schema is not nested deeper than 127 levels.
fn add_integer_bounds(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(add_integer_bounds),
        Value::Object(map) => {
            map.values_mut().for_each(add_integer_bounds);
            let format = map.get("format").and_then(Value::as_str);
            let bounds = INTEGERS.iter().find(|(name, ..)| Some(*name) == format);
            if let Some((_, least, most)) = bounds.filter(|_| map.get("type").is_some()) {
                map.entry("minimum").or_insert_with(|| json!(least));
                map.entry("maximum").or_insert_with(|| json!(most));
            }
        }
        _ => {}
    }
}
