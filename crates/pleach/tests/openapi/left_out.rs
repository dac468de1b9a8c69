//! Every operation of a document becomes a tool, or is reported as left out, even if the document has faults.

use std::collections::BTreeSet;

use pleach::openapi::{OpenApiSetupError, OpenApiToolset};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{document, faults, schema_of};

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// The operations of a document, as `GET /a`.
fn operations(document: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten().filter(|(path, _)| !path.starts_with("x-"))
    {
        let target = item["$ref"].as_str().and_then(|reference| document.pointer(reference.strip_prefix('#')?));
        let has = |item: &Value, method: &str| item.as_object().is_some_and(|item| item.contains_key(method));
        let items: Vec<&Value> = match item.get("$ref") {
            None => vec![item],
            Some(_) => [item].into_iter().chain(target.filter(|target| target.get("$ref").is_none())).collect(),
        };
        let of_path = METHODS.iter().filter(|method| items.iter().any(|item| has(item, method)));
        found.extend(of_path.map(|method| format!("{} {path}", method.to_uppercase())));
    }
    found
}

/// The operations that are tools, and the operations that are reported as left out.
fn accounted(toolset: &OpenApiToolset) -> (BTreeSet<String>, BTreeSet<String>) {
    let tools = toolset.list_tools().iter().map(|tool| tool.operation().to_string()).collect();
    let left_out = toolset.left_out().iter().filter_map(|fault| fault.operation.clone()).collect();
    (tools, left_out)
}

fn names(toolset: &OpenApiToolset) -> Vec<&str> {
    toolset.list_tools().iter().map(pleach::Tool::name).collect()
}

#[test]
fn a_recursive_reference_is_a_reference() {
    let toolset = OpenApiToolset::builder(include_str!("data/q1_recursive_ref.json")).build().unwrap();
    assert_eq!(names(&toolset), ["count", "ping", "search"]);
    let filter = json!({
        "type": "object",
        "properties": {"op": {"type": "string"}, "all": {"type": "array", "items": {"$ref": "#/$defs/Filter"}}},
    });
    let expected = json!({
        "type": "object",
        "properties": {"op": {"type": "string"}, "all": {"type": "array", "items": {"$ref": "#/$defs/Filter"}}},
        "$defs": {"Filter": filter},
    });
    assert_eq!(schema_of(&toolset, "search"), expected);
}

#[test]
fn every_operation_with_a_shared_fault_is_named() {
    let builder = || OpenApiToolset::builder(include_str!("data/q4_dangling_shared.json"));
    let toolset = builder().leave_out_faulty().build().unwrap();
    assert_eq!(names(&toolset), ["ping"]);
    let left_out: Vec<String> = toolset.left_out().iter().map(ToString::to_string).collect();
    let reason = "the reference `#/components/schemas/Nope` leads to nothing (at /components/schemas/Filter/properties/all/items)";
    assert_eq!(left_out, [format!("POST /a: {reason}"), format!("POST /b: {reason}")]);
    // A build that requires the whole document reports the fault once.
    let Err(OpenApiSetupError::Document { faults, .. }) = builder().build() else { panic!("the document has a fault") };
    assert_eq!(faults.len(), 1);
}

#[test]
fn dynamic_references_lead_to_the_anchor_around_them_or_the_only_one() {
    let body = |name: &str| {
        let schema = json!({"$ref": format!("#/components/schemas/{name}")});
        json!({"requestBody": {"content": {"application/json": {"schema": {"type": "array", "items": schema}}}}})
    };
    let node = |value: Value| json!({"$dynamicAnchor": "node", "properties": {"value": value, "next": {"$dynamicRef": "#node"}}});
    let operation = |id: &str, name: &str| {
        let mut operation = body(name);
        operation["operationId"] = id.into();
        json!({"post": operation})
    };
    let mut document = document(json!({
        "/a": operation("a", "Texts"), "/b": operation("b", "Numbers"), "/c": operation("c", "Page"), "/d": operation("d", "Named"),
        "/e": operation("e", "Ambiguous"),
    }));
    document["components"] = json!({"schemas": {
        "Texts": node(json!({"type": "string"})), "Numbers": node(json!({"type": "number"})),
        "Page": {"properties": {"items": {"type": "array", "items": {"$dynamicRef": "#item"}}}, "$defs": {"item": {"$dynamicAnchor": "item", "type": "boolean"}}},
        "Named": {"properties": {"item": {"$ref": "#item"}}},
        "Ambiguous": {"properties": {"node": {"$dynamicRef": "#node"}}},
    }});
    let toolset = OpenApiToolset::builder(document).leave_out_faulty().build().unwrap();
    assert_eq!(names(&toolset), ["a", "b", "c", "d"]);
    let definitions = |tool: &str| schema_of(&toolset, tool)["$defs"].take();
    assert_eq!(
        definitions("a"),
        json!({"Texts": {"properties": {"value": {"type": "string"}, "next": {"$ref": "#/$defs/Texts"}}}})
    );
    assert_eq!(
        definitions("b"),
        json!({"Numbers": {"properties": {"value": {"type": "number"}, "next": {"$ref": "#/$defs/Numbers"}}}})
    );
    assert_eq!(definitions("c")["item"], json!({"type": "boolean"}));
    assert_eq!(definitions("d")["item"], json!({"type": "boolean"}));
    let (_, left_out) = accounted(&toolset);
    assert_eq!(left_out, BTreeSet::from(["POST /e".to_owned()]));
}

