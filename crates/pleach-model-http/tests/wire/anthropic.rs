//! Tests of Anthropic messages: the bytes of requests, answers and streams.

use pleach_core::{Content, Part};
use pleach_model::{GenerateConfig, LlmRequest, LlmResponse, ModelErrorKind};
use pleach_model_http::anthropic;
use serde_json::{Value, json};

use crate::server::{Reply, Request, Server};
use crate::support::{all, ask, at, call, error, last, parts, picture_result, recorded_request, result, with_config};

fn message(content: Value, reason: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-5", "content": content,
        "stop_reason": reason, "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 7, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20,
            "output_tokens_details": {"thinking_tokens": 3}},
    })
}

fn ok() -> Reply {
    Reply::json("200 OK", &message(json!([{"type": "text", "text": "Sunny."}]), "end_turn"))
}

async fn sent(request: &LlmRequest, streaming: bool) -> Request {
    let server = Server::start([ok()]).await;
    last(&at(&server, anthropic("claude-5"), ""), request, streaming).await;
    server.requests().remove(0)
}

fn config(request: &mut LlmRequest, config: Value) {
    let own = std::mem::take(&mut request.config);
    request.config = serde_json::from_value(config).unwrap();
    request.config = GenerateConfig {
        system_instruction: own.system_instruction,
        tools: own.tools,
        ..std::mem::take(&mut request.config)
    };
}

// Recorded from google-adk 2.13.0 with anthropic 2.12; the last turn is pleach's own.
#[tokio::test]
async fn a_request_is_what_google_adk_sends() {
    let mut request = recorded_request();
    config(
        &mut request,
        json!({"maxOutputTokens": 100, "stopSequences": ["X"], "thinkingConfig": {"thinkingBudget": 2048}}),
    );
    let request = sent(&request, false).await;
    assert_eq!(request.line(), "POST /v1/messages HTTP/1.1");
    assert_eq!(request.header("x-api-key"), Some("sk-hush-hush-hush"));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    let mut body = request.body;
    let last = body["messages"].as_array_mut().unwrap().pop().unwrap();
    assert_eq!((&last["role"], &last["content"][0]["tool_use_id"]), (&json!("user"), &json!("c3")));
    assert_eq!(last["content"][0]["is_error"], json!(true));
    assert!(last["content"][1]["text"].as_str().unwrap().starts_with("Continue"));
    let expected = json!({
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": [
                {"text": "hi", "type": "text"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig1"},
                {"text": "Let me see.", "type": "text"},
                {"id": "c1", "name": "f", "input": {"a": 1}, "type": "tool_use"},
                {"id": "c2", "name": "g", "input": {}, "type": "tool_use"},
            ]},
            {"role": "user", "content": [
                {"tool_use_id": "c1", "type": "tool_result", "content": "5", "is_error": false},
                {"tool_use_id": "c2", "type": "tool_result", "content": "x", "is_error": false},
            ]},
            {"role": "assistant", "content": [{"text": "a", "type": "text"}, {"text": "b", "type": "text"}]},
            {"role": "user", "content": [{"text": "one", "type": "text"}, {"text": "two", "type": "text"}]},
            {"role": "assistant", "content": [{"id": "c3", "name": "f", "input": {"a": 2}, "type": "tool_use"}]},
        ],
        "model": "claude-5", "stop_sequences": ["X"], "system": "Be brief.",
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "tools": [
            {"name": "f", "description": "d", "input_schema":
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}},
            {"name": "g", "description": "gg", "input_schema": {"type": "object", "properties": {}}},
        ],
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn settings_have_their_places() {
    let request = with_config(json!({
        "temperature": 0.5, "topP": 0.9, "topK": 5.0,
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "tools": [{"functionDeclarations": [{"name": "f"}]}],
    }));
    let body = sent(&request, true).await.body;
    assert_eq!((&body["temperature"], &body["top_p"], &body["top_k"]), (&json!(0.5), &json!(0.9), &json!(5)));
    assert_eq!((&body["tool_choice"], &body["max_tokens"]), (&json!({"type": "any"}), &json!(8192)));
    assert_eq!(body["stream"], json!(true));
    let body =
        sent(&with_config(json!({"temperature": 0.5, "thinkingConfig": {"thinkingLevel": "HIGH"}})), false).await.body;
    assert_eq!(body["thinking"], json!({"type": "adaptive", "display": "summarized"}));
    assert_eq!((&body["output_config"], body.get("temperature")), (&json!({"effort": "high"}), None));
    let server = Server::start([]).await;
    for (config, named) in [
        (json!({"seed": 1}), "`seed` has no place in Anthropic messages"),
        (json!({"logprobs": 1}), "`logprobs` has no place"),
        (json!({"candidateCount": 2}), "`candidate_count` has no place"),
        (
            json!({"responseMimeType": "application/json"}),
            "`response_mime_type` has no place in Anthropic messages without a schema",
        ),
    ] {
        let refused = error(&at(&server, anthropic("m"), ""), &with_config(config), false).await;
        assert!(refused.to_string().contains(named), "{refused}");
    }
}

