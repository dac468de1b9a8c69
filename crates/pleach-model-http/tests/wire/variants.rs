//! Tests of servers that deviate from the formats in line ends, encodings and members.

use pleach_model::{LlmResponse, ModelErrorKind};
use pleach_model_http::{anthropic, gemini, openai};
use serde_json::{Value, json};

use crate::server::{Reply, Server};
use crate::support::{all, at, error, last, parts, with_config};

fn once() -> pleach_model::LlmRequest {
    with_config(json!({"httpOptions": {"retryOptions": {"attempts": 1}}}))
}

async fn streamed(body: impl AsRef<[u8]>) -> LlmResponse {
    let server = Server::start([Reply::sse(body)]).await;
    last(&at(&server, openai("m"), "/v1"), &once(), true).await
}

async fn whole(body: Value) -> LlmResponse {
    let server = Server::start([Reply::json("200 OK", &body)]).await;
    last(&at(&server, openai("m"), "/v1"), &once(), false).await
}

fn chunk(delta: Value) -> String {
    json!({"choices": [{"index": 0, "delta": delta}]}).to_string()
}

const END: &str = r#"{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}"#;

#[tokio::test]
async fn events_are_read_whatever_separates_their_lines() {
    let (su, ny) = (chunk(json!({"content": "Sü"})), chunk(json!({"content": "n😀y."})));
    let lines = format!(
        "\u{feff}: keep-alive\n\nid: 1\nevent: message\nretry: 3\ndata:{su}\n\n:\n\ndata: {ny}\n\ndata: \n\n\
         event: ping\n\ndata:{END}\n\ndata:[DONE]\n\n"
    );
    let split = lines.replace("\"index\":0,", "\"index\":0,\ndata:  ");
    for text in [lines, split] {
        for end in ["\n", "\r\n", "\r"] {
            let text = text.replace('\n', end);
            let response = streamed(&text).await;
            assert_eq!(parts(&response), json!([{"text": "Sün😀y."}]), "{end:?}");
            // Each byte comes in a piece of its own.
            let server = Server::start([Reply::open("").then_pieces_of(text.as_bytes())]).await;
            let response = last(&at(&server, openai("m"), "/v1"), &once(), true).await;
            assert_eq!(parts(&response), json!([{"text": "Sün😀y."}]), "{end:?}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_breaks_inside_a_character_is_cut() {
    let body = format!("data: {}\n\ndata: {}\n\n", chunk(json!({"content": "a"})), chunk(json!({"content": "😀"})));
    let at_character = body.find('😀').unwrap();
    let server = Server::start([Reply::sse(&body.as_bytes()[..at_character + 2])]).await;
    let (responses, error) = all(&at(&server, openai("m"), "/v1"), &once(), true).await.unwrap_err();
    assert_eq!((responses.len(), error.kind()), (1, ModelErrorKind::StreamCut), "{error}");
}

#[tokio::test]
async fn a_document_may_begin_with_a_byte_order_mark() {
    let answer = json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]});
    for (headers, streaming) in [
        ("content-type: application/json\r\n", false),
        ("Content-Type: Application/JSON; charset=utf-8\r\n", true),
        ("", true),
    ] {
        let mut body = "\u{feff}".as_bytes().to_vec();
        body.extend(answer.to_string().into_bytes());
        let server = Server::start([Reply::new("200 OK", headers, &body)]).await;
        let response = last(&at(&server, openai("m"), "/v1"), &once(), streaming).await;
        assert_eq!(parts(&response), json!([{"text": "Hi"}]), "{headers}");
    }
}

#[tokio::test]
async fn a_stream_may_be_one_list_of_any_media_type() {
    let entry =
        |text: &str, end: Value| json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": end}]});
    let list = format!("[{:#},\r\n{:#}\n]", entry("Hi", json!(null)), entry(" there", json!("STOP")));
    for headers in [
        "",
        "content-type: text/plain\r\n",
        "content-type: text/event-stream\r\n",
        "content-type: application/json\r\n",
    ] {
        let server = Server::start([Reply::new("200 OK", headers, list.as_bytes())]).await;
        let response = last(&at(&server, gemini("m"), ""), &once(), true).await;
        assert_eq!(parts(&response), json!([{"text": "Hi there"}]), "{headers}");
    }
}

#[tokio::test]
async fn a_compressed_body_is_named_as_such() {
    for status in ["200 OK", "400 Bad Request"] {
        for streaming in [false, true] {
            let reply = Reply::new(status, "content-encoding: gzip\r\n", b"\x1f\x8b\x08\x00\x00");
            let server = Server::start([reply]).await;
            let text = error(&at(&server, openai("m"), "/v1"), &once(), streaming).await.to_string();
            assert!(text.contains("compressed (gzip)"), "{text}");
        }
    }
    let reply = Reply::new(
        "200 OK",
        "content-encoding: identity\r\n",
        json!({"choices": [{"message": {"content": "Hi"}}]}).to_string().as_bytes(),
    );
    let server = Server::start([reply]).await;
    assert_eq!(parts(&last(&at(&server, openai("m"), "/v1"), &once(), false).await), json!([{"text": "Hi"}]));
}

