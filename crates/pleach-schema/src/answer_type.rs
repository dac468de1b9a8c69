//! [`AnswerType`]: the Rust type against which answers to a question are checked.

use std::any::type_name;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use crate::AnswerError;
use crate::coerce::Coercing;

/// The Rust type of the answers to a node's questions. If the type refuses an answer, the answer is not stored.
#[derive(Clone, Copy)]
pub struct AnswerType {
    name: fn() -> &'static str,
    check: fn(&Value) -> Result<(), AnswerError>,
    schema: fn() -> Option<Value>,
}

impl AnswerType {
    /// Describes answers that are read as a `T`, as leniently as inputs.
    #[must_use]
    pub fn of<T: DeserializeOwned>() -> Self {
        Self { name: type_name::<T>, check: check::<T>, schema: || None }
    }

    /// Sets the function that creates the JSON schema of the type. Questions contain this schema.
    #[must_use]
    pub fn with_schema(self, schema: fn() -> Option<Value>) -> Self {
        Self { schema, ..self }
    }

    /// Returns the JSON schema of the type, if it is known.
    #[must_use]
    pub fn schema(self) -> Option<Value> {
        (self.schema)()
    }

    /// Checks that an answer can be read.
    ///
    /// # Errors
    /// Names the field that does not fit and what it expects, but never the value.
    pub fn check(self, answer: &Value) -> Result<(), AnswerError> {
        (self.check)(answer)
    }
}

impl fmt::Debug for AnswerType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnswerType").field(&(self.name)()).finish()
    }
}

/// Reads an answer as a `T`, leniently.
///
/// # Errors
/// The errors of [`AnswerType::check`].
pub fn read_answer<T: DeserializeOwned>(answer: &Value) -> Result<T, AnswerError> {
    serde_path_to_error::deserialize(Coercing::Value(answer)).map_err(|error| {
        let field = dotted(error.path());
        let wanted = wanted::<T>(&error.inner().to_string(), field.is_empty());
        AnswerError::new(field, wanted)
    })
}

fn check<T: DeserializeOwned>(answer: &Value) -> Result<(), AnswerError> {
    read_answer::<T>(answer).map(drop)
}

fn dotted(path: &Path) -> String {
    let names = path.iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { .. } | Segment::Unknown => None,
    });
    names.collect::<Vec<_>>().join(".")
}

/// Extracts the expectation from serde's message.
fn wanted<T>(error: &str, is_whole: bool) -> String {
    if let Some((_, wanted)) = error.rsplit_once(", expected ") {
        return wanted.to_owned();
    }
    if error.starts_with("missing field ") {
        return error.replacen("missing", "the", 1);
    }
    let name = type_name::<T>();
    let name = if is_whole { name.split('<').next().and_then(|name| name.rsplit("::").next()) } else { None };
    name.map_or_else(|| "another value".to_owned(), |name| format!("a valid {name}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::IpAddr;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    fn fault<T: DeserializeOwned>(answer: Value) -> String {
        AnswerType::of::<T>().check(&answer).unwrap_err().to_string()
    }

    #[derive(Debug, Deserialize)]
    #[serde(try_from = "u32")]
    struct Even;

    impl TryFrom<u32> for Even {
        type Error = String;

        fn try_from(number: u32) -> Result<Self, String> {
            if number.is_multiple_of(2) { Ok(Self) } else { Err(format!("{number} is odd")) }
        }
    }

    #[derive(Debug, Deserialize)]
    struct Server {
        #[serde(rename = "ip")]
        _ip: IpAddr,
        #[serde(rename = "port")]
        _port: Even,
    }

    /// Only the type itself knows why it refuses a value.
    #[test]
    fn the_fault_names_field_and_wanted_and_never_the_value() {
        assert_eq!(fault::<IpAddr>(json!("4242")), "expected a valid IpAddr");
        assert_eq!(fault::<Even>(json!(4243)), "expected a valid Even");
        assert_eq!(
            fault::<Vec<Server>>(json!([{"ip": "::1", "port": 4243}])),
            "field '0.port': expected another value"
        );
        assert_eq!(fault::<Vec<Server>>(json!([{"ip": "4242", "port": 2}])), "field '0.ip': expected another value");
        assert_eq!(fault::<Server>(json!({"ip": "::1"})), "expected the field `port`");
        assert_eq!(fault::<BTreeMap<u8, u8>>(json!({"300": 1})), "field '300': expected u8");
        assert_eq!(fault::<i128>(json!(1_180_591_620_717_411_303_424.0)), "expected i128");
        assert!(AnswerType::of::<Vec<Server>>().check(&json!([{"ip": "::1", "port": "42"}])).is_ok());
    }
}
