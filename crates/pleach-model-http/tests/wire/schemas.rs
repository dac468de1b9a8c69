//! Tests of the schemas of functions and answers that each provider gets, and of the property names in answers.

use std::sync::{Arc, Mutex};

use pleach_core::{Content, FunctionDeclaration};
use pleach_model::{LlmRequest, Model as _, ModelErrorKind};
use pleach_model_http::{HttpModel, HttpModelBuilder, anthropic, gemini, ollama, openai};
use serde_json::{Value, json};

use crate::server::{Reply, Server};
use crate::support::{all, ask, at, call, error, last, parts};

/// A provider: the builder of its model, an answer, and the paths of functions and schemas in its requests.
struct Case {
    name: &'static str,
    builder: fn() -> HttpModelBuilder,
    path: &'static str,
    answer: fn() -> Value,
    functions: &'static str,
    schema: &'static str,
}

const CASES: [Case; 3] = [
    Case {
        name: "openai",
        builder: || openai("m"),
        path: "/v1",
        answer: || json!({"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}),
        functions: "/tools",
        schema: "/function/parameters",
    },
    Case {
        name: "anthropic",
        builder: || anthropic("m"),
        path: "",
        answer: || json!({"content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"}),
        functions: "/tools",
        schema: "/input_schema",
    },
    Case {
        name: "gemini",
        builder: || gemini("m"),
        path: "",
        answer: || json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP"}]}),
        functions: "/tools/0/functionDeclarations",
        schema: "/parametersJsonSchema",
    },
];

impl Case {
    /// Returns the body of the request that is sent.
    async fn sent(&self, request: &LlmRequest) -> Value {
        let server = Server::start([Reply::json("200 OK", &(self.answer)())]).await;
        last(&at(&server, (self.builder)(), self.path), request, false).await;
        server.requests().remove(0).body
    }

    /// Returns the names and schemas of the functions that are sent.
    async fn declared(&self, request: &LlmRequest) -> Vec<Value> {
        let body = self.sent(request).await;
        let functions = body.pointer(self.functions).and_then(Value::as_array).cloned().unwrap_or_default();
        functions.iter().map(|function| function.pointer(self.schema).cloned().unwrap_or_default()).collect()
    }
}

fn with_schemas(schemas: impl IntoIterator<Item = Value>) -> LlmRequest {
    let mut request = ask("hi");
    let functions = schemas.into_iter().enumerate();
    request.append_tools(
        functions.map(|(place, schema)| FunctionDeclaration::new(format!("f{place}"), "d").with_parameters(schema)),
    );
    request
}

#[tokio::test]
async fn every_provider_gets_objects_with_properties() {
    let empty = json!({"type": "object", "properties": {}});
    let given =
        [json!({}), json!(true), json!(null), json!([]), json!({"type": "OBJECT", "properties": [], "required": null})];
    for case in CASES {
        assert_eq!(
            case.declared(&with_schemas(given.clone())).await,
            vec![empty.clone(); given.len()],
            "{}",
            case.name
        );
    }
}

#[tokio::test]
async fn a_function_that_cannot_be_declared_is_left_out_alone() {
    let fine = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let merged =
        json!({"anyOf": [fine, {"type": "object", "properties": {"b": {"type": "string"}}}, {"type": "null"}]});
    let both = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    for case in CASES {
        let request = with_schemas([fine.clone(), json!({"type": "string"}), merged.clone()]);
        assert_eq!(case.declared(&request).await, [fine.clone(), both.clone()], "{}", case.name);
        let mut request = with_schemas([json!({"type": "string"})]);
        let calling = json!({"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f0"]}});
        request.config.tool_config = serde_json::from_value(calling).unwrap();
        let body = case.sent(&request).await;
        assert_eq!(body.get("tools"), None, "{}", case.name);
        assert!(!body.to_string().contains("f0") && body.get("tool_choice").is_none(), "{body}");
    }
}

/// Keeps the fields of warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Warnings {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        struct Fields(String);
        impl tracing::field::Visit for Fields {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0.push_str(&format!("{}={value:?} ", field.name()));
            }
        }
        if *event.metadata().level() == tracing::Level::WARN {
            let mut fields = Fields(String::new());
            event.record(&mut fields);
            self.0.lock().unwrap().push(fields.0);
        }
    }
}

