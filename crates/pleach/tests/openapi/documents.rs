//! How documents are read.

use pleach::openapi::{OpenApiSetupError, OpenApiToolset, OpenApiToolsetBuilder};
use pleach::prelude::*;
use serde_json::{Value, json};

use crate::support::{document, faults, schema_of};

#[test]
fn all_faults_of_a_document_are_reported() {
    let found = faults(document(json!({
        "/a/{id}": {
            "get": {"operationId": "same", "parameters": [{"name": "id", "in": "query"}]},
            "post": {"operationId": "same", "parameters": [{"$ref": "other.yaml#/id"}, {"$ref": "#/nowhere"}, 5]},
        },
        "/b": {"put": {"requestBody": {"content": {"application/xml": {"schema": {"type": "object"}}}}}},
        "/c": 7,
    })));
    let expected = [
        "the value must be an object (at /paths/~1c)",
        "GET /a/{id}: the path has `{id}`, and no path parameter declares it (at /paths/~1a~1{id})",
        "POST /a/{id}: the operationId `same` is also used by GET /a/{id} (at /paths/~1a~1{id}/post/operationId)",
        "POST /a/{id}: the reference `other.yaml#/id` leads to another document: bundle the documents into one (at /paths/~1a~1{id}/post/parameters/0)",
        "POST /a/{id}: the reference `#/nowhere` leads to nothing (at /paths/~1a~1{id}/post/parameters/1)",
        "POST /a/{id}: the value must be an object (at /paths/~1a~1{id}/post/parameters/2)",
        "PUT /b: none of the content types of the request body can be sent: application/xml (at /paths/~1b/put/requestBody/content)",
    ];
    assert_eq!(found, expected);
}

#[test]
fn texts_that_are_not_documents_are_refused() {
    for (document, expected) in [
        (
            json!({"swagger": "2.0"}),
            "the version `Swagger 2.0` of OpenAPI is not supported: 3.0 and 3.1 are (at /openapi)",
        ),
        (json!({"openapi": "4.0.0"}), "the version `4.0.0` of OpenAPI is not supported: 3.0 and 3.1 are (at /openapi)"),
        (json!({"openapi": 3.1}), "the version `3.1` of OpenAPI is not supported"),
        (json!({}), "`openapi` is missing (at /)"),
        (json!([1]), "the value must be an object (at /)"),
    ] {
        let error = OpenApiToolset::builder(document).build().unwrap_err().to_string();
        let version = expected.contains("`3.1`");
        assert!(error.contains(expected) || version, "{error}");
    }
    let error = OpenApiToolset::builder("a: b: hush").build().unwrap_err();
    assert!(matches!(error, OpenApiSetupError::Unreadable { .. }) && !error.to_string().contains("hush"), "{error}");
    let error = OpenApiToolset::builder(document(json!({}))).build().unwrap_err();
    assert_eq!(error.to_string(), "the choice of operations of the OpenAPI document `pet_store` leaves no operation");
}

/// Three operations, one of them with a fault.
fn mixed() -> Value {
    document(json!({
        "/a": {"get": {"operationId": "getA", "tags": ["read"]}, "delete": {"deprecated": true, "summary": "Gone."}},
        "/b": {"get": {"operationId": "getB", "parameters": [{"name": "x"}]}},
    }))
}

#[test]
fn operations_are_chosen() {
    let names = |builder: OpenApiToolsetBuilder| {
        let toolset = builder.build().unwrap();
        toolset.list_tools().iter().map(|tool| tool.name().to_owned()).collect::<Vec<_>>()
    };
    let builder = || OpenApiToolset::builder(mixed());
    assert_eq!(names(builder().only(["getA"])), ["get_a"]);
    assert_eq!(names(builder().only(["DELETE /a", "getA"]).prefix("p")), ["p_a_delete", "p_get_a"]);
    assert_eq!(names(builder().filter(|operation| operation.tags() == ["read"])), ["get_a"]);
    assert_eq!(names(builder().filter(|operation| operation.is_deprecated())), ["a_delete"]);
    let unknown = builder().only(["getC"]).build().unwrap_err().to_string();
    assert!(unknown.contains("names `getC`, which is not there"), "{unknown}");
    let toolset = builder().only(["DELETE /a"]).build().unwrap();
    assert_eq!(toolset.list_tools()[0].description(), "Deprecated. Gone.");
}

#[test]
fn faulty_operations_are_left_out_on_demand() {
    let toolset = OpenApiToolset::builder(mixed()).leave_out_faulty().build().unwrap();
    assert_eq!(toolset.list_tools().len(), 2);
    let left_out: Vec<String> = toolset.left_out().iter().map(ToString::to_string).collect();
    assert_eq!(left_out, ["GET /b: `in` is missing (at /paths/~1b/get/parameters/0)"]);
    assert!(OpenApiToolset::builder(mixed()).build().is_err());
    let only_faulty = OpenApiToolset::builder(mixed()).only(["getB"]).leave_out_faulty().build();
    assert!(matches!(only_faulty, Err(OpenApiSetupError::Document { .. })));
}

