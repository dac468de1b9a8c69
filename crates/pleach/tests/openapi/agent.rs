//! Agents that use the operations of a document as tools.

use pleach::openapi::OpenApiToolset;
use pleach::prelude::*;
use serde_json::json;

use crate::server::{Answer, Server};
use crate::support::{drain, runner};

/// A pet shop in YAML. Its server is the server of the test.
const PETS: &str = r##"
openapi: 3.0.3
info: {title: Pet Store, version: 1.0.0}
servers: [{url: /v1}]
security: [{key: []}]
paths:
  /pets:
    get:
      operationId: listPets
      summary: Lists the pets.
      security: []
      parameters:
        - {name: limit, in: query, description: How many, schema: {type: integer, maximum: 100}}
        - {name: tag, in: query, schema: {type: array, items: {type: string}}}
      responses: {200: {description: The pets.}}
    post:
      operationId: createPet
      description: Adds a pet.
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}
      responses: {201: {description: The pet.}}
  /pets/{petId}:
    parameters: [{name: petId, in: path, required: true, schema: {type: string}}]
    get:
      operationId: showPet
      summary: Shows a pet.
      responses: {200: {description: The pet.}}
components:
  securitySchemes:
    key: {type: apiKey, in: query, name: api_key}
  schemas:
    Pet:
      type: object
      required: [id, name]
      properties:
        id: {type: integer, readOnly: true}
        name: {type: string, minLength: 1}
        tag: {type: string, nullable: true}
        parent: {$ref: '#/components/schemas/Pet'}
"##;

// The agent calls an operation of the document as a tool.
#[tokio::test]
async fn an_agent_calls_an_operation() {
    let server = Server::start(|_| Answer::json(r#"[{"id": 1, "name": "Rex"}]"#)).await;
    let toolset = OpenApiToolset::builder(PETS).document_url(server.url()).only(["listPets"]).build().unwrap();
    let model = ScriptedModel::calling("list_pets", json!({"limit": 2, "tag": ["a b", "c&d"]})).then_text("Rex.");
    let runner = runner(&model, &toolset);
    let (responses, _, _) = drain(runner.run("ana", "s1", "Which pets?")).await;
    assert_eq!(responses, [json!({"result": [{"id": 1, "name": "Rex"}]})]);
    assert_eq!(server.request().line, "GET /v1/pets?limit=2&tag=a%20b&tag=c%26d");
    let declared = model.requests()[0].declarations().next().unwrap().clone();
    assert_eq!(declared.description.as_deref(), Some("Lists the pets."));
    let expected = json!({
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "maximum": 100, "description": "How many"},
            "tag": {"type": "array", "items": {"type": "string"}},
        },
    });
    assert_eq!(declared.parameters_json_schema.unwrap(), expected);
}

// The client sends the credential of an operation.
#[tokio::test]
async fn an_operation_with_security_asks_for_a_credential() {
    let server = Server::start(|request| {
        if request.line.contains("api_key=hush-key") {
            Answer::of("201 Created", "application/json", br#"{"id": 7, "url": "/?api_key=hush-key"}"#)
        } else {
            Answer::of("401 Unauthorized", "text/plain", b"no")
        }
    });
    let server = server.await;
    let toolset = OpenApiToolset::builder(PETS).document_url(server.url()).build().unwrap();
    let model = ScriptedModel::calling("create_pet", json!({"name": "Rex", "tag": null})).then_text("Rex is there.");
    let runner = runner(&model, &toolset);
    let (_, questions, asked) = drain(runner.run("ana", "s1", "Add Rex.")).await;
    assert_eq!((questions.len(), server.requests().len()), (1, 0));
    assert!(asked.contains("adk_request_credential") && asked.contains("api_key"), "{asked}");
    let run = runner.answer(("ana", "s1"), &questions[0], json!("hush-key")).unwrap();
    let (responses, _, all) = drain(run).await;
    let expected = json!({"id": 7, "url": "/?api_key=…"});
    assert_eq!(responses.last(), Some(&expected));
    assert!(!all.contains("hush-key"), "{all}");
    let request = server.request();
    assert_eq!(request.line, "POST /v1/pets?api_key=hush-key");
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.body, r#"{"name":"Rex","tag":null}"#);
}
