//! Requests and answers of the tests.

use futures_util::StreamExt as _;
use pleach_contract::{CountedIds, TestClock};
use pleach_core::{
    Blob, Clock, Content, FunctionCall, FunctionDeclaration, FunctionResponse, FunctionResponsePart, Map, Part,
};
use pleach_model::{LlmRequest, LlmResponse, Model, ModelCall, ModelError};
use pleach_model_http::{HttpModel, HttpModelBuilder};
use serde_json::{Value, json};

use crate::server::Server;

pub(crate) const KEY: &str = "sk-hush-hush-hush";

/// Builds a model that is reached at the test server.
pub(crate) fn at(server: &Server, builder: HttpModelBuilder, path: &str) -> HttpModel {
    builder.base_url(format!("{}{path}", server.url)).key(KEY).build().unwrap()
}

/// Returns all responses of a call, up to the first error.
pub(crate) async fn all(
    model: &HttpModel,
    request: &LlmRequest,
    streaming: bool,
) -> Result<Vec<LlmResponse>, (Vec<LlmResponse>, ModelError)> {
    all_by(model, request, streaming, &TestClock::new()).await
}

pub(crate) async fn all_by(
    model: &HttpModel,
    request: &LlmRequest,
    streaming: bool,
    clock: &dyn Clock,
) -> Result<Vec<LlmResponse>, (Vec<LlmResponse>, ModelError)> {
    let ids = CountedIds::new();
    let mut stream = model.generate(ModelCall::new(request, clock).streaming(streaming).ids(&ids));
    let mut responses = Vec::new();
    while let Some(response) = stream.next().await {
        match response {
            Ok(response) => responses.push(response),
            Err(error) => return Err((responses, error)),
        }
    }
    Ok(responses)
}

/// Returns the only response, or the last one of a stream.
pub(crate) async fn last(model: &HttpModel, request: &LlmRequest, streaming: bool) -> LlmResponse {
    all(model, request, streaming).await.map_err(|(_, error)| error.to_string()).unwrap().pop().unwrap()
}

pub(crate) async fn error(model: &HttpModel, request: &LlmRequest, streaming: bool) -> ModelError {
    all(model, request, streaming).await.unwrap_err().1
}

pub(crate) fn ask(text: &str) -> LlmRequest {
    let mut request = LlmRequest::default();
    request.contents.push(Content::user(text).into());
    request
}

/// Returns the parts of a response as JSON. The ids of the test count up.
pub(crate) fn parts(response: &LlmResponse) -> Value {
    serde_json::to_value(response.content.as_ref().map(|content| content.parts())).unwrap()
}

fn map(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

pub(crate) fn call(id: &str, name: &str, args: Value) -> Part {
    Part::function_call(FunctionCall::new(id, name, map(args)))
}

pub(crate) fn result(id: &str, name: &str, response: Value) -> Part {
    Part::function_response(FunctionResponse::new(id, name, map(response)))
}

/// The conversation for which google-adk's requests were recorded, with version 2.13.0.
pub(crate) fn recorded_request() -> LlmRequest {
    let signed = |part: Part, signature: &[u8]| Part { thought_signature: Some(signature.into()), ..part };
    let thought = Part { thought: Some(true), ..Part::text("hm") };
    let mut request = LlmRequest::default();
    request.contents = [
        Content::new("user", [Part::text("hi"), Part::bytes("image/png", &b"\x89PNG"[..])]),
        Content::new(
            "model",
            [
                signed(thought, b"sig1"),
                Part::text("Let me see."),
                signed(call("c1", "f", json!({"a": 1})), b"sig2"),
                call("c2", "g", json!({})),
            ],
        ),
        Content::new("user", [result("c1", "f", json!({"result": 5})), result("c2", "g", json!({"result": "x"}))]),
        Content::new("model", [Part::text("a"), Part::text("b")]),
        Content::new("user", [Part::text("one"), Part::text("two")]),
        Content::new("model", [call("c3", "f", json!({"a": 2}))]),
    ]
    .map(Into::into)
    .into();
    let parameters = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    request.config = serde_json::from_value(json!({
        "systemInstruction": "Be brief.", "temperature": 0.5, "topP": 0.9, "topK": 5.0, "maxOutputTokens": 100,
        "stopSequences": ["X"], "seed": 3, "presencePenalty": 0.1, "frequencyPenalty": 0.2, "labels": {"a": "b"},
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    }))
    .unwrap();
    request.append_tools([
        FunctionDeclaration::new("f", "d").with_parameters(parameters),
        FunctionDeclaration::new("g", "gg"),
    ]);
    request
}

/// The result of a tool that returns a picture.
pub(crate) fn picture_result(id: &str) -> Part {
    let mut response = FunctionResponse::new(id, "f", map(json!({"result": "see"})));
    let blob = Blob { data: Some(vec![1, 2].into()), mime_type: Some("image/png".into()), ..Blob::default() };
    response.parts = Some(vec![FunctionResponsePart { inline_data: Some(blob), ..FunctionResponsePart::default() }]);
    Part::function_response(response)
}

pub(crate) fn with_config(config: Value) -> LlmRequest {
    let mut request = ask("hi");
    request.config = serde_json::from_value(config).unwrap();
    request
}
