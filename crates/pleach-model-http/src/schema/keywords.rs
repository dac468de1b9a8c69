//! The keywords of JSON Schema whose values are schemas.

use pleach_core::Map;
use serde_json::Value;

/// Keywords whose values are schemas.
pub(super) const SCHEMAS: [&str; 11] = [
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// The keywords among them for which every provider accepts true or false.
pub(super) const SWITCHES: [&str; 3] = ["additionalProperties", "unevaluatedItems", "unevaluatedProperties"];
/// Keywords whose values are lists of schemas.
pub(super) const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose members are schemas under names that the author has chosen.
pub(super) const MAPS: [&str; 3] = ["dependentSchemas", "patternProperties", "properties"];

/// Calls `visit` with each schema directly below a standard schema.
pub(super) fn for_each_subschema(schema: &mut Map, visit: &mut dyn FnMut(&mut Value)) {
    for (keyword, value) in schema.iter_mut() {
        match (keyword.as_str(), value) {
            (name, value) if SCHEMAS.contains(&name) => visit(value),
            (name, Value::Array(items)) if LISTS.contains(&name) => items.iter_mut().for_each(&mut *visit),
            (name, Value::Object(named)) if MAPS.contains(&name) => named.values_mut().for_each(&mut *visit),
            _ => {}
        }
    }
}

/// Returns the schemas directly below a standard schema.
pub(super) fn subschemas(schema: &Map) -> Vec<&Value> {
    let mut below = Vec::new();
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            (name, value) if SCHEMAS.contains(&name) => below.push(value),
            (name, Value::Array(items)) if LISTS.contains(&name) => below.extend(items),
            (name, Value::Object(named)) if MAPS.contains(&name) => below.extend(named.values()),
            _ => {}
        }
    }
    below
}

/// Rewrites a schema and those below it, the inner ones first.
pub(crate) fn rewrite_all(schema: &mut Value, rewrite: fn(&mut Map)) {
    if let Value::Object(members) = schema {
        for_each_subschema(members, &mut |below| rewrite_all(below, rewrite));
        rewrite(members);
    }
}
