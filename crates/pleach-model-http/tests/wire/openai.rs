//! Tests of chat completions: the bytes of requests, answers and streams.

use pleach_core::Content;
use pleach_model::{LlmResponse, Model as _, ModelErrorKind};
use pleach_model_http::openai;
use serde_json::{Value, json};

use crate::server::{Reply, Server};
use crate::support::{all, ask, at, call, error, last, parts, picture_result, recorded_request, result, with_config};

fn completion(message: Value, finish: &str) -> Value {
    json!({
        "id": "x", "object": "chat.completion", "model": "gpt-5-mini-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 8}, "completion_tokens_details": {"reasoning_tokens": 3},
        },
    })
}

fn ok() -> Reply {
    Reply::json("200 OK", &completion(json!({"role": "assistant", "content": "Sunny."}), "stop"))
}

/// Returns the body that is sent for a request.
async fn sent(request: &pleach_model::LlmRequest, streaming: bool) -> Value {
    let server = Server::start([ok()]).await;
    last(&at(&server, openai("gpt-4o"), "/v1"), request, streaming).await;
    server.requests().remove(0).body
}

fn chunks(chunks: &[Value]) -> String {
    let lines: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    format!("{lines}data: [DONE]\n\n")
}

fn delta(delta: Value) -> Value {
    json!({"model": "gpt-5-mini-2026", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"model": "gpt-5-mini-2026", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

// Recorded from google-adk 2.13.0 with LiteLlm 1.106, except for pleach's own texts about missing results and users.
#[tokio::test]
async fn l230_l231_l232_a_request_is_what_google_adk_sends() {
    let mut body = sent(&recorded_request(), false).await;
    let messages = body["messages"].as_array_mut().unwrap();
    let [missing, turn] = [8, 9].map(|place| messages[place]["content"].take());
    assert!(missing.as_str().unwrap().starts_with("Error: there is no result of this call"));
    assert!(turn.as_str().unwrap().starts_with("Continue"));
    let declared = |name, description, parameters| json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}});
    let expected = json!({
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "hi"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
            ]},
            {"role": "assistant", "content": "Let me see.", "reasoning_content": "hm", "tool_calls": [
                {
                    "type": "function", "id": "c1", "function": {"name": "f", "arguments": "{\"a\":1}"},
                    "provider_specific_fields": {"thought_signature": "c2lnMg=="},
                    "extra_content": {"google": {"thought_signature": "c2lnMg=="}},
                },
                {"type": "function", "id": "c2", "function": {"name": "g", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "{\"result\":5}"},
            {"role": "tool", "tool_call_id": "c2", "content": "{\"result\":\"x\"}"},
            {"role": "assistant", "content": "a\nb"},
            {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"type": "function", "id": "c3", "function": {"name": "f", "arguments": "{\"a\":2}"}},
            ]},
            {"role": "tool", "tool_call_id": "c3", "content": null},
            {"role": "user", "content": null},
        ],
        "model": "gpt-4o", "frequency_penalty": 0.2, "max_completion_tokens": 100, "presence_penalty": 0.1, "seed": 3,
        "stop": ["X"], "temperature": 0.5, "tool_choice": "required", "top_p": 0.9, "top_k": 5.0,
        "tools": [
            declared("f", "d", json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})),
            declared("g", "gg", json!({"type": "object", "properties": {}})),
        ],
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn l230_the_request_carries_the_key_and_nothing_of_the_machine() {
    let server = Server::start([ok()]).await;
    last(&at(&server, openai("gpt-4o").header("x-team", "blue"), "/v1"), &ask("hi"), false).await;
    let request = &server.requests()[0];
    assert_eq!(request.line(), "POST /v1/chat/completions HTTP/1.1");
    let mut names: Vec<&str> = request.head.lines().skip(1).filter_map(|line| line.split(": ").next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "authorization", "content-length", "content-type", "host", "user-agent", "x-team"]);
    assert_eq!(request.header("authorization"), Some("Bearer sk-hush-hush-hush"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.body, json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}));
}

