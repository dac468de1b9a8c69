//! [`CoerceError`]: the reason why data does not fit a Rust type, without the data.
//!
//! Error texts are stored and logged, and data may be secret or temporary. So the texts made here name only the kind
//! of the data and the expected type. A message made by the type's own code is replaced.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

/// The reason why data does not fit a Rust type. `Display` names the field by its path of struct fields. It never shows
/// a value, a key of a map or an unknown name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoerceError {
    /// The fields from the outside in, joined by dots; empty if the fault concerns the whole value.
    path: String,
    reason: String,
}

/// The message of serde's derive for an untagged enum, up to the name of the type.
const UNTAGGED: &str = "data did not match any variant of untagged enum ";

impl CoerceError {
    fn of(reason: impl Into<String>) -> Self {
        Self { path: String::new(), reason: reason.into() }
    }

    /// Wraps the reason why a value of the Rust type has no JSON form.
    pub(crate) fn from_serializer(error: serde_json::Error) -> Self {
        Self::of(error.to_string())
    }

    /// Prefixes the path with `field`.
    pub(super) fn within(mut self, field: &str) -> Self {
        self.path = if self.path.is_empty() { field.to_owned() } else { format!("{field}.{}", self.path) };
        self
    }
}

impl fmt::Display for CoerceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.path {
            "" => f.write_str(&self.reason),
            path => write!(f, "{path}: {}", self.reason),
        }
    }
}

impl std::error::Error for CoerceError {}

