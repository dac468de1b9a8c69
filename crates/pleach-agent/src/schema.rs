//! Answers that fit a schema.
// L60, L61, L151, L192

use pleach_context::{NodeError, Schema};
use pleach_core::Map;
use pleach_schema::json_in_text;
use serde_json::{Value, json};

/// Wraps a schema that is not an object in an object, because the arguments of a function are an object.
///
/// ```
/// use pleach_agent::OutputWrapper;
/// use serde_json::json;
///
/// let wrapper = OutputWrapper::for_schema(&json!({"type": "array", "items": {"type": "string"}}), "result");
/// assert_eq!(wrapper.parameters()["required"], json!(["result"]));
/// let args = json!({"result": ["a"]}).as_object().cloned().unwrap_or_default();
/// assert_eq!(wrapper.value(args), Some(json!(["a"])));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OutputWrapper {
    parameters: Value,
    key: Option<String>,
}

impl OutputWrapper {
    /// Makes a wrapper for a schema. An object's schema stays as it is; any other schema becomes the property `key`.
    ///
    /// Definitions stay at the root, where references find them. References to other places are adjusted to the new
    /// place.
    #[must_use]
    pub fn for_schema(schema: &Value, key: &str) -> Self {
        if schema.get("type").and_then(Value::as_str).is_some_and(|kind| kind.eq_ignore_ascii_case("object")) {
            return Self { parameters: schema.clone(), key: None };
        }
        let mut inner = schema.clone();
        rebase(&mut inner, &format!("#/properties/{}", key.replace('~', "~0").replace('/', "~1")));
        let mut parameters = Map::new();
        for keyword in ["$defs", "definitions"] {
            let definitions = inner.as_object_mut().and_then(|schema| schema.remove_entry(keyword));
            parameters.extend(definitions);
        }
        parameters.insert("type".to_owned(), json!("object"));
        parameters.insert("properties".to_owned(), json!({key: inner}));
        parameters.insert("required".to_owned(), json!([key]));
        let parameters = Value::Object(parameters);
        Self { parameters, key: Some(key.to_owned()) }
    }

    /// Returns the schema of the arguments.
    #[must_use]
    pub fn parameters(&self) -> &Value {
        &self.parameters
    }

    /// Returns the value in the arguments of a call; `None` if the wrapping key is missing.
    #[must_use]
    pub fn value(&self, mut args: Map) -> Option<Value> {
        match &self.key {
            None => Some(Value::Object(args)),
            Some(key) => args.remove(key),
        }
    }
}

/// Prefixes references with the new place of the schema, except references to its definitions.
fn rebase(schema: &mut Value, place: &str) {
    match schema {
        Value::Object(members) => {
            for (keyword, value) in members {
                match (keyword.as_str(), value) {
                    ("$ref", Value::String(reference)) => {
                        let inside =
                            reference.strip_prefix('#').filter(|path| path.is_empty() || path.starts_with('/'));
                        let inside =
                            inside.filter(|path| !path.starts_with("/$defs/") && !path.starts_with("/definitions/"));
                        if let Some(path) = inside {
                            *reference = format!("{place}{path}");
                        }
                    }
                    ("const" | "default" | "enum" | "examples", _) => {}
                    (_, value) => rebase(value, place),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rebase(item, place)),
        _ => {}
    }
}

/// Reads an answer that must fit the agent's schema. Returns `None` if the answer is blank, and omits fields that are
/// null.
// L151
pub(crate) fn structured(schema: &Schema, text: &str) -> Result<Option<Value>, NodeError> {
    let value = json_in_text(text).map_err(|error| {
        NodeError::validation(format!(
            "the model's answer is not JSON, as the output schema '{}' demands: {error}",
            schema.name()
        ))
    })?;
    let Some(value) = value else { return Ok(None) };
    Ok(Some(without_nulls(schema.apply(&value)?)))
}

/// Returns the value without the fields that are null.
pub(crate) fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_a_wrapped_schema_still_lead_to_their_targets() {
        let schema = json!({
            "oneOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#"}}, {"$ref": "#/oneOf/0"}, {"$ref": "#/definitions/X"}],
            "definitions": {"X": {"items": {"$ref": "#"}, "default": {"$ref": "#"}}},
        });
        let expected = json!({
            "type": "object",
            "properties": {"result": {"oneOf": [
                {"type": "string"}, {"type": "array", "items": {"$ref": "#/properties/result"}},
                {"$ref": "#/properties/result/oneOf/0"}, {"$ref": "#/definitions/X"},
            ]}},
            "required": ["result"],
            "definitions": {"X": {"items": {"$ref": "#/properties/result"}, "default": {"$ref": "#"}}},
        });
        assert_eq!(OutputWrapper::for_schema(&schema, "result").parameters(), &expected);
    }

    #[test]
    fn l60_l192_what_is_not_an_object_is_wrapped() {
        let object = json!({"type": "object", "properties": {"a": {}}});
        let wrapper = OutputWrapper::for_schema(&object, "result");
        assert_eq!(wrapper.parameters(), &object);
        let args = Map::from_iter([("a".to_owned(), json!(1))]);
        assert_eq!(wrapper.value(args.clone()), Some(json!({"a": 1})));
        let list = json!({"type": "array", "items": {"$ref": "#/$defs/X"}, "$defs": {"X": {"type": "string"}}});
        let wrapper = OutputWrapper::for_schema(&list, "result");
        assert_eq!(
            wrapper.parameters(),
            &json!({
                "type": "object",
                "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/X"}}},
                "required": ["result"],
                "$defs": {"X": {"type": "string"}},
            })
        );
        assert_eq!(wrapper.value(args), None);
    }
}
