//! [`exact_json`]: writes integers of more than 64 bits as numbers, although values hold them as strings.

use pleach_core::is_big_integer;
use serde::ser::{Error as _, SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::measure::resolve;

/// The largest number of schemas that are considered for one value.
const MAX_SCHEMAS: usize = 64;

/// Writes a value as compact JSON. If the schema accepts a number but no string at a place, a string there that is
/// an integer of more than 64 bits is written as a number. References of the schema are looked up in `root`.
///
/// # Errors
/// None for JSON values; otherwise the errors of the serializer.
pub fn exact_json(root: &Value, schema: &Value, value: &Value) -> serde_json::Result<String> {
    serde_json::to_string(&Exact { root, schemas: applied(root, [schema]), value })
}

/// Returns `true` if [`exact_json`] writes a number that the value holds as a string.
#[must_use]
pub fn has_big_number(root: &Value, schema: &Value, value: &Value) -> bool {
    if !has_big_integer(value) {
        return false;
    }
    let plain = value.to_string();
    exact_json(root, schema, value).is_ok_and(|text| text != plain)
}

/// Returns `true` if any string in the value is an integer of more than 64 bits.
#[must_use]
pub fn has_big_integer(value: &Value) -> bool {
    match value {
        Value::String(text) => is_big_integer(text),
        Value::Array(items) => items.iter().any(has_big_integer),
        Value::Object(members) => members.values().any(has_big_integer),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A value, and the schemas that apply to it.
struct Exact<'a> {
    root: &'a Value,
    schemas: Vec<&'a Value>,
    value: &'a Value,
}

impl<'a> Exact<'a> {
    fn below(&self, value: &'a Value, schemas: impl Iterator<Item = &'a Value>) -> Self {
        Self { root: self.root, schemas: applied(self.root, schemas), value }
    }

    fn item(&self, place: usize, value: &'a Value) -> Self {
        let of = |schema: &&'a Value| {
            let prefix = schema.get("prefixItems").and_then(|all| all.get(place));
            prefix.or_else(|| schema.get("items"))
        };
        self.below(value, self.schemas.iter().filter_map(of))
    }

    fn member(&self, key: &str, value: &'a Value) -> Self {
        let of = |schema: &&'a Value| {
            let property = schema.get("properties").and_then(|all| all.get(key));
            property.or_else(|| schema.get("additionalProperties"))
        };
        self.below(value, self.schemas.iter().filter_map(of))
    }

    fn wants_number(&self) -> bool {
        let kinds = self.schemas.iter().filter_map(|schema| schema.get("type"));
        let kinds = kinds.flat_map(|kinds| kinds.as_array().map_or(std::slice::from_ref(kinds), Vec::as_slice));
        let kinds: Vec<&str> = kinds.filter_map(Value::as_str).collect();
        kinds.iter().any(|kind| matches!(*kind, "integer" | "number")) && !kinds.contains(&"string")
    }
}

impl Serialize for Exact<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::String(text) if is_big_integer(text) && self.wants_number() => {
                RawValue::from_string(text.clone()).map_err(S::Error::custom)?.serialize(serializer)
            }
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for (place, item) in items.iter().enumerate() {
                    list.serialize_element(&self.item(place, item))?;
                }
                list.end()
            }
            Value::Object(members) => {
                let mut object = serializer.serialize_map(Some(members.len()))?;
                for (key, member) in members {
                    object.serialize_entry(key, &self.member(key, member))?;
                }
                object.end()
            }
            scalar => scalar.serialize(serializer),
        }
    }
}

/// Returns the schemas, and all schemas that they apply to the same value.
fn applied<'a>(root: &'a Value, schemas: impl IntoIterator<Item = &'a Value>) -> Vec<&'a Value> {
    let mut all: Vec<&Value> = schemas.into_iter().collect();
    let mut next = 0;
    while let Some(schema) = all.get(next).copied().filter(|_| all.len() < MAX_SCHEMAS) {
        next += 1;
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| resolve(root, target));
        let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
        all.extend(target.into_iter().chain(lists.flatten()));
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DIGITS: &str = "1234567890123456789012345";

    #[test]
    fn big_integers_are_numbers_where_the_schema_accepts_no_text() {
        let root = json!({"$defs": {"Id": {"type": "integer"}, "Loop": {"$ref": "#/$defs/Loop"}}});
        for (schema, expected) in [
            (json!({"type": "integer"}), true),
            (json!({"type": ["number", "null"]}), true),
            (json!({"$ref": "#/$defs/Id"}), true),
            (json!({"anyOf": [{"$ref": "#/$defs/Id"}, {"type": "null"}]}), true),
            (json!({"allOf": [{"type": "integer"}, {"minimum": 0}]}), true),
            (json!({"type": "string"}), false),
            (json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), false),
            (json!({"$ref": "#/$defs/Loop"}), false),
            (json!(true), false),
            (json!({}), false),
        ] {
            let expected = if expected { DIGITS.to_owned() } else { format!("\"{DIGITS}\"") };
            assert_eq!(exact_json(&root, &schema, &json!(DIGITS)).unwrap(), expected, "{schema}");
        }
    }

    #[test]
    fn other_values_are_written_unchanged() {
        let schema = json!({
            "properties": {"ids": {"items": {"type": "integer"}}, "pair": {"prefixItems": [{"type": "string"}, {"type": "integer"}]}},
            "additionalProperties": {"type": "number"},
        });
        let value = json!({"ids": [DIGITS, "12", 7, "x"], "other": DIGITS, "pair": [DIGITS, DIGITS], "z": {"a": null}});
        let expected = format!(
            "{{\"ids\":[{DIGITS},\"12\",7,\"x\"],\"other\":{DIGITS},\"pair\":[\"{DIGITS}\",{DIGITS}],\"z\":{{\"a\":null}}}}"
        );
        assert_eq!(exact_json(&schema, &schema, &value).unwrap(), expected);
        assert!(has_big_number(&schema, &schema, &value));
        assert!(!has_big_number(&schema, &schema, &json!({"ids": [7, "x"], "pair": [DIGITS, 1]})));
    }
}
