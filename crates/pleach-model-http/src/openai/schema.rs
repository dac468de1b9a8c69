//! Rewrites JSON Schemas for OpenAI: schemas of functions, and output schemas in strict mode.
// L233

use pleach_core::Map;
use serde_json::{Value, json};

use super::answer_shape::{ShapeFault, check};
use crate::schema::{Dialect, Standard, VALUE, has_type, is_object, rewrite_all};

/// The string formats that strict schemas may have.
const FORMATS: [&str; 9] = ["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"];

pub(super) static DIALECT: Dialect = Dialect { takes_key: |_| true, rewrite, wraps_answers: true };

/// Rewrites the one keyword that OpenAI refuses in the schema of a function: a tuple without `items`.
fn rewrite(schema: &mut Map) {
    if schema.contains_key("prefixItems") {
        schema.entry("items").or_insert_with(|| json!({}));
    }
}

/// Returns the output schema in strict form: every object is closed, and every member is required.
///
/// A `$ref` loses the keywords next to it, and `oneOf` becomes `anyOf`. Refused formats, `uniqueItems` and null
/// defaults are left out.
///
/// # Errors
/// The fields whose values a closed schema cannot describe.
pub(super) fn strict(schema: &Value) -> Result<Value, Vec<ShapeFault>> {
    let is_wrapped = !is_object(schema);
    let standard = Standard::of(schema).map_err(|fault| vec![ShapeFault::of_schema(fault)])?;
    let faults = check(&standard);
    if !faults.is_empty() {
        return Err(faults);
    }
    let Standard { schema, definitions, .. } = standard;
    let mut schema = Value::Object(schema);
    rewrite_all(&mut schema, close);
    // The provider accepts only one object.
    if is_wrapped {
        schema = json!({"type": "object", "properties": {VALUE: schema}, "required": [VALUE], "additionalProperties": false});
    }
    if !definitions.is_empty() {
        let mut definitions = definitions;
        definitions.values_mut().for_each(|definition| rewrite_all(definition, close));
        schema["$defs"] = definitions.into();
    }
    Ok(schema)
}

fn close(schema: &mut Map) {
    if schema.contains_key("$ref") {
        schema.retain(|keyword, _| keyword == "$ref");
        return;
    }
    if let Some(alternatives) = schema.remove("oneOf") {
        schema.entry("anyOf").or_insert(alternatives);
    }
    if inline_only(schema) {
        return;
    }
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
    // The provider refuses to check that the items of a list differ.
    schema.remove("uniqueItems");
    if schema.get("format").is_some_and(|format| !FORMATS.iter().any(|known| format == known)) {
        schema.remove("format");
    }
    if has_type(schema, "object") || schema.contains_key("properties") {
        schema.entry("type").or_insert_with(|| json!("object"));
        close_object(schema);
        distribute(schema);
    }
}

/// Replaces an `allOf` by its only schema. Returns true if that is a reference, which may have no keywords next to it.
fn inline_only(schema: &mut Map) -> bool {
    let Some(Value::Array(mut all)) = schema.remove("allOf") else { return false };
    match all.as_mut_slice() {
        [Value::Object(only)] => {
            let mut only = std::mem::take(only);
            let refers = only.contains_key("$ref");
            if !refers {
                only.append(schema);
            }
            *schema = only;
            refers
        }
        _ => {
            schema.insert("allOf".to_owned(), all.into());
            false
        }
    }
}

fn close_object(schema: &mut Map) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    let mut names: Vec<String> = properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    names.sort_unstable();
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema.insert("required".to_owned(), json!(names));
}

/// Moves properties next to alternatives into each alternative, because a closed alternative allows no other
/// properties. Flattened enums have such schemas.
fn distribute(schema: &mut Map) {
    let is_object = |alternative: &Value| alternative.get("properties").is_some_and(Value::is_object);
    let Some(Value::Array(alternatives)) = schema.get("anyOf") else { return };
    if !alternatives.iter().all(is_object) {
        return;
    }
    let Some(Value::Object(shared)) = schema.remove("properties") else { return };
    for keyword in ["additionalProperties", "required", "type"] {
        schema.remove(keyword);
    }
    for alternative in schema.get_mut("anyOf").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(alternative) = alternative.as_object_mut() else { continue };
        if let Some(Value::Object(own)) = alternative.get_mut("properties") {
            for (name, property) in &shared {
                own.entry(name.clone()).or_insert_with(|| property.clone());
            }
        }
        close_object(alternative);
    }
}

