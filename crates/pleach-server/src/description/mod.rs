//! Describes the API as an OpenAPI document, and as a page that shows it.
//!
//! The document is made from the table of operations and from the shapes that bodies are checked against. It does not
//! describe the routes of the inspector and the development server, because only their own pages use them.

mod operations;

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use pleach_core::Map;
use serde_json::{Value, json};

use crate::api::Api;
use crate::body::{reference, schemas};
use crate::error::text_response;
use crate::json::plain;
use operations::{Body, OPERATIONS, Operation};

/// Serves the document.
pub(crate) async fn openapi(State(api): State<Arc<Api>>) -> Response {
    plain(&document(&api.prefix))
}

/// Serves the page. The page loads nothing from other servers and runs no script.
pub(crate) async fn docs(State(api): State<Arc<Api>>) -> Response {
    text_response(StatusCode::OK, page(&api.prefix), "text/html; charset=utf-8")
}

/// Returns the OpenAPI document of a server that clients reach under `prefix`.
fn document(prefix: &str) -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        paths.entry(operation.path).or_insert_with(|| json!({}))[operation.method] = describe(operation);
    }
    let mut schemas = schemas();
    schemas.insert("Session".to_owned(), session());
    schemas.insert(
        "HTTPError".to_owned(),
        json!({
            "type": "object",
            "required": ["detail"],
            "properties": { "detail": { "type": "string" } },
        }),
    );
    schemas.insert(
        "HTTPValidationError".to_owned(),
        json!({
            "type": "object",
            "required": ["detail"],
            "properties": { "detail": { "anyOf": [{ "type": "string" }, { "type": "array", "items": problem() }] } },
        }),
    );
    json!({
        "openapi": "3.1.0",
        "info": { "title": "pleach", "version": env!("CARGO_PKG_VERSION") },
        "servers": [{ "url": if prefix.is_empty() { "/" } else { prefix } }],
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

fn describe(operation: &Operation) -> Value {
    let (media, schema) = operation.answer.media();
    let json_of = |name: &str| json!({ "application/json": { "schema": reference(name) } });
    // The reply to a failure inside the server is plain text.
    let failed = json!({ "text/plain": { "schema": { "type": "string" } }, "application/json": { "schema": reference("HTTPError") } });
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters(operation),
        "responses": {
            "200": { "description": "Success", "content": { media: { "schema": schema } } },
            "422": { "description": "The request does not have the described form", "content": json_of("HTTPValidationError") },
            "4XX": { "description": "The request is refused", "content": { "application/json": { "schema": reference("HTTPError") }, "text/plain": { "schema": { "type": "string" } } } },
            "5XX": { "description": "The request failed", "content": failed },
        },
    });
    let body = match operation.body {
        Body::None => return described,
        Body::Optional(name) => (false, json!({ "anyOf": [reference(name), { "type": "null" }] })),
        Body::State => (false, json!({ "anyOf": [{ "type": "object" }, { "type": "null" }] })),
        Body::Required(name) => (true, reference(name)),
    };
    described["requestBody"] = json!({ "required": body.0, "content": { "application/json": { "schema": body.1 } } });
    described
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let path = operation.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let path = path.map(
        |name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 } }),
    );
    let query = operation.query.iter().map(|parameter| {
        json!({
            "name": parameter.name, "in": "query", "required": false,
            "description": parameter.summary, "schema": { "type": parameter.kind },
        })
    });
    path.chain(query).collect()
}

fn session() -> Value {
    json!({
        "type": "object",
        "required": ["id", "appName", "userId", "state", "events", "lastUpdateTime"],
        "properties": {
            "id": { "type": "string" },
            "appName": { "type": "string" },
            "userId": { "type": "string" },
            "state": { "type": "object" },
            "events": { "type": "array", "items": reference("Event") },
            "lastUpdateTime": { "type": "number", "description": "Seconds since the epoch" },
        },
    })
}

fn problem() -> Value {
    json!({
        "type": "object",
        "required": ["type", "loc", "msg"],
        "properties": {
            "type": { "type": "string" },
            "loc": { "type": "array", "items": { "type": ["string", "integer"] } },
            "msg": { "type": "string" },
        },
    })
}

/// Returns the page, which lists the operations. All its contents come from the table.
fn page(prefix: &str) -> String {
    let rows: String = OPERATIONS
        .iter()
        .map(|operation| {
            let (method, path, summary) = (operation.method.to_uppercase(), operation.path, operation.summary);
            format!("<tr><td><b>{method}</b></td><td><code>{path}</code></td><td>{summary}</td></tr>\n")
        })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<title>pleach: API</title>\n<style>\nbody {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em; }}\ntd {{ padding: 0.2em 1em 0.2em 0; vertical-align: top; }}\n</style>\n<h1>API</h1>\n<p>Bodies, parameters and answers: <a href=\"{}/openapi.json\">openapi.json</a>.</p>\n<table>\n{rows}</table>\n</html>\n",
        escaped(prefix)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_reference_of_the_document_leads_to_a_schema() {
        fn references(value: &Value, found: &mut HashSet<String>) {
            match value {
                Value::Object(members) => {
                    found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    members.values().for_each(|member| references(member, found));
                }
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                _ => {}
            }
        }
        let document = document("/adk");
        let mut found = HashSet::new();
        references(&document, &mut found);
        assert!(found.len() > 15, "{found:?}");
        for reference in found {
            let pointer = reference.trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        assert_eq!(document["servers"][0]["url"], "/adk");
    }

    #[test]
    fn operations_have_ids_of_their_own() {
        let ids: HashSet<&str> = OPERATIONS.iter().map(|operation| operation.id).collect();
        assert_eq!(ids.len(), OPERATIONS.len());
    }

    #[test]
    fn the_page_escapes_the_prefix() {
        assert!(page("/\"><script>").contains("href=\"/&quot;>&lt;script>/openapi.json\""));
    }
}
