//! [`compiled`]: the validator of a schema, kept for the next question of the same kind and for its answer.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use foldhash::fast::RandomState;
use jsonschema::{PatternOptions, Validator};
use lru::LruCache;
use serde_json::{Value, json};

use crate::measure::{chain_of, is_too_deep};

/// The number of schemas that are kept. A program asks few kinds of questions, and compiling a schema takes longer than
/// running a node.
const MOST_KEPT: NonZeroUsize = NonZeroUsize::MIN.saturating_add(63);
/// The largest size of a schema that is kept, in bytes as [`is_kept`] counts them.
const MAX_KEPT: usize = 1 << 16;
const VALUE: usize = size_of::<Value>();
/// The number of times that a validator stores the path of each part of its schema.
const PATHS: usize = 3;
/// The largest size of a compiled pattern, in bytes.
const MAX_PATTERN: usize = 1 << 20;
/// The ranges of the formats of Rust's integers. schemars writes bounds only for the small ones.
const INTEGERS: [(&str, i64, u64); 6] = [
    ("int32", i32::MIN as i64, i32::MAX as u64),
    ("uint32", 0, u32::MAX as u64),
    ("int64", i64::MIN, i64::MAX as u64),
    ("uint64", 0, u64::MAX),
    ("int", i64::MIN, i64::MAX as u64),
    ("uint", 0, u64::MAX),
];

/// A schema that is enforced.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// The length of the longest chain of the schema's parts that apply to one value.
    pub(crate) chain: usize,
    pub(crate) validator: Validator,
}

/// A compiled schema, or the reason why it is not enforced.
type Compilation = Result<Arc<Compiled>, Arc<str>>;

static KEPT: LazyLock<Mutex<LruCache<Value, Compilation, RandomState>>> =
    LazyLock::new(|| Mutex::new(LruCache::with_hasher(MOST_KEPT, RandomState::default())));

/// Returns the validator of a schema.
///
/// # Errors
/// Returns why the schema is not enforced.
pub(crate) fn compiled(schema: &Value) -> Compilation {
    if !is_kept(schema) {
        return compile(schema);
    }
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept().get(schema) {
        return known.clone();
    }
    // The schema is compiled, and an old validator dropped, without holding the lock, because both take a while.
    let new = compile(schema);
    let replaced = kept().push(schema.clone(), new.clone());
    drop(replaced);
    new
}

/// Returns `true` if a schema takes little memory as a validator. It must be small and have no patterns, because each
/// pattern may take [`MAX_PATTERN`] when compiled.
fn is_kept(schema: &Value) -> bool {
    // Each value is paired with the length of the path to it.
    let (mut next, mut size) = (vec![(schema, 0)], 0);
    while let Some((value, path)) = next.pop() {
        size += VALUE + PATHS * path;
        match value {
            Value::Object(map) if map.contains_key("pattern") || map.contains_key("patternProperties") => return false,
            Value::Object(map) => next.extend(map.iter().map(|(key, value)| (value, path + key.len() + 1))),
            Value::Array(items) => next.extend(items.iter().map(|item| (item, path + 2))),
            Value::String(text) => size += text.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        if size + next.len() * VALUE > MAX_KEPT {
            return false;
        }
    }
    // The lookup of a schema is recursive, so the schema must not be too deep.
    !is_too_deep(schema)
}

/// # Errors
/// The errors of [`compiled`].
fn compile(schema: &Value) -> Compilation {
    let chain = chain_of(schema)?;
    Ok(Arc::new(Compiled { chain, validator: validator(schema)? }))
}

/// # Errors
/// Returns the reason why the validator does not accept the schema.
fn validator(schema: &Value) -> Result<Validator, String> {
    let mut schema = schema.clone();
    add_integer_bounds(&mut schema);
    let patterns = PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN);
    let options = jsonschema::options().with_pattern_options(patterns).should_validate_formats(false);
    options.build(&schema).map_err(|error| {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "it".to_owned() } else { format!("`{place}`") };
        format!(
            "{place} is not a valid JSON Schema, or is a pattern that is too large or uses look-around or back references"
        )
    })
}

/// Adds the bounds of Rust's integer formats. The schema is not nested deeper than 127 levels.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers are checked against the whole schema of their question.
    #[test]
    fn a_schema_is_compiled_once_while_it_is_kept() {
        let schema =
            |least: u32| json!({"type": "object", "properties": {"n": {"minimum": least, "title": "of this test"}}});
        let first = compiled(&schema(1)).unwrap();
        assert!(Arc::ptr_eq(&first, &compiled(&schema(1)).unwrap()));
        assert!(
            !first.validator.is_valid(&json!({"n": 0}))
                && compiled(&schema(0)).unwrap().validator.is_valid(&json!({"n": 0}))
        );
    }

    #[test]
    fn schemas_that_take_much_memory_are_not_kept() {
        let nested = (0..500).fold(json!({}), |inner, _| json!([inner]));
        for (row, schema, kept) in [
            ("small", json!(true), true),
            ("many texts", json!({"enum": vec!["a"; 1_000]}), true),
            ("too many texts", json!({"enum": vec!["a"; 3_000]}), false),
            ("a long text", json!({"title": "a".repeat(70_000)}), false),
            ("a long name", json!({"properties": {"a".repeat(30_000): true}}), false),
            ("a long name above many values", json!({"properties": {"a".repeat(1_000): vec![true; 100]}}), false),
            ("a pattern", json!({"properties": {"id": {"pattern": "^a"}}}), false),
            ("patterns of names", json!({"items": {"patternProperties": {"^[0-9]+$": {}}}}), false),
            ("too deep", nested, false),
        ] {
            assert_eq!(is_kept(&schema), kept, "{row}");
        }
    }

    #[test]
    fn the_reason_why_a_schema_is_not_enforced_is_kept_as_well() {
        let schema = json!({"$id": "of this test"});
        assert_eq!(compiled(&schema).unwrap_err().as_ref(), "it uses `$id`");
        assert_eq!(compiled(&schema).unwrap_err().as_ref(), "it uses `$id`");
    }
}