#[tokio::test]
async fn calls_and_results_are_paired_whatever_their_ids_and_places() {
    let mut request = ask("hi");
    let calls = [call("functions.worker:0", "f", json!({})), call("1", "g", json!({})), call("c3", "h", json!({}))];
    request.contents.push(Content::new("model", calls).into());
    // The results are separated and in another order. One has a picture, and one is missing.
    request.contents.push(Content::new("user", [Part::text("wait")]).into());
    request
        .contents
        .push(Content::new("user", [result("1", "g", json!({"content": [{"type": "text", "text": "t"}]}))]).into());
    request.contents.push(Content::new("user", [picture_result("functions.worker:0")]).into());
    request.contents.push(Content::new("model", [call("c4", "f", json!({}))]).into());
    request.contents.push(Content::new("model", [Part::text("done")]).into());
    let body = sent(&request, false).await.body;
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user", "assistant", "user"]);
    let results = messages[2]["content"].as_array().unwrap();
    let ids: Vec<&Value> = results.iter().map(|block| &block["tool_use_id"]).collect();
    assert_eq!(ids, [&json!("call_1"), &json!("1"), &json!("c3"), &Value::Null]);
    assert_eq!(messages[1]["content"][0]["id"], json!("call_1"));
    assert_eq!(
        (&results[0]["content"][0]["text"], &results[0]["content"][1]["type"]),
        (&json!("see"), &json!("image"))
    );
    assert_eq!((&results[1]["content"], &results[2]["is_error"]), (&json!("t"), &json!(true)));
    assert_eq!((&results[3]["text"], &messages[4]["content"][0]["tool_use_id"]), (&json!("wait"), &json!("c4")));
}

#[tokio::test]
async fn thoughts_go_back_as_they_came() {
    let blocks = json!([
        {"type": "thinking", "thinking": "hm ü", "signature": "EqQB+/=="},
        {"type": "redacted_thinking", "data": "opaque+/="},
        {"type": "text", "text": "Su"},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
        {"type": "thinking", "thinking": "more", "signature": "EqQC"},
        {"type": "text", "text": "nny."},
    ]);
    let server = Server::start([Reply::json("200 OK", &message(blocks.clone(), "end_turn")), ok()]).await;
    let model = at(&server, anthropic("m"), "");
    let response = last(&model, &ask("hi"), false).await;
    let mut request = ask("hi");
    // The content is stored and loaded again.
    let stored = serde_json::to_string(&response.content.unwrap()).unwrap();
    request.contents.push(serde_json::from_str::<Content>(&stored).unwrap().into());
    let unsigned = Part { thought: Some(true), ..Part::text("of another model") };
    request.contents.push(Content::new("user", [result("toolu_1", "f", json!({"result": 1}))]).into());
    request.contents.push(Content::new("model", [unsigned]).into());
    request.contents.push(Content::user("and?").into());
    last(&model, &request, false).await;
    let body = &server.requests()[1].body;
    assert_eq!(body["messages"][1]["content"], blocks);
    assert_eq!(body["messages"].as_array().unwrap().len(), 3);
    // Check the responses that were read above.
    let usage = json!({
        "prompt_token_count": 130, "candidates_token_count": 4, "total_token_count": 137,
        "cached_content_token_count": 100, "cache_creation_input_tokens": 20, "thoughts_token_count": 3,
    });
    assert_eq!(response.info.usage_metadata.unwrap().as_value(), &usage);
    assert_eq!(response.info.model_version.as_deref(), Some("claude-5"));
}

