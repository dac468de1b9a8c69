//! The responses that models get from the answers of servers, and from servers that do not answer.

use std::sync::Arc;
use std::time::Duration;

use pleach::openapi::{OpenApiToolset, OpenApiToolsetBuilder};
use pleach::prelude::*;
use pleach_contract::TestClock;
use serde_json::{Value, json};

use crate::server::{Answer, Server};
use crate::support::{call, document, drain, runner};

fn paths() -> Value {
    json!({"/a": {"get": {"operationId": "f"}}})
}

fn builder(server: &Server) -> OpenApiToolsetBuilder {
    OpenApiToolset::builder(document(paths())).base_url(server.url())
}

/// Returns the response that a model gets for an answer.
async fn response(answer: Answer) -> Value {
    let server = Server::start(move |_| answer.clone()).await;
    call(&builder(&server).build().unwrap(), "f", json!({})).await
}

fn raw(answer: &str) -> Answer {
    Answer::Bytes(answer.as_bytes().to_vec())
}

#[tokio::test]
async fn answers_are_json_or_text() {
    for (content_type, body, expected) in [
        ("application/json", &b"{\"a\": [1]}"[..], json!({"a": [1]})),
        ("application/json", b"[1]", json!({"result": [1]})),
        ("application/json", b"{\"a\": ", json!({"text": "{\"a\": "})),
        ("text/plain", b"hello", json!({"text": "hello"})),
        ("text/plain", b"gr\xf6\xdfe", json!({"text": "gr\u{fffd}\u{fffd}e"})),
        ("application/json", b"\"a\\u0000b\"", json!({"result": "a\u{fffd}b"})),
        ("application/json", b"{\"a\": \"x\\ud83d\", \"b\": NaN}", json!({"a": "x\u{fffd}", "b": null})),
        ("application/json", b"{\"a\": \"x\xff\ny\"}", json!({"a": "x\u{fffd}\ny"})),
        ("application/json", b"[1234567890123456789012345]", json!({"result": ["1234567890123456789012345"]})),
        ("text/plain", b"NaN", json!({"text": "NaN"})),
        (
            "application/zip",
            b"PK\xff\x00",
            json!({"error": "GET /a answered with 4 bytes of application/zip, which cannot be shown"}),
        ),
        // A provider would refuse every later request that contains bytes that are not a picture.
        (
            "image/png",
            b"\xff\x00",
            json!({"error": "GET /a answered with 2 bytes of image/png, which cannot be shown"}),
        ),
        (
            "image/x-evil",
            b"\xff\x00",
            json!({"error": "GET /a answered with 2 bytes of image/x-evil, which cannot be shown"}),
        ),
    ] {
        assert_eq!(response(Answer::of("200 OK", content_type, body)).await, expected);
    }
    assert_eq!(response(raw("HTTP/1.1 204 No Content\r\n\r\n")).await, json!({"text": ""}));
}

#[tokio::test]
async fn pictures_are_media() {
    let server = Server::start(|_| Answer::of("200 OK", "image/png", b"\x89PNG\r\n\x1a\n\xff")).await;
    let model = ScriptedModel::calling("f", json!({})).then_text("A cat.");
    let runner = runner(&model, &builder(&server).build().unwrap());
    drain(runner.run("ana", "s1", "go")).await;
    let last = model.requests()[1].contents.last().unwrap().clone();
    let response = last.function_responses().next().unwrap();
    assert_eq!(Value::from(response.response.clone().unwrap()), json!({"content_type": "image/png", "bytes": 9}));
    assert_eq!(response.parts.as_ref().unwrap().len(), 1);
}

#[tokio::test]
async fn an_error_has_its_status_and_a_bounded_body() {
    let found = response(Answer::of("404 Not Found", "application/json", br#"{"detail": "no pet"}"#)).await;
    assert_eq!(found, json!({"error": "GET /a answered 404 Not Found", "status": 404, "body": {"detail": "no pet"}}));
    let found = response(Answer::of("500 Internal Server Error", "text/html", "ö".repeat(500_000).as_bytes())).await;
    let body = found["body"].as_str().unwrap();
    assert!(body.len() <= 4_100 && body.ends_with('…'), "{}", body.len());
    // The body of an error may be cut short.
    let found = response(raw("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 100\r\n\r\nupstream")).await;
    assert_eq!((&found["status"], &found["body"]), (&json!(502), &json!("upstream…")));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let other = Server::start(|_| Answer::json("{}")).await;
    let answer = format!("HTTP/1.1 302 Found\r\nlocation: {}/b?token=hush\r\ncontent-length: 0\r\n\r\n", other.url());
    let found = response(raw(&answer)).await;
    let expected = json!({"error": "GET /a answered 302 Found", "status": 302, "location": format!("{}/b", other.url()), "body": ""});
    assert_eq!((found, other.requests().len()), (expected, 0));
}

#[tokio::test]
async fn hostile_answers_are_errors_that_the_model_sees() {
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    for (answer, expected) in [
        (
            raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"a\":"),
            "the connection broke before the answer was complete",
        ),
        (raw(""), "the connection broke"),
        (raw("nonsense\r\n\r\n"), "the connection broke"),
        (Answer::of("200 OK", "application/json", &vec![b' '; 2 << 20]), "the answer is larger than 1048576 bytes"),
        (raw(&format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(2 << 20))), "the answer is larger than 1048576 bytes"),
    ] {
        let found = response(answer).await;
        assert!(found["error"].as_str().is_some_and(|error| error.contains(expected)), "{expected}: {found}");
    }
    assert_eq!(response(Answer::json(&nested)).await, json!({"text": nested}));
    // Values nested deeper than any store takes become text.
    let server = Server::start(move |_| Answer::json(&deep)).await;
    let model = ScriptedModel::calling("f", json!({})).then_text("Deep.");
    let runner = runner(&model, &builder(&server).build().unwrap());
    assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "Deep.");
}

