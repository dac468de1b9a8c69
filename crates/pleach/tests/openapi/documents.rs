//! How documents are read.

use serde_json::json;

use crate::support::{document, faults};

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
        "POST /a/{id}: the operationId `same` is that of GET /a/{id}, too (at /paths/~1a~1{id}/post/operationId)",
        "POST /a/{id}: the reference `other.yaml#/id` leads to another document: bundle the documents into one (at /paths/~1a~1{id}/post/parameters/0)",
        "POST /a/{id}: the reference `#/nowhere` leads to nothing (at /paths/~1a~1{id}/post/parameters/1)",
        "POST /a/{id}: the value must be an object (at /paths/~1a~1{id}/post/parameters/2)",
        "PUT /b: none of the content types of the request body can be sent: application/xml (at /paths/~1b/put/requestBody/content)",
    ];
    assert_eq!(found, expected);
}