#[tokio::test]
async fn members_may_be_null_or_empty_anywhere() {
    let end = format!("data: {END}\n\n");
    for odd in [
        json!({"choices": null}),
        json!({"choices": []}),
        json!({"choices": [null]}),
        json!({"choices": [{"index": null, "delta": null, "message": null, "finish_reason": null}]}),
        json!({"choices": [{"index": 0, "delta": {"role": "assistant"}}]}),
        json!({"choices": [{"delta": {"role": "assistant", "content": null, "tool_calls": null, "function_call": null, "refusal": null}}]}),
        json!({"choices": [{"delta": {"content": [], "tool_calls": []}}], "usage": null, "error": null}),
        json!({"choices": [{"delta": {"content": [null], "tool_calls": [null]}}]}),
        json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "", "function": {"name": "", "arguments": ""}}]}}]}),
        json!({"object": "chat.completion.chunk", "usage": {"prompt_tokens": 1}}),
        json!({"error": null, "code": 0, "message": "ok", "choices": []}),
        json!({"base_resp": {"status_code": 0, "status_msg": ""}, "choices": []}),
        json!({"title": "A new chat"}),
    ] {
        let text = chunk(json!({"content": "Hi"}));
        let response = streamed(format!("data: {odd}\n\ndata: {text}\n\ndata: {odd}\n\n{end}data: {odd}\n\n")).await;
        assert_eq!(parts(&response), json!([{"text": "Hi"}]), "{odd}");
        assert_eq!(response.error_code, None, "{odd}");
    }
}

#[tokio::test]
async fn usage_counts_wherever_it_comes() {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7});
    let text = chunk(json!({"content": "Hi"}));
    let mut in_choice: Value = serde_json::from_str(END).unwrap();
    in_choice["choices"][0]["usage"] = usage.clone();
    let mut of_groq: Value = serde_json::from_str(END).unwrap();
    of_groq["x_groq"] = json!({"usage": usage});
    let alone = json!({"usage": usage});
    let with_null = json!({"choices": [], "usage": usage});
    for events in [
        vec![text.clone(), END.to_owned(), alone.to_string()],
        vec![alone.to_string(), text.clone(), END.to_owned()],
        vec![text.clone(), with_null.to_string(), END.to_owned(), json!({"choices": [], "usage": null}).to_string()],
        vec![text.clone(), in_choice.to_string()],
        vec![text.clone(), of_groq.to_string()],
    ] {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let response = streamed(body).await;
        let counts = response.info.usage_metadata.map(|usage| usage.as_value()["total_token_count"].clone());
        assert_eq!(counts, Some(json!(7)), "{events:?}");
    }
}

#[tokio::test]
async fn arguments_of_a_wrong_kind_run_nothing() {
    let call = |arguments: Value| json!({"id": "a", "index": 0, "function": {"name": "f", "arguments": arguments}});
    for (arguments, is_read) in [
        (json!(null), true),
        (json!(""), true),
        (json!("null"), true),
        (json!([]), true),
        (json!("[]"), true),
        (json!({}), true),
        (json!([1]), false),
        (json!(["a"]), false),
        (json!(3), false),
        (json!(true), false),
        (json!("true"), false),
        (json!("3.5"), false),
        (json!("city=Oslo"), false),
        (json!("[{\"a\": 1}]"), false),
    ] {
        let message = json!({"tool_calls": [call(arguments.clone())]});
        let streamed = streamed(format!("data: {}\n\ndata: {END}\n\n", chunk(message.clone()))).await;
        let whole = whole(json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]})).await;
        for response in [streamed, whole] {
            let code = response.error_code.as_deref();
            assert_eq!(code, (!is_read).then_some("MALFORMED_FUNCTION_CALL"), "{arguments}");
            assert_eq!(response.function_calls().count(), usize::from(is_read), "{arguments}");
        }
    }
}