#[test]
fn a_recursive_reference_of_a_body_leads_to_the_body() {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}, "below": {"$recursiveRef": "#"}}});
    let body = json!({"content": {"application/json": {"schema": schema}}});
    let toolset = OpenApiToolset::builder(document(json!({"/a": {"post": {"operationId": "a", "requestBody": body}}})))
        .build()
        .unwrap();
    let found = schema_of(&toolset, "a");
    assert_eq!(found["properties"]["below"], json!({"$ref": "#/$defs/schema"}));
    assert_eq!(found["$defs"]["schema"]["properties"]["below"], json!({"$ref": "#/$defs/schema"}));
}

#[test]
fn values_that_are_not_operations_are_named_by_their_method() {
    let paths = json!({"/a": {"get": {"operationId": "a"}, "post": 5, "put": null, "delete": []}, "/b": {"get": {"operationId": "b"}}});
    let toolset = OpenApiToolset::builder(document(paths.clone())).leave_out_faulty().build().unwrap();
    assert_eq!(names(&toolset), ["a", "b"]);
    let (_, left_out) = accounted(&toolset);
    assert_eq!(left_out, ["DELETE /a", "POST /a", "PUT /a"].map(str::to_owned).into());
    assert_eq!(faults(document(paths.clone()))[0], "PUT /a: the value must be an object (at /paths/~1a/put)");
    // The fault of an operation that was not chosen is ignored.
    assert!(OpenApiToolset::builder(document(paths)).only(["a", "b"]).build().is_ok());
}

#[test]
fn an_operation_that_is_left_out_takes_no_other_with_it() {
    let large = json!({"type": "object", "description": "x".repeat(5 << 20)});
    let body = |schema: &Value| json!({"content": {"application/json": {"schema": schema}}});
    let mut document = document(json!({
        "/a": {"get": {"operationId": "same", "parameters": [{"name": "x"}]}, "post": {"operationId": "same"}},
        "/b": {"post": {"operationId": "large", "requestBody": body(&json!({"$ref": "#/components/schemas/Large"}))}},
        "/c": {"post": {"operationId": "small", "requestBody": body(&json!({"$ref": "#/components/schemas/Small"}))}},
        "/d": {"$ref": "#/components/pathItems/D", "get": {"operationId": "beside"}},
        "/e": {"$ref": "#/components/pathItems/Nope", "get": {"operationId": "lost"}},
    }));
    document["components"] = json!({
        "schemas": {"Large": large, "Small": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "pathItems": {"D": {"put": {"operationId": "referred"}}},
    });
    let toolset = OpenApiToolset::builder(document).leave_out_faulty().build().unwrap();
    assert_eq!(names(&toolset), ["beside", "referred", "same", "small"]);
    assert_eq!(toolset.tool("same").unwrap().operation().to_string(), "POST /a");
    let left_out: Vec<String> = toolset.left_out().iter().map(ToString::to_string).collect();
    let expected = [
        "the reference `#/components/pathItems/Nope` leads to nothing (at /paths/~1e)",
        "GET /a: `in` is missing (at /paths/~1a/get/parameters/0)",
        "POST /b: the schemas of the operation are larger than 4194304 bytes (at /components/schemas/Large)",
        "GET /e: the reference `#/components/pathItems/Nope` leads to nothing (at /paths/~1e)",
    ];
    assert_eq!(left_out, expected);
}

/// A document with the features of large ones: shared parameters, bodies, schemas and paths, several servers and security schemes.
fn whole() -> Value {
    json!({
        "openapi": "3.1.0", "info": {"title": "All", "version": "1"},
        "servers": [{"url": "https://{region}.example.com/v1", "variables": {"region": {"default": "eu"}}}],
        "security": [{"key": []}],
        "paths": {
            "/pets": {
                "parameters": [{"$ref": "#/components/parameters/Limit"}],
                "get": {"operationId": "listPets", "tags": ["a"], "parameters": [{"name": "filter", "in": "query", "style": "deepObject", "schema": {"$ref": "#/components/schemas/Filter"}}]},
                "post": {"operationId": "createPet", "requestBody": {"$ref": "#/components/requestBodies/Pet"}},
            },
            "/pets/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
                "get": {"operationId": "showPet", "security": []},
                "put": {"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"$ref": "#/components/schemas/Pet"}, "encoding": {"tags": {"style": "form"}}}}}},
                "delete": {"operationId": "deletePet", "servers": [{"url": "https://other.example.com"}], "security": [{"key": []}, {}]},
            },
            "/search": {"post": {"operationId": "search", "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Filter"}}, "text/plain": {}}}}},
            "/shared": {"$ref": "#/components/pathItems/Shared"},
        },
        "components": {
            "parameters": {"Limit": {"name": "limit", "in": "query", "schema": {"type": "integer", "default": 10}}},
            "requestBodies": {"Pet": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}},
            "schemas": {
                "Pet": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "owner": {"$ref": "#/components/schemas/Owner"}, "tags": {"type": "array", "items": {"type": "string"}}}},
                "Owner": {"type": ["object", "null"], "properties": {"pets": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}}}},
                "Filter": {"$recursiveAnchor": true, "type": "object", "properties": {"op": {"enum": ["and", "or"]}, "all": {"type": "array", "items": {"$recursiveRef": "#"}}}},
            },
            "pathItems": {"Shared": {"get": {"operationId": "shared"}, "patch": {"operationId": "patchShared"}}},
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        },
    })
}

