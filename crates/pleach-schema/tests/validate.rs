//! The check of answers before they are stored: which answers are refused, the texts of the refusals, and the limits on
//! hostile schemas.

use pleach_schema::{validate_answer, why_not_enforced};
use serde_json::{Value, json};

fn fault(schema: &Value, answer: Value) -> String {
    validate_answer(schema, &answer).map_or_else(|misfit| misfit.to_string(), |()| "fits".into())
}

fn order() -> Value {
    json!({
        "$defs": {
            "Item": {"type": "object", "properties": {
                "count": {"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255},
                "size": {"enum": ["s", "l"], "type": "string"}
            }, "required": ["count"], "additionalProperties": false}
        },
        "type": "object",
        "properties": {
            "id": {"type": "integer", "format": "uint32", "minimum": 0},
            "name": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"},
            "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
            "by_name": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Item"}},
            "gift": {"anyOf": [{"$ref": "#/$defs/Item"}, {"type": "null"}]},
            "note": {"type": "string", "default": ""}
        },
        "required": ["id"]
    })
}

#[test]
fn every_keyword_applies_at_every_depth_and_the_field_is_named() {
    let schema = order();
    for (answer, expected) in [
        (json!({"id": 1}), "fits"),
        (json!({"id": "1", "items": [{"count": "2"}], "gift": null}), "fits"),
        (json!({"id": -4}), "field 'id': expected a number of at least 0"),
        (json!({"id": 4_294_967_296_u64}), "field 'id': expected a number of at most 4294967295"),
        (
            json!({"id": 1, "items": [{"count": 1}, {"count": 300}]}),
            "field 'items.1.count': expected a number of at most 255",
        ),
        (json!({"id": 1, "items": [{}]}), "field 'items.0.count': expected a value"),
        (json!({"id": 1, "items": [{"count": 1, "size": "xl"}]}), "field 'items.0.size': expected one of \"s\", \"l\""),
        (json!({"id": 1, "items": [{"count": 1, "more": 1}]}), "field 'items.0.more': expected no field of this name"),
        (json!({"id": 1, "items": {}}), "field 'items': expected a list"),
        (json!({"id": 1, "by_name": {"a": {"count": "x"}}}), "field 'by_name.a.count': expected a whole number"),
        (json!({"id": 1, "gift": {"count": true, "size": 7}}), "field 'gift.size': expected one of \"s\", \"l\""),
        (json!({"id": 1, "name": "a"}), "field 'name': expected a text of at least 2 characters"),
        (json!({"id": 1, "name": "A1"}), "field 'name': expected a text that matches the pattern ^[a-z]+$"),
        (json!({"id": 1, "note": null}), "field 'note': expected a text"),
        (json!([1]), "expected an object"),
        (json!({}), "field 'id': expected a value"),
    ] {
        assert_eq!(fault(&schema, answer.clone()), expected, "{answer}");
    }
}

#[test]
fn schemas_of_pydantic_and_of_older_drafts_are_read() {
    let pydantic = json!({"title": "A", "type": "object", "$defs": {"C": {"enum": ["r", "g"], "type": "string"}},
        "properties": {"c": {"$ref": "#/$defs/C"}, "n": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null}}});
    assert_eq!(fault(&pydantic, json!({"c": "g", "n": null})), "fits");
    assert_eq!(fault(&pydantic, json!({"c": "b"})), "field 'c': expected one of \"r\", \"g\"");
    assert_eq!(fault(&pydantic, json!({"n": "x"})), "field 'n': expected a whole number");
    let draft7 = json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"n": {"type": "integer"}},
        "type": "array", "items": [{"$ref": "#/definitions/n"}]});
    assert_eq!(fault(&draft7, json!([1])), "fits");
    assert_eq!(fault(&draft7, json!(["x"])), "field '0': expected a whole number");
}

