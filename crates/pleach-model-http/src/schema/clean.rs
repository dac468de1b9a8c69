//! Converts values of keywords to JSON Schema 2020-12. A value that cannot be understood is left out.

use std::collections::HashSet;

use pleach_core::Map;
use serde_json::{Number, Value, json};

/// Keywords whose values are numbers.
pub(super) const NUMBERS: [&str; 4] = ["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"];
/// Keywords whose values are counts.
pub(super) const COUNTS: [&str; 8] =
    ["maxContains", "maxItems", "maxLength", "maxProperties", "minContains", "minItems", "minLength", "minProperties"];
/// Keywords whose values are texts.
pub(super) const TEXTS: [&str; 6] =
    ["contentEncoding", "contentMediaType", "description", "format", "pattern", "title"];
/// Keywords whose values are true or false.
pub(super) const FLAGS: [&str; 4] = ["deprecated", "readOnly", "uniqueItems", "writeOnly"];

/// Returns the converted value of a keyword whose value is not a schema; `None` if it is left out.
pub(super) fn value(keyword: &str, value: &Value) -> Option<Value> {
    match keyword {
        _ if NUMBERS.contains(&keyword) => number(value).map(Value::Number),
        _ if COUNTS.contains(&keyword) => count(value),
        _ if TEXTS.contains(&keyword) => text(value),
        _ if FLAGS.contains(&keyword) => value.is_boolean().then(|| value.clone()),
        "type" => types(value),
        "enum" => values(value),
        "dependentRequired" => Some(
            value.as_object()?.iter().filter_map(|(name, names)| Some((name.clone(), self::names(names)?))).collect(),
        ),
        "multipleOf" => {
            number(value).filter(|number| number.as_f64().is_some_and(|number| number > 0.0)).map(Value::Number)
        }
        "examples" => value.is_array().then(|| value.clone()),
        _ => Some(value.clone()),
    }
}

/// Returns the JSON Schema name of a type, whose letters may be in any case. Names from programming languages are also
/// understood. `None` means any type.
pub(super) fn type_name(name: &str) -> Option<&'static str> {
    Some(match name.trim().to_ascii_lowercase().as_str() {
        "object" | "dict" | "map" | "record" | "struct" => "object",
        "array" | "list" | "tuple" | "set" => "array",
        "string" | "str" | "text" => "string",
        "number" | "float" | "double" | "decimal" => "number",
        "integer" | "int" | "long" => "integer",
        "boolean" | "bool" => "boolean",
        "null" | "none" | "nil" => "null",
        _ => return None,
    })
}

fn types(value: &Value) -> Option<Value> {
    match value {
        Value::String(name) => type_name(name).map(Value::from),
        Value::Array(names) => {
            let mut known: Vec<&str> = Vec::new();
            for name in names {
                let name = match name {
                    Value::Null => "null",
                    // A list that contains "any type" means any type.
                    name => type_name(name.as_str().unwrap_or_default())?,
                };
                if !known.contains(&name) {
                    known.push(name);
                }
            }
            (!known.is_empty()).then(|| json!(known))
        }
        _ => None,
    }
}

/// Returns the names in a list, each once.
pub(super) fn names(value: &Value) -> Option<Value> {
    let mut seen = HashSet::new();
    let names = value.as_array()?.iter().filter_map(Value::as_str);
    Some(names.filter(|name| seen.insert(*name)).collect())
}

/// Returns the values of an `enum`, each once.
fn values(value: &Value) -> Option<Value> {
    let Value::Array(values) = value else { return None };
    let mut seen = HashSet::new();
    let values: Vec<Value> = values.iter().filter(|value| seen.insert(value.to_string())).cloned().collect();
    (!values.is_empty()).then_some(Value::Array(values))
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => match text.trim().parse::<i64>() {
            Ok(number) => Some(number.into()),
            Err(_) => Number::from_f64(text.trim().parse().ok()?),
        },
        _ => None,
    }
}

fn count(value: &Value) -> Option<Value> {
    let number = number(value)?;
    if number.is_u64() {
        return Some(number.into());
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..9e15).contains(float))?;
    Some(json!(float as u64))
}

fn text(value: &Value) -> Option<Value> {
    match value {
        Value::String(_) => Some(value.clone()),
        Value::Number(_) | Value::Bool(_) => Some(json!(value.to_string())),
        _ => None,
    }
}

/// Before draft 6 `exclusiveMinimum: true` made `minimum` exclusive.
pub(super) fn bounds(members: &Map, converted: &mut Map) {
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if members.get(exclusive) == Some(&Value::Bool(true))
            && let Some(limit) = converted.remove(bound)
        {
            converted.insert(exclusive.to_owned(), limit);
        }
    }
}

/// Adds null to the values of a schema that is `nullable`, as OpenAPI 3.0 and Gemini have it.
pub(super) fn nullable(mut schema: Map) -> Map {
    let refers = ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|keyword| schema.contains_key(*keyword));
    if refers {
        return Map::from_iter([("anyOf".to_owned(), json!([schema, {"type": "null"}]))]);
    }
    if let Some(only) = schema.remove("const") {
        schema.insert("enum".to_owned(), json!([only]));
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(kinds)) if !kinds.iter().any(|kind| kind == "null") => kinds.push(json!("null")),
        Some(kind) if kind.is_string() && kind != "null" => *kind = json!([kind, "null"]),
        _ => {}
    }
    schema
}

/// Returns true if the schema has a `type` and the named type is among its types. Without a `type`, a schema allows
/// values of every type, but the result is false.
pub(crate) fn has_type(schema: &Map, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == name,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
        _ => false,
    }
}
