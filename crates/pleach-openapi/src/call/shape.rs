//! [`Shape`]: a value that the styles of OpenAPI can write.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// All characters that are reserved in URLs. They are encoded, so that a value cannot change other parts of the URL.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A value without nested values, as strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape<'v> {
    One(Cow<'v, str>),
    List(Vec<Cow<'v, str>>),
    Fields(Vec<(&'v str, Cow<'v, str>)>),
}

const NESTED: &str = "nests values deeper than can be sent there";

impl<'v> Shape<'v> {
    /// Reads a value. Null items and fields are left out.
    pub(crate) fn of(value: &'v Value) -> Result<Self, &'static str> {
        Ok(match value {
            Value::Array(items) => {
                Self::List(items.iter().filter(|item| !item.is_null()).map(scalar).collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields = fields.iter().filter(|(_, value)| !value.is_null());
                let texts = fields.map(|(name, value)| scalar(value).map(|text| (name.as_str(), text)));
                Self::Fields(texts.collect::<Result<_, _>>()?)
            }
            other => Self::One(scalar(other)?),
        })
    }

    /// Returns the strings and names in the value.
    pub(crate) fn texts(&self) -> Vec<&str> {
        match self {
            Self::One(text) => vec![text],
            Self::List(items) => items.iter().map(|item| &**item).collect(),
            Self::Fields(fields) => fields.iter().flat_map(|(name, value)| [*name, &**value]).collect(),
        }
    }

    /// Applies `write` to each name and string.
    pub(crate) fn map(self, write: impl Fn(&str) -> String) -> Written {
        match self {
            Self::One(text) => Written::One(write(&text)),
            Self::List(items) => Written::List(items.iter().map(|item| write(item)).collect()),
            Self::Fields(fields) => {
                Written::Fields(fields.iter().map(|(name, value)| (write(name), write(value))).collect())
            }
        }
    }
}

/// A [`Shape`] whose texts are ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    One(String),
    List(Vec<String>),
    Fields(Vec<(String, String)>),
}

/// Returns the text of a value that is not a list or object. The text of null is empty.
pub(crate) fn scalar(value: &Value) -> Result<Cow<'_, str>, &'static str> {
    match value {
        Value::String(text) => Ok(text.into()),
        Value::Number(number) => Ok(number.to_string().into()),
        Value::Bool(flag) => Ok(flag.to_string().into()),
        Value::Null => Ok("".into()),
        Value::Array(_) | Value::Object(_) => Err(NESTED),
    }
}

/// Percent-encodes all characters except letters, digits and `-._~`.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}