#[tokio::test]
async fn words_for_the_end_may_be_odd() {
    let text = chunk(json!({"content": "Hi"}));
    for (reason, code) in [
        (json!("stop\n"), None),
        (json!(" STOP "), None),
        (json!({"type": "stop"}), None),
        (json!("FINISH_REASON_STOP"), None),
        (json!("Length"), Some("MAX_TOKENS")),
        (json!("FINISH_REASON_MAX_TOKENS"), Some("MAX_TOKENS")),
    ] {
        let end = json!({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": reason}]});
        let response = streamed(format!("data: {text}\n\ndata: {end}\n\n")).await;
        assert_eq!(response.error_code.as_deref(), code, "{reason}");
        assert_eq!(parts(&response), json!([{"text": "Hi"}]), "{reason}");
    }
}

#[tokio::test]
async fn an_error_is_one_wherever_it_is_written() {
    let text = chunk(json!({"content": "Hi"}));
    for body in [
        json!({"error": {"message": "the reason"}}),
        json!({"Error": {"Message": "the reason"}}),
        json!({"choices": [], "error": "the reason"}),
        json!({"choices": [{"index": 0, "finish_reason": "error", "error": {"msg": "the reason"}}]}),
        json!({"choices": [{"message": {"content": null}, "Error": "the reason"}]}),
        json!({"choices": null, "base_resp": {"status_code": 1004, "status_msg": "the reason"}}),
        json!({"choices": [], "base_resp": {"status_code": "2013", "status_msg": "the reason"}}),
        json!({"choices": null, "code": 500, "msg": "the reason", "success": false}),
        json!({"error_code": 336_003, "error_msg": "the reason"}),
        json!({"type": "about:blank", "title": "the reason", "status": 503}),
        json!({"status": 400, "reason": "the reason"}),
    ] {
        for reply in [Reply::json("200 OK", &body), Reply::sse(format!("data: {text}\n\ndata: {body}\n\n"))] {
            for streaming in [false, true] {
                let server = Server::start([reply.clone()]).await;
                let text = error(&at(&server, openai("m"), "/v1"), &once(), streaming).await.to_string();
                assert!(text.contains(": the reason;") && !text.contains("base URL"), "{body}: {text}");
            }
        }
    }
}

/// A stream of very many parts is refused. Its time and memory are proportional to its size.
#[tokio::test]
async fn the_parts_of_an_answer_are_bounded() {
    let block = |index: usize| {
        let event =
            json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": "x"}});
        format!("event: content_block_start\ndata: {event}\n\n")
    };
    let thinking = |index: usize| match index % 2 {
        0 => format!("data: {}\n\n", chunk(json!({"content": [{"type": "thinking", "thinking": "x"}]}))),
        _ => format!("data: {}\n\n", chunk(json!({"content": "x"}))),
    };
    let candidate = |index: usize| {
        let part = json!({"text": "x", "thought": index.is_multiple_of(2)});
        format!("data: {}\n\n", json!({"candidates": [{"content": {"parts": [part]}}]}))
    };
    let many = |event: &dyn Fn(usize) -> String| -> String { (0..10_100).map(event).collect() };
    let pieces: Vec<Value> = (0..20_200)
        .map(|index| if index % 2 == 0 { json!("x") } else { json!({"type": "thinking", "thinking": "x"}) })
        .collect();
    let in_one = format!("data: {}\n\n", chunk(json!({"content": pieces})));
    for (builder, path, body) in [
        (anthropic("m"), "", many(&block)),
        (openai("m"), "/v1", many(&thinking)),
        (openai("m"), "/v1", in_one),
        (gemini("m"), "", many(&candidate)),
    ] {
        let server = Server::start([Reply::sse(body)]).await;
        let error = error(&at(&server, builder, path), &once(), true).await;
        assert_eq!(error.kind(), ModelErrorKind::InvalidResponse);
        assert!(error.to_string().contains("more than 10000"), "{error}");
    }
    let message = json!({"content": pieces});
    let server = Server::start([Reply::json("200 OK", &json!({"choices": [{"message": message}]}))]).await;
    let error = error(&at(&server, openai("m"), "/v1"), &once(), false).await;
    assert!(error.to_string().contains("more than 10000"), "{error}");
}

#[tokio::test]
async fn small_texts_of_one_kind_are_one_part() {
    let begin = format!("data: {}\n\n", chunk(json!({"content": [{"type": "text", "text": "x"}, "y"]})));
    let response = streamed(format!("{}data: {END}\n\n", begin.repeat(20_000))).await;
    assert_eq!(parts(&response), json!([{"text": "xy".repeat(20_000)}]));
}

#[tokio::test]
async fn a_document_of_very_many_small_values_is_refused_before_it_is_read() {
    let body = format!("{{\"choices\": [{}]}}", vec!["{\"a\":1}"; 1 << 20].join(","));
    for reply in [
        Reply::new("200 OK", "content-type: application/json\r\n", body.as_bytes()),
        Reply::sse(format!("data: {body}\n\n")),
    ] {
        let server = Server::start([reply]).await;
        let error = error(&at(&server, openai("m"), "/v1"), &once(), true).await;
        assert!(error.to_string().contains("too many values"), "{error}");
    }
}
