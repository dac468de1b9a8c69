//! Writes errors to the notes of an invocation and reads them, so that a resume treats a recorded failure like the
//! original.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{NodeError, ancestors_of, names};

impl NodeError {
    /// Adds the fields that identify this error to a note: `code`, `message` and the Rust `type`. A `class` is added
    /// if the error has a status, and `ancestors` are added if they are not the usual ones of the class. Causes are
    /// not recorded.
    pub(crate) fn describe(&self, note: &mut Map<String, Value>) {
        let record = &*self.record;
        let mut add = |key: &str, value: Value| note.insert(key.to_owned(), value);
        add("code", self.code().into());
        add("message", self.message().into());
        if record.status.is_some() {
            add("class", self.class().into());
        }
        if record.ancestors != names(ancestors_of(&record.class)) {
            add("ancestors", record.ancestors.iter().map(|name| Value::from(&**name)).collect());
        }
        if let Some(type_name) = &record.type_name {
            add("type", type_name.as_ref().into());
        }
    }

    /// Reads an error from a note. Older notes have only `code` and `message`.
    pub(crate) fn from_note(note: &Value) -> Option<Self> {
        let text = |key| note.get(key).and_then(Value::as_str).map(str::to_owned);
        let (code, message) = (text("code")?, text("message")?);
        let error = match text("class") {
            Some(class) => Self::new(class, message).with_status(code),
            None => Self::new(code, message),
        };
        let ancestors = note.get("ancestors").and_then(Value::as_array);
        Some(error.rebuild(|record| {
            if let Some(ancestors) = ancestors {
                let texts = ancestors.iter().filter_map(Value::as_str);
                record.ancestors = texts.map(|name| Cow::Owned(name.to_owned())).collect();
            }
            record.type_name = text("type").map(Cow::Owned);
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::RetryConfig;

    fn again(error: &NodeError) -> NodeError {
        let mut note = Map::new();
        error.describe(&mut note);
        NodeError::from_note(&Value::Object(note)).unwrap()
    }

    /// A recorded failure is classified like the live one.
    #[test]
    fn c6_an_error_that_is_read_from_its_note_is_classified_as_before() {
        let status = NodeError::new("GatewayError", "x").with_status("UNAVAILABLE").with_ancestors(&["NetError"]);
        let read = again(&status);
        assert_eq!((read.code(), read.class(), read.message()), ("UNAVAILABLE", "GatewayError", "x"));
        assert!(read.is("GatewayError") && read.is("NetError") && !read.is("Exception"));
        let io = again(&NodeError::from_handler(std::io::Error::other("broken")));
        assert!(RetryConfig::attempts(2).on::<std::io::Error>().retries(&io, 1));
        assert!(!RetryConfig::attempts(2).on::<std::fmt::Error>().retries(&io, 1));
        let data = again(&again(&NodeError::data("x")));
        assert!(data.is("WorkflowDataError") && data.is("ValueError") && data.is("Exception"));
    }

    #[test]
    fn c6_a_note_of_an_older_version_is_read() {
        let read = NodeError::from_note(&json!({"run": "a@1", "code": "KeyError", "message": "m"})).unwrap();
        assert_eq!((read.code(), read.class(), read.is("LookupError")), ("KeyError", "KeyError", true));
        assert!(NodeError::from_note(&json!({"code": 1, "message": "m"})).is_none());
    }
}