// Models that omit their thoughts send an empty text and a signature, which the provider refuses as
// `redacted_thinking`.
#[tokio::test]
async fn a_thought_without_words_goes_back_as_it_came() {
    let blocks = json!([
        {"type": "thinking", "thinking": "", "signature": "EqQB"},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
    ]);
    let start =
        |index: u64, block: &Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let signature = json!({"type": "content_block_delta", "index": 0,
        "delta": {"type": "signature_delta", "signature": "EqQB"}});
    let unsigned = json!({"type": "thinking", "thinking": "", "signature": ""});
    let streamed = [start(0, &unsigned), signature, start(1, &blocks[1]), start(2, &blocks[2])];
    let whole = Reply::json("200 OK", &message(blocks.clone(), "tool_use"));
    for (reply, streaming) in [(whole, false), (Reply::sse(events(&streamed, "tool_use")), true)] {
        let server = Server::start([reply, ok()]).await;
        let model = at(&server, anthropic("m"), "");
        let response = last(&model, &ask("hi"), streaming).await;
        let stored = serde_json::to_string(&response.content.unwrap()).unwrap();
        let mut request = ask("hi");
        request.contents.push(serde_json::from_str::<Content>(&stored).unwrap().into());
        request.contents.push(Content::new("user", [result("toolu_1", "f", json!({"result": 1}))]).into());
        last(&model, &request, false).await;
        assert_eq!(server.requests()[1].body["messages"][1]["content"], blocks, "{streaming}");
    }
}

// The provider refuses blank texts, on every later turn of a conversation that has one.
#[tokio::test]
async fn blank_texts_are_left_out() {
    let blob = |kind: &str, data: &[u8]| Part {
        inline_data: Some(Box::new(pleach_core::Blob {
            data: Some(data.to_vec().into()),
            mime_type: Some(kind.into()),
            ..Default::default()
        })),
        ..Part::default()
    };
    let mut request = ask(" \t");
    request.config.system_instruction = Some("\n".into());
    request.contents.push(Content::new("model", [Part::text("\n\n"), call("c1", "f", json!({}))]).into());
    let mut picture = picture_result("c1");
    picture.function_response.as_mut().unwrap().response = json!({"result": " "}).as_object().cloned();
    request.contents.push(Content::new("user", [picture]).into());
    request.contents.push(Content::new("model", [Part::text(" \n")]).into());
    request
        .contents
        .push(Content::new("user", [Part::text("\n"), blob("text/plain", b" "), Part::text(" and? ")]).into());
    let body = sent(&request, false).await.body;
    assert_eq!(body.get("system"), None);
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQI="}});
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "."}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "is_error": false, "content": [image]},
            {"type": "text", "text": "[media of text/plain]"},
            {"type": "text", "text": " and? "},
        ]},
    ]);
    assert_eq!(body["messages"], expected);
}

#[tokio::test]
async fn an_answer_by_schema_is_the_input_of_a_tool() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let list = json!({"type": "array", "items": {"type": "integer"}});
    for (schema, input, text) in
        [(schema, json!({"city": "Oslo"}), r#"{"city":"Oslo"}"#), (list, json!({"response": [1, 2]}), "[1,2]")]
    {
        let blocks = json!([{"type": "tool_use", "id": "t", "name": "structured_output", "input": input}]);
        let server = Server::start([
            Reply::json("200 OK", &message(blocks, "tool_use")),
            Reply::sse(events(&[
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "structured_output", "input": {}}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": input.to_string()}}),
            ], "tool_use")),
        ])
        .await;
        let model = at(&server, anthropic("m"), "");
        let request = with_config(json!({"responseSchema": schema}));
        for streaming in [false, true] {
            let responses = all(&model, &request, streaming).await.unwrap();
            assert!(responses.iter().all(|response| response.function_calls().next().is_none()));
            assert_eq!(parts(responses.last().unwrap()), json!([{"text": text}]));
        }
        let body = &server.requests()[0].body;
        assert_eq!(
            body["tool_choice"],
            json!({"type": "tool", "name": "structured_output", "disable_parallel_tool_use": true})
        );
        assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
    }
}

