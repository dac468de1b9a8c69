//! Tests of servers that send without end. Their messages are counted, and the limits end the session.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pleach_context::Tool as _;
use pleach_contract::TestClock;
use pleach_mcp::{McpEndpoint, McpError, McpToolset, McpToolsetBuilder};
use serde_json::{Value, json};

use crate::hostile::script;
use crate::server::scripted::{self, Reply, Scripted, contents, event};

/// The maximum number of bytes that a flood sends before it sees the client leave: the limit, and the bytes in the
/// system's buffers.
const BUFFERED: usize = 32 << 20;

fn builder(url: &str) -> McpToolsetBuilder {
    McpToolset::builder(McpEndpoint::new(url)).name("s")
}

fn exceeded(option: &'static str, limit: usize) -> McpError {
    McpError::Exceeded { server: "s".to_owned(), option, limit }
}

/// Serves a flood of a message, while a request waits for its answer or on the general stream.
async fn flooding(message: &Value, on_stream: bool) -> Scripted {
    let text = event(message).repeat(100);
    scripted::serve(move |asked| match (asked.verb.as_str(), asked.method()) {
        ("POST", "resources/read") if !on_stream => Some(Reply::flood("", &text)),
        ("POST", "resources/read") => Some(Reply::open_stream("")),
        ("GET", _) if on_stream => Some(Reply::flood("", &text)),
        _ => None,
    })
    .await
}

fn unasked() -> Vec<(Value, &'static str)> {
    let notice = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    vec![
        (json!({"jsonrpc": "2.0", "id": "same", "method": "ping"}), "max_server_requests"),
        (
            json!({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {"x": "y"}}),
            "max_server_requests",
        ),
        (notice("notifications/message", json!({"level": "info", "data": "x"})), "max_server_messages"),
        (notice("notifications/progress", json!({"progressToken": 1, "progress": 1})), "max_server_messages"),
        (notice("notifications/tools/list_changed", json!({})), "max_server_messages"),
        (notice("notifications/resources/updated", json!({"uri": "x:1"})), "max_server_messages"),
        (notice("$/unknown", json!([1])), "max_server_messages"),
    ]
}

#[tokio::test]
async fn a_server_that_floods_a_call_is_disconnected() {
    for on_stream in [false, true] {
        for (message, option) in unasked() {
            let server = flooding(&message, on_stream).await;
            let toolset = builder(&server.url).max_server_messages(5_000).build().unwrap();
            let error = toolset.read_resource("x:1", None).await.unwrap_err();
            let limit = if option == "max_server_requests" { 256 } else { 5_000 };
            assert_eq!(error, exceeded(option, limit), "{message}");
            let most = limit * event(&message).len() + BUFFERED;
            assert!(server.flooded.load(Ordering::Relaxed) < most, "{message}");
        }
    }
}

#[tokio::test]
async fn a_flood_ends_without_any_option() {
    let server = flooding(&json!({"jsonrpc": "2.0", "method": "notifications/message"}), false).await;
    let error = builder(&server.url).build().unwrap().read_resource("x:1", None).await.unwrap_err();
    assert_eq!(error, exceeded("max_server_messages", 100_000));
}

#[tokio::test]
async fn bytes_of_an_exchange_are_counted_whatever_they_are() {
    for text in [
        ": ping\n\n".repeat(1_000),
        format!("data: {}\n\n", "x".repeat(10_000)),
        format!("event: {}\n\n", "y".repeat(1_000)),
    ] {
        let server =
            scripted::serve(move |asked| (asked.method() == "resources/read").then(|| Reply::flood("", &text))).await;
        let toolset = builder(&server.url).max_exchange_bytes(1 << 20).max_message_bytes(100_000).build().unwrap();
        let error = toolset.read_resource("x:1", None).await.unwrap_err();
        assert_eq!(error, exceeded("max_exchange_bytes", 1 << 20));
        assert!(server.flooded.load(Ordering::Relaxed) < BUFFERED);
    }
}