#[tokio::test]
async fn one_warning_names_the_tool_that_is_left_out() {
    let warnings = Warnings::default();
    let subscriber = tracing_subscriber::layer::SubscriberExt::with(tracing_subscriber::registry(), warnings.clone());
    let _guard = pleach_contract::own_tests::subscribe(subscriber);
    let request = with_schemas([
        json!({"type": "array"}),
        json!({"type": "object", "properties": {}}),
        json!({"properties": {"a": {"$ref": "#/$defs/Nope"}}}),
    ]);
    let case = &CASES[0];
    let server = Server::start([(); 3].map(|()| Reply::json("200 OK", &(case.answer)()))).await;
    let model = at(&server, (case.builder)(), case.path);
    for _ in 0..3 {
        last(&model, &request, false).await;
    }
    assert_eq!(server.requests()[2].body["tools"].as_array().unwrap().len(), 2);
    let said = warnings.0.lock().unwrap().clone();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].contains("f0") && said[0].contains("describes no object") && said[0].contains("left out"),
        "{}",
        said[0]
    );
    assert!(said[1].contains("f2") && said[1].contains("`#/$defs/Nope`"), "{}", said[1]);
}

#[tokio::test]
async fn only_what_a_provider_refuses_is_rewritten() {
    let given = json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": {
            "kind": {"const": "a"}, "mode": {"enum": ["x", null]}, "pair": {"type": "array", "items": [{"type": "string"}]},
            "user": {"$ref": "#/definitions/User", "description": "d"}, "odd key": {"exclusiveMinimum": true, "minimum": 1},
        },
        "definitions": {"User": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name", "age"]}},
    });
    let definitions =
        json!({"User": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}});
    let expected = |kind: Value, mode: Value, pair: Value, user: Value, odd: &str| {
        json!({
            "type": "object", "$defs": definitions,
            "properties": {"kind": kind, "mode": mode, "pair": pair, "user": user, odd: {"exclusiveMinimum": 1}},
        })
    };
    let (only, mode) = (json!({"const": "a"}), json!({"enum": ["x", null]}));
    let pair = json!({"type": "array", "prefixItems": [{"type": "string"}]});
    let user = json!({"$ref": "#/$defs/User", "description": "d"});
    for case in CASES {
        let expected = match case.name {
            "openai" => {
                let pair = json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {}});
                expected(only.clone(), mode.clone(), pair, user.clone(), "odd key")
            }
            "anthropic" => expected(only.clone(), mode.clone(), pair.clone(), user.clone(), "odd_key"),
            _ => expected(
                json!({"type": "string", "enum": ["a"]}),
                json!({"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}]}),
                pair.clone(),
                json!({"anyOf": [{"$ref": "#/$defs/User"}], "description": "d"}),
                "odd key",
            ),
        };
        assert_eq!(case.declared(&with_schemas([given.clone()])).await, [expected], "{}", case.name);
    }
}

fn with_odd_names() -> LlmRequest {
    let item = json!({"type": "object", "properties": {"a b": {"type": "string"}}});
    with_schemas([
        json!({"type": "object", "properties": {"filter[id]": {"type": "integer"}, "list": {"type": "array", "items": item}}}),
    ])
}

const OWN: &str = r#"{"filter[id]":1,"list":[{"a b":"x"}]}"#;
const SENT: &str = r#"{"filter_id":1,"list":[{"a_b":"x"}]}"#;