#[test]
fn broken_schemas_are_not_enforced() {
    let deep = (0..200).fold(json!({}), |inner, _| json!({"allOf": [inner]}));
    let chain: serde_json::Map<String, Value> =
        (0..20_000).map(|n| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}))).collect();
    for schema in [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"$ref": "#/$defs/missing"}),
        json!({"$ref": "https://example.com/schema.json"}),
        json!({"$ref": "file:///etc/passwd"}),
        json!({"type": "no such type"}),
        json!({"type": 5, "properties": 7, "required": "x", "minimum": "low"}),
        json!({"$schema": "https://example.com/dialect"}),
        json!({"pattern": "(?=a)b"}),
        json!({"pattern": "("}),
        json!({"pattern": "((a{1000}){1000}){1000}"}),
        json!({"$dynamicRef": "#x"}),
        json!({"$id": "https://example.com/", "$ref": "#/a"}),
        json!({"$defs": chain, "$ref": "#/$defs/d0"}),
        deep,
    ] {
        assert_eq!(fault(&schema, json!({"a": [1]})), "fits");
        assert!(why_not_enforced(&schema).is_some());
    }
    for schema in [json!({}), json!(true), json!({"type": "integer"}), order()] {
        assert_eq!(why_not_enforced(&schema), None);
    }
}

#[test]
fn the_reason_why_a_schema_is_not_enforced_names_the_place() {
    let why = |schema: Value| why_not_enforced(&schema).unwrap_or_default();
    assert_eq!(why(json!({"properties": {"a": {"$id": "x"}}})), "it uses `$id`");
    let pattern = why(json!({"properties": {"a": {"pattern": "(?=a)b"}}}));
    assert!(pattern.starts_with("`/properties/a/pattern` is not a valid"), "{pattern}");
    assert_eq!(why(json!({"enum": vec![1; 20_001]})), "it has more than 20000 values");
}

/// If reading converts a text, the check converts it as well.
#[test]
fn a_text_that_holds_a_number_fits_in_a_map_whose_keys_have_a_form() {
    let map =
        json!({"type": "object", "patternProperties": {"^\\d+$": {"type": "integer"}}, "additionalProperties": false});
    assert_eq!(fault(&map, json!({"7": "7"})), "fits");
    assert_eq!(fault(&map, json!({"7": "x"})), "field '7': expected a whole number");
    assert_eq!(fault(&map, json!({"x": 7})), "field 'x': expected no field of this name");
}

#[test]
fn hostile_schemas_and_answers_end_soon_and_on_a_small_stack() {
    let doubling: serde_json::Map<String, Value> = (0..40)
        .map(|n| (format!("d{n}"), json!({"allOf": vec![json!({"$ref": format!("#/$defs/d{}", n + 1)}); 2]})))
        .chain([("d40".to_owned(), json!({"type": "integer"}))])
        .collect();
    let levels =
        json!({"type": "object", "properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]}}});
    let nested = |depth: usize, leaf: Value| (0..depth).fold(leaf, |inner, _| json!({"a": inner}));
    let list = json!({"items": {"$ref": "#"}, "type": "array"});
    let lists = |depth: usize, leaf: Value| (0..depth).fold(leaf, |inner, _| json!([inner]));
    let threads = std::thread::Builder::new().stack_size(1 << 20);
    let run = move || {
        assert_eq!(fault(&json!({"$defs": doubling, "$ref": "#/$defs/d0"}), json!("x")), "fits");
        for depth in [5, 30, 60, 126] {
            assert_ne!(fault(&levels, nested(depth, json!(1))), "fits", "{depth}");
            assert_ne!(fault(&list, lists(depth, json!("x"))), "fits", "{depth}");
        }
        assert_eq!(fault(&list, lists(120, json!([]))), "fits");
        assert_ne!(fault(&json!({}), lists(500, json!(1))), "fits");
        assert_eq!(
            fault(&json!({"pattern": "^(a+)+$"}), json!("a".repeat(50_000) + "b")),
            "expected a text that matches the pattern ^(a+)+$"
        );
    };
    threads.spawn(run).unwrap().join().unwrap();
}

/// A recursive schema with alternatives that share a key, like the schema of an untagged enum: describing a misfit
/// takes few steps.
#[test]
fn alternatives_inside_alternatives_end_soon() {
    let nested = |depth: usize, leaf: Value| (0..depth).fold(leaf, |inner, _| json!({"a": inner}));
    for keyword in ["anyOf", "oneOf"] {
        let form = |name: &str| json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/Tree"}, name: {}}, "required": ["a"]});
        let mut schema = json!({"$defs": {"Tree": {}}, "$ref": "#/$defs/Tree"});
        schema["$defs"]["Tree"][keyword] = json!([form("b"), form("c"), {"type": "boolean"}]);
        assert_ne!(fault(&schema, nested(3, json!("x"))), "fits", "{keyword}");
        // There would be 2^40 descriptions if every path were taken.
        let described = fault(&schema, nested(40, json!("x")));
        assert_eq!(described, "expected a value of one of the allowed forms", "{keyword}");
    }
}
