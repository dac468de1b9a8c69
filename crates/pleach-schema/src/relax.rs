//! Lenient reading at every depth: a string that contains a number fits a number.
//!
//! Inside one of several alternatives nothing is converted, because serde converts nothing there either.

use serde_json::Value;

use crate::FieldType;
use crate::measure::resolve;

/// The number of references and alternatives that are followed for one value.
const MAX_STEPS: usize = 16;

/// Converts values like ADK's lax validation, wherever the schema has one simple type. Other values do not change.
pub(crate) fn relax(root: &Value, schema: &Value, answer: &Value) -> Value {
    relax_at(root, schema, answer, 0)
}

fn relax_at(root: &Value, schema: &Value, value: &Value, steps: usize) -> Value {
    let Some(schema) = (steps < MAX_STEPS).then_some(schema) else { return value.clone() };
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return resolve(root, target).map_or_else(|| value.clone(), |schema| relax_at(root, schema, value, steps + 1));
    }
    if let Some(only) = only_alternative(schema).filter(|_| !value.is_null()) {
        return relax_at(root, only, value, steps + 1);
    }
    match value {
        Value::Array(items) => {
            let of = |place: usize| {
                let prefix = schema.get("prefixItems").and_then(Value::as_array).and_then(|all| all.get(place));
                prefix.or_else(|| schema.get("items"))
            };
            let item =
                |(place, item)| of(place).map_or_else(|| Value::clone(item), |schema| relax_at(root, schema, item, 0));
            Value::Array(items.iter().enumerate().map(item).collect())
        }
        Value::Object(map) => {
            let of = |key: &str| {
                let property = schema.get("properties").and_then(|all| all.get(key));
                property.or_else(|| only_pattern(schema)).or_else(|| schema.get("additionalProperties"))
            };
            let entry = |(key, value): (&String, &Value)| {
                let relaxed = of(key).map_or_else(|| value.clone(), |schema| relax_at(root, schema, value, 0));
                (key.clone(), relaxed)
            };
            Value::Object(map.iter().map(entry).collect())
        }
        scalar => simple(schema, scalar),
    }
}

/// Returns the schema for the values of a map whose keys all have one form, for example `BTreeMap<u32, _>`.
fn only_pattern(schema: &Value) -> Option<&Value> {
    let mut patterns = schema.get("patternProperties")?.as_object()?.values();
    patterns.next().filter(|_| patterns.next().is_none())
}

/// Returns the schema for `Some(_)` in `anyOf: [schema, null]`.
fn only_alternative(schema: &Value) -> Option<&Value> {
    let is_null = |schema: &&Value| schema.get("type").and_then(Value::as_str) == Some("null");
    let lists = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
    let mut others = lists.flatten().filter(|schema| !is_null(schema));
    let only = others.next()?;
    others.next().is_none().then_some(only).filter(|_| schema.get("properties").is_none())
}

fn simple(schema: &Value, scalar: &Value) -> Value {
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => Some(kind.as_str()),
        Some(Value::Array(kinds)) if !scalar.is_null() => {
            let mut others = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            others.next().filter(|_| others.next().is_none())
        }
        _ => None,
    };
    match FieldType::of_json_type(kind) {
        FieldType::Any | FieldType::Str => scalar.clone(),
        known => known.coerce(scalar).unwrap_or_else(|_| scalar.clone()),
    }
}
