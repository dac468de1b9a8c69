//! Rewrites JSON Schemas for Gemini.

use pleach_core::Map;
use serde_json::{Value, json};

use crate::schema::Dialect;

pub(super) static DIALECT: Dialect = Dialect { takes_key: |_| true, rewrite, wraps_answers: false };

/// Rewrites keywords that Gemini refuses or ignores: keywords next to a reference, `const`, values of several types in
/// an `enum`, and unknown properties in `required`.
fn rewrite(schema: &mut Map) {
    require_known(schema);
    list_values(schema);
    part_reference(schema);
}

fn require_known(schema: &mut Map) {
    let Some(Value::Array(mut required)) = schema.remove("required") else { return };
    let known = schema.get("properties").and_then(Value::as_object);
    required.retain(|name| name.as_str().is_some_and(|name| known.is_some_and(|known| known.contains_key(name))));
    if known.is_some() {
        schema.insert("required".to_owned(), required.into());
    }
}

/// Removes all keywords next to a reference except definitions.
fn part_reference(schema: &mut Map) {
    let is_alone = schema.keys().all(|keyword| keyword.starts_with('$'));
    if is_alone || schema.contains_key("anyOf") {
        return;
    }
    if let Some(reference) = schema.remove("$ref") {
        schema.insert("anyOf".to_owned(), json!([{"$ref": reference}]));
    }
}

/// Rewrites fixed values. An `enum` may only have texts or numbers, so values of other types become alternatives.
fn list_values(schema: &mut Map) {
    let values = match (schema.remove("const"), schema.remove("enum")) {
        (Some(only), _) => vec![only],
        (None, Some(Value::Array(values))) => values,
        _ => return,
    };
    let is_text = values.iter().all(Value::is_string);
    let is_number = values.iter().all(Value::is_number);
    if is_text || is_number {
        if !schema.contains_key("type") {
            schema.insert("type".to_owned(), json!(kind_of(&values[0])));
        }
        schema.insert("enum".to_owned(), values.into());
        return;
    }
    let mut alternatives: Vec<Value> = Vec::new();
    for kind in ["string", "number", "boolean", "null", "object", "array"] {
        let of_kind: Vec<&Value> = values.iter().filter(|value| kind_of(value) == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        alternatives.push(match kind {
            "string" | "number" => json!({"type": kind, "enum": of_kind}),
            "array" => json!({"type": kind, "items": {}}),
            _ => json!({"type": kind}),
        });
    }
    schema.remove("type");
    if let [only] = alternatives.as_mut_slice() {
        schema.extend(only.as_object_mut().map(std::mem::take).into_iter().flatten());
    } else if !schema.contains_key("anyOf") {
        schema.insert("anyOf".to_owned(), alternatives.into());
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