#[tokio::test]
async fn a_schema_beside_tools_is_one_tool_more() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let config = |calling: &str, thinking: Value| {
        with_config(json!({
            "responseSchema": schema, "tools": [{"functionDeclarations": [{"name": "f"}]}],
            "toolConfig": {"functionCallingConfig": {"mode": calling}}, "thinkingConfig": thinking,
        }))
    };
    for (calling, thinking, choice, names) in [
        ("AUTO", json!({}), "any", vec!["f", "structured_output"]),
        ("ANY", json!({}), "any", vec!["f", "structured_output"]),
        ("NONE", json!({}), "tool", vec!["structured_output"]),
        ("AUTO", json!({"thinkingBudget": 2048}), "auto", vec!["f", "structured_output"]),
    ] {
        let body = sent(&config(calling, thinking), false).await.body;
        let tools = body["tools"].as_array().unwrap();
        assert_eq!(tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>(), names, "{calling}");
        assert_eq!(
            (&body["tool_choice"]["type"], body["tool_choice"].get("disable_parallel_tool_use")),
            (&json!(choice), Some(&json!(true)))
        );
    }
    let calls = |name: &str| json!([{"type": "tool_use", "id": "t", "name": name, "input": {"city": "Oslo"}}]);
    for (name, expected) in [
        ("f", json!([{"function_call": {"id": "t", "name": "f", "args": {"city": "Oslo"}}}])),
        ("structured_output", json!([{"text": "{\"city\":\"Oslo\"}"}])),
    ] {
        let server = Server::start([Reply::json("200 OK", &message(calls(name), "tool_use"))]).await;
        let response = last(&at(&server, anthropic("m"), ""), &config("AUTO", json!({})), false).await;
        assert_eq!(parts(&response), expected);
    }
    let server = Server::start([]).await;
    let search = with_config(json!({"responseSchema": schema, "tools": [{"googleSearch": {}}]}));
    let refused = error(&at(&server, anthropic("m"), ""), &search, false).await;
    assert!(refused.to_string().contains("the tool `google_search` is not one of this provider"), "{refused}");
}

#[tokio::test]
async fn other_ends_are_errors_of_the_response() {
    for (reason, code) in [("max_tokens", "MAX_TOKENS"), ("refusal", "SAFETY")] {
        let body = message(json!([{"type": "text", "text": "Su"}]), reason);
        let server = Server::start([Reply::json("200 OK", &body)]).await;
        let response = last(&at(&server, anthropic("m"), ""), &ask("hi"), false).await;
        assert_eq!((response.error_code.as_deref(), response.info.finish_reason.as_deref()), (Some(code), Some(code)));
    }
}

/// Returns the events of an answer with these in the middle.
fn events(middle: &[Value], reason: &str) -> String {
    let start = json!({"type": "message_start", "message": {"model": "claude-5", "content": [],
        "usage": {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 100}}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}});
    let events = [start, json!({"type": "ping"})]
        .into_iter()
        .chain(middle.to_vec())
        .chain([end, json!({"type": "message_stop"})]);
    events.map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

/// Returns a stream of alternating thoughts, texts and calls. The inputs of two calls are interleaved.
fn interleaved() -> String {
    let start =
        |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let input = |index: u64, piece: &str| delta(index, json!({"type": "input_json_delta", "partial_json": piece}));
    let tool = |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    events(
        &[
            start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "h"})),
            delta(0, json!({"type": "thinking_delta", "thinking": "m ü"})),
            delta(0, json!({"type": "signature_delta", "signature": "Eq"})),
            delta(0, json!({"type": "signature_delta", "signature": "QB+/=="})),
            stop(0),
            start(1, json!({"type": "redacted_thinking", "data": "opaque"})),
            stop(1),
            start(2, json!({"type": "text", "text": ""})),
            delta(2, json!({"type": "text_delta", "text": "Let me "})),
            delta(2, json!({"type": "text_delta", "text": "see."})),
            stop(2),
            start(3, tool("t1", "f")),
            start(4, tool("t2", "g")),
            input(3, ""),
            input(3, "{\"city\": "),
            input(4, "{\"n\": [1"),
            input(3, "\"Oslo\"}"),
            input(4, ", 2]}"),
            stop(3),
            stop(4),
            start(5, json!({"type": "text", "text": ""})),
            delta(5, json!({"type": "text_delta", "text": "And."})),
            start(6, tool("t3", "h")),
        ],
        "tool_use",
    )
}

