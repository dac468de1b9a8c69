//! Tests of answers over HTTP: how they are matched to requests, and what restarted servers reply.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pleach_contract::TestClock;
use pleach_core::Part;
use pleach_mcp::{McpEndpoint, McpError, McpToolset};
use serde_json::{Value, json};

use crate::server::scripted::{self, HttpRequest, Reply, contents, event};

fn toolset(url: &str) -> McpToolset {
    McpToolset::builder(McpEndpoint::new(url)).name("s").build().unwrap()
}

/// Reads a resource, as an example of a request.
async fn read(toolset: &McpToolset) -> Result<Part, McpError> {
    let mut contents = toolset.read_resource("x:1", None).await?;
    Ok(contents.remove(0).part)
}

/// Reads a resource of a server that sends this reply.
async fn read_from(reply: impl Fn(&HttpRequest) -> Reply + Send + Sync + 'static) -> Result<Part, McpError> {
    let server = scripted::serve(move |asked| (asked.method() == "resources/read").then(|| reply(asked))).await;
    read(&toolset(&server.url)).await
}

fn hello() -> Part {
    Part::text("hello")
}

/// The ids that servers put into an answer instead of the request's id.
fn other_ids() -> Vec<Value> {
    vec![json!(0), json!(99), json!("1"), json!("server-error"), json!(null), json!(1.5), json!({}), json!([])]
}

#[tokio::test]
async fn an_answer_belongs_to_its_post_whatever_its_id() {
    for id in other_ids() {
        let message = json!({"jsonrpc": "2.0", "id": id, "result": contents()});
        let without_id = json!({"jsonrpc": "2.0", "result": contents()});
        for message in [message, without_id, json!({"result": contents()})] {
            let batch = json!([{"jsonrpc": "2.0", "method": "notifications/message"}, message]);
            let bodies = [
                ("application/json", message.to_string()),
                ("application/json; charset=utf-8", message.to_string()),
                ("text/plain", message.to_string()),
                ("application/json", batch.to_string()),
                ("application/json", event(&message)),
                ("text/event-stream", message.to_string()),
                (
                    "text/event-stream",
                    format!(": hi\n\nevent: ping\ndata: {{}}\n\ndata\n\ndata: keep-alive\n\n{}", event(&message)),
                ),
                ("Text/Event-Stream;charset=utf-8", format!("\u{feff}event: x\r\ndata: {message}")),
            ];
            for (kind, body) in bodies {
                let shown = body.clone();
                let read = read_from(move |_| Reply::new("200 OK", kind, &body)).await;
                assert_eq!(read, Ok(hello()), "{kind} {shown}");
            }
        }
    }
}

#[tokio::test]
async fn an_error_belongs_to_its_post_whatever_its_id_and_status() {
    for id in other_ids() {
        for status in
            ["200 OK", "400 Bad Request", "404 Not Found", "422 Unprocessable Content", "500 Internal Server Error"]
        {
            let message = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32001, "message": "no such session"}});
            let read = read_from(move |_| Reply::error(status, &message)).await;
            let expected =
                McpError::Refused { server: "s".to_owned(), code: -32001, message: "no such session".to_owned() };
            assert_eq!(read, Err(expected), "{id} {status}");
        }
    }
}

