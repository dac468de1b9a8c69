//! [`AnswerError`]: the field of an answer that does not fit, and what it expects. The value is never shown.

use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use serde_json::Value;

use crate::FieldType;

/// The number of characters that are shown of a name, a pattern or a list of choices.
const SHOWN: usize = 120;

/// The reason why an answer does not fit: the field, and what the field expects. The value is never shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerError {
    field: String,
    wanted: String,
}

impl AnswerError {
    /// Creates an error from the dotted path of the field, which is empty for the answer itself, and what the field
    /// expects.
    pub fn new(field: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self { field: field.into(), wanted: wanted.into() }
    }

    /// Returns the dotted path of the field, such as `items.0.count`; empty for the answer itself.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns what the field expects.
    #[must_use]
    pub fn wanted(&self) -> &str {
        &self.wanted
    }
}

impl std::error::Error for AnswerError {}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = if self.wanted.is_empty() { "another value" } else { &self.wanted };
        match self.field.as_str() {
            "" => write!(f, "expected {wanted}"),
            field => write!(f, "field '{field}': expected {wanted}"),
        }
    }
}

/// Describes the first fault that a validator found.
pub(crate) fn of(error: &ValidationError<'_>) -> AnswerError {
    use ValidationErrorKind::{AnyOf, OneOfMultipleValid, OneOfNotValid};
    match error.kind() {
        AnyOf { context } | OneOfNotValid { context } => closest_fault(error, context),
        OneOfMultipleValid { .. } => AnswerError::new(path_of(error, None), "exactly one of the allowed forms"),
        kind => AnswerError::new(path_of(error, named(kind)), wanted(kind)),
    }
}

/// Describes the alternative that the answer was most likely meant for, which is the one with the deepest fault. If all
/// faults are at the top, all alternatives are named.
fn closest_fault(error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>]) -> AnswerError {
    let depth = |error: &ValidationError<'_>| error.instance_path().segments().count();
    let firsts = context.iter().filter_map(|errors| errors.iter().max_by_key(|error| depth(error)));
    let is_null = |error: &ValidationError<'_>| wanted(error.kind()) == "null";
    let mut close: Vec<_> = firsts.filter(|first| !is_null(first)).collect();
    close.sort_by_key(|first| std::cmp::Reverse(depth(first)));
    match close.as_slice() {
        [only] => of(only),
        [deepest, ..] if depth(deepest) > depth(error) => of(deepest),
        _ => {
            let mut choices: Vec<String> = close.iter().map(|first| wanted(first.kind())).collect();
            choices.dedup();
            let choices = shortened(&choices.join(", or "));
            AnswerError::new(
                path_of(error, None),
                if choices.is_empty() { "one of the allowed forms".into() } else { choices },
            )
        }
    }
}

/// Returns the field that a fault is about, if the fault is not about the value itself.
fn named(kind: &ValidationErrorKind) -> Option<&str> {
    use ValidationErrorKind::{AdditionalProperties, Required, UnevaluatedProperties};
    match kind {
        Required { property } => property.as_str(),
        AdditionalProperties { unexpected } | UnevaluatedProperties { unexpected } => {
            unexpected.first().map(String::as_str)
        }
        _ => None,
    }
}

fn path_of(error: &ValidationError<'_>, named: Option<&str>) -> String {
    let segments = error.instance_path().segments().map(|segment| match segment {
        LocationSegment::Property(name) => shortened(&name),
        LocationSegment::Index(index) => index.to_string(),
    });
    segments.chain(named.map(shortened)).collect::<Vec<_>>().join(".")
}

fn wanted(kind: &ValidationErrorKind) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Type { kind: TypeKind::Single(kind) } => type_name(&kind.to_string()),
        Kind::Type { kind: TypeKind::Multiple(kinds) } => {
            let names: Vec<String> = kinds.iter().map(|kind| type_name(&kind.to_string())).collect();
            names.join(" or ")
        }
        Kind::Required { .. } => "a value".into(),
        Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } => "no field of this name".into(),
        Kind::AdditionalItems { .. } | Kind::UnevaluatedItems { .. } | Kind::FalseSchema => "no value".into(),
        Kind::Enum { options } => format!("one of {}", shortened(&choices(options))),
        Kind::Constant { expected_value } => shortened(&expected_value.to_string()),
        Kind::Minimum { limit } => format!("a number of at least {limit}"),
        Kind::Maximum { limit } => format!("a number of at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("a number above {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("a number below {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("a text of at least {limit} characters"),
        Kind::MaxLength { limit } => format!("a text of at most {limit} characters"),
        Kind::Pattern { pattern } => format!("a text that matches the pattern {}", shortened(pattern)),
        Kind::MinItems { limit } => format!("a list of at least {limit} items"),
        Kind::MaxItems { limit } => format!("a list of at most {limit} items"),
        Kind::UniqueItems => "a list without duplicates".into(),
        Kind::Contains => "a list with an item of the required kind".into(),
        Kind::MinProperties { limit } => format!("an object of at least {limit} fields"),
        Kind::MaxProperties { limit } => format!("an object of at most {limit} fields"),
        Kind::PropertyNames { .. } => "an object with allowed field names".into(),
        Kind::Not { .. } => "a value that the schema does not exclude".into(),
        other => format!("a value that satisfies '{}'", shortened(other.keyword())),
    }
}

fn type_name(name: &str) -> String {
    match FieldType::of_json_type(Some(name)) {
        FieldType::Any => name.to_owned(),
        known => known.wanted().to_owned(),
    }
}

fn choices(options: &Value) -> String {
    let options = options.as_array().map_or(&[][..], Vec::as_slice);
    options.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

fn shortened(text: &str) -> String {
    let short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}