impl Error for CoerceError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        let message = message.to_string();
        let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
        match message.strip_prefix(UNTAGGED) {
            Some(name) if is_name(name) => Self::of(message),
            _ => Self::of(
                "invalid value: the type does not accept it (its own message may show the value and is left out)",
            ),
        }
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::of(format!("invalid type: {}, expected {expected}", kind(&unexpected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::of(format!("invalid value: {}, expected {expected}", kind(&unexpected)))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::of(format!("invalid length {length}, expected {expected}"))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::of(format!("unknown variant, {}", one_of(expected, "variants")))
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        Self::of(format!("unknown field, {}", one_of(expected, "fields")))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::of(format!("missing field `{field}`"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::of(format!("duplicate field `{field}`"))
    }
}

/// Returns the kind of a value in serde's words, without the value.
fn kind(unexpected: &Unexpected<'_>) -> &'static str {
    match unexpected {
        Unexpected::Bool(_) => "boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "integer",
        Unexpected::Float(_) => "floating point",
        Unexpected::Char(_) => "character",
        Unexpected::Str(_) => "string",
        Unexpected::Bytes(_) => "byte array",
        Unexpected::Unit => "null",
        Unexpected::Option => "Option value",
        Unexpected::NewtypeStruct => "newtype struct",
        Unexpected::Seq => "sequence",
        Unexpected::Map => "map",
        Unexpected::Enum => "enum",
        Unexpected::UnitVariant => "unit variant",
        Unexpected::NewtypeVariant => "newtype variant",
        Unexpected::TupleVariant => "tuple variant",
        Unexpected::StructVariant => "struct variant",
        Unexpected::Other(_) => "something else",
    }
}

fn one_of(names: &[&str], what: &str) -> String {
    match names {
        [] => format!("there are no {what}"),
        [one] => format!("expected `{one}`"),
        [one, other] => format!("expected `{one}` or `{other}`"),
        all => format!("expected one of `{}`", all.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    use serde::de::{DeserializeOwned, Deserializer};
    use serde::{Deserialize, de};
    use serde_json::{Value, json};

    use crate::{coerce, coerce_content};

    const SECRET: &str = "sk-123";

    #[derive(Debug, Deserialize)]
    enum Size {
        Small,
        Large(u8),
        Boxed { depth: u8 },
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Order {
        #[serde(rename = "lines")]
        _lines: Vec<Line>,
    }

    #[derive(Debug, Deserialize)]
    struct Line {
        #[serde(rename = "size")]
        _size: Size,
        #[serde(default, rename = "id")]
        _id: u8,
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        #[serde(rename = "a")]
        A { _n: u8 },
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "what is read is only shown")]
    enum Untagged {
        _N(u8),
        _S(Line),
    }

    #[derive(Debug, Deserialize)]
    #[serde(try_from = "String")]
    struct Checked;

    impl TryFrom<String> for Checked {
        type Error = String;
        fn try_from(text: String) -> Result<Self, String> {
            Err(format!("invalid type: {text}, expected anything but {text}"))
        }
    }

    #[derive(Debug)]
    struct ByHand;

    impl<'de> Deserialize<'de> for ByHand {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            Err(de::Error::invalid_value(de::Unexpected::Other(&text), &"a hand"))
        }
    }

    fn text_of<T: DeserializeOwned + Debug>(value: &Value) -> String {
        coerce::<T>(value).unwrap_err().to_string()
    }

    #[track_caller]
    fn check<T: DeserializeOwned + Debug>(value: Value, expected: &str) {
        assert_eq!(text_of::<T>(&value), expected, "{value}");
    }

    #[test]
    fn no_kind_of_error_shows_a_value() {
        const REFUSED: &str =
            "invalid value: the type does not accept it (its own message may show the value and is left out)";
        check::<Size>(json!(SECRET), "unknown variant, expected one of `Small`, `Large`, `Boxed`");
        check::<Size>(json!({SECRET: 1}), "unknown variant, expected one of `Small`, `Large`, `Boxed`");
        check::<Size>(json!({"Large": SECRET}), "invalid type: string, expected u8");
        check::<Size>(json!({"Large": 1, SECRET: 2}), "invalid value: map, expected map with a single key");
        check::<Size>(json!({"Boxed": {"depth": SECRET}}), "invalid type: string, expected u8");
        check::<Size>(json!(4_711), "invalid type: integer, expected string or map");
        check::<Order>(json!({"lines": [], SECRET: 1}), "unknown field, expected `lines`");
        check::<Order>(json!({}), "missing field `lines`");
        check::<Order>(json!(SECRET), "invalid type: string, expected struct Order");
        check::<Line>(json!({"size": "Small", "id": 4_711}), "id: invalid value: integer, expected u8 from 0 to 255");
        check::<Line>(json!({"size": "Small", "id": -4.711}), "id: invalid type: floating point, expected u8");
        check::<(u8, u8)>(json!([1, 2, 4_711]), "invalid length 3, expected 2 elements in sequence");
        check::<char>(json!(SECRET), "invalid value: string, expected a character");
        check::<bool>(json!(SECRET), "invalid type: string, expected a boolean");
        check::<()>(json!(SECRET), "invalid type: string, expected unit");
        check::<BTreeMap<u8, u8>>(json!({SECRET: 1}), "invalid type: string, expected u8");
        check::<BTreeMap<String, u8>>(json!({SECRET: SECRET}), "invalid type: string, expected u8");
        check::<Vec<u8>>(json!([1, SECRET]), "invalid type: string, expected u8");
        check::<Tagged>(json!({"kind": SECRET}), "unknown variant, expected `a`");
        check::<Tagged>(json!({"kind": "a", "_n": SECRET}), "invalid type: string, expected u8");
        check::<Untagged>(json!(SECRET), "data did not match any variant of untagged enum Untagged");
        check::<Checked>(json!(SECRET), REFUSED);
        check::<std::net::IpAddr>(json!(SECRET), REFUSED);
        check::<ByHand>(json!(SECRET), "invalid value: something else, expected a hand");
    }

    #[test]
    fn the_field_is_named_by_its_path() {
        let nested = |size: Value| json!({"lines": [{"size": "Small"}, {"size": size}]});
        check::<Order>(nested(json!(SECRET)), "lines.size: unknown variant, expected one of `Small`, `Large`, `Boxed`");
        check::<Order>(nested(json!({"Large": [SECRET]})), "lines.size: invalid type: sequence, expected u8");
        let text = coerce_content::<Order>(&pleach_core::Content::user(nested(json!(SECRET)).to_string())).unwrap_err();
        assert!(text.to_string().starts_with("lines.size: unknown variant"), "{text}");
        let text = coerce_content::<Order>(&pleach_core::Content::user(SECRET)).unwrap_err();
        assert_eq!(text.to_string(), "invalid type: string, expected struct Order");
        assert!(matches!(coerce::<Size>(&json!({"Large": "7"})).unwrap(), Size::Large(7)));
        assert_eq!(coerce::<BTreeMap<u8, u8>>(&json!({"1": 2})).unwrap(), BTreeMap::from([(1, 2)]));
        assert!(matches!(coerce::<Size>(&json!({"Boxed": {"depth": 1}})).unwrap(), Size::Boxed { depth: 1 }));
    }
}