#[tokio::test]
async fn a_post_without_an_answer_is_an_error_at_once() {
    for (status, kind, body, expected) in [
        ("200 OK", "application/json", "", "answered with an empty response"),
        ("200 OK", "application/json", "{}", "answered with neither a result nor an error"),
        ("200 OK", "application/json", "[]", "answered with a response that holds no answer"),
        ("200 OK", "application/json", "null", "answered with a response that holds no answer"),
        (
            "200 OK",
            "application/json",
            r#"{"jsonrpc":"2.0","id":1,"result":{"#,
            "answered with a message that cannot be read",
        ),
        ("200 OK", "text/html", "<html>please log in</html>", "answered with a message that cannot be read"),
        ("200 OK", "text/event-stream", ": nothing\n\n", "the stream of the answer ended before the answer"),
        ("200 OK", "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\n\n", "cannot be read"),
        ("202 Accepted", "text/plain", "", "accepted the request, and has no stream to answer it on"),
        ("204 No Content", "text/plain", "", "accepted the request, and has no stream to answer it on"),
        ("302 Found", "text/plain", "", "HTTP 302"),
        ("400 Bad Request", "text/plain", "no session", "HTTP 400: no session"),
        ("400 Bad Request", "application/json", r#"{"error":"no session"}"#, "HTTP 400: no session"),
        ("404 Not Found", "application/json", r#"{"detail":"no session"}"#, "HTTP 404: no session"),
        ("404 Not Found", "text/html", "<html>nginx</html>", "HTTP 404"),
        ("429 Too Many Requests", "text/plain", "slow down", "HTTP 429"),
        ("503 Service Unavailable", "text/plain", "down", "HTTP 503: down"),
    ] {
        let error = read_from(move |_| Reply::new(status, kind, body)).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{status} {body}: {error}");
    }
}

/// A restarted server. It does not know its earlier sessions.
async fn restarted(refusal: fn(&HttpRequest) -> Reply) -> (scripted::Scripted, Arc<AtomicBool>) {
    let is_new = Arc::new(AtomicBool::new(false));
    let knows = Arc::clone(&is_new);
    let server = scripted::serve(move |asked| {
        let session = if knows.load(Ordering::SeqCst) { "s-2" } else { "s-1" };
        match (asked.method(), asked.header("mcp-session-id")) {
            ("initialize", None) => {
                Some(Reply::json(&asked.answer(scripted::introduction())).with(&format!("mcp-session-id: {session}")))
            }
            (_, Some(of)) if of == session => None,
            _ => Some(refusal(asked)),
        }
    })
    .await;
    (server, is_new)
}

#[tokio::test]
async fn the_call_after_a_restart_fails_and_the_next_one_opens_a_session() {
    let refusals: [fn(&HttpRequest) -> Reply; 8] = [
        |_| Reply::new("404 Not Found", "text/plain", ""),
        |_| Reply::new("404 Not Found", "text/html", "<html>"),
        |_| Reply::new("410 Gone", "text/plain", ""),
        |_| Reply::new("400 Bad Request", "text/plain", "No valid session ID provided"),
        |_| Reply::error("400 Bad Request", &json!({"error": "no session"})),
        |_| {
            Reply::error(
                "404 Not Found",
                &json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32001, "message": "no"}}),
            )
        },
        |asked| Reply::error("400 Bad Request", &json!({"id": asked.id(), "error": {"code": -32000, "message": "no"}})),
        |_| Reply::error("400 Bad Request", &json!({"id": "server-error", "error": {"code": -32600, "message": "no"}})),
    ];
    for (number, refusal) in refusals.into_iter().enumerate() {
        let (server, is_new) = restarted(refusal).await;
        let toolset = toolset(&server.url);
        // Each restart costs one call, and is not treated as a failure to reach the server.
        for _ in 0..4 {
            assert_eq!(read(&toolset).await, Ok(hello()), "{number}");
            is_new.fetch_xor(true, Ordering::SeqCst);
            read(&toolset).await.unwrap_err();
            assert_eq!(read(&toolset).await, Ok(hello()), "{number}");
        }
        assert_eq!(server.count("initialize"), 5, "{number}");
        assert_eq!(server.count("resources/read"), 12, "no call is sent twice: {number}");
    }
}

#[tokio::test]
async fn a_server_that_is_overloaded_keeps_its_session() {
    let is_busy = Arc::new(AtomicBool::new(true));
    let busy = Arc::clone(&is_busy);
    let server = scripted::serve(move |asked| {
        let refuses = asked.method() == "resources/read" && busy.swap(false, Ordering::SeqCst);
        refuses.then(|| Reply::new("503 Service Unavailable", "text/plain", ""))
    })
    .await;
    let toolset = toolset(&server.url);
    read(&toolset).await.unwrap_err();
    assert_eq!(read(&toolset).await, Ok(hello()));
    assert_eq!(server.count("initialize"), 1);
}

#[tokio::test]
async fn the_session_and_the_version_are_sent_with_each_request_and_the_session_is_ended() {
    let server = scripted::serve(|_| None).await;
    let toolset = toolset(&server.url);
    read(&toolset).await.unwrap();
    pleach_context::Toolset::close(&toolset).await.unwrap();
    let asked = &server.asked("resources/read")[0];
    assert_eq!(asked.header("mcp-session-id"), Some("s-1"));
    assert_eq!(asked.header("mcp-protocol-version"), Some("2025-06-18"));
    assert_eq!(server.asked("initialize")[0].header("mcp-session-id"), None);
    assert_eq!(server.count("DELETE"), 1);
}

#[tokio::test]
async fn a_stream_that_breaks_is_resumed_where_it_broke() {
    let server = scripted::serve(|asked| match (asked.verb.as_str(), asked.method()) {
        ("POST", "resources/read") => Some(Reply::events("id: e-7\nretry: 1\ndata: \n\n")),
        ("GET", _) if asked.header("last-event-id") == Some("e-7") => {
            Some(Reply::events(&event(&json!({"jsonrpc": "2.0", "id": 12345, "result": contents()}))))
        }
        _ => None,
    })
    .await;
    assert_eq!(read(&toolset(&server.url)).await, Ok(hello()));
    assert_eq!(server.count("resources/read"), 1);
}

