//! Tests of the conversion of foreign schemas.

use pleach_core::Map;
use serde_json::{Value, json};

use super::*;

/// A dialect that accepts every name and rewrites nothing.
const PLAIN: Dialect = Dialect { takes_key: |_| true, rewrite: |_| {}, wraps_answers: false };

/// Checks the conversion of a property.
fn check(property: Value, expected: Value) {
    let schema = json!({"type": "object", "properties": {"it": property}});
    let standard = Standard::of(&schema).unwrap().into_value();
    assert_eq!(standard["properties"]["it"], expected, "{property}");
    let again = Standard::of(&standard).unwrap().into_value();
    assert_eq!(again, standard, "{property}");
}

fn check_whole(schema: Value, expected: Value) {
    assert_eq!(Standard::of(&schema).unwrap().into_value(), expected, "{schema}");
}

fn root(schema: Value) -> Result<Value, SchemaFault> {
    fit::parameters(&schema, &PLAIN).map(|(schema, ..)| schema)
}

#[test]
fn types_are_those_of_json_schema() {
    for (given, expected) in [
        (json!({"type": "STRING"}), json!({"type": "string"})),
        (json!({"type": "Integer"}), json!({"type": "integer"})),
        (json!({"type": "float"}), json!({"type": "number"})),
        (json!({"type": "dict"}), json!({"type": "object"})),
        (json!({"type": "list"}), json!({"type": "array", "items": {}})),
        (json!({"type": "any"}), json!({})),
        (json!({"type": null}), json!({})),
        (json!({"type": []}), json!({})),
        (json!({"type": {"a": 1}}), json!({})),
        (json!({"type": ["string", null, "string"]}), json!({"type": ["string", "null"]})),
        (json!({"type": ["string", "any"]}), json!({})),
        (json!("string"), json!({"type": "string"})),
        (json!(true), json!({})),
        (json!(false), json!({"not": {}})),
        (json!(null), json!({})),
        (json!(5), json!({})),
        (json!([]), json!({})),
    ] {
        check(given, expected);
    }
}

#[test]
fn keywords_have_values_that_json_schema_allows() {
    for (given, expected) in [
        (json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]})),
        (json!({"type": "string", "nullable": false}), json!({"type": "string"})),
        (
            json!({"type": "string", "enum": ["a"], "nullable": true}),
            json!({"type": ["string", "null"], "enum": ["a", null]}),
        ),
        (json!({"const": "a", "nullable": true}), json!({"enum": ["a", null]})),
        (
            json!({"anyOf": [{"type": "string"}], "nullable": true}),
            json!({"anyOf": [{"anyOf": [{"type": "string"}]}, {"type": "null"}]}),
        ),
        (json!({"enum": ["a", null, 1, "a"]}), json!({"enum": ["a", null, 1]})),
        (json!({"enum": {"a": 1}}), json!({})),
        (json!({"enum": []}), json!({})),
        (json!({"minimum": 1, "exclusiveMinimum": true}), json!({"exclusiveMinimum": 1})),
        (json!({"maximum": 1, "exclusiveMaximum": false}), json!({"maximum": 1})),
        (json!({"exclusiveMinimum": 3}), json!({"exclusiveMinimum": 3})),
        (
            json!({"minimum": "1", "maxLength": 5.0, "minItems": -1, "maximum": []}),
            json!({"minimum": 1, "maxLength": 5}),
        ),
        (json!({"description": 5, "title": null, "pattern": {}}), json!({"description": "5"})),
        (json!({"uniqueItems": "yes", "deprecated": true}), json!({"deprecated": true})),
        (json!({"examples": {"a": {}}}), json!({})),
        (json!({"anyOf": [], "allOf": {"type": "string"}, "oneOf": 1}), json!({"allOf": [{"type": "string"}]})),
        (json!({"$schema": "s", "$id": "i", "$comment": "c", "x-a": 1, "type": "string"}), json!({"type": "string"})),
        (json!({"divisibleBy": 2}), json!({"multipleOf": 2})),
        (json!({"not": null, "if": true}), json!({"if": {}})),
    ] {
        check(given, expected);
    }
}