#[tokio::test]
async fn l231_media_of_results_follow_when_all_calls_are_answered() {
    let mut request = ask("hi");
    request
        .contents
        .push(Content::new("model", [call("1", "f", json!({})), call("functions.worker:0", "g", json!({}))]).into());
    request.contents.push(Content::new("user", [picture_result("1")]).into());
    request.contents.push(Content::new("user", [result("functions.worker:0", "g", json!({}))]).into());
    request.contents.push(Content::user("and?").into());
    let body = sent(&request, false).await;
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "user", "user"]);
    // Ids are sent as they came, even with dots and colons.
    assert_eq!(messages[3]["tool_call_id"], "functions.worker:0");
    assert_eq!(messages[4]["content"][0]["image_url"]["url"], "data:image/png;base64,AQI=");
}

// A result is stored, so media in it that the provider refuses must not fail every later request of the session.
#[tokio::test]
async fn l231_media_of_results_that_cannot_be_sent_are_named() {
    let mut request = ask("hi");
    request.contents.push(Content::new("model", [call("1", "f", json!({}))]).into());
    let mut answer = picture_result("1");
    let media = &mut answer.function_response.as_mut().unwrap().parts.as_mut().unwrap()[0];
    media.inline_data.as_mut().unwrap().mime_type = Some("application/zip".into());
    request.contents.push(Content::new("user", [answer]).into());
    let body = sent(&request, false).await;
    assert_eq!(body["messages"][3]["content"], "[media of application/zip]");
}

#[tokio::test]
async fn l232_a_required_call_is_limited_to_the_functions_that_are_allowed() {
    let mut request = recorded_request();
    let calling = json!({"function_calling_config": {"mode": "ANY", "allowed_function_names": ["g"]}});
    request.config.tool_config = serde_json::from_value(calling).unwrap();
    let body = sent(&request, false).await;
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!((&body["tools"][0]["function"]["name"], &body["tool_choice"]), (&json!("g"), &json!("required")));
}

#[tokio::test]
async fn l233_the_schema_of_the_answer_is_strict() {
    let schema =
        json!({"type": "object", "title": "Out", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}});
    let body =
        sent(&with_config(json!({"responseSchema": schema, "responseMimeType": "application/json"})), false).await;
    let strict = json!({
        "type": "object", "title": "Out", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}},
        "required": ["a", "b"], "additionalProperties": false,
    });
    let expected = json!({"type": "json_schema", "json_schema": {"name": "Out", "strict": true, "schema": strict}});
    assert_eq!(body["response_format"], expected);
    let body = sent(&with_config(json!({"responseMimeType": "application/json"})), false).await;
    assert_eq!(body["response_format"], json!({"type": "json_object"}));
}