#[tokio::test]
async fn an_unreachable_server_fails_only_the_call() {
    let server = Server::start(|_| Answer::json("{}")).await;
    let toolset = builder(&server).build().unwrap();
    let url = server.url();
    drop(server);
    while tokio::net::TcpStream::connect(url.trim_start_matches("http://")).await.is_ok() {
        tokio::task::yield_now().await;
    }
    let found = call(&toolset, "f", json!({})).await;
    assert!(found["error"].as_str().unwrap().starts_with("the server cannot be reached"), "{found}");
}

/// Lets all other tasks run until none of them can do more.
async fn yield_often() {
    for _ in 0..300 {
        tokio::task::yield_now().await;
    }
}

// The status is already known, so a body that does not end is awaited for five seconds, and not for the time of the
// call.
#[tokio::test]
async fn the_body_of_an_error_is_waited_for_five_seconds() {
    let head = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 100\r\n\r\nout of";
    let server = Server::start(move |_| Answer::Held(head.as_bytes().to_vec())).await;
    let clock = TestClock::new();
    let toolset = builder(&server).clock(Arc::new(clock.clone())).build().unwrap();
    let mut found = std::pin::pin!(call(&toolset, "f", json!({})));
    let mut rounds = 0;
    let found = loop {
        rounds += 1;
        assert!(rounds < 1_000, "the call does not end");
        tokio::select! {
            found = &mut found => break found,
            () = yield_often() => { clock.end_sleeps_of(Duration::from_secs(5)); }
        }
    };
    assert_eq!((&found["status"], &found["body"]), (&json!(500), &json!("out of…")));
}

#[tokio::test]
async fn a_slow_server_costs_its_time_out() {
    let came = Arc::new(tokio::sync::Notify::new());
    let clock = TestClock::new();
    let server = Server::start({
        let came = Arc::clone(&came);
        move |_| {
            came.notify_one();
            Answer::Silence
        }
    });
    let server = server.await;
    let toolset = builder(&server).timeout(Duration::from_secs(5)).clock(Arc::new(clock.clone())).build().unwrap();
    let elapsed = async {
        came.notified().await;
        clock.end_sleeps_of(Duration::from_secs(5))
    };
    let (found, ended) = tokio::join!(call(&toolset, "f", json!({})), elapsed);
    assert_eq!(ended, 1);
    assert_eq!(found["error"], "the server did not answer within 5 s; whether the call took effect is not known");
}

#[tokio::test]
async fn a_call_is_measured_by_the_clock_of_its_invocation() {
    let server = Server::start(|_| Answer::Silence).await;
    let toolset = builder(&server).timeout(Duration::from_secs(7)).build().unwrap();
    let clock = TestClock::new();
    let model = ScriptedModel::calling("f", json!({})).then_text("Too late.");
    let agent = LlmAgent::builder("helper").model(model).toolset(toolset).build().unwrap();
    let runner = Runner::builder("demo").root(agent).clock(clock.clone()).build().unwrap();
    let mut drained = std::pin::pin!(drain(runner.run("ana", "s1", "go")));
    let mut rounds = 0;
    let (responses, ..) = loop {
        rounds += 1;
        assert!(rounds < 1_000, "the call does not end");
        tokio::select! {
            drained = &mut drained => break drained,
            () = yield_often() => { clock.end_sleeps_of(Duration::from_secs(7)); }
        }
    };
    let error = responses[0]["error"].as_str().unwrap();
    assert!(error.starts_with("the server did not answer within 7 s"), "{error}");
}

#[tokio::test]
async fn a_call_waits_for_approval() {
    let server = Server::start(|_| Answer::json("{}")).await;
    let document = document(json!({"/a": {"get": {"operationId": "read"}, "delete": {"operationId": "wipe"}}}));
    let toolset = OpenApiToolset::builder(document).base_url(server.url());
    let toolset = toolset.confirm_if(|operation, _, _| !operation.is_read_only()).build().unwrap();
    let model = ScriptedModel::calling("read", json!({})).then_call("wipe", json!({})).then_text("Gone.");
    let runner = runner(&model, &toolset);
    let (_, questions, _) = drain(runner.run("ana", "s1", "go")).await;
    assert_eq!(server.request().line, "GET /a");
    let run = runner.answer(("ana", "s1"), &questions[0], json!({"confirmed": true})).unwrap();
    assert_eq!(run.reply().await.unwrap(), "Gone.");
    assert_eq!(server.requests()[1].line, "DELETE /a");
}
