//! Tests of Gemini: the bytes of requests, answers and streams.

use pleach_core::{Blob, Content, Part};
use pleach_model::{LlmRequest, LlmResponse, ModelErrorKind};
use pleach_model_http::gemini;
use serde_json::{Value, json};

use crate::server::{Reply, Request, Server};
use crate::support::{all, ask, at, error, last, parts, recorded_request, with_config};

fn answer(parts: Value, rest: Value) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    candidate.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    json!({"candidates": [candidate], "modelVersion": "gemini-3-flash-001", "responseId": "r"})
}

fn ok() -> Reply {
    Reply::json("200 OK", &answer(json!([{"text": "Sunny."}]), json!({"finishReason": "STOP"})))
}

async fn sent(request: &LlmRequest, path: &str, streaming: bool) -> Request {
    let server = Server::start([ok()]).await;
    last(&at(&server, gemini("gemini-3-flash"), path), request, streaming).await;
    server.requests().remove(0)
}

async fn read(answer: &Value) -> LlmResponse {
    let server = Server::start([Reply::json("200 OK", answer)]).await;
    last(&at(&server, gemini("m"), ""), &ask("hi"), false).await
}

// Recorded from google-adk 2.13.0 with google-genai 2.34, with media types and schemas in the API's casing. The text of
// the last turn and the response to the last call are pleach's own.
#[tokio::test]
async fn l211_l212_a_request_is_what_google_adk_sends() {
    let mut request = recorded_request();
    let blob =
        Blob { display_name: Some("logo".into()), ..*request.contents[0].parts()[1].inline_data.clone().unwrap() };
    request.contents[0].to_mut().parts_mut()[1] = Part { inline_data: Some(Box::new(blob)), ..Part::default() };
    let calling = json!({"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}});
    request.config.tool_config = serde_json::from_value(calling).unwrap();
    let mut body = sent(&request, "", false).await.body;
    let turn = body["contents"][7]["parts"][0]["text"].take();
    let missing = body["contents"][6]["parts"][0]["functionResponse"]["response"]["error"].take();
    assert!(missing.as_str().unwrap().contains("there is no result of this call"), "{missing}");
    assert!(turn.as_str().unwrap().starts_with("Continue"));
    let expected = json!({
        "contents": [
            {"parts": [{"text": "hi"}, {"inlineData": {"data": "iVBORw==", "mimeType": "image/png"}}], "role": "user"},
            {"parts": [
                {"text": "hm", "thought": true, "thoughtSignature": "c2lnMQ=="},
                {"text": "Let me see."},
                {"functionCall": {"id": "c1", "args": {"a": 1}, "name": "f"}, "thoughtSignature": "c2lnMg=="},
                {"functionCall": {"id": "c2", "args": {}, "name": "g"}},
            ], "role": "model"},
            {"parts": [
                {"functionResponse": {"id": "c1", "name": "f", "response": {"result": 5}}},
                {"functionResponse": {"id": "c2", "name": "g", "response": {"result": "x"}}},
            ], "role": "user"},
            {"parts": [{"text": "a"}, {"text": "b"}], "role": "model"},
            {"parts": [{"text": "one"}, {"text": "two"}], "role": "user"},
            {"parts": [{"functionCall": {"id": "c3", "args": {"a": 2}, "name": "f"}}], "role": "model"},
            {"parts": [{"functionResponse": {"id": "c3", "name": "f", "response": {"error": null}}}], "role": "user"},
            {"parts": [{"text": null}], "role": "user"},
        ],
        "systemInstruction": {"parts": [{"text": "Be brief."}], "role": "user"},
        "tools": [{"functionDeclarations": [
            {"description": "d", "name": "f", "parametersJsonSchema":
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}},
            {"description": "gg", "name": "g"},
        ]}],
        "toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["f"], "mode": "ANY"}},
        "generationConfig": {
            "temperature": 0.5, "topP": 0.9, "topK": 5.0, "maxOutputTokens": 100, "stopSequences": ["X"],
            "presencePenalty": 0.1, "frequencyPenalty": 0.2, "seed": 3,
        },
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn l210_the_address_has_model_method_and_version() {
    let request = sent(&ask("hi"), "", false).await;
    assert_eq!(request.line(), "POST /v1beta/models/gemini-3-flash:generateContent HTTP/1.1");
    assert_eq!(request.header("x-goog-api-key"), Some("sk-hush-hush-hush"));
    assert_eq!(
        request.body,
        json!({"contents": [{"parts": [{"text": "hi"}], "role": "user"}], "generationConfig": {}})
    );
    let request = sent(&ask("hi"), "", true).await;
    assert_eq!(request.line(), "POST /v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse HTTP/1.1");
    let request = sent(&ask("hi"), "/v1alpha", false).await;
    assert_eq!(request.line(), "POST /v1alpha/models/gemini-3-flash:generateContent HTTP/1.1");
    let request = sent(&with_config(json!({"httpOptions": {"apiVersion": "v1"}})), "/proxy", false).await;
    assert_eq!(request.line(), "POST /proxy/v1/models/gemini-3-flash:generateContent HTTP/1.1");
}

#[tokio::test]
async fn l211_settings_have_their_places() {
    let body = sent(
        &with_config(json!({
            "safetySettings": [{"category": "C", "threshold": "T"}], "cachedContent": "caches/1", "serviceTier": "flex",
            "thinkingConfig": {"includeThoughts": true, "thinkingBudget": 10}, "responseMimeType": "application/json",
            "responseSchema": {"type": "object", "properties": {"snake_name": {"type": "string"}}},
            "tools": [{"googleSearch": {"timeRangeFilter": {}}}],
        })),
        "",
        false,
    )
    .await
    .body;
    let expected = json!({
        "contents": [{"parts": [{"text": "hi"}], "role": "user"}],
        "safetySettings": [{"category": "C", "threshold": "T"}], "cachedContent": "caches/1", "serviceTier": "flex",
        "tools": [{"googleSearch": {"timeRangeFilter": {}}}],
        "generationConfig": {
            "thinkingConfig": {"includeThoughts": true, "thinkingBudget": 10}, "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object", "properties": {"snake_name": {"type": "string"}}},
        },
    });
    assert_eq!(body, expected);
    let server = Server::start([]).await;
    let refused = error(&at(&server, gemini("m"), ""), &with_config(json!({"routingConfig": {}})), false).await;
    assert!(refused.to_string().contains("`routing_config` needs Vertex AI"), "{refused}");
}

#[tokio::test]
async fn l214_l219_an_answer_keeps_everything_beside_its_parts() {
    let parts_sent = json!([
        {"text": "hm", "thought": true, "thoughtSignature": "/9j+4A=="},
        {"functionCall": {"name": "f", "args": {"snake_key": 1, "camelKey": 2}}},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}},
        {"newKind": {"x": 1}},
    ]);
    let mut sent = answer(
        parts_sent,
        json!({
            "finishReason": "STOP", "avgLogprobs": -0.5, "citationMetadata": {"citations": [{"startIndex": 1}]},
            "groundingMetadata": {"webSearchQueries": ["q"], "groundingChunks": [{"web": {"uri": "u"}}]},
        }),
    );
    sent["usageMetadata"] =
        json!({"promptTokenCount": 10, "cachedContentTokenCount": 8, "thoughtsTokenCount": 3, "newCount": 1});
    let response = read(&sent).await;
    let expected = json!([
        {"text": "hm", "thought": true, "thought_signature": "_9j-4A=="},
        {"function_call": {"name": "f", "args": {"snake_key": 1, "camelKey": 2}}},
        {"inline_data": {"mime_type": "image/png", "data": "iVBORw=="}},
        {"newKind": {"x": 1}},
    ]);
    assert_eq!(parts(&response), expected);
    let info = &response.info;
    assert_eq!((response.error_code, info.finish_reason.as_deref()), (None, Some("STOP")));
    assert_eq!((info.model_version.as_deref(), info.avg_logprobs), (Some("gemini-3-flash-001"), Some(-0.5)));
    assert_eq!(info.grounding_metadata.as_ref().unwrap().get("web_search_queries"), Some(&json!(["q"])));
    assert!(info.citation_metadata.is_some());
    let usage =
        json!({"prompt_token_count": 10, "cached_content_token_count": 8, "thoughts_token_count": 3, "new_count": 1});
    assert_eq!(info.usage_metadata.as_ref().unwrap().as_value(), &usage);
}

#[tokio::test]
async fn l214_blocked_answers_and_prompts_are_errors_of_the_response() {
    let code = |response: &LlmResponse| (response.error_code.clone(), response.error_message.clone());
    let some = |text: &str| Some(text.to_owned());
    let blocked = json!({"candidates": [{"finishReason": "SAFETY", "finishMessage": "no", "safetyRatings": []}]});
    let response = read(&blocked).await;
    assert_eq!((code(&response), response.content), ((some("SAFETY"), some("no")), None));
    let response = read(&json!({"promptFeedback": {"blockReason": "NEW_REASON", "blockReasonMessage": "why"}})).await;
    assert_eq!(code(&response), (some("NEW_REASON"), some("why")));
    // An answer that has parts is used.
    let response = read(&answer(json!([{"text": "Su"}]), json!({"finishReason": "MAX_TOKENS"}))).await;
    assert_eq!((code(&response), response.info.finish_reason), ((None, None), some("MAX_TOKENS")));
    let response = read(&answer(json!([]), json!({"finishReason": "STOP"}))).await;
    assert_eq!(code(&response), (None, None));
    let response = read(&json!({"usageMetadata": {}})).await;
    assert_eq!(response.content, Some(Content::new("model", [])));
}

/// Returns a stream of alternating thoughts, texts and calls, with a call in pieces and an image.
fn stream() -> String {
    let chunk = |parts: Value| answer(parts, json!({}));
    let piece = |path: &str, text: &str| {
        let args = json!([{"jsonPath": path, "stringValue": text, "willContinue": true}]);
        json!([{"functionCall": {"name": "f", "partialArgs": args, "willContinue": true}}])
    };
    let mut end = answer(json!([{"text": "", "thoughtSignature": "c2lnMw=="}]), json!({"finishReason": "STOP"}));
    end["usageMetadata"] = json!({"totalTokenCount": 14});
    let chunks = [
        chunk(json!([{"text": "h", "thought": true}])),
        chunk(json!([{"text": "m", "thought": true, "thoughtSignature": "c2lnMQ=="}])),
        chunk(json!([{"text": "Let "}])),
        chunk(json!([{"text": "me see – ü."}])),
        chunk(json!([{"functionCall": {"id": "c1", "name": "g", "args": {"n": [1]}}, "thoughtSignature": "c2lnMg=="}])),
        chunk(json!([{"text": "And "}])),
        chunk(json!([{"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}])),
        chunk(piece("$.city", "Os")),
        chunk(piece("$.city", "lo")),
        chunk(json!([{"functionCall": {}}])),
        end,
    ];
    chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect()
}

fn check_stream(responses: &[LlmResponse]) {
    let (whole, fragments) = responses.split_last().unwrap();
    assert!(fragments.len() == 11 && fragments.iter().all(LlmResponse::is_partial));
    let mut parts = parts(whole);
    let id = parts[5]["function_call"]["id"].take();
    assert!(id.as_str().unwrap().starts_with("adk-"), "{id}");
    let expected = json!([
        {"text": "hm", "thought": true, "thought_signature": "c2lnMQ=="},
        {"text": "Let me see – ü."},
        {"function_call": {"id": "c1", "name": "g", "args": {"n": [1]}}, "thought_signature": "c2lnMg=="},
        {"text": "And "},
        {"inline_data": {"mime_type": "image/png", "data": "iVBORw=="}},
        {"function_call": {"id": null, "name": "f", "args": {"city": "Oslo"}}},
        {"text": "", "thought_signature": "c2lnMw=="},
    ]);
    assert_eq!(parts, expected);
    assert_eq!(
        (whole.partial, whole.info.finish_reason.as_deref(), &whole.error_code),
        (Some(false), Some("STOP"), &None)
    );
    assert_eq!(whole.info.usage_metadata.as_ref().unwrap().get("total_token_count"), Some(&json!(14)));
}

#[tokio::test]
async fn l216_l217_l218_a_stream_keeps_the_order_and_every_signature() {
    let server = Server::start([Reply::sse(stream())]).await;
    check_stream(&all(&at(&server, gemini("m"), ""), &ask("hi"), true).await.unwrap());
}

#[tokio::test]
async fn a_stream_that_is_split_at_any_byte_gives_the_same() {
    let reply = Reply::sse(stream());
    let server = Server::start((0..reply.len()).map(|at| reply.clone().split_at(at))).await;
    let model = at(&server, gemini("m"), "");
    for _ in 0..reply.len() {
        check_stream(&all(&model, &ask("hi"), true).await.unwrap());
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_gives_no_answer() {
    let body = stream();
    let once = with_config(json!({"httpOptions": {"retryOptions": {"attempts": 1}}}));
    let lengths: Vec<usize> = (0..body.find("STOP").unwrap()).step_by(13).collect();
    // The stream is cut by the transport, or by a proxy that ends the body as if it were whole.
    let whole = Reply::sse(&body);
    let head = whole.len() - body.len();
    let cut = lengths.iter().map(|length| whole.clone().cut_at(head + length));
    let ended = lengths.iter().map(|length| Reply::sse(&body.as_bytes()[..*length]));
    let server = Server::start(cut.chain(ended)).await;
    let model = at(&server, gemini("m"), "");
    for place in 0..lengths.len() * 2 {
        let length = lengths[place % lengths.len()];
        match all(&model, &once, true).await {
            // L217: without any chunk there is no response.
            Ok(responses) => assert!(responses.is_empty() && length < 20, "{length}"),
            Err((responses, error)) => {
                assert!(responses.iter().all(LlmResponse::is_partial));
                assert_eq!(error.kind(), ModelErrorKind::StreamCut, "{length}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn l217_a_blocked_stream_keeps_what_was_said() {
    let chunks = [
        answer(json!([{"text": "Su"}]), json!({})),
        json!({"candidates": [{"finishReason": "SAFETY", "finishMessage": "no"}]}),
    ];
    let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    let prompt = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}});
    let server = Server::start([Reply::sse(body), Reply::sse(format!("data: {prompt}\n\n"))]).await;
    let model = at(&server, gemini("m"), "");
    let response = last(&model, &ask("hi"), true).await;
    assert_eq!((parts(&response), response.error_code.as_deref()), (json!([{"text": "Su"}]), Some("SAFETY")));
    assert_eq!(response.error_message.as_deref(), Some("no"));
    let response = last(&model, &ask("hi"), true).await;
    assert_eq!((response.error_code.as_deref(), response.content), (Some("PROHIBITED_CONTENT"), None));
}

#[tokio::test]
async fn l215_errors_are_those_of_the_api() {
    let body = json!([{"error": {"code": 403, "message": "no access", "status": "PERMISSION_DENIED"}}]);
    let server = Server::start([Reply::json("403 Forbidden", &body)]).await;
    let error = error(&at(&server, gemini("m"), ""), &ask("hi"), true).await;
    assert_eq!((error.status(), error.code()), (Some(403), "PERMISSION_DENIED"));
}