#[tokio::test]
async fn a_message_that_does_not_end_is_too_large() {
    for begin in ["data: ", "", "{\"id\":"] {
        let server = scripted::serve(move |asked| {
            (asked.method() == "resources/read").then(|| Reply::flood(begin, "xxxxxxxxxx"))
        })
        .await;
        let toolset = builder(&server.url).max_message_bytes(100_000).build().unwrap();
        let error = toolset.read_resource("x:1", None).await.unwrap_err();
        assert_eq!(error, McpError::TooLarge { server: "s".to_owned(), limit: 100_000 }, "{begin}");
    }
}

#[tokio::test]
async fn a_server_may_send_much_before_it_answers() {
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}});
    let server = scripted::serve(move |asked| {
        let answer = asked.answer(contents());
        let pings: String = (0..50).map(|id| event(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}))).collect();
        let body = format!("{}{pings}{}", event(&notice).repeat(20_000), event(&answer));
        (asked.method() == "resources/read").then(|| Reply::events(&body))
    })
    .await;
    let toolset = builder(&server.url).build().unwrap();
    // Each answer restarts the counts.
    for _ in 0..8 {
        assert_eq!(toolset.read_resource("x:1", None).await.unwrap().len(), 1);
    }
    assert_eq!(server.count("initialize"), 1);
}

#[tokio::test]
async fn requests_of_a_server_are_answered() {
    let server = scripted::serve(|asked| {
        let methods = ["ping", "roots/list", "elicitation/create", "sampling/createMessage", "x"];
        let requests = methods.iter().enumerate().map(|(id, method)| {
            event(&json!({"jsonrpc": "2.0", "id": format!("r{id}"), "method": method, "params": "odd"}))
        });
        let body: String = requests.chain([event(&asked.answer(contents()))]).collect();
        (asked.method() == "resources/read").then(|| Reply::events(&body))
    })
    .await;
    let toolset = builder(&server.url).build().unwrap();
    toolset.read_resource("x:1", None).await.unwrap();
    let mut replies = Vec::new();
    while replies.len() < 5 {
        replies =
            server.asked("").into_iter().filter(|asked| asked.verb == "POST").map(|asked| asked.message).collect();
        tokio::task::yield_now().await;
    }
    replies.sort_by_key(|reply| reply["id"].to_string());
    assert_eq!(replies[0]["result"], json!({}));
    assert_eq!(replies[1]["result"], json!({"roots": []}));
    assert_eq!(replies[2]["result"]["action"], "decline");
    assert_eq!((&replies[3]["error"]["code"], &replies[4]["error"]["code"]), (&json!(-32601), &json!(-32601)));
}

#[tokio::test]
async fn a_child_that_floods_a_call_is_ended() {
    let flood = |line: &str| format!("next; while true; do printf '%s\\n' '{line}'; done");
    for (line, option) in [
        (r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#, "max_server_messages"),
        (r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#, "max_server_messages"),
        ("listening on port 80", "max_exchange_bytes"),
        (r#"{"level":"info","text":"x"}"#, "max_exchange_bytes"),
    ] {
        let builder = McpToolset::builder(script(&flood(line))).name("s").max_message_bytes(1_000);
        let builder = builder.max_server_messages(500).max_exchange_bytes(100_000).max_server_requests(100_000);
        let error = builder.build().unwrap().list_tools(None).await.unwrap_err();
        let limit = if option == "max_server_messages" { 500 } else { 100_000 };
        assert_eq!(error, exceeded(option, limit), "{line}");
    }
}

// The child does not read the answers, so they pile up.
#[tokio::test]
async fn a_child_that_takes_no_answers_is_ended() {
    let pings =
        r#"next; i=0; while true; do i=$((i+1)); printf '{"jsonrpc":"2.0","id":%s,"method":"ping"}\n' $i; done"#;
    let toolset = McpToolset::builder(script(pings)).name("s").build().unwrap();
    let error = toolset.list_tools(None).await.unwrap_err();
    assert_eq!(error, exceeded("max_server_requests", 256));
}

#[tokio::test]
async fn nothing_but_its_answer_extends_a_call() {
    for text in [
        ": ping\n\n".to_owned(),
        event(
            &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 2, "progress": 1}}),
        ),
    ] {
        let server = scripted::serve(move |asked| {
            (asked.method() == "resources/read").then(|| Reply::open_stream(&text.repeat(100)))
        })
        .await;
        let limit = Duration::from_millis(300);
        let toolset = builder(&server.url).list_timeout(limit).build().unwrap();
        let error = toolset.read_resource("x:1", None).await.unwrap_err();
        assert!(matches!(error, McpError::Timeout { .. }), "{error}");
    }
}

