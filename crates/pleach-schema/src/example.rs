//! [`example_of`]: a value with the shape of a JSON Schema, for texts that describe what is expected.

use pleach_core::Map;
use serde_json::{Value, json};

/// The number of levels of a shape that are shown; deeper ones are null.
const LEVELS: usize = 4;

/// Returns a value that has the shape of a JSON Schema: its types and names, with made-up contents. Parts that the
/// schema does not describe are null.
#[must_use]
pub fn example_of(schema: &Value) -> Value {
    part(schema, schema, LEVELS)
}

fn part(root: &Value, schema: &Value, levels: usize) -> Value {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.filter(|_| levels > 0).map_or(Value::Null, |target| part(root, target, levels - 1));
    }
    if let Some(value) = schema.get("const").or_else(|| schema.get("enum")?.get(0)) {
        return value.clone();
    }
    let choices = ["oneOf", "anyOf", "allOf"].into_iter().find_map(|keyword| schema.get(keyword)?.as_array());
    if let Some(choices) = choices {
        let is_null = |choice: &&Value| choice.get("type").is_some_and(|kind| kind == "null");
        return choices.iter().find(|choice| !is_null(choice)).map_or(Value::Null, |choice| part(root, choice, levels));
    }
    match kind(schema) {
        Some("string") => json!("text"),
        Some("integer") => json!(1),
        Some("number") => json!(1.5),
        Some("boolean") => json!(true),
        Some("array") => Value::Array(items(root, schema, levels)),
        Some("object") => Value::Object(members(root, schema, levels)),
        _ => Value::Null,
    }
}

/// Returns the type of a schema if it has only one type, apart from null.
fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        kind => kind.as_str(),
    }
}

fn items(root: &Value, schema: &Value, levels: usize) -> Vec<Value> {
    let item = |schema: &Value| part(root, schema, levels.saturating_sub(1));
    match (schema.get("prefixItems").and_then(Value::as_array), schema.get("items")) {
        _ if levels == 0 => Vec::new(),
        (Some(places), _) => places.iter().map(item).collect(),
        (None, Some(every)) => vec![item(every)],
        (None, None) => Vec::new(),
    }
}

fn members(root: &Value, schema: &Value, levels: usize) -> Map {
    let properties = schema.get("properties").and_then(Value::as_object).filter(|_| levels > 0);
    let member = |(name, schema): (&String, &Value)| (name.clone(), part(root, schema, levels.saturating_sub(1)));
    properties.into_iter().flatten().map(member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_have_the_shape_of_their_schema() {
        let recursive = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        for (schema, expected) in [
            (json!({"type": "string"}), json!("text")),
            (json!({"type": ["null", "integer"]}), json!(1)),
            (json!({"enum": ["low", "high"]}), json!("low")),
            (json!({"oneOf": [{"type": "null"}, {"const": "a"}]}), json!("a")),
            (json!({"type": "array", "items": {"type": "boolean"}}), json!([true])),
            (json!({"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]}), json!([1.5, "text"])),
            (
                json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "integer"}}}),
                json!({"a": 1}),
            ),
            (json!({"$ref": "#/nowhere"}), Value::Null),
            (json!(true), Value::Null),
            (json!({}), Value::Null),
        ] {
            assert_eq!(example_of(&schema), expected, "{schema}");
        }
        assert!(example_of(&recursive).to_string().len() < 200);
    }
}