#[test]
fn lists_say_what_their_items_are() {
    for (given, expected) in [
        (json!({"type": "array"}), json!({"type": "array", "items": {}})),
        (json!({"type": ["array", "null"]}), json!({"type": ["array", "null"], "items": {}})),
        (json!({"type": "array", "items": true}), json!({"type": "array", "items": {}})),
        (json!({"type": "array", "items": null}), json!({"type": "array", "items": {}})),
        (
            json!({"type": "array", "items": [{"type": "string"}, true]}),
            json!({"type": "array", "prefixItems": [{"type": "string"}, {}]}),
        ),
        (
            json!({"type": "array", "items": [{"type": "string"}], "additionalItems": false}),
            json!({"type": "array", "prefixItems": [{"type": "string"}], "maxItems": 1}),
        ),
        (
            json!({"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "integer"}}),
            json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}}),
        ),
        (
            json!({"type": "array", "prefixItems": [{}, {}], "items": false, "maxItems": 9}),
            json!({"type": "array", "prefixItems": [{}, {}], "maxItems": 2}),
        ),
        (json!({"type": "array", "items": false}), json!({"type": "array", "items": {}, "maxItems": 0})),
    ] {
        check(given, expected);
    }
}

#[test]
fn objects_have_properties_that_are_schemas() {
    for (given, expected) in [
        (json!({"type": "object", "properties": []}), json!({"type": "object", "properties": {}})),
        (json!({"type": "object", "properties": null}), json!({"type": "object"})),
        (json!({"type": "object", "properties": "none"}), json!({"type": "object"})),
        (json!({"type": "object", "required": null}), json!({"type": "object"})),
        (json!({"type": "object", "required": "a"}), json!({"type": "object"})),
        (
            json!({"properties": {"a": true, "type": {"type": "INTEGER"}}, "required": ["a", "b", "a", 5]}),
            json!({"properties": {"a": {}, "type": {"type": "integer"}}, "required": ["a"]}),
        ),
        (
            json!({"properties": {"a": {"type": "string", "required": true}, "b": {"required": false}}}),
            json!({"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}),
        ),
        (json!({"required": ["a"]}), json!({"required": ["a"]})),
        (
            json!({"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}], "required": ["b"]}),
            json!({"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}], "required": ["b"]}),
        ),
        (json!({"additionalProperties": true}), json!({"additionalProperties": true})),
        (json!({"additionalProperties": {"type": "Str"}}), json!({"additionalProperties": {"type": "string"}})),
        (
            json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
            json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}}),
        ),
    ] {
        check(given, expected);
    }
}

#[test]
fn references_lead_to_definitions() {
    let user = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    for place in ["$defs", "definitions"] {
        check_whole(
            json!({"properties": {"a": {"$ref": format!("#/{place}/User")}}, place: {"User": user, "Unused": {}}}),
            json!({"properties": {"a": {"$ref": "#/$defs/User"}}, "$defs": {"User": user}}),
        );
    }
    check_whole(
        json!({"properties": {"a": {"$ref": "#/components/schemas/My%20User"}}, "components": {"schemas": {"My User": user}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/My_User"}}, "$defs": {"My_User": user}}),
    );
    check_whole(
        json!({"properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}, "c~/d": {}, "e": {"$ref": "#/properties/c~0~1d"}}}),
        json!({
            "properties": {"a": {"type": "string"}, "b": {"$ref": "#/$defs/a"}, "c~/d": {}, "e": {"$ref": "#/$defs/c__d"}},
            "$defs": {"a": {"type": "string"}, "c__d": {}},
        }),
    );
}

#[test]
fn names_of_definitions_are_unique() {
    check_whole(
        json!({
            "anyOf": [{"$ref": "#/definitions/A"}, {"$ref": "#/$defs/A"}, {"$ref": "#/definitions/A"}],
            "definitions": {"A": {"type": "string"}}, "$defs": {"A": {"type": "integer"}},
        }),
        json!({
            "anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A_2"}, {"$ref": "#/$defs/A"}],
            "$defs": {"A": {"type": "string"}, "A_2": {"type": "integer"}},
        }),
    );
}

#[test]
fn references_without_a_pointer_are_followed() {
    let node = json!({"$anchor": "node", "properties": {"next": {"$ref": "#node"}}});
    let expected = json!({"properties": {"a": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}}});
    check_whole(json!({"properties": {"a": {"$ref": "#node"}}, "$defs": {"Node": node}}), expected.clone());
    let node = json!({"$dynamicAnchor": "node", "properties": {"next": {"$dynamicRef": "#node"}}});
    check_whole(json!({"properties": {"a": {"$ref": "#node"}}, "$defs": {"Node": node}}), expected);
    let bundled = json!({
        "$id": "https://example.com/root.json",
        "properties": {"a": {"$ref": "https://example.com/user.json"}, "b": {"$ref": "https://example.com/user.json#/$defs/Name"}},
        "$defs": {"user": {
            "$id": "https://example.com/user.json", "properties": {"name": {"$ref": "#/$defs/Name"}}, "$defs": {"Name": {"type": "string"}},
        }},
    });
    let found = Standard::of(&bundled).unwrap().into_value();
    assert_eq!(found["properties"]["b"], json!({"$ref": "#/$defs/Name"}));
    assert_eq!(found["$defs"]["Name"], json!({"type": "string"}));
    assert_eq!(found["$defs"].as_object().unwrap().len(), 2, "{found}");
}

#[test]
fn recursive_references_end() {
    let tree = json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}});
    let same =
        json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Root"}}}});
    let mut expected = same.clone();
    expected["$defs"] = json!({"Root": same});
    check_whole(tree, expected);
    let recursive = json!({
        "properties": {"a": {"$ref": "#/$defs/Filter"}},
        "$defs": {"Filter": {"$recursiveAnchor": true, "properties": {"all": {"items": {"$recursiveRef": "#"}}}}},
    });
    let found = Standard::of(&recursive).unwrap().into_value();
    assert_eq!(found["$defs"]["Filter"]["properties"]["all"]["items"], json!({"$ref": "#/$defs/Filter"}));
}

#[test]
fn references_to_nothing_are_any_value_and_named() {
    let schema = json!({
        "properties": {
            "a": {"$ref": "#/$defs/Nope", "description": "d"}, "b": {"$ref": "https://example.com/x.json"}, "c": {"$ref": 5},
            "d": {"$ref": "#/$defs/Loop"},
        },
        "$defs": {"Loop": {"$ref": "#/$defs/Back"}, "Back": {"$ref": "#/$defs/Loop"}},
    });
    let standard = Standard::of(&schema).unwrap();
    assert_eq!(
        Value::from(standard.schema),
        json!({"properties": {"a": {"description": "d"}, "b": {}, "c": {}, "d": {}}})
    );
    assert!(standard.definitions.is_empty());
    let expected = ["#/$defs/Nope", "https://example.com/x.json", "#/$defs/Loop"]
        .map(|reference| format!("the reference `{reference}`, which leads to nothing"));
    assert_eq!(standard.losses, expected);
}

#[test]
fn what_is_beside_a_reference_counts_as_its_draft_has_it() {
    let beside = |draft: &str| json!({"$schema": draft, "properties": {"a": {"$ref": "#/definitions/A", "description": "d", "type": "string"}}, "definitions": {"A": {}}});
    let of = |draft: &str| Standard::of(&beside(draft)).unwrap().into_value()["properties"]["a"].clone();
    assert_eq!(of("http://json-schema.org/draft-07/schema#"), json!({"$ref": "#/$defs/A", "description": "d"}));
    let now = of("https://json-schema.org/draft/2020-12/schema");
    assert_eq!(now, json!({"$ref": "#/$defs/A", "description": "d", "type": "string"}));
    let nullable = json!({"properties": {"a": {"$ref": "#/$defs/A", "nullable": true}}, "$defs": {"A": {}}});
    let found = Standard::of(&nullable).unwrap().into_value();
    assert_eq!(found["properties"]["a"], json!({"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}));
}

#[test]
fn a_schema_that_is_standard_stays_as_it_is() {
    for schema in [
        json!({"type": "object", "properties": {}}),
        json!({
            "type": "object", "title": "T", "description": "d", "required": ["a"], "additionalProperties": false,
            "properties": {
                "a": {"anyOf": [{"$ref": "#/$defs/A", "description": "x"}, {"type": "null"}], "default": null},
                "b": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": true},
                "c": {"type": ["integer", "null"], "format": "int64", "minimum": 0},
                "d": {"oneOf": [{"const": "x"}, {"enum": ["y", "z"]}], "examples": ["x"]},
                "e": {"type": "object", "additionalProperties": {"type": "string"}, "propertyNames": {"pattern": "^a"}},
                "f": {"if": {"required": ["x"]}, "then": {"minProperties": 2}, "unknown": {"keyword": [1]}},
            },
            "$defs": {"A": {"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}}}},
        }),
    ] {
        assert_eq!(root(schema.clone()), Ok(schema));
    }
}

#[test]
fn the_root_is_an_object_with_properties() {
    let empty = json!({"type": "object", "properties": {}});
    for given in [
        json!({}),
        json!(true),
        json!(false),
        json!(null),
        json!([]),
        json!("no schema"),
        json!({"type": "object"}),
        json!({"type": "OBJECT", "properties": []}),
        json!({"type": ["object", "null"], "properties": null}),
        json!({"$ref": "#"}),
        json!({"$ref": "#/nowhere"}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {}}),
    ] {
        assert_eq!(root(given.clone()), Ok(empty.clone()), "{given}");
    }
    assert_eq!(
        root(json!({"properties": {"a": {}}, "required": ["a", "b"]})),
        Ok(json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}))
    );
    for given in [
        json!("string"),
        json!({"type": "string"}),
        json!({"type": ["array", "null"]}),
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        json!({"enum": ["a"]}),
        json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}}}),
        json!({"allOf": [{"type": "object"}, {"type": "array"}]}),
    ] {
        assert_eq!(root(given.clone()), Err(SchemaFault::NoObject), "{given}");
    }
}