#[tokio::test]
async fn l232_settings_without_a_place_are_refused_by_name() {
    let server = Server::start([]).await;
    let model = at(&server, openai("m"), "/v1");
    for (config, named) in [
        (json!({"cachedContent": "c"}), "`cached_content` has no place in chat completions"),
        (
            json!({"thinkingConfig": {"thinkingBudget": 3}}),
            "`thinking_budget` has no place in chat completions; set `thinking_level`",
        ),
        (json!({"candidateCount": 2}), "`candidate_count` has no place"),
        (json!({"audioTimestamp": true}), "`audio_timestamp` has no place"),
        (json!({"enableEnhancedCivicAnswers": true}), "`enable_enhanced_civic_answers` has no place"),
        (json!({"toolConfig": {"retrievalConfig": {"languageCode": "no"}}}), "`retrieval_config` has no place"),
        (
            json!({"toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}}}),
            "`function_calling_config.mode` has no place",
        ),
        (json!({"tools": [{"googleSearch": {}}]}), "the tool `google_search` is not one of this provider"),
    ] {
        let error = error(&model, &with_config(config), false).await;
        assert_eq!(error.kind(), ModelErrorKind::InvalidRequest);
        assert!(error.to_string().contains(named), "{error}");
    }
    assert!(server.requests().is_empty());
    // These change nothing.
    let request = with_config(json!({"candidateCount": 1, "audioTimestamp": false, "labels": {"a": "b"}}));
    assert_eq!(sent(&request, false).await.as_object().unwrap().len(), 2);
}

#[tokio::test]
async fn options_of_a_request_count_for_it() {
    let options = json!({"headers": {"x-run": "7"}, "extraBody": {"stream_options": {"x": 1}, "store": true}});
    let server = Server::start([ok()]).await;
    last(&at(&server, openai("m"), "/v1"), &with_config(json!({"httpOptions": options})), true).await;
    let request = &server.requests()[0];
    assert_eq!(request.header("x-run"), Some("7"));
    assert_eq!(request.body["stream_options"], json!({"include_usage": true, "x": 1}));
    assert_eq!(request.body["store"], json!(true));
}

#[tokio::test]
async fn l234_an_answer_has_thoughts_text_calls_and_usage() {
    let tool_calls = json!([
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"},
         "extra_content": {"google": {"thought_signature": "c2lnMg=="}}},
        {"id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}},
    ]);
    let message =
        json!({"role": "assistant", "content": "Let me see.", "reasoning_content": "hm", "tool_calls": tool_calls});
    let server = Server::start([Reply::json("200 OK", &completion(message, "tool_calls"))]).await;
    let response = last(&at(&server, openai("m"), "/v1"), &ask("hi"), false).await;
    let expected = json!([
        {"text": "hm", "thought": true},
        {"text": "Let me see."},
        {"function_call": {"id": "c1", "name": "f", "args": {"a": 1}}, "thought_signature": "c2lnMg=="},
        {"function_call": {"id": "c2", "name": "g", "args": {}}},
    ]);
    assert_eq!(parts(&response), expected);
    assert_eq!((response.partial, response.error_code), (Some(false), None));
    assert_eq!(response.info.finish_reason.as_deref(), Some("STOP"));
    assert_eq!(response.info.model_version.as_deref(), Some("gpt-5-mini-2026"));
    let usage = json!({
        "prompt_token_count": 10, "candidates_token_count": 4, "total_token_count": 14,
        "cached_content_token_count": 8, "thoughts_token_count": 3,
    });
    assert_eq!(response.info.usage_metadata.unwrap().as_value(), &usage);
}

#[tokio::test]
async fn l235_other_ends_are_errors_of_the_response() {
    for (finish, code) in [("length", "MAX_TOKENS"), ("content_filter", "SAFETY"), ("RECITATION", "RECITATION")] {
        let message = json!({"role": "assistant", "content": "Su"});
        let server = Server::start([Reply::json("200 OK", &completion(message, finish))]).await;
        let response = last(&at(&server, openai("m"), "/v1"), &ask("hi"), false).await;
        assert_eq!((response.error_code.as_deref(), response.info.finish_reason.as_deref()), (Some(code), Some(code)));
        assert!(response.error_message.is_some());
        assert_eq!(parts(&response), json!([{"text": "Su"}]));
    }
}

/// Returns a stream with two parallel calls whose pieces alternate, a text and a thought.
fn interleaved() -> String {
    let piece = |index, piece: Value| {
        let mut piece = piece;
        piece["index"] = json!(index);
        delta(json!({"tool_calls": [piece]}))
    };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14});
    chunks(&[
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"reasoning_content": "h"})),
        delta(json!({"reasoning_content": "m"})),
        delta(json!({"content": "Let me "})),
        delta(json!({"content": "see – ü."})),
        piece(0, json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}})),
        piece(1, json!({"id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}})),
        piece(0, json!({"function": {"arguments": "{\"city\": "}})),
        piece(1, json!({"function": {"arguments": "{\"n\": [1"}})),
        piece(0, json!({"function": {"arguments": "\"Oslo\"}"}})),
        piece(1, json!({"function": {"arguments": ", 2]}"}})),
        finish("tool_calls"),
        json!({"model": "gpt-5-mini-2026", "choices": [], "usage": usage}),
    ])
}