fn check_interleaved(responses: &[LlmResponse]) {
    let (whole, fragments) = responses.split_last().unwrap();
    assert!(fragments.iter().all(LlmResponse::is_partial));
    let seen: Vec<Value> = fragments.iter().map(|fragment| parts(fragment)[0].take()).collect();
    let begun = |id: &str, name: &str| json!({"function_call": {"id": id, "name": name, "will_continue": true}});
    let expected = [
        json!({"text": "h", "thought": true}),
        json!({"text": "m ü", "thought": true}),
        json!({"text": "Let me "}),
        json!({"text": "see."}),
        begun("t1", "f"),
        begun("t2", "g"),
        json!({"text": "And."}),
        begun("t3", "h"),
    ];
    assert_eq!(seen, expected);
    let mut expected_parts = json!([
        {"text": "hm ü", "thought": true},
        {"thought": true},
        {"text": "Let me see."},
        {"function_call": {"id": "t1", "name": "f", "args": {"city": "Oslo"}}},
        {"function_call": {"id": "t2", "name": "g", "args": {"n": [1, 2]}}},
        {"text": "And."},
        {"function_call": {"id": "t3", "name": "h", "args": {}}},
    ]);
    let signature = |text: &str| json!(pleach_core::Bytes(text.into()).to_base64());
    expected_parts[0]["thought_signature"] = signature("EqQB+/==");
    expected_parts[1]["thought_signature"] = signature("opaque");
    assert_eq!(parts(whole), expected_parts);
    assert_eq!((whole.partial, whole.info.finish_reason.as_deref()), (Some(false), Some("STOP")));
    let usage = json!({
        "prompt_token_count": 110, "candidates_token_count": 7, "total_token_count": 117, "cached_content_token_count": 100,
    });
    assert_eq!(whole.info.usage_metadata.as_ref().unwrap().as_value(), &usage);
}

#[tokio::test]
async fn a_stream_keeps_the_order_of_blocks() {
    let server = Server::start([Reply::sse(interleaved())]).await;
    check_interleaved(&all(&at(&server, anthropic("m"), ""), &ask("hi"), true).await.unwrap());
}