#[test]
fn alternatives_at_the_root_become_one_object() {
    let object =
        |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    for keyword in ["anyOf", "oneOf"] {
        let given = json!({
            "type": "object", "description": "d", "properties": {"x": {"type": "string"}}, "required": ["x"],
            keyword: [object(json!({"a": {"type": "string"}, "b": {"type": "integer"}}), json!(["a", "b"])),
                      object(json!({"a": {"type": "string"}, "c": {"type": "integer"}}), json!(["a", "c"])), {"type": "null"}],
        });
        let mut expected = object(
            json!({"x": {"type": "string"}, "a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "integer"}}),
            json!(["x", "a"]),
        );
        expected["description"] = json!("d");
        assert_eq!(root(given), Ok(expected));
    }
    let all = json!({"allOf": [object(json!({"a": {}}), json!(["a"])), {"$ref": "#/definitions/B"}], "definitions": {"B": object(json!({"b": {}}), json!(["b"]))}});
    assert_eq!(root(all), Ok(object(json!({"a": {}, "b": {}}), json!(["a", "b"]))));
    let either = json!({"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert_eq!(root(either), Ok(json!({"type": "object", "properties": {"a": {}, "b": {}}})));
    let conditional = json!({"properties": {"a": {}}, "if": {"required": ["a"]}, "then": {"properties": {"b": {}}, "required": ["b"]}, "else": false});
    assert_eq!(root(conditional), Ok(json!({"type": "object", "properties": {"a": {}, "b": {}}})));
}

#[test]
fn a_property_of_several_alternatives_may_be_that_of_each() {
    let tagged = |tag: &str, value: Value| json!({"properties": {"kind": {"type": "string", "const": tag}, "value": value}, "required": ["kind"]});
    let (text, number) = (json!({"type": "string"}), json!({"type": "number"}));
    let given = json!({"oneOf": [tagged("a", text.clone()), tagged("b", number.clone()), tagged("c", text.clone())]});
    let expected = json!({
        "type": "object", "required": ["kind"],
        "properties": {"kind": {"type": "string", "enum": ["a", "b", "c"]}, "value": {"anyOf": [text, number]}},
    });
    assert_eq!(root(given), Ok(expected));
    let all = json!({"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"maxLength": 3}}}]});
    let expected = json!({"type": "object", "properties": {"a": {"allOf": [{"type": "string"}, {"maxLength": 3}]}}});
    assert_eq!(root(all), Ok(expected));
}

#[test]
fn a_root_reference_is_followed_and_stays_recursive() {
    let given = json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/Args",
        "definitions": {"Args": {"type": "object", "properties": {"child": {"$ref": "#/definitions/Args"}}, "additionalProperties": false}},
    });
    let args =
        json!({"type": "object", "properties": {"child": {"$ref": "#/$defs/Args"}}, "additionalProperties": false});
    let mut expected = args.clone();
    expected["$defs"] = json!({"Args": args});
    assert_eq!(root(given), Ok(expected));
}

#[test]
fn hostile_schemas_cost_bounded_work() {
    let deep = (0..100).fold(json!({"type": "string"}), |below, _| json!({"properties": {"a": below}}));
    assert_eq!(root(deep), Err(SchemaFault::TooDeep(128)));
    let wide =
        json!({"properties": (0..200_000).map(|number| (format!("property_{number}"), json!({}))).collect::<Map>()});
    assert_eq!(root(wide), Err(SchemaFault::TooLarge(4 << 20)));
    // Each level has two references to the next level. Expanded or merged, they would become about a billion schemas.
    let levels = |combine: &dyn Fn(Value) -> Value| -> Map {
        (0..30)
            .map(|level| (format!("L{level}"), combine(json!({"$ref": format!("#/$defs/L{}", level + 1)}))))
            .collect()
    };
    let mut written = json!({"properties": {"a": {"$ref": "#/$defs/L0"}}, "$defs": levels(&|next| json!({"properties": {"a": next, "b": next}}))});
    written["$defs"]["L30"] = json!({});
    assert_eq!(root(written).unwrap()["$defs"].as_object().unwrap().len(), 31);
    let mut merged = json!({"$ref": "#/$defs/L0", "$defs": levels(&|next| json!({"allOf": [next, next]}))});
    merged["$defs"]["L30"] = json!({});
    assert_eq!(root(merged), Err(SchemaFault::TooManyAlternatives(512)));
    // Each reference leads to a larger part of the same schema.
    let text = "x".repeat(100_000);
    let nested = (0..40).fold(json!({"description": text}), |below, _| json!({"properties": {"a": below}}));
    let mut pointer = "#".to_owned();
    let references: Vec<Value> = (0..40)
        .map(|_| {
            pointer.push_str("/properties/a");
            json!({"$ref": pointer})
        })
        .collect();
    let mut overlapping = nested;
    overlapping["anyOf"] = references.into();
    assert!(matches!(root(overlapping), Ok(_) | Err(SchemaFault::TooLarge(_) | SchemaFault::TooManyAlternatives(_))));
    let same = json!({"anyOf": (0..20_000).map(|number| json!({"$ref": format!("#/x/{number}/same")})).collect::<Vec<_>>(), "x": vec![json!({"same": {"type": "object"}}); 20_000]});
    assert!(root(json!({"properties": {"a": same}})).is_ok());
}

fn refuses_odd_names() -> Dialect {
    Dialect {
        takes_key: |name| {
            !name.is_empty()
                && name.len() <= 64
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
        },
        rewrite: |_| {},
        wraps_answers: false,
    }
}

#[test]
fn refused_names_of_properties_are_replaced_and_restored() {
    let given = json!({
        "type": "object",
        "properties": {
            "filter[name]": {"type": "string"}, "filter_name": {"type": "string"}, "größe": {"type": "integer"}, "": {},
            "list": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
            "free": {"type": "object", "additionalProperties": true},
        },
        "required": ["filter[name]", "list"],
        "dependentRequired": {"größe": ["filter[name]"]},
        "$defs": {"Item": {"type": "object", "properties": {"a b": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Item"}]}}, "required": ["a b"]}},
    });
    let (schema, keys, _) = fit::parameters(&given, &refuses_odd_names()).unwrap();
    let expected = json!({
        "type": "object",
        "properties": {
            "filter_name_2": {"type": "string"}, "filter_name": {"type": "string"}, "gr__e": {"type": "integer"}, "property": {},
            "list": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
            "free": {"type": "object", "additionalProperties": true},
        },
        "required": ["filter_name_2", "list"],
        "dependentRequired": {"gr__e": ["filter_name_2"]},
        "$defs": {"Item": {"type": "object", "properties": {"a_b": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Item"}]}}, "required": ["a_b"]}},
    });
    assert_eq!(schema, expected);
    let keys = keys.unwrap();
    let own = json!({"filter[name]": "x", "filter_name": "y", "größe": 1, "list": [{"a b": {"a b": "z"}}], "free": {"a_b": 1, "a b": {"gr__e": 2}}});
    let sent = json!({"filter_name_2": "x", "filter_name": "y", "gr__e": 1, "list": [{"a_b": {"a_b": "z"}}], "free": {"a_b": 1, "a b": {"gr__e": 2}}});
    let mut arguments = own.as_object().unwrap().clone();
    keys.send(&mut arguments);
    assert_eq!(Value::from(arguments.clone()), sent);
    keys.restore(&mut arguments);
    assert_eq!(Value::from(arguments), own);
    for (path, restored) in [
        ("$.filter_name_2", "$['filter[name]']"),
        ("$.filter_name", "$.filter_name"),
        ("$.list[0].a_b.a_b", "$.list[0]['a b']['a b']"),
        ("$", "$"),
    ] {
        assert_eq!(keys.restore_path(path), restored);
    }
}

#[test]
fn long_names_of_properties_are_cut_without_collisions() {
    let long = |end: &str| format!("{}{end}", "a".repeat(70));
    let given = json!({"properties": {long("x"): {}, long("y"): {}, "a".repeat(64): {}}});
    let (schema, ..) = fit::parameters(&given, &refuses_odd_names()).unwrap();
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 3);
    assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
}