fn check_interleaved(responses: &[LlmResponse]) {
    let (whole, fragments) = responses.split_last().unwrap();
    assert!(fragments.iter().all(LlmResponse::is_partial));
    let seen: Vec<Value> = fragments.iter().map(|fragment| parts(fragment)[0].take()).collect();
    let expected = [
        json!({"text": "h", "thought": true}),
        json!({"text": "m", "thought": true}),
        json!({"text": "Let me "}),
        json!({"text": "see – ü."}),
        json!({"function_call": {"id": "c1", "name": "f", "will_continue": true}}),
        json!({"function_call": {"id": "c2", "name": "g", "will_continue": true}}),
    ];
    assert_eq!(seen, expected);
    let expected = json!([
        {"text": "hm", "thought": true},
        {"text": "Let me see – ü."},
        {"function_call": {"id": "c1", "name": "f", "args": {"city": "Oslo"}}},
        {"function_call": {"id": "c2", "name": "g", "args": {"n": [1, 2]}}},
    ]);
    assert_eq!(parts(whole), expected);
    assert_eq!((whole.partial, whole.info.finish_reason.as_deref()), (Some(false), Some("STOP")));
    assert_eq!(whole.info.usage_metadata.as_ref().unwrap().get("total_token_count"), Some(&json!(14)));
}

#[tokio::test]
async fn l236_parallel_calls_are_told_apart_by_their_index() {
    let server = Server::start([Reply::sse(interleaved())]).await;
    let model = at(&server, openai("m"), "/v1");
    check_interleaved(&all(&model, &ask("hi"), true).await.unwrap());
    let body = &server.requests()[0].body;
    assert_eq!((&body["stream"], &body["stream_options"]), (&json!(true), &json!({"include_usage": true})));
}

