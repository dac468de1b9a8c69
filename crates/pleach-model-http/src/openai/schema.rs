//! JSON Schemas as OpenAI's strict mode demands them.
// L233

use serde_json::{Map, Value, json};

use crate::schema::lower_type;

/// Returns the schema with every object closed and every member required.
///
/// A `$ref` loses the keys beside it, number formats and defaults that are null are left out.
pub(super) fn strict(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
    }
    close(&mut schema);
    schema
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => close_object(object),
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

fn close_object(object: &mut Map<String, Value>) {
    if object.contains_key("$ref") {
        object.retain(|key, _| key == "$ref");
        return;
    }
    for (key, value) in object.iter_mut() {
        match key.as_str() {
            // Names of members and definitions are no keywords.
            "properties" | "$defs" | "definitions" => {
                value.as_object_mut().into_iter().flatten().for_each(|(_, schema)| close(schema))
            }
            "enum" | "const" | "default" | "examples" | "required" => {}
            _ => close(value),
        }
    }
    lower_type(object);
    if object.get("default") == Some(&Value::Null) {
        object.remove("default");
    }
    if matches!(object.get("type").and_then(Value::as_str), Some("integer" | "number")) {
        object.remove("format");
    }
    let is_object = object.get("type").and_then(Value::as_str) == Some("object");
    if is_object || object.contains_key("properties") {
        let mut names: Vec<String> = object
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect();
        names.sort_unstable();
        object.insert("additionalProperties".to_owned(), json!(false));
        object.insert("required".to_owned(), json!(names));
    }
}

/// The name of a schema: its title as far as the provider takes it, else `response`.
pub(super) fn name(schema: &Value) -> String {
    let title = schema.get("title").and_then(Value::as_str).unwrap_or_default();
    let safe = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let name: String = title.chars().take(64).map(safe).collect();
    if name.is_empty() { "response".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Recorded from google-adk 2.13.0 with LiteLlm, but for the default that is null.
    #[test]
    fn l233_every_object_is_closed() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {"Sub": {"type": "object", "title": "Sub", "properties": {"z": {"type": "integer", "format": "int32"}}, "required": ["z"]}},
            "type": "object", "title": "My Out",
            "properties": {
                "b": {"type": "string"}, "a": {"type": "integer", "default": 1},
                "properties": {"anyOf": [{"$ref": "#/$defs/Sub", "description": "d"}, {"type": "null"}], "default": null},
            },
            "required": ["b"],
        });
        let expected = json!({
            "$defs": {"Sub": {"type": "object", "title": "Sub", "properties": {"z": {"type": "integer"}}, "required": ["z"], "additionalProperties": false}},
            "type": "object", "title": "My Out",
            "properties": {
                "b": {"type": "string"}, "a": {"type": "integer", "default": 1},
                "properties": {"anyOf": [{"$ref": "#/$defs/Sub"}, {"type": "null"}]},
            },
            "required": ["a", "b", "properties"], "additionalProperties": false,
        });
        assert_eq!(strict(&schema), expected);
        assert_eq!(name(&schema), "My_Out");
        assert_eq!(name(&json!({})), "response");
    }
}