#[tokio::test]
async fn a_stream_that_is_split_at_any_byte_gives_the_same() {
    let reply = Reply::sse(interleaved());
    let server = Server::start((0..reply.len()).map(|at| reply.clone().split_at(at))).await;
    let model = at(&server, anthropic("m"), "");
    for _ in 0..reply.len() {
        check_interleaved(&all(&model, &ask("hi"), true).await.unwrap());
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_gives_no_call() {
    let body = interleaved();
    let once = with_config(json!({"httpOptions": {"retryOptions": {"attempts": 1}}}));
    let lengths: Vec<usize> = (0..body.rfind("event: message_delta").unwrap()).step_by(11).collect();
    let server = Server::start(lengths.iter().map(|length| Reply::sse(&body.as_bytes()[..*length]))).await;
    let model = at(&server, anthropic("m"), "");
    for length in lengths {
        let (responses, error) = all(&model, &once, true).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::StreamCut, "{length}: {error}");
        let calls: Vec<_> = responses.iter().flat_map(LlmResponse::function_calls).collect();
        assert!(calls.iter().all(|call| call.args.is_none() && call.will_continue == Some(true)));
    }
}

#[tokio::test]
async fn truncated_arguments_deliver_no_call() {
    let tool = |index: u64, name: &str| json!({"type": "content_block_start", "index": index, "content_block": {"type": "tool_use", "id": name, "name": name, "input": {}}});
    let input = |index: u64, piece: &str| json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": piece}});
    for (reason, code) in [("max_tokens", "MAX_TOKENS"), ("tool_use", "MALFORMED_FUNCTION_CALL")] {
        let body = events(&[tool(0, "f"), input(0, "{}"), tool(1, "g"), input(1, "{\"city\": \"Os")], reason);
        let server = Server::start([Reply::sse(body)]).await;
        let response = last(&at(&server, anthropic("m"), ""), &ask("hi"), true).await;
        assert_eq!((parts(&response), response.error_code.as_deref()), (json!([]), Some(code)));
    }
}

// Otherwise a tool would run with all its defaults: a block begins with the input `{}`.
#[tokio::test]
async fn an_answer_that_was_stopped_delivers_no_call() {
    for (reason, code) in [
        ("max_tokens", "MAX_TOKENS"),
        ("model_context_window_exceeded", "MAX_TOKENS"),
        ("refusal", "SAFETY"),
        ("content_filtered", "SAFETY"),
    ] {
        for input in ["", "{}", "{\"all\": true}", "{\"all\": "] {
            let text = json!({"type": "text", "text": "Wait."});
            let mut call = json!({"type": "tool_use", "id": "t", "name": "delete_rows", "input": {}});
            let stream = events(
                &[
                    json!({"type": "content_block_start", "index": 0, "content_block": text}),
                    json!({"type": "content_block_start", "index": 1, "content_block": call}),
                    json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": input}}),
                ],
                reason,
            );
            call["input"] = serde_json::from_str(input).unwrap_or(json!({}));
            let whole = message(json!([text, call]), reason);
            let server = Server::start([Reply::json("200 OK", &whole), Reply::sse(stream)]).await;
            let model = at(&server, anthropic("m"), "");
            for streaming in [false, true] {
                let response = last(&model, &ask("hi"), streaming).await;
                assert_eq!(parts(&response), json!([{"text": "Wait."}]), "{reason} {input} {streaming}");
                assert_eq!(response.error_code.as_deref(), Some(code));
            }
        }
    }
}

#[tokio::test]
async fn a_block_that_is_no_object_is_an_error_of_the_answer() {
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    for block in [json!("x"), json!([]), json!(3), json!(true), Value::Null] {
        for delta in [
            delta(json!({"type": "text_delta", "text": "a"})),
            delta(json!({"type": "input_json_delta", "partial_json": "{}"})),
        ] {
            let start = json!({"type": "content_block_start", "index": 0, "content_block": block});
            let server = Server::start([Reply::sse(events(&[start, delta], "end_turn"))]).await;
            let error = error(&at(&server, anthropic("m"), ""), &ask("hi"), true).await;
            assert_eq!(error.kind(), ModelErrorKind::InvalidResponse, "{block}: {error}");
        }
    }
    // Pieces replace members of a wrong type.
    let start = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": [1]}});
    let body = events(&[start, delta(json!({"type": "text_delta", "text": "a"})), delta(json!("x"))], "end_turn");
    let server = Server::start([Reply::sse(body)]).await;
    assert_eq!(parts(&last(&at(&server, anthropic("m"), ""), &ask("hi"), true).await), json!([{"text": "a"}]));
}

#[tokio::test]
async fn counts_of_tokens_cannot_overflow() {
    let mut body = message(json!([{"type": "text", "text": "Sunny."}, "no block"]), "end_turn");
    body["usage"] = json!({"input_tokens": u64::MAX, "output_tokens": 1, "cache_read_input_tokens": u64::MAX});
    let server = Server::start([Reply::json("200 OK", &body)]).await;
    let response = last(&at(&server, anthropic("m"), ""), &ask("hi"), false).await;
    let usage = response.info.usage_metadata.as_ref().unwrap();
    assert_eq!(usage.get("prompt_token_count"), Some(&json!(u64::MAX)));
    assert_eq!(usage.get("total_token_count"), Some(&json!(u64::MAX)));
}

#[tokio::test]
async fn an_error_event_ends_the_stream_and_is_tried_again_before_the_first_fragment() {
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let body = format!("event: error\ndata: {overloaded}\n\n");
    let text = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Su"}});
    let late = format!("event: x\ndata: {text}\n\n{body}");
    let server = Server::start([Reply::sse(&body), Reply::sse(late)]).await;
    let model = at(&server, anthropic("m"), "");
    let options = json!({"httpOptions": {"retryOptions": {"attempts": 3, "initialDelay": 0, "jitter": 0}}});
    let clock = pleach_contract::TestClock::running();
    let (responses, error) = crate::support::all_by(&model, &with_config(options), true, &clock).await.unwrap_err();
    assert_eq!((responses.len(), error.status(), error.code()), (1, Some(529), "overloaded_error"));
    assert_eq!(server.requests().len(), 2);
}