#[tokio::test]
async fn an_answer_may_come_on_the_general_stream() {
    let server = scripted::serve(|asked| match (asked.verb.as_str(), asked.method()) {
        ("POST", "resources/read") => Some(Reply::accepted()),
        ("GET", _) => {
            // The ids of requests count from zero. The first exchange has the id 0.
            let answers: String = (1..5)
                .map(|id| event(&json!({"jsonrpc": "2.0", "id": id.to_string(), "result": contents()})))
                .collect();
            Some(Reply::events(&answers))
        }
        _ => None,
    })
    .await;
    assert_eq!(read(&toolset(&server.url)).await, Ok(hello()));
}

/// Returns the error for a server that repeats `said`. Its URL has this query, and its requests have this header.
async fn repeated(said: &'static str, query: &str, name: &str, value: &str) -> String {
    let script = move |asked: &HttpRequest| {
        (asked.method() == "resources/read").then(|| {
            let error = json!({"code": -32000, "message": said});
            Reply::json(&json!({"jsonrpc": "2.0", "id": asked.id(), "error": error}))
        })
    };
    let server = scripted::serve(script).await;
    let endpoint = McpEndpoint::new(format!("{}{query}", server.url)).header(name, value);
    read(&McpToolset::builder(endpoint).name("s").build().unwrap()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn short_keys_and_their_forms_in_urls_are_hidden() {
    for (said, query, name, value) in [
        ("<ab12>", "", "x-pass", "ab12"),
        ("<c=1234>", "", "cookie", "c=1234"),
        ("<k%2Fey%2B1%20%3D%20x>", "", "x-key", " k/ey+1 = x "),
        ("<k%2fey%2b1+%3d+x>", "", "x-key", "k/ey+1 = x"),
        ("<sk-1>", "?sk-1", "x-a", "a"),
        ("<sk-1>", "?v=1&sk%2D1", "x-a", "a"),
        ("<sk-1>", "?key=sk%2D1", "x-a", "a"),
    ] {
        let shown = repeated(said, query, name, value).await;
        assert_eq!(shown, "the MCP server `s` refused: <…> (-32000)", "{said} {query}");
    }
}

#[tokio::test]
async fn all_names_of_this_machine_lead_to_it() {
    let server = scripted::serve(|_| None).await;
    for host in ["localhost", "localhost.", "mcp.localhost", "127.1"] {
        let url = server.url.replace("127.0.0.1", host);
        let endpoint = McpEndpoint::new(url).header("x-key", "hush-1");
        assert_eq!(read(&McpToolset::builder(endpoint).build().unwrap()).await, Ok(hello()), "{host}");
    }
}

// The server sends the head and then nothing, so only the announced length can be judged.
#[tokio::test]
async fn an_answer_that_announces_too_many_bytes_is_refused_at_once() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4001\r\n\r\n";
    let held = |asked: &HttpRequest| (asked.method() == "resources/read").then(|| Reply::Held(head.to_owned()));
    let server = scripted::serve(held).await;
    let toolset = McpToolset::builder(McpEndpoint::new(&server.url)).name("s").max_message_bytes(4_000);
    let read =
        tokio::time::timeout(std::time::Duration::from_secs(20), async { read(&toolset.build().unwrap()).await });
    assert_eq!(read.await.unwrap(), Err(McpError::TooLarge { server: "s".to_owned(), limit: 4_000 }));
}

/// Lets all other tasks run until none of them can do more.
async fn yield_often() {
    for _ in 0..300 {
        tokio::task::yield_now().await;
    }
}

// The status is known, so a body that does not end costs five seconds and not the whole time of the call.
#[tokio::test]
async fn the_body_of_a_refusal_is_waited_for_five_seconds() {
    let head = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 100\r\n\r\nout of paper";
    let held = |asked: &HttpRequest| (asked.method() == "resources/read").then(|| Reply::Held(head.to_owned()));
    let server = scripted::serve(held).await;
    let clock = TestClock::new();
    let toolset = McpToolset::builder(McpEndpoint::new(&server.url)).name("s").clock(Arc::new(clock.clone()));
    let toolset = toolset.build().unwrap();
    let mut reading = std::pin::pin!(read(&toolset));
    let mut rounds = 0;
    let error = loop {
        rounds += 1;
        assert!(rounds < 1_000, "the call does not end");
        tokio::select! {
            read = &mut reading => break read.unwrap_err(),
            () = yield_often() => { clock.end_sleeps_of(std::time::Duration::from_secs(5)); }
        }
    };
    assert!(error.to_string().contains("HTTP 500: out of paper"), "{error}");
}
