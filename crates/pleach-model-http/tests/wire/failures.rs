//! Tests of the messages of failures, in any kind of body, which are handled alike for every provider.

use pleach_model::ModelErrorKind;
use pleach_model_http::{anthropic, gemini, openai};
use serde_json::{Value, json};

use crate::server::{Reply, Server};
use crate::support::{KEY, all, at, error, with_config};

fn once() -> pleach_model::LlmRequest {
    with_config(json!({"httpOptions": {"retryOptions": {"attempts": 1}}}))
}

/// Bodies of errors, and the text that is shown of each.
fn bodies() -> Vec<(Value, &'static str)> {
    let entry = json!({"loc": ["body", "messages", 0], "msg": "field required", "type": "value_error"});
    vec![
        (json!({"error": {"message": "the reason", "type": "t"}}), "the reason"),
        (json!({"error": "the reason"}), "the reason"),
        (json!([{"error": {"message": "the reason"}}]), "the reason"),
        (json!({"message": "the reason", "code": "ctx"}), "the reason"),
        (json!({"detail": "the reason"}), "the reason"),
        (json!({"detail": [entry]}), "body.messages.0: field required"),
        (json!({"errors": [{"message": "the reason", "code": 7}], "success": false}), "the reason"),
        (json!({"object": "error", "message": "the reason"}), "the reason"),
        (json!({"Message": "the reason"}), "the reason"),
        (json!({"MESSAGE": "the reason"}), "the reason"),
        (json!({"__type": "ValidationException", "Message": "the reason"}), "the reason"),
        (json!({"error": {"msg": "the reason"}}), "the reason"),
        (json!({"error": {"Message": "the reason"}}), "the reason"),
        (json!({"Error": {"reason": "the reason"}}), "the reason"),
        (json!({"msg": "the reason", "code": 1302}), "the reason"),
        (json!({"error_msg": "the reason", "error_code": 17}), "the reason"),
        (json!({"errorMsg": "the reason"}), "the reason"),
        (json!({"error": "invalid", "error_description": "the reason"}), "invalid: the reason"),
        (json!({"error": true, "reason": "the reason"}), "the reason"),
        (json!({"reason": "the reason"}), "the reason"),
        (json!({"title": "the reason", "status": 400}), "the reason"),
        (json!({"title": "Bad", "detail": "the reason", "status": 400}), "Bad: the reason"),
        (json!({"base_resp": {"status_code": 1004, "status_msg": "the reason"}}), "the reason"),
        (json!({"error": {"code": 7}, "detail": "the reason"}), "the reason"),
    ]
}

