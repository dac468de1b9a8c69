//! Property tests of the rules that every sent schema keeps, whatever schema a tool or server has.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::keywords::{LISTS, MAPS, SCHEMAS, subschemas};
use super::standard::DROPPED;
use super::*;

fn takes(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

const DIALECT: Dialect = Dialect { takes_key: takes, rewrite: |_| {}, wraps_answers: false };

/// Values that are invalid for almost every keyword.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(false)),
        Just(json!([])),
        Just(json!({})),
        Just(json!("text")),
        Just(json!(-1)),
        Just(json!(2.5)),
        Just(json!(["a", null, 1])),
        Just(json!({"a": ["b"]})),
    ]
}

/// Keywords that are in no list of this folder: keywords with rules of their own, and an unknown keyword.
const OTHERS: [&str; 11] = [
    "additionalItems",
    "const",
    "default",
    "dependencies",
    "dependentRequired",
    "enum",
    "examples",
    "multipleOf",
    "required",
    "type",
    "x-order",
];

fn keyword() -> impl Strategy<Value = &'static str> {
    let of_schemas = [&SCHEMAS[..], &LISTS, &MAPS, &DROPPED];
    let of_values = [&clean::NUMBERS[..], &clean::COUNTS, &clean::TEXTS, &clean::FLAGS, &OTHERS];
    prop::sample::select([of_schemas.concat(), of_values.concat()].concat())
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "a b", "filter[x]", "$ref", "type", "", "größe", "a_b"])
}

/// Schemas with the keywords of all drafts, some with invalid values.
fn any_schema() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(json!("string")),
        Just(json!("OBJECT")),
        Just(json!(["object", "null"])),
        Just(json!("array")),
        Just(json!("file")),
        Just(json!("#")),
        Just(json!("#/$defs/a")),
        Just(json!("#/definitions/b")),
        Just(json!("#/properties/a")),
        Just(json!("#x")),
        Just(json!("x")),
        Just(json!("https://example.com/x.json")),
        Just(json!(3)),
        Just(json!("7")),
    ];
    let leaf = prop_oneof![odd(), scalar];
    leaf.prop_recursive(5, 60, 6, |below| {
        let named = prop::collection::vec((name(), below.clone()), 0..4).prop_map(|members| {
            Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        });
        let list = prop::collection::vec(below.clone(), 0..4).prop_map(Value::Array);
        let value = prop_oneof![3 => below, 3 => named, 2 => list];
        prop::collection::vec((keyword(), value), 0..6).prop_map(|members| {
            Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        })
    })
}

fn check_below(schema: &Map, definitions: &Map) {
    if let Some(reference) = schema.get("$ref") {
        let name = reference.as_str().and_then(|reference| reference.strip_prefix("#/$defs/")).unwrap();
        assert!(definitions.contains_key(name), "{name}");
    }
    for name in schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name) {
        assert!(takes(name), "{name}");
    }
    for below in subschemas(schema) {
        assert!(below.is_object() || below.is_boolean(), "{below}");
        below.as_object().into_iter().for_each(|below| check_below(below, definitions));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_sent_is_a_schema_of_an_object(given in any_schema()) {
        let Ok((schema, keys, _)) = fit::parameters(&given, &DIALECT) else { return Ok(()) };
        prop_assert!(jsonschema::meta::is_valid(&schema), "{given} became {schema}");
        prop_assert_eq!(&schema["type"], &json!("object"));
        prop_assert!(schema["properties"].is_object());
        for keyword in ["$ref", "allOf", "anyOf", "enum", "not", "oneOf"] {
            prop_assert!(schema.get(keyword).is_none(), "{schema}");
        }
        let nothing = Map::new();
        let definitions = schema.get("$defs").and_then(Value::as_object).unwrap_or(&nothing);
        check_below(schema.as_object().unwrap(), definitions);
        definitions.values().filter_map(Value::as_object).for_each(|definition| check_below(definition, definitions));
        // A schema that fits already stays unchanged.
        let again = fit::parameters(&schema, &DIALECT).map(|(schema, ..)| schema);
        prop_assert_eq!(again, Ok(schema.clone()));
        let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        if let Some(keys) = keys {
            let mut arguments: Map = names.iter().map(|name| ((*name).clone(), json!({"a b": 1, "a_b": [2]}))).collect();
            let sent = arguments.clone();
            keys.restore(&mut arguments);
            prop_assert_eq!(arguments.len(), sent.len());
            keys.send(&mut arguments);
            prop_assert_eq!(arguments.len(), sent.len());
            prop_assert!(arguments.keys().eq(sent.keys()));
        }
    }
}