#[test]
fn names_are_unique_and_all_arguments_can_be_reached() {
    let parameters = json!([
        {"name": "petId", "in": "path", "schema": {}},
        {"name": "petId", "in": "query", "schema": {"type": "integer"}},
        {"name": "pet_id", "in": "header", "schema": {}},
        {"name": "Accept", "in": "header", "schema": {}},
    ]);
    let body = json!({"required": true, "content": {"application/json": {"schema": {"type": "object", "required": ["petId"], "properties": {"petId": {}}}}}});
    let operation = json!({"parameters": parameters, "requestBody": body});
    let toolset = OpenApiToolset::builder(document(json!({"/{petId}": {"put": operation}}))).build().unwrap();
    let schema = schema_of(&toolset, "pet_id_put");
    let properties: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(properties, ["pet_id", "pet_id_0", "pet_id_1", "pet_id_2"]);
    assert_eq!(schema["required"], json!(["pet_id", "pet_id_2"]));
    let toolset = OpenApiToolset::builder(document(json!({"/{petId}": {"put": operation}})));
    let schema = schema_of(&toolset.preserve_property_names().build().unwrap(), "pet_id_put");
    let properties: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(properties, ["petId", "petId_0", "petId_1", "pet_id"]);
}

#[test]
fn an_operation_replaces_the_parameters_of_its_path() {
    let toolset = OpenApiToolset::builder(document(json!({"/a": {
        "parameters": [{"name": "x", "in": "query", "schema": {"type": "string"}}, {"$ref": "#/components/parameters/Y"}],
        "get": {"operationId": "a", "parameters": [{"name": "x", "in": "query", "required": true, "schema": {"type": "integer"}}]},
    }})));
    assert!(toolset.build().is_err(), "the component is not there");
    let mut document = document(json!({"/a": {
        "parameters": [{"name": "x", "in": "query", "schema": {"type": "string"}}, {"$ref": "#/components/parameters/Y"}],
        "get": {"operationId": "a", "parameters": [{"name": "x", "in": "query", "required": true, "schema": {"type": "integer"}}]},
    }}));
    document["components"] = json!({"parameters": {"Y": {"name": "y", "in": "query", "content": {"application/json": {"schema": {"type": "array"}}}}}});
    let schema = schema_of(&OpenApiToolset::builder(document).build().unwrap(), "a");
    let expected = json!({
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "array"}},
        "required": ["x"],
    });
    assert_eq!(schema, expected);
}

#[test]
fn a_path_may_be_a_component() {
    let mut document = document(json!({"/a": {"$ref": "#/components/pathItems/A"}}));
    document["components"] = json!({"pathItems": {"A": {"get": {}}}});
    let toolset = OpenApiToolset::builder(document).build().unwrap();
    assert_eq!(toolset.list_tools()[0].operation().to_string(), "GET /a");
}

#[test]
fn parameters_that_would_change_the_request_are_refused() {
    let parameters = json!([
        {"name": "Content-Length", "in": "header"},
        {"name": "a b", "in": "header"},
        {"name": "a;b", "in": "cookie"},
        {"name": "q", "in": "query", "style": "matrix"},
        {"name": "q", "in": "body"},
        {"name": "gone", "in": "path"},
        {"name": "c", "in": "query", "content": {"text/xml": {}}},
        {"name": "X-Twice", "in": "header"},
        {"name": "x-twice", "in": "header"},
    ]);
    let found = faults(document(json!({"/a": {"get": {"parameters": parameters}}})));
    let reasons = [
        "belongs to the connection",
        "no header may have",
        "no cookie may have",
        "a style of its place",
        "`cookie`",
        "has a content that is not JSON",
        "declared twice",
        "has no `{gone}`",
    ];
    for reason in reasons {
        assert!(found.iter().any(|fault| fault.contains(reason)), "{reason}: {found:#?}");
    }
    assert_eq!(found.len(), reasons.len(), "{found:#?}");
}

#[test]
fn prefixes_and_headers_are_checked() {
    let builder = || OpenApiToolset::builder(document(json!({"/a": {"get": {}}})));
    let prefix = builder().prefix("a b").build().unwrap_err();
    assert!(matches!(prefix, OpenApiSetupError::Prefix { .. }), "{prefix}");
    for (name, value) in [("x-key", "hush\r\nx: y"), ("content-length", "hush"), ("a b", "hush")] {
        let error = builder().header(name, value).build().unwrap_err();
        assert!(matches!(error, OpenApiSetupError::Header { .. }) && !format!("{error:?}").contains("hush"), "{error}");
    }
}

#[test]
fn an_error_shows_no_password_of_a_server() {
    let mut document = document(json!({"/a": {"get": {"operationId": "f"}}}));
    document["servers"] = json!([{"url": "https://ana:hush@pets.example.com/v1"}]);
    let found = faults(document);
    assert!(
        found[0].contains("the server URL `https://…@pets.example.com/v1` contains a user name or password"),
        "{found:?}"
    );
    assert!(!found[0].contains("hush"));
}

// A small document whose declarations would take gigabytes.
#[test]
fn declarations_are_bounded() {
    let large = json!({"type": "object", "description": "x".repeat(500_000)});
    let body =
        json!({"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}});
    let paths: serde_json::Map<_, _> =
        (0..200).map(|number| (format!("/a{number}"), json!({"post": {"requestBody": body}}))).collect();
    let mut document = document(paths.into());
    document["components"] = json!({"schemas": {"S": large}});
    let found = faults(document);
    assert!(found[0].contains("the schemas of the operations are larger than 67108864 bytes together"), "{}", found[0]);
}