#[tokio::test]
async fn the_reason_in_the_body_of_an_error_is_shown() {
    for (body, reason) in bodies() {
        for (builder, path) in [(openai("m"), "/v1"), (anthropic("m"), ""), (gemini("m"), "")] {
            let server = Server::start([Reply::json("400 Bad Request", &body), Reply::json("422 No", &body)]).await;
            let model = at(&server, builder, path);
            for (streaming, status) in [(false, 400), (true, 422)] {
                let error = error(&model, &once(), streaming).await;
                assert_eq!((error.status(), error.kind()), (Some(status), ModelErrorKind::InvalidRequest));
                let text = error.to_string();
                assert!(text.contains(&format!(": {reason};")) && !text.contains("base URL"), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn the_reason_of_a_failure_in_a_200_or_a_stream_is_shown() {
    for (body, reason) in bodies() {
        let replies = [
            (Reply::json("200 OK", &body), false),
            (Reply::json("200 OK", &body), true),
            (Reply::sse(format!("data: {body}\n\n")), true),
            (Reply::sse(format!("event: error\ndata: {body}\n\n")), true),
            // Some servers send a whole document in the middle of a stream.
            (Reply::sse(format!("{body:#}\n")), true),
        ];
        // A reason in a member that other events also have is only understood if there is a status.
        let is_certain = body.get("reason").is_none();
        for (reply, streaming) in replies.into_iter().filter(|_| body.is_object() && is_certain) {
            for (builder, path) in [(openai("m"), "/v1"), (anthropic("m"), ""), (gemini("m"), "")] {
                let server = Server::start([reply.clone()]).await;
                let text = error(&at(&server, builder, path), &once(), streaming).await.to_string();
                assert!(text.contains(&format!(": {reason};")) && !text.contains("base URL"), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn an_error_event_of_any_shape_ends_a_stream() {
    let begin = format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "Hel"}}]}));
    for (event, said, status) in [
        ("event: error\ndata: upstream timed out\n\n", "upstream timed out", None),
        ("event: error\ndata: {\"foo\": 1}\n\n", "{\"foo\": 1}", None),
        ("event: error\n\n", "the call failed", None),
        ("data: {\"choices\": [{\"error\": {\"code\": 502, \"message\": \"gone\"}}]}\n\n", "gone", Some(502)),
        ("{\n \"error\": {\n  \"code\": 503, \"message\": \"gone\"\n }\n}\n", "gone", Some(503)),
        ("data: [{\"error\": {\"code\": 503, \"message\": \"gone\"}}]\n\n", "gone", Some(503)),
        ("data: worker died\n\n", "not JSON: worker died", None),
    ] {
        let server = Server::start([Reply::sse(format!("{begin}{event}"))]).await;
        let (responses, error) = all(&at(&server, openai("m"), "/v1"), &once(), true).await.unwrap_err();
        assert_eq!((responses.len(), error.status()), (1, status), "{event}: {error}");
        assert!(error.to_string().contains(said) && !error.to_string().contains("base URL"), "{error}");
    }
}

#[tokio::test]
async fn the_address_is_doubted_only_where_no_server_of_models_answers() {
    let page = Reply::new("200 OK", "content-type: text/html\r\n", b"<html>Log in</html>");
    let odd = |status: &str| Reply::json(status, &json!({"status": "up", "version": 3}));
    for (reply, is_doubted) in [
        (page, true),
        (Reply::new("400 Bad Request", "", b"<!DOCTYPE html><title>400</title>"), true),
        (odd("200 OK"), true),
        (odd("400 Bad Request"), true),
        (odd("404 Not Found"), true),
        (Reply::json("404 Not Found", &json!({"detail": "Not Found"})), true),
        (Reply::new("404 Not Found", "", b"404 page not found\n"), true),
        (Reply::new("200 OK", "", b"It works!"), true),
        (Reply::json("200 OK", &json!({"choices": [], "usage": {}})), false),
        (Reply::json("200 OK", &json!({"title": "Dashboard", "description": "Sign in first."})), true),
        (Reply::json("404 Not Found", &json!({"error": "model 'x' not found, try pulling it first"})), false),
        (Reply::json("404 Not Found", &json!({"detail": "The model `x` does not exist"})), false),
        (Reply::new("404 Not Found", "", b"The model `x` does not exist"), false),
        (Reply::json("200 OK", &json!({"error": {"foo": 1}})), false),
        (Reply::new("400 Bad Request", "content-type: text/plain\r\n", b"prompt is too long: 9999 tokens"), false),
        (Reply::new("200 OK", "content-type: application/json\r\n", b"{\"choices\": ["), false),
    ] {
        let server = Server::start([reply.clone()]).await;
        let text = error(&at(&server, openai("m"), "/v1"), &once(), false).await.to_string();
        assert_eq!(text.contains("base URL"), is_doubted, "{reply:?}: {text}");
    }
}

#[tokio::test]
async fn the_words_of_an_error_are_short_and_hide_the_key() {
    let long = format!("{KEY} is over its limit. {}", "x".repeat(5_000));
    for body in [long.clone(), json!({"detail": [{"msg": long}]}).to_string(), json!({"odd": long}).to_string()] {
        let replies = [
            (Reply::new("400 Bad Request", "", body.as_bytes()), false),
            (Reply::sse(format!("event: error\ndata: {body}\n\n")), true),
            (Reply::sse(format!("data: {long}\n\n")), true),
            (Reply::new("200 OK", "", long.as_bytes()), false),
        ];
        for (reply, streaming) in replies {
            let server = Server::start([reply]).await;
            let text = error(&at(&server, openai("m"), "/v1"), &once(), streaming).await.to_string();
            assert!(text.contains("is over its limit") && text.chars().count() < 500, "{text}");
            assert!(!text.contains("hush"), "{text}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_no_stream_is_not_an_empty_answer() {
    for (builder, path) in [(openai("m"), "/v1"), (anthropic("m"), ""), (gemini("m"), "")] {
        let model_replies = [
            Reply::new("200 OK", "content-type: text/plain\r\n", b"Service is down"),
            Reply::new("200 OK", "", b"<html>Log in with a secret</html>"),
        ];
        let server = Server::start(model_replies).await;
        let model = at(&server, builder, path);
        for said in ["not a stream of events: Service is down;", "not a stream of events;"] {
            let error = error(&model, &once(), true).await;
            assert_eq!(error.kind(), ModelErrorKind::InvalidResponse);
            let text = error.to_string();
            assert!(
                text.contains(said) && text.contains("check that the base URL") && !text.contains("secret"),
                "{text}"
            );
        }
    }
}