#[tokio::test]
async fn names_that_anthropic_refuses_are_those_of_the_function_in_its_calls() {
    let sent: Value = serde_json::from_str(SENT).unwrap();
    let own: Value = serde_json::from_str(OWN).unwrap();
    let whole =
        json!({"content": [{"type": "tool_use", "id": "t1", "name": "f0", "input": sent}], "stop_reason": "tool_use"});
    let events = [
        json!({"type": "message_start", "message": {"model": "m", "usage": {}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t1", "name": "f0", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": &SENT[..9]}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": &SENT[9..]}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "message_stop"}),
    ];
    let stream: String =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect();
    for (reply, streaming) in [(Reply::json("200 OK", &whole), false), (Reply::sse(stream), true)] {
        let server = Server::start([reply]).await;
        let response = last(&at(&server, anthropic("m"), ""), &with_odd_names(), streaming).await;
        assert_eq!(parts(&response)[0]["function_call"]["args"], own);
    }
}

#[tokio::test]
async fn the_conversation_has_the_names_that_the_provider_knows() {
    let own: Value = serde_json::from_str(OWN).unwrap();
    let mut request = with_odd_names();
    request
        .contents
        .push(Content::new("model", [call("t1", "f0", own.clone()), call("t2", "other", own.clone())]).into());
    let before = request.clone();
    let body = CASES[1].sent(&request).await;
    let blocks = &body["messages"][1]["content"];
    assert_eq!(blocks[0]["input"], serde_json::from_str::<Value>(SENT).unwrap());
    assert_eq!(blocks[1]["input"], own);
    assert_eq!(request, before);
    // The other providers get the names unchanged.
    let body = CASES[2].sent(&request).await;
    assert_eq!(body["contents"][1]["parts"][0]["functionCall"]["args"], own);
}

fn demanding(schema: Value) -> LlmRequest {
    let mut request = ask("hi");
    request.set_output_schema(schema);
    request
}

#[tokio::test]
async fn a_strict_answer_that_cannot_be_described_is_an_error_before_anything_is_sent() {
    let schema = json!({"type": "object", "properties": {
        "scores": {"type": "object", "additionalProperties": {"type": "integer"}},
        "places": {"type": "array", "items": {"type": "object", "properties": {"extra": true}}},
    }});
    let server = Server::start([]).await;
    let models: [HttpModel; 2] = [at(&server, openai("m"), "/v1"), at(&server, ollama("m"), "/v1")];
    for model in models {
        let error = error(&model, &demanding(schema.clone()), true).await;
        assert_eq!(error.kind(), ModelErrorKind::InvalidRequest);
        let text = error.to_string();
        assert!(text.contains("`scores` (a map)") && text.contains("`places[].extra` (any value)"), "{text}");
        assert_eq!(model.check_output_schema(&schema).unwrap_err().to_string(), text);
    }
    assert!(server.requests().is_empty());
    // The other providers accept such schemas.
    for case in &CASES[1..] {
        let server = Server::start([Reply::json("200 OK", &(case.answer)())]).await;
        let model = at(&server, (case.builder)(), case.path);
        assert!(model.check_output_schema(&schema).is_ok());
        assert!(all(&model, &demanding(schema.clone()), false).await.is_ok(), "{}", case.name);
    }
}

#[tokio::test]
async fn strict_answers_have_any_of_and_no_formats_of_numbers() {
    let tagged = |tag: &str| json!({"type": "object", "properties": {"kind": {"type": "string", "const": tag}}, "required": ["kind"]});
    let schema = json!({"type": "object", "properties": {
        "shape": {"oneOf": [tagged("circle"), tagged("square")]}, "size": {"type": ["integer", "null"], "format": "uint32", "minimum": 0},
    }});
    let body = CASES[0].sent(&demanding(schema)).await;
    let closed = |tag: &str| {
        let mut schema = tagged(tag);
        schema["additionalProperties"] = json!(false);
        schema
    };
    let expected = json!({
        "type": "object", "additionalProperties": false, "required": ["shape", "size"],
        "properties": {
            "shape": {"anyOf": [closed("circle"), closed("square")]}, "size": {"type": ["integer", "null"], "minimum": 0},
        },
    });
    assert_eq!(body["response_format"]["json_schema"]["schema"], expected);
}

#[tokio::test]
async fn a_strict_answer_that_is_no_object_is_a_field_of_one() {
    let tagged = |tag: &str| json!({"type": "object", "properties": {"kind": {"const": tag}}, "required": ["kind"]});
    let request = demanding(json!({"oneOf": [tagged("a"), tagged("b")]}));
    let event =
        |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let stream = |pieces: &[&str]| {
        let events = pieces.iter().map(|piece| event(json!({"content": piece}), json!(null)));
        let thought = event(json!({"reasoning_content": "hm"}), json!(null));
        let all = [thought].into_iter().chain(events).chain([event(json!({}), json!("stop"))]);
        Reply::sse(all.map(|event| format!("data: {event}\n\n")).collect::<String>() + "data: [DONE]\n\n")
    };
    let whole = |text: &str| {
        Reply::json("200 OK", &json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}))
    };
    let (wrapped, plain) = (r#"{"response":{"kind":"a"}}"#, r#"{"kind":"a"}"#);
    for (reply, streaming) in [
        (whole(wrapped), false),
        (stream(&[&wrapped[..9], &wrapped[9..]]), true),
        // Some servers ignore the schema.
        (whole(plain), false),
    ] {
        let server = Server::start([reply]).await;
        let responses = all(&at(&server, openai("m"), "/v1"), &request, streaming).await.unwrap();
        let answer = responses.last().unwrap().content.as_ref().unwrap();
        let texts: Vec<&str> =
            answer.parts().iter().filter(|part| !part.is_thought()).filter_map(|part| part.text.as_deref()).collect();
        assert_eq!(texts, [plain]);
        assert_eq!(responses.len(), if streaming { 2 } else { 1 }, "{responses:?}");
        let schema = &server.requests()[0].body["response_format"]["json_schema"]["schema"];
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["properties"]["response"]["anyOf"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn an_answer_of_anthropic_has_the_names_of_its_schema() {
    let schema = json!({"type": "object", "properties": {"größe": {"type": "integer"}}, "required": ["größe"]});
    let answer = json!({"content": [{"type": "tool_use", "id": "t", "name": "structured_output", "input": {"gr__e": 5}}], "stop_reason": "tool_use"});
    let server = Server::start([Reply::json("200 OK", &answer)]).await;
    let response = last(&at(&server, anthropic("m"), ""), &demanding(schema), false).await;
    assert_eq!(parts(&response)[0]["text"], json!(r#"{"größe":5}"#));
    let sent = &server.requests()[0].body["tools"][0]["input_schema"];
    assert_eq!(*sent, json!({"type": "object", "properties": {"gr__e": {"type": "integer"}}, "required": ["gr__e"]}));
}