#[tokio::test]
async fn a_stream_that_is_split_at_any_byte_gives_the_same() {
    let reply = Reply::sse(interleaved());
    let server = Server::start((0..reply.len()).map(|at| reply.clone().split_at(at))).await;
    let model = at(&server, openai("m"), "/v1");
    for _ in 0..reply.len() {
        check_interleaved(&all(&model, &ask("hi"), true).await.unwrap());
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_at_any_byte_gives_no_call() {
    let body = interleaved();
    let reply = Reply::sse(&body);
    let head = reply.len() - body.len();
    // The last event before the end has the finish reason. After it the answer is complete.
    let lengths: Vec<usize> =
        (head..head + body.find("\"finish_reason\":\"tool_calls\"").unwrap()).step_by(7).collect();
    let options = json!({"httpOptions": {"retryOptions": {"attempts": 1}}});
    let server = Server::start(lengths.iter().map(|length| reply.clone().cut_at(*length))).await;
    let model = at(&server, openai("m"), "/v1");
    for length in lengths {
        let (responses, error) = all(&model, &with_config(options.clone()), true).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::StreamCut, "{length}: {error}");
        assert!(responses.iter().all(LlmResponse::is_partial));
        let calls: Vec<_> = responses.iter().flat_map(LlmResponse::function_calls).collect();
        assert!(calls.iter().all(|call| call.args.is_none() && call.will_continue == Some(true)));
    }
}

#[tokio::test]
async fn l236_truncated_arguments_deliver_no_call() {
    for (reason, code) in [("length", "MAX_TOKENS"), ("tool_calls", "MALFORMED_FUNCTION_CALL")] {
        let whole = json!({"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}});
        let cut = json!({"index": 1, "id": "c2", "function": {"name": "g", "arguments": "{\"city\": \"Os"}});
        let body =
            chunks(&[delta(json!({"content": "Wait."})), delta(json!({"tool_calls": [whole, cut]})), finish(reason)]);
        let server = Server::start([Reply::sse(body)]).await;
        let response = last(&at(&server, openai("m"), "/v1"), &ask("hi"), true).await;
        assert_eq!(parts(&response), json!([{"text": "Wait."}]));
        assert_eq!((response.error_code.as_deref(), response.info.finish_reason.as_deref()), (Some(code), Some(code)));
        assert_eq!(response.error_message.unwrap().contains(": g"), reason == "tool_calls");
    }
}

// Otherwise a tool would run with all its defaults: an empty text of arguments reads as `{}`.
#[tokio::test]
async fn l236_an_answer_that_was_stopped_delivers_no_call() {
    for (reason, code) in [
        ("length", "MAX_TOKENS"),
        ("max_tokens", "MAX_TOKENS"),
        ("content_filter", "SAFETY"),
        ("Model-Length", "MAX_TOKENS"),
    ] {
        for arguments in ["", " ", "{}", "{\"all\": true}", "{\"all\": "] {
            let call = json!({"index": 0, "id": "c1", "function": {"name": "delete_rows", "arguments": arguments}});
            let message = json!({"role": "assistant", "content": "Wait.", "tool_calls": [call]});
            let stream = chunks(&[delta(message.clone()), finish(reason)]);
            let server = Server::start([Reply::json("200 OK", &completion(message, reason)), Reply::sse(stream)]).await;
            let model = at(&server, openai("m"), "/v1");
            for streaming in [false, true] {
                let response = last(&model, &ask("hi"), streaming).await;
                assert_eq!(parts(&response), json!([{"text": "Wait."}]), "{reason} {arguments} {streaming}");
                assert_eq!(response.error_code.as_deref(), Some(code));
                assert_eq!(response.info.finish_reason.as_deref(), Some(code));
            }
        }
    }
}

#[tokio::test]
async fn l235_words_of_other_servers_for_the_end_are_understood() {
    let call = json!({"index": 0, "id": "c1", "function": {"name": "f", "arguments": ""}});
    for reason in ["", "eos", "eos_token", "end_turn", "stop_sequence", "tool_use"] {
        let message = json!({"role": "assistant", "tool_calls": [call]});
        let last_but_one = json!({"choices": [{"delta": {}, "finish_reason": ""}]});
        let stream = chunks(&[delta(message.clone()), finish(reason), last_but_one]);
        let server = Server::start([Reply::json("200 OK", &completion(message, reason)), Reply::sse(stream)]).await;
        let model = at(&server, openai("m"), "/v1");
        for streaming in [false, true] {
            let response = last(&model, &ask("hi"), streaming).await;
            assert_eq!((response.function_calls().count(), response.error_code), (1, None), "{reason} {streaming}");
        }
    }
}

#[tokio::test]
async fn servers_that_number_calls_in_their_own_way_are_understood() {
    let streams = [
        // Every call has the index 0, and comes whole.
        vec![
            json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"n\":1}"}}),
            json!({"index": 0, "id": "b", "function": {"name": "f", "arguments": "{\"n\":2}"}}),
        ],
        // No index: a piece without an id continues the last call. The name is repeated.
        vec![
            json!({"id": "a", "function": {"name": "f", "arguments": "{\"n\":"}}),
            json!({"function": {"name": "f", "arguments": "1}"}}),
            json!({"id": "b", "function": {"name": "f", "arguments": "{\"n\":2}"}}),
        ],
        // The id is repeated on every piece, and the name comes in pieces.
        vec![
            json!({"index": 0, "id": "a", "function": {"name": "get_", "arguments": ""}}),
            json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"n\":1}"}}),
            json!({"index": 1, "id": "b", "function": {"name": "f", "arguments": {"n": 2}}}),
        ],
    ];
    for (place, pieces) in streams.into_iter().enumerate() {
        let mut events: Vec<Value> = pieces.into_iter().map(|piece| delta(json!({"tool_calls": [piece]}))).collect();
        events.push(finish("tool_calls"));
        let server = Server::start([Reply::sse(chunks(&events))]).await;
        let response = last(&at(&server, openai("m"), "/v1"), &ask("hi"), true).await;
        let name = if place == 2 { "get_f" } else { "f" };
        let expected = json!([
            {"function_call": {"id": "a", "name": name, "args": {"n": 1}}},
            {"function_call": {"id": "b", "name": "f", "args": {"n": 2}}},
        ]);
        assert_eq!(parts(&response), expected);
    }
}

#[tokio::test]
async fn l157_a_call_without_an_id_keeps_the_one_it_is_given() {
    let piece = json!({"index": 0, "function": {"name": "f", "arguments": "{}"}});
    let server =
        Server::start([Reply::sse(chunks(&[delta(json!({"tool_calls": [piece]})), finish("tool_calls")]))]).await;
    let responses = all(&at(&server, openai("m"), "/v1"), &ask("hi"), true).await.unwrap();
    let ids: Vec<&str> =
        responses.iter().flat_map(LlmResponse::function_calls).map(|call| call.id.as_deref().unwrap()).collect();
    assert!(ids.len() == 2 && ids[0] == ids[1] && ids[0].starts_with("adk-"), "{ids:?}");
}

