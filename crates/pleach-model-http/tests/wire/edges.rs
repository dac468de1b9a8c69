//! Tests of failures on the wire, which are handled alike for every provider.

use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use pleach_contract::{CountedIds, TestClock};
use pleach_model::{LlmResponse, Model as _, ModelCall, ModelErrorKind, ModelWait};
use pleach_model_http::openai;
use serde_json::json;

use crate::server::{Reply, Server};
use crate::support::{KEY, all, all_by, ask, at, error, last, with_config};

fn text(text: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}))
}

fn sunny() -> Reply {
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    Reply::sse(format!("{}data: {end}\n\ndata: [DONE]\n\n", text("Sunny.")))
}

fn failure(status: &str, headers: &str) -> Reply {
    Reply::new(status, headers, br#"{"error": {"message": "no", "type": "t", "code": "c"}}"#)
}

#[tokio::test]
async fn a_429_is_waited_for_as_long_as_the_provider_asks() {
    let date = "retry-after: Fri, 15 Jan 2027 08:00:09 GMT\r\n";
    let replies = [failure("429 Too Many Requests", "retry-after: 7\r\n"), failure("503 Busy", date), sunny()];
    let server = Server::start(replies).await;
    let model = at(&server, openai("m").first_byte_timeout(Duration::MAX), "/v1");
    let clock = clock_of_waits();
    let responses = all_by(&model, &ask("hi"), true, &clock).await.unwrap();
    assert_eq!(responses.last().unwrap().content.as_ref().unwrap().text(), "Sunny.");
    assert_eq!(waits(&clock), [7, 9]);
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn each_wait_is_reported_to_the_caller_before_it_begins() {
    let replies =
        [failure("429 Too Many Requests", "retry-after: 7\r\n"), failure("503 Busy", "retry-after: 9\r\n"), sunny()];
    let server = Server::start(replies).await;
    let model = at(&server, openai("m").first_byte_timeout(Duration::MAX), "/v1");
    let (clock, request, ids) = (clock_of_waits(), ask("hi"), CountedIds::new());
    let heard = std::sync::Mutex::new(Vec::new());
    let hear = |wait: &ModelWait<'_>| {
        let begun = waits(&clock).len();
        heard.lock().unwrap().push((
            wait.model.to_owned(),
            wait.error.status(),
            wait.wait.as_secs(),
            wait.attempts,
            begun,
        ));
    };
    let responses: Vec<_> = model.generate(ModelCall::new(&request, &clock).ids(&ids).on_wait(&hear)).collect().await;
    assert_eq!(responses.len(), 1);
    let expected = [("m".to_owned(), Some(429), 7, 1, 0), ("m".to_owned(), Some(503), 9, 2, 1)];
    assert_eq!(*heard.lock().unwrap(), expected);
}

#[tokio::test]
async fn l215_an_error_says_status_name_message_and_wait() {
    let server = Server::start([failure("429 Too Many Requests", "retry-after: 3600\r\n")]).await;
    let error = error(&at(&server, openai("m"), "/v1"), &ask("hi"), false).await;
    assert_eq!((error.status(), error.kind()), (Some(429), ModelErrorKind::RateLimited));
    assert_eq!(error.to_string(), "model `m` refused the call (429 c): too many requests: no; try again after 3600 s");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_500_is_tried_again_as_often_as_the_request_says() {
    let request =
        with_config(json!({"httpOptions": {"retryOptions": {"attempts": 2, "initialDelay": 4, "jitter": 0}}}));
    let server = Server::start([failure("500 Oops", ""), failure("500 Oops", "")]).await;
    let model = at(&server, openai("m").first_byte_timeout(Duration::MAX), "/v1");
    let clock = clock_of_waits();
    let (_, error) = all_by(&model, &request, false, &clock).await.unwrap_err();
    assert_eq!((error.status(), server.requests().len()), (Some(500), 2));
    assert_eq!(waits(&clock), [4]);
}

#[tokio::test]
async fn nothing_is_tried_again_after_a_fragment() {
    let cut = Reply::sse(format!("{}{}", text("Su"), text("nny."))).cut_at(150);
    let server = Server::start([cut, sunny()]).await;
    let (responses, error) = all(&at(&server, openai("m"), "/v1"), &ask("hi"), true).await.unwrap_err();
    assert_eq!((responses.len(), error.kind()), (1, ModelErrorKind::StreamCut));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_200_with_an_error_body_is_an_error() {
    let body = json!({"error": {"message": "overloaded", "code": 529}});
    let options = json!({"httpOptions": {"retryOptions": {"attempts": 1}}});
    let event = Reply::sse(format!("{}data: {body}\n\n", text("Su")));
    let server = Server::start([Reply::json("200 OK", &body), Reply::json("200 OK", &body), event]).await;
    let model = at(&server, openai("m"), "/v1");
    for streaming in [false, true, true] {
        let (_, error) = all(&model, &with_config(options.clone()), streaming).await.unwrap_err();
        assert_eq!((error.status(), error.kind()), (Some(529), ModelErrorKind::Unavailable));
    }
}

#[tokio::test]
async fn what_is_no_answer_is_refused_and_not_shown() {
    let html = b"<html>a login page with a secret</html>";
    let replies = [
        (Reply::new("200 OK", "", html), false),
        (Reply::new("200 OK", "content-type: text/html; charset=utf-8\r\n", html), true),
        (Reply::json("200 OK", &json!({"choices": []})), false),
        (Reply::sse("data: not json\n\ndata: [DONE]\n\n"), true),
    ];
    for (reply, streaming) in replies {
        let server = Server::start([reply]).await;
        let error = error(&at(&server, openai("m"), "/v1"), &ask("hi"), streaming).await;
        assert_eq!(error.kind(), ModelErrorKind::InvalidResponse, "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_or_event_that_is_too_large_is_refused() {
    let long = "x".repeat(2_000_000);
    let replies = [
        (Reply::sse(format!("{}data: {long}", text("Su"))).hold(), true),
        (Reply::json("200 OK", &json!({"choices": long})), false),
    ];
    for (reply, streaming) in replies {
        let server = Server::start([reply]).await;
        let model = at(&server, openai("m").max_response_bytes(4_000), "/v1");
        let error = error(&model, &ask("hi"), streaming).await;
        assert!(
            error.to_string().contains("more than 4000 bytes; allow more with `.max_response_bytes(…)`"),
            "{error}"
        );
    }
    // A long stream of small events is not too large.
    let many: String = (0..200).map(|_| text("0123456789")).collect();
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let server = Server::start([Reply::sse(format!("{many}data: {end}\n\n"))]).await;
    let model = at(&server, openai("m").max_response_bytes(4_000), "/v1");
    assert_eq!(last(&model, &ask("hi"), true).await.content.unwrap().text().len(), 2_000);
}

#[tokio::test]
async fn a_slow_first_byte_and_a_silent_stream_are_timeouts() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let first = text("Su");
    let silent = format!("{head}{:x}\r\n{first}\r\n", first.len());
    for (reply, fragments, limit, option) in [
        (Reply::raw("").hold(), 0, 30, "no answer began within 30 s; allow more with `.first_byte_timeout(…)`"),
        (Reply::raw(&silent).hold(), 1, 20, "no content came for 20 s; allow more with `.idle_timeout(…)`"),
        (
            Reply::raw(&silent).hold(),
            1,
            3_600,
            "the answer was not whole after 3600 s; allow more with `.total_timeout(…)`",
        ),
    ] {
        let server = Server::start([reply]).await;
        let builder = openai("m").first_byte_timeout(Duration::from_secs(30)).idle_timeout(Duration::from_secs(20));
        let model = at(&server, builder, "/v1");
        let clock = TestClock::new();
        let request = ask("hi");
        let mut stream = model.generate(ModelCall::new(&request, &clock).streaming(true));
        for _ in 0..fragments {
            assert_eq!(stream.next().await.unwrap().unwrap().content.unwrap().text(), "Su");
        }
        let mut next = stream.next();
        while server.requests().is_empty() {
            assert!((&mut next).now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        assert!((&mut next).now_or_never().is_none());
        // Limits that were kept have no sleep left.
        assert!(clock.end_sleeps_of(Duration::from_secs(limit)) > 0);
        let error = next.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Timeout, "{error}");
        assert!(error.to_string().contains(option), "{error}");
        server.closed().await;
    }
}

#[tokio::test]
async fn the_body_of_an_error_is_waited_for_as_a_whole() {
    let head = "HTTP/1.1 500 Oops\r\ncontent-length: 1000\r\n\r\n";
    let body = json!({"error": {"message": "no"}}).to_string();
    // The server sends the whole error, or a part of it, byte by byte, and keeps the connection open.
    for (text, message) in [(body.as_str(), true), (&body[..20], false)] {
        let server = Server::start([Reply::raw(head).then_pieces(text).hold()]).await;
        let model = at(&server, openai("m"), "/v1");
        let clock = TestClock::new();
        let request = with_config(json!({"httpOptions": {"retryOptions": {"attempts": 1}}}));
        let mut stream = model.generate(ModelCall::new(&request, &clock));
        let mut next = stream.next();
        while !server.has_sent() {
            assert!((&mut next).now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        for _ in 0..100 {
            assert!((&mut next).now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        assert_eq!(clock.end_sleeps_of(Duration::from_secs(5)), 1);
        let error = next.await.unwrap().unwrap_err();
        assert_eq!((error.status(), error.to_string().contains(": no;")), (Some(500), message), "{error}");
    }
}

#[tokio::test]
async fn l232_the_time_of_a_request_is_limited_as_a_whole() {
    let server = Server::start([Reply::raw("").hold()]).await;
    let model = at(&server, openai("m"), "/v1");
    let request = with_config(json!({"httpOptions": {"timeout": 1_500}}));
    // Every sleep of this clock ends at once.
    let clock = TestClock::skipping();
    let (_, error) = all_by(&model, &request, false, &clock).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Timeout);
}

#[tokio::test]
async fn a_dropped_stream_closes_the_connection() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 100000\r\n\r\n";
    for reply in [Reply::raw(format!("{head}{}", text("Su"))).hold(), Reply::raw("").hold()] {
        let server = Server::start([reply]).await;
        let model = at(&server, openai("m"), "/v1");
        let clock = TestClock::new();
        let request = ask("hi");
        let mut stream = model.generate(ModelCall::new(&request, &clock).streaming(true));
        while server.requests().is_empty() {
            let _ = stream.next().now_or_never();
            tokio::task::yield_now().await;
        }
        drop(stream);
        server.closed().await;
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Server::start([sunny()]).await;
    let location = format!("location: {}/v1/chat/completions?token=hush\r\n", other.url);
    let server = Server::start([Reply::new("307 Temporary Redirect", &location, b"")]).await;
    let error = error(&at(&server, openai("m"), "/v1"), &ask("hi"), false).await;
    assert!(error.to_string().contains("redirects to another address: set the base URL"), "{error}");
    assert!(!error.to_string().contains("hush"), "{error}");
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_named_as_such() {
    let model = openai("m").base_url("http://127.0.0.1:1/v1").key(KEY).build().unwrap();
    let request = with_config(json!({"httpOptions": {"retryOptions": {"attempts": 1}}}));
    let error = error(&model, &request, false).await;
    assert_eq!(error.kind(), ModelErrorKind::Unreachable);
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn no_error_shows_the_key() {
    let message = format!("Incorrect API key provided: {KEY}");
    for status in ["400 Bad Request", "401 Unauthorized", "403 Forbidden"] {
        let server = Server::start([Reply::json(status, &json!({"error": {"message": message}}))]).await;
        let model = at(&server, openai("m"), "/v1");
        let error = error(&model, &ask("hi"), false).await;
        assert!(!format!("{error} {error:?} {model:?}").contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn no_error_shows_a_credential_or_a_header_in_message_or_name() {
    let request = with_config(json!({"httpOptions": {
        "headers": {"x-user-token": "tok-hush-1", "Proxy-Authorization": "Basic aHVzaA-hush"},
        "retryOptions": {"attempts": 1},
    }}));
    for secret in ["or-hush-abcdef", "Bearer or-hush-abcdef", "tok-hush-1", "aHVzaA-hush", "blue-hush", "query-hush"] {
        let said = format!("key {secret} is over its limit");
        for error_body in [
            json!({"message": said}),
            json!({"message": "m", "code": said}),
            json!({"message": "m", "status": said}),
            json!({"message": "m", "type": said}),
        ] {
            let body = json!({"error": error_body});
            let replies = [
                (Reply::json("403 Forbidden", &body), false),
                (Reply::json("429 Slow", &body), true),
                (Reply::json("200 OK", &body), false),
                (Reply::sse(format!("data: {body}\n\n")), true),
            ];
            for (reply, streaming) in replies {
                let server = Server::start([reply]).await;
                let model = openai("m")
                    .base_url(format!("{}/v1?sig=query-hush", server.url))
                    .header("Authorization", "Bearer or-hush-abcdef")
                    .header("x-team", "blue-hush");
                let error = error(&model.build().unwrap(), &request, streaming).await;
                let shown = format!("{error} {error:?} {}", error.code());
                assert!(!shown.contains("hush"), "{shown}");
            }
        }
    }
}

#[tokio::test]
async fn the_providers_name_of_a_failure_is_short() {
    let body = json!({"error": {"message": "m", "code": "word \n".repeat(1_000)}});
    let server = Server::start([Reply::json("400 Bad Request", &body)]).await;
    let error = error(&at(&server, openai("m"), "/v1"), &ask("hi"), false).await;
    assert!(error.code().starts_with("word word") && error.code().chars().count() <= 65, "{error:?}");
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Server::start([sunny(), sunny()]).await;
    let model = at(&server, openai("m"), "/v1");
    let count = |responses: Vec<LlmResponse>| responses.len();
    assert_eq!(count(all(&model, &ask("hi"), true).await.unwrap()), 2);
    assert_eq!(count(all(&model, &ask("hi"), true).await.unwrap()), 2);
    assert_eq!(server.connections(), 1);
}

/// Returns a clock that ends sleeps between attempts at once. Everything else is a time-out.
pub(crate) fn clock_of_waits() -> TestClock {
    TestClock::skipping_only(is_wait)
}

/// Returns the sleeps between attempts, in seconds.
pub(crate) fn waits(clock: &TestClock) -> Vec<u64> {
    clock.sleeps().into_iter().filter(|sleep| is_wait(*sleep)).map(|sleep| sleep.as_secs()).collect()
}

fn is_wait(duration: Duration) -> bool {
    [4, 7, 9].contains(&duration.as_secs())
}