// Streams that end at once are opened again after longer and longer waits. About twenty minutes pass here, by a clock
// that does not wait.
#[tokio::test]
async fn streams_that_end_at_once_are_opened_ever_later_and_given_up() {
    let endings = ["", "retry: 0\n\n", ": hi\n\n", "retry: 1\nid: 7\ndata: \n\n"];
    for ending in endings {
        let server = scripted::serve(move |asked| (asked.verb == "GET").then(|| Reply::events(ending))).await;
        // Long sleeps are time-outs.
        let clock = TestClock::skipping_only(|duration| duration <= Duration::from_secs(10));
        let toolset = builder(&server.url).clock(Arc::new(clock)).build().unwrap();
        toolset.read_resource("x:1", None).await.unwrap();
        // The stream is given up after ten attempts. Requests work without it.
        for _ in 0..50 {
            toolset.read_resource("x:1", None).await.unwrap();
            tokio::task::yield_now().await;
        }
        assert!(server.count("GET") <= 10, "{ending:?}: {}", server.count("GET"));
        assert_eq!(server.count("initialize"), 1);
    }
}

// The answer never comes. Its stream is resumed again and again, and brings nothing.
#[tokio::test]
async fn an_answer_whose_stream_is_resumed_in_vain_is_an_error() {
    let server = scripted::serve(|asked| match (asked.verb.as_str(), asked.method()) {
        ("POST", "resources/read") => Some(Reply::events("id: 1\nretry: 0\ndata: \n\n")),
        ("GET", _) if asked.header("last-event-id").is_some() => Some(Reply::events(": nothing\n\n")),
        _ => None,
    })
    .await;
    // Long sleeps are time-outs.
    let clock = TestClock::skipping_only(|duration| duration <= Duration::from_secs(10));
    let toolset = builder(&server.url).clock(Arc::new(clock)).build().unwrap();
    let error = toolset.read_resource("x:1", None).await.unwrap_err();
    assert!(error.to_string().contains("ended before the answer"), "{error}");
    assert!((10..40).contains(&server.count("GET")), "{}", server.count("GET"));
}

#[tokio::test]
async fn a_server_that_reports_a_change_with_each_list_is_asked_no_more_than_a_few_times() {
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let server = scripted::serve(move |asked| {
        let answer = asked.answer(json!({"tools": [{"name": "a", "inputSchema": {}}]}));
        let body = format!("{}{}", event(&changed), event(&answer));
        (asked.method() == "tools/list").then(|| Reply::events(&body))
    })
    .await;
    let toolset = builder(&server.url).clock(Arc::new(TestClock::running())).build().unwrap();
    for _ in 0..100 {
        assert_eq!(toolset.list_tools(None).await.unwrap()[0].name(), "a");
    }
    assert!(server.count("tools/list") <= 5, "{}", server.count("tools/list"));
}

#[tokio::test]
async fn cursors_that_do_not_advance_end_a_list() {
    for (next, most) in [("same", 3), ("new", 200)] {
        let server = scripted::serve(move |asked| {
            let cursor = asked.message["params"]["cursor"].as_str().unwrap_or_default();
            let next = if next == "same" { "same".to_owned() } else { format!("{cursor}x") };
            let page = json!({"resources": [{"uri": "x:1", "name": "x"}], "nextCursor": next});
            (asked.method() == "resources/list").then(|| Reply::json(&asked.answer(page)))
        })
        .await;
        let toolset = builder(&server.url).build().unwrap();
        assert!(!toolset.list_resources(None).await.unwrap().is_empty());
        assert!(server.count("resources/list") <= most, "{next}");
    }
}