#[tokio::test]
async fn capabilities_and_names() {
    let model = openai("gpt-5-mini").key("k").build().unwrap();
    assert_eq!(model.name(), "gpt-5-mini");
    assert!(model.capabilities().pairs_calls_by_id && model.capabilities().output_schema_and_tools);
    let other = openai("m").base_url("http://localhost:8000/v1").build().unwrap();
    assert!(!other.capabilities().output_schema_and_tools);
}

#[tokio::test]
async fn a_whole_message_beside_deltas_is_not_read_twice() {
    let call = json!({"id": "c1", "function": {"name": "f", "arguments": "{}"}});
    let whole = json!({"role": "assistant", "content": "Sunny.", "reasoning_content": "hm", "tool_calls": [call]});
    let choice = |choice: Value| json!({"choices": [choice]});
    let end = json!({"index": 0, "delta": {}, "finish_reason": "stop", "message": whole});
    let message = |message: Value| choice(json!({"index": 0, "message": message}));
    for events in [
        // The whole message at the end, with and without preceding deltas.
        vec![delta(json!({"content": "Sun"})), delta(json!({"content": "ny."})), choice(end.clone())],
        vec![delta(json!({"reasoning_content": "hm"})), delta(json!({"tool_calls": [call]})), choice(end.clone())],
        vec![choice(end)],
        vec![delta(json!({"content": "Sunny."})), message(whole.clone()), finish("stop")],
        // Messages instead of deltas.
        vec![
            message(json!({"reasoning_content": "hm", "content": "Sun"})),
            message(json!({"content": "ny.", "tool_calls": [call]})),
            finish("stop"),
        ],
        // The only choice has another number.
        vec![
            choice(json!({"index": 1, "delta": whole})),
            choice(json!({"index": 1, "delta": {}, "finish_reason": "stop"})),
        ],
    ] {
        let server = Server::start([Reply::sse(chunks(&events))]).await;
        let response = last(&at(&server, openai("m"), "/v1"), &ask("hi"), true).await;
        let content = response.content.unwrap();
        assert_eq!((content.text().as_str(), content.function_calls().count()), ("Sunny.", 1), "{events:?}");
        assert_eq!(content.parts().iter().filter(|part| part.is_thought()).count(), 1, "{events:?}");
    }
}

#[tokio::test]
async fn a_call_in_its_older_form_counts_where_there_is_none_in_the_newer_one() {
    let older = json!({"function_call": {"name": "f", "arguments": "{\"n\": 1}"}});
    let mut both = older.clone();
    both["tool_calls"] = json!([{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{\"n\": 1}"}}]);
    for message in [older, both] {
        let stream = chunks(&[delta(message.clone()), finish("function_call")]);
        let whole = Reply::json("200 OK", &completion(message.clone(), "function_call"));
        let server = Server::start([whole, Reply::sse(stream)]).await;
        let model = at(&server, openai("m"), "/v1");
        for streaming in [false, true] {
            let response = last(&model, &ask("hi"), streaming).await;
            let calls: Vec<_> = response.function_calls().map(|call| call.args.clone().unwrap()).collect();
            assert_eq!(json!(calls), json!([{"n": 1}]), "{message} {streaming}");
        }
    }
}

#[tokio::test]
async fn a_limit_is_not_taken_back_by_a_later_word() {
    let call = json!({"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}});
    for (words, code) in [(["length", "stop"], Some("MAX_TOKENS")), (["stop", "tool_calls"], None)] {
        let events = [delta(json!({"tool_calls": [call]})), finish(words[0]), finish(words[1])];
        let server = Server::start([Reply::sse(chunks(&events))]).await;
        let response = last(&at(&server, openai("m"), "/v1"), &ask("hi"), true).await;
        assert_eq!(response.error_code.as_deref(), code);
        assert_eq!(response.function_calls().count(), usize::from(code.is_none()));
    }
}