/// The pointers of all values of a document.
fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (name, value) in below {
        let at = format!("{at}/{name}");
        found.push(at.clone());
        pointers(value, at, found);
    }
}

fn remove(document: &mut Value, pointer: &str) {
    let (holder, name) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(holder) {
        Some(Value::Object(members)) => drop(members.remove(&name.replace("~1", "/").replace("~0", "~"))),
        Some(Value::Array(items)) => {
            drop(name.parse().ok().filter(|index| *index < items.len()).map(|index: usize| items.remove(index)))
        }
        _ => {}
    }
}

fn odd_values() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        Just(None),
        prop_oneof![
            Just(json!(null)),
            Just(json!(5)),
            Just(json!("text")),
            Just(json!([])),
            Just(json!({})),
            Just(json!(true)),
            Just(json!({"$ref": "#/nowhere"})),
            Just(json!({"$ref": "#/components/schemas/Pet"})),
            Just(json!({"$ref": 5})),
            Just(json!({"$dynamicRef": "#x"})),
            Just(json!([null])),
            Just(json!({"get": {"operationId": "listPets"}})),
        ]
        .prop_map(Some),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn operations_are_tools_or_named(changes in prop::collection::vec((any::<prop::sample::Index>(), odd_values()), 1..5)) {
        let mut document = whole();
        for (place, value) in changes {
            let mut places = Vec::new();
            pointers(&document, String::new(), &mut places);
            let pointer = place.get(&places).clone();
            match value {
                Some(value) => *document.pointer_mut(&pointer).unwrap() = value,
                None => remove(&mut document, &pointer),
            }
        }
        let expected = operations(&document);
        match OpenApiToolset::builder(document.clone()).leave_out_faulty().build() {
            Ok(toolset) => {
                let (tools, left_out) = accounted(&toolset);
                prop_assert!(tools.is_disjoint(&left_out));
                let all: BTreeSet<String> = tools.union(&left_out).cloned().collect();
                prop_assert_eq!(&all, &expected, "{}", document);
                prop_assert_eq!(toolset.list_tools().len(), tools.len());
                for fault in toolset.left_out() {
                    prop_assert!(!fault.to_string().is_empty());
                }
            }
            // No operation is left, or the text is not an OpenAPI document.
            Err(OpenApiSetupError::Document { faults, .. }) => {
                let named: BTreeSet<String> = faults.iter().filter_map(|fault| fault.operation.clone()).collect();
                let is_whole = faults.iter().any(|fault| fault.operation.is_none());
                prop_assert!(is_whole || named == expected, "{named:?} {document}");
            }
            Err(OpenApiSetupError::Choice { .. }) => prop_assert!(expected.is_empty(), "{document}"),
            Err(error) => prop_assert!(false, "{error}: {document}"),
        }
    }
}