/// Returns the name of a schema: the characters of its title that the provider accepts, or `response`.
pub(super) fn name(schema: &Value) -> String {
    let title = schema.get("title").and_then(Value::as_str).unwrap_or_default();
    let safe = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let name: String = title.chars().take(64).map(safe).collect();
    if name.is_empty() { "response".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Recorded from google-adk 2.13.0 with LiteLlm, except for the null default.
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
        assert_eq!(strict(&schema), Ok(expected));
        assert_eq!(name(&schema), "My_Out");
        assert_eq!(name(&json!({})), "response");
    }

    fn check_property(property: Value, expected: Value) {
        let schema = json!({"type": "object", "properties": {"it": property}});
        let strict = strict(&schema).unwrap_or_else(|faults| panic!("{faults:?}"));
        assert_eq!(strict["properties"]["it"], expected);
    }

    #[test]
    fn formats_are_those_that_strict_answers_may_have() {
        for (kind, format, is_kept) in [
            (json!("integer"), "int64", false),
            (json!(["integer", "null"]), "uint32", false),
            (json!(["number", "string"]), "double", false),
            (json!("string"), "uri", false),
            (json!("string"), "date-time", true),
            (json!(["string", "null"]), "uuid", true),
        ] {
            let expected = if is_kept { json!({"type": kind, "format": format}) } else { json!({"type": kind}) };
            check_property(json!({"type": kind, "format": format}), expected);
        }
        check_property(json!({"enum": [1, 2], "format": "int32"}), json!({"enum": [1, 2]}));
        let set = json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true});
        check_property(set, json!({"type": "array", "items": {"type": "string"}}));
    }

    #[test]
    fn tagged_enums_are_any_of_closed_objects() {
        let tagged = |tag: &str| json!({"type": "object", "properties": {"kind": {"type": "string", "const": tag}}, "required": ["kind"]});
        let closed = |tag: &str| json!({"type": "object", "properties": {"kind": {"type": "string", "const": tag}}, "required": ["kind"], "additionalProperties": false});
        check_property(json!({"oneOf": [tagged("a"), tagged("b")]}), json!({"anyOf": [closed("a"), closed("b")]}));
        let flattened = json!({
            "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "oneOf": [tagged("a"), tagged("b")],
        });
        let with_id = |tag: &str| {
            json!({
                "type": "object", "properties": {"id": {"type": "integer"}, "kind": {"type": "string", "const": tag}},
                "required": ["id", "kind"], "additionalProperties": false,
            })
        };
        check_property(flattened, json!({"anyOf": [with_id("a"), with_id("b")]}));
    }

    #[test]
    fn an_answer_that_is_no_object_is_a_field_of_one() {
        let list = json!({"type": "array", "items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"properties": {"a": {"type": "string"}}}}});
        let expected = json!({
            "type": "object", "required": ["response"], "additionalProperties": false,
            "properties": {"response": {"type": "array", "items": {"$ref": "#/$defs/A"}}},
            "$defs": {"A": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}},
        });
        assert_eq!(strict(&list), Ok(expected));
    }

    #[test]
    fn a_nullable_object_is_closed_and_one_schema_of_all_is_inlined() {
        check_property(
            json!({"type": ["object", "null"], "properties": {"a": {"type": "string"}}}),
            json!({"type": ["object", "null"], "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}),
        );
        check_property(
            json!({"allOf": [{"type": "string", "enum": ["a"]}], "description": "d"}),
            json!({"type": "string", "enum": ["a"], "description": "d"}),
        );
    }

    #[test]
    fn what_a_closed_schema_cannot_describe_is_named_by_its_field() {
        let schema = json!({
            "type": "object",
            "properties": {
                "scores": {"type": "object", "additionalProperties": {"type": "integer"}},
                "extra": true,
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
                "places": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
                "raw": {"type": ["object", "null"]},
                "list": {"type": "array"},
                "ok": {"type": "array", "items": {"type": "string"}},
            },
            "$defs": {"Place": {"type": "object", "properties": {
                "tags": {"anyOf": [{"patternProperties": {"^[0-9]+$": {"type": "string"}}, "type": "object"}, {"type": "null"}]},
                "near": {"$ref": "#/$defs/Place"},
            }}},
        });
        let faults = strict(&schema).unwrap_err();
        let found: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let expected = [
            "`extra` (any value)",
            "`list[]` (any value)",
            "`pair` (a tuple)",
            "`places[].tags` (a map)",
            "`raw` (a map)",
            "`scores` (a map)",
        ];
        assert_eq!(found, expected);
        for free in
            [json!({"type": "object"}), json!({"type": "object", "properties": {}, "additionalProperties": true})]
        {
            assert!(strict(&free).is_err(), "{free}");
        }
        let closed = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
        for empty in
            [json!({"type": "object", "properties": {}}), json!({"type": "object", "additionalProperties": false})]
        {
            assert_eq!(strict(&empty), Ok(closed.clone()), "{empty}");
        }
        let whole = strict(&json!({"type": "object", "additionalProperties": {"type": "string"}})).unwrap_err();
        assert_eq!(whole[0].to_string(), "the answer itself (a map)");
    }
}
