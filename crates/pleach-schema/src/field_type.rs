//! The simple types that a declared field can have, with lenient conversion.

use serde_json::Value;

use crate::scalar::{to_float, to_int};
use crate::to_bool;

/// A field type, with conversions like those of ADK's lax validation.
// R504
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Any JSON value.
    Any,
    /// A string. Numbers do not fit.
    Str,
    /// A whole number. Strings and floats that fit are converted.
    Int,
    /// A number. Strings that fit are converted.
    Float,
    /// A flag. `"true"`, `"yes"`, `1` and their opposites are converted.
    Bool,
    /// An array of anything.
    List,
    /// An object of anything.
    Dict,
    /// An array whose items have one type.
    ListOf(Box<FieldType>),
}

impl FieldType {
    /// Reads a type name: `str int float bool list dict any`, or `list[T]`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "any" => Self::Any,
            "str" => Self::Str,
            "int" => Self::Int,
            "float" => Self::Float,
            "bool" => Self::Bool,
            "list" => Self::List,
            "dict" => Self::Dict,
            _ => {
                let inner = name.strip_prefix("list[")?.strip_suffix(']')?;
                Self::ListOf(Box::new(Self::parse(inner)?))
            }
        })
    }

    /// Returns the field type for a JSON schema's `type`; anything unknown becomes [`FieldType::Any`].
    #[must_use]
    pub fn of_json_type(name: Option<&str>) -> Self {
        match name {
            Some("string") => Self::Str,
            Some("integer") => Self::Int,
            Some("number") => Self::Float,
            Some("boolean") => Self::Bool,
            Some("array") => Self::List,
            Some("object") => Self::Dict,
            _ => Self::Any,
        }
    }

    /// Returns the JSON schema's `type`; `None` for [`FieldType::Any`].
    #[must_use]
    pub fn json_type(&self) -> Option<&'static str> {
        match self {
            Self::Any => None,
            Self::Str => Some("string"),
            Self::Int => Some("integer"),
            Self::Float => Some("number"),
            Self::Bool => Some("boolean"),
            Self::List | Self::ListOf(_) => Some("array"),
            Self::Dict => Some("object"),
        }
    }

    /// Converts `value` to this type.
    ///
    /// # Errors
    /// Names the expected type and the kind of the value.
    pub fn coerce(&self, value: &Value) -> Result<Value, String> {
        let fitting = match self {
            Self::Any => Some(value.clone()),
            Self::Str => value.is_string().then(|| value.clone()),
            Self::Int => to_int(value),
            Self::Float => to_float(value).map(|number| if value.is_number() { value.clone() } else { number.into() }),
            Self::Bool => to_bool(value).map(Value::from),
            Self::List => value.is_array().then(|| value.clone()),
            Self::Dict => value.is_object().then(|| value.clone()),
            Self::ListOf(inner) => match value {
                Value::Array(items) => Some(items.iter().map(|item| inner.coerce(item)).collect::<Result<_, _>>()?),
                _ => None,
            },
        };
        fitting.ok_or_else(|| format!("expected {}, got {}", self.wanted(), kind_of(value)))
    }

    pub(crate) fn wanted(&self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Str => "a text",
            Self::Int => "a whole number",
            Self::Float => "a number",
            Self::Bool => "true or false",
            Self::List | Self::ListOf(_) => "a list",
            Self::Dict => "an object",
        }
    }
}

/// Returns the kind of a JSON value, for error texts. It never shows the value, which may be secret.
#[must_use]
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number with a fraction",
        Value::Number(_) => "a whole number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
