//! The schemas that models see.

use pleach::openapi::OpenApiToolset;
use serde_json::{Value, json};

use crate::support::{document, faults, schema_of};

/// Returns the schema of the only property of a body, in a document of this version with these components.
fn of_property(version: &str, property: Value, schemas: Value) -> Value {
    let body = json!({"type": "object", "properties": {"it": property}});
    let mut document = document(json!({
        "/a": {"post": {"operationId": "a", "requestBody": {"content": {"application/json": {"schema": body}}}}},
    }));
    document["openapi"] = version.into();
    document["components"] = json!({"schemas": schemas});
    let toolset = OpenApiToolset::builder(document).build().unwrap();
    let mut schema = schema_of(&toolset, "a");
    match schema.get_mut("$defs").map(Value::take) {
        None => schema["properties"]["it"].take(),
        Some(definitions) => json!([schema["properties"]["it"], definitions]),
    }
}

#[test]
fn schemas_of_3_0_become_json_schema() {
    for (property, expected) in [
        (
            json!({"type": "string", "nullable": true, "enum": ["a"]}),
            json!({"type": ["string", "null"], "enum": ["a", null]}),
        ),
        (
            json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true}),
            json!({"type": "integer", "exclusiveMinimum": 1}),
        ),
        (json!({"type": "number", "maximum": 1, "exclusiveMaximum": false}), json!({"type": "number", "maximum": 1})),
        (
            json!({"type": "string", "example": "x", "xml": {}, "x-a": 1, "default": "d"}),
            json!({"type": "string", "examples": ["x"], "default": "d"}),
        ),
        (json!({"type": "STRING", "discriminator": {}}), json!({"type": "string"})),
        (json!({"type": "Any", "title": "T"}), json!({"title": "T"})),
        (
            json!({"nullable": true, "allOf": [{"type": "object"}, {"required": ["b"]}]}),
            json!({"anyOf": [{"allOf": [{"type": "object"}, {"required": ["b"]}]}, {"type": "null"}]}),
        ),
        (
            json!({"type": "object", "required": ["id", "n"], "properties": {"id": {"type": "integer", "readOnly": true}, "n": {}}, "additionalProperties": {"type": "string", "nullable": true}}),
            json!({"type": "object", "required": ["n"], "properties": {"n": {}}, "additionalProperties": {"type": ["string", "null"]}}),
        ),
    ] {
        assert_eq!(of_property("3.0.4", property, json!({})), expected);
    }
}

#[test]
fn schemas_of_3_1_stay_as_they_are() {
    let property = json!({
        "type": ["object", "null"],
        "oneOf": [{"const": 1}, {"not": {"type": "string"}}],
        "if": true, "then": {"minProperties": 1}, "else": false,
        "patternProperties": {"^a": {"type": "array", "prefixItems": [{"type": "integer"}], "items": false}},
        "examples": [{"a": 1}],
        "dependentRequired": {"a": ["b"]},
    });
    assert_eq!(of_property("3.1.1", property.clone(), json!({})), property);
}

#[test]
fn references_are_definitions_and_may_be_cycles() {
    let schemas = json!({
        "Node": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}, "kind": {"$ref": "#/components/schemas/Kind~1s"}}},
        "Kind/s": {"type": "string", "enum": ["a"]},
        "Unused": {"$ref": "http://example.com/nowhere"},
    });
    let found =
        of_property("3.1.0", json!({"$ref": "#/components/schemas/Node", "description": "The first."}), schemas);
    let expected = json!([
        {"$ref": "#/$defs/Node", "description": "The first."},
        {
            "Kind_1s": {"type": "string", "enum": ["a"]},
            "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "kind": {"$ref": "#/$defs/Kind_1s"}}},
        },
    ]);
    assert_eq!(found, expected);
    let part = json!({"$ref": "#/components/schemas/A/properties/b%20c"});
    let found = of_property("3.0.0", part, json!({"A": {"properties": {"b c": {"type": "integer"}}}}));
    assert_eq!(found, json!([{"$ref": "#/$defs/b_c"}, {"b_c": {"type": "integer"}}]));
    let nullable = json!({"$ref": "#/components/schemas/A", "nullable": true, "title": "not there"});
    let found = of_property("3.0.0", nullable, json!({"A": {"type": "integer"}}));
    assert_eq!(found, json!([{"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}, {"A": {"type": "integer"}}]));
}

#[test]
fn schemas_of_one_name_stay_apart() {
    let property =
        json!({"anyOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B/properties/A"}]});
    let found = of_property(
        "3.1.0",
        property,
        json!({"A": {"type": "integer"}, "B": {"properties": {"A": {"type": "string"}}}}),
    );
    let expected = json!([
        {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A_2"}]},
        {"A": {"type": "integer"}, "A_2": {"type": "string"}},
    ]);
    assert_eq!(found, expected);
}

#[test]
fn faults_of_schemas_have_their_place_and_are_reported_once() {
    let schema = json!({"$ref": "#/components/schemas/Loop"});
    let body = |schema: &Value| json!({"requestBody": {"content": {"application/json": {"schema": schema}}}});
    let shared = json!({"$ref": "#/components/schemas/Shared"});
    let mut document = document(json!({
        "/a": {"post": body(&schema)},
        "/b": {"post": body(&shared), "put": body(&shared)},
        "/c": {"post": body(&json!({"$ref": "#name"}))},
        "/d": {"post": body(&json!({"properties": [], "allOf": {}, "items": 5, "type": "file"}))},
        "/e": {"post": body(&json!({"$dynamicRef": "#meta"}))},
        "/f": {"post": body(&json!({"$ref": 5}))},
    }));
    document["components"] = json!({"schemas": {
        "Loop": {"$ref": "#/components/schemas/Back"},
        "Back": {"$ref": "#/components/schemas/Loop"},
        "Shared": {"properties": {"x": {"type": "text"}}},
    }});
    let found = faults(document).join("\n");
    for expected in [
        "POST /a: the reference `#/components/schemas/",
        "PUT /b: the value must be a type of JSON Schema (at /components/schemas/Shared/properties/x/type)",
        "POST /c: the reference `#name` is not a JSON pointer into the document",
        "POST /d: the value must be an object of schemas (at /paths/~1d/post/requestBody/content/application~1json/schema/properties)",
        "POST /d: the value must be a list of schemas",
        "POST /d: the value must be a schema",
        "POST /d: the value must be a type of JSON Schema",
        "POST /e: the reference `#meta` is not a JSON pointer",
        "POST /f: the value must be",
    ] {
        assert!(found.contains(expected), "{expected}\n{found}");
    }
    assert!(found.contains("leads to itself") && !found.contains("POST /b"), "{found}");
}

/// Each level refers to the next one twice: written out, there would be a million copies.
#[test]
fn references_are_not_written_out() {
    let level = |level: usize| json!({"$ref": format!("#/components/schemas/L{level}")});
    let mut schemas = serde_json::Map::new();
    for number in 0..20 {
        let next = level(number + 1);
        schemas.insert(format!("L{number}"), json!({"type": "object", "properties": {"a": next, "b": next}}));
    }
    schemas.insert("L20".to_owned(), json!({"type": "string"}));
    let found = of_property("3.1.0", level(0), schemas.into());
    assert_eq!(found[1].as_object().unwrap().len(), 21);
}

/// A chain of references of any length is followed without recursion.
#[test]
fn a_long_way_of_references_does_not_overflow() {
    let mut schemas = serde_json::Map::new();
    for number in 0..5_000 {
        let next = json!({"$ref": format!("#/components/schemas/L{}", (number + 1) % 5_000)});
        schemas.insert(format!("L{number}"), json!({"type": "object", "properties": {"next": next}}));
    }
    let found = of_property("3.1.0", json!({"$ref": "#/components/schemas/L0"}), schemas.into());
    assert_eq!(found[1].as_object().unwrap().len(), 5_000);
}

/// The keywords that OpenAPI 3.1 allows next to a reference are part of the body.
#[test]
fn a_body_with_keywords_next_to_its_reference_is_one_argument() {
    for (version, argument) in [("3.0.0", "a"), ("3.1.0", "body")] {
        let schema = json!({"$ref": "#/components/schemas/A", "required": ["b"], "description": "It."});
        let mut document = document(json!({
            "/a": {"post": {"operationId": "a", "requestBody": {"content": {"application/json": {"schema": schema}}}}},
        }));
        document["openapi"] = version.into();
        document["components"] = json!({"schemas": {"A": {"type": "object", "properties": {"a": {"type": "string"}}}}});
        let schema = schema_of(&OpenApiToolset::builder(document).build().unwrap(), "a");
        assert!(schema["properties"].get(argument).is_some(), "{schema}");
    }
}
