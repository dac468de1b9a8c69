//! Calls of tools: results, failures, progress, cancellation.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use pleach::mcp::{McpEndpoint, McpToolset};
use pleach::model::ScriptedModel;
use pleach::prelude::*;
use pleach::{NodeError, ReadonlyContext};
use pleach_contract::TestClock;
use serde_json::{Value, json};

use crate::{call, command, error, in_node, server, text, tool_of, until_logged};

#[tokio::test]
async fn results_come_from_the_server_and_bytes_are_media() {
    let running = server::http::serve().await;
    let child = McpToolset::builder(command()).build().unwrap();
    let http = McpToolset::builder(McpEndpoint::new(running.url())).build().unwrap();
    for toolset in [child, http] {
        in_node(|ctx| async move {
            let response = call(&tool_of(&toolset, "echo").await, json!({"text": "hi"}), &ctx).await;
            let expected = json!({"content": [{"type": "text", "text": "hi"}], "isError": false});
            assert_eq!(Value::Object(response.response.unwrap()), expected);

            let response = call(&tool_of(&toolset, "add").await, json!({"a": 1.5, "b": 2}), &ctx).await;
            let fields = response.response.unwrap();
            assert_eq!(fields["structuredContent"], json!({"sum": 3.5}));
            assert_eq!(fields["content"][0]["text"], r#"{"sum":3.5}"#);

            let response = call(&tool_of(&toolset, "picture").await, json!({}), &ctx).await;
            let media: Vec<_> = response.parts.unwrap().into_iter().map(|part| part.inline_data.unwrap()).collect();
            let media: Vec<_> =
                media.iter().map(|blob| (blob.mime_type.as_deref().unwrap(), &**blob.data.as_ref().unwrap())).collect();
            let expected: [(&str, &[u8]); 3] =
                [("image/png", b"png"), ("audio/wav", b"wav"), ("application/pdf", b"pdf")];
            assert_eq!(media, expected);
            let fields = response.response.unwrap();
            let resource = json!({"uri": "file:///a.txt", "mimeType": "text/plain", "text": "words"});
            let expected = json!([
                {"type": "text", "text": "a cat"},
                {"type": "image", "mimeType": "image/png"},
                {"type": "audio", "mimeType": "audio/wav"},
                {"type": "image", "mimeType": "image/gif", "error": "its data is no base64 text"},
                {"type": "resource", "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf"}},
                {"type": "resource", "resource": resource},
            ]);
            assert_eq!(fields["content"], expected);
        })
        .await;
    }
}

#[tokio::test]
async fn an_integer_that_no_message_can_hold_is_an_error_of_its_call() {
    const DIGITS: &str = "1234567890123456789012345";
    let toolset = McpToolset::builder(command()).build().unwrap();
    in_node(|ctx| async move {
        let response = call(&tool_of(&toolset, "add").await, json!({"a": 1, "b": DIGITS}), &ctx).await;
        let expected = "the argument `b` has an integer of more than 64 bits: an integer that is sent to this server must be from -9223372036854775808 to 18446744073709551615";
        assert_eq!(error(&response), expected);
        let response = call(&tool_of(&toolset, "echo").await, json!({"text": DIGITS}), &ctx).await;
        assert_eq!(response.response.unwrap()["content"][0]["text"], DIGITS);
    })
    .await;
}

#[tokio::test]
async fn failures_are_results() {
    let toolset = McpToolset::builder(command()).name("s").build().unwrap();
    in_node(|ctx| async move {
        let response = call(&tool_of(&toolset, "fail").await, json!({}), &ctx).await;
        let expected = json!({"content": [{"type": "text", "text": "out of paper"}], "isError": true});
        assert_eq!(Value::Object(response.response.unwrap()), expected);
        let response = call(&tool_of(&toolset, "refuse").await, json!({}), &ctx).await;
        assert_eq!(error(&response), "the MCP server `s` refused: `count` is missing (-32602)");
    })
    .await;
}

// If the server dies, the call returns an error and the next call reconnects.
#[tokio::test]
async fn a_dead_server_is_an_error_and_the_next_call_reconnects() {
    let toolset = McpToolset::builder(command()).name("s").build().unwrap();
    in_node(|ctx| async move {
        let (pid, die) = (tool_of(&toolset, "pid").await, tool_of(&toolset, "die").await);
        let first = call(&pid, json!({}), &ctx).await;
        let dead = call(&die, json!({}), &ctx).await;
        assert!(error(&dead).starts_with("the MCP server `s` ended the connection before it answered"), "{dead:?}");
        let second = call(&pid, json!({}), &ctx).await;
        assert_ne!(text(&first), text(&second));
        call(&die, json!({}), &ctx).await;
        let third = call(&pid, json!({}), &ctx).await;
        assert_ne!(text(&second), text(&third));
        // A server that ends again and again is not restarted at once.
        call(&die, json!({}), &ctx).await;
        let left_alone = call(&pid, json!({}), &ctx).await;
        assert!(error(&left_alone).contains("is not tried again for 1 s"), "{left_alone:?}");
    })
    .await;
}

#[tokio::test]
async fn an_http_server_that_is_killed_in_the_middle_of_a_call_is_an_error() {
    let running = server::http::serve().await;
    let toolset = McpToolset::builder(McpEndpoint::new(running.url())).name("s").build().unwrap();
    in_node(|ctx| async move {
        let (wait, echo) = (tool_of(&toolset, "wait").await, tool_of(&toolset, "echo").await);
        let waits = running.server.waits.clone();
        let kill = async {
            waits.notified().await;
            running.kill().await
        };
        let (dead, address) = futures::future::join(call(&wait, json!({}), &ctx), kill).await;
        assert!(error(&dead).starts_with("the MCP server `s` ended the connection before it answered"), "{dead:?}");
        let _running = server::http::serve_at(address).await;
        assert_eq!(text(&call(&echo, json!({"text": "back"}), &ctx).await), "back");
    })
    .await;
}

#[tokio::test]
async fn a_hundred_calls_share_a_session_and_a_restart() {
    let running = server::http::serve().await;
    let child = McpToolset::builder(command()).build().unwrap();
    let http = McpToolset::builder(McpEndpoint::new(running.url())).build().unwrap();
    for (toolset, dies) in [(child, true), (http, false)] {
        in_node(move |ctx| async move {
            let (echo, pid) = (tool_of(&toolset, "echo").await, tool_of(&toolset, "pid").await);
            let calls = (0..100).map(|number| call(&echo, json!({"text": number.to_string()}), &ctx));
            for (number, response) in join_all(calls).await.iter().enumerate() {
                assert_eq!(text(response), number.to_string());
            }
            if dies {
                call(&tool_of(&toolset, "die").await, json!({}), &ctx).await;
            }
            let pids = join_all((0..100).map(|_| call(&pid, json!({}), &ctx))).await;
            assert!(pids.iter().all(|response| text(response) == text(&pids[0])));
        })
        .await;
    }
}

#[tokio::test]
async fn progress_is_reported_in_order_before_the_result() {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let kept = reports.clone();
    let toolset = McpToolset::builder(command()).prefix("p");
    let toolset = toolset.on_progress(move |ctx, progress| {
        ctx.state().set("last", progress.progress).unwrap();
        kept.lock().unwrap().push(progress);
    });
    let toolset = toolset.build().unwrap();
    in_node(|ctx| async move {
        let response = call(&tool_of(&toolset, "p_steps").await, json!({"count": 5}), &ctx).await;
        assert_eq!(text(&response), "done");
        assert_eq!(ctx.state().value("last"), Some(json!(5.0)));
    })
    .await;
    let reports = reports.lock().unwrap();
    let seen: Vec<_> = reports.iter().map(|report| (report.progress, report.total)).collect();
    assert_eq!(seen, [1.0, 2.0, 3.0, 4.0, 5.0].map(|step| (step, Some(5.0))));
    assert_eq!((reports[4].tool.as_str(), reports[4].message.as_deref()), ("p_steps", Some("step 5")));
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_at_the_server() {
    let folder = tempfile::tempdir().unwrap();
    for by_time_out in [true, false] {
        let log = folder.path().join(format!("log-{by_time_out}"));
        let server = command().env(server::LOG, log.to_str().unwrap());
        let limit = if by_time_out { Duration::from_millis(300) } else { Duration::from_secs(300) };
        let toolset = McpToolset::builder(server).name("s").call_timeout(limit).build().unwrap();
        in_node(move |ctx| async move {
            let (wait, echo) = (tool_of(&toolset, "wait").await, tool_of(&toolset, "echo").await);
            if by_time_out {
                let response = call(&wait, json!({}), &ctx).await;
                assert_eq!(error(&response), "the MCP server `s` did not answer the call within 0.3 s");
            } else {
                tokio::select! {
                    response = call(&wait, json!({}), &ctx) => panic!("{response:?}"),
                    () = until_logged(&log, "waiting") => {}
                }
            }
            until_logged(&log, "cancelled").await;
            // The session still works.
            assert_eq!(text(&call(&echo, json!({"text": "on"}), &ctx).await), "on");
        })
        .await;
    }
}

#[tokio::test]
async fn a_result_above_the_limit_is_an_error() {
    let running = server::http::serve().await;
    let child = McpToolset::builder(command()).name("s").max_message_bytes(100_000).build().unwrap();
    let http = McpToolset::builder(McpEndpoint::new(running.url())).name("s").max_message_bytes(100_000);
    let http = http.call_timeout(Duration::from_secs(20)).build().unwrap();
    for toolset in [child, http] {
        in_node(|ctx| async move {
            let (huge, echo) = (tool_of(&toolset, "huge").await, tool_of(&toolset, "echo").await);
            let response = call(&huge, json!({"count": 90_000}), &ctx).await;
            assert_eq!(text(&response).len(), 90_000);
            let response = call(&huge, json!({"count": 110_000}), &ctx).await;
            let expected = "the MCP server `s` sent more than 100000 bytes in one message: ask for less";
            assert_eq!(error(&response), expected);
            assert_eq!(text(&call(&echo, json!({"text": "on"}), &ctx).await), "on");
        })
        .await;
    }
}

#[tokio::test]
async fn sessions_have_the_headers_of_their_users() {
    let running = server::http::serve().await;
    let server = McpEndpoint::new(running.url()).header("x-app", "demo").header("x-user", "nobody");
    let server = server.session_headers(|ctx: ReadonlyContext| async move {
        match ctx.state_value("token") {
            Some(token) => Ok([("X-User".to_owned(), token.as_str().unwrap_or_default().to_owned())]),
            None => Err(NodeError::value("the state has no `token`")),
        }
    });
    let toolset = McpToolset::builder(server).name("s").build().unwrap();
    in_node(|ctx| async move {
        let header = tool_of(&toolset, "header").await;
        let response = call(&header, json!({"text": "x-user"}), &ctx).await;
        assert!(error(&response).contains("the headers for the MCP server `s` cannot be made"), "{response:?}");
        for token in ["a-1", "b-2", "a-1"] {
            ctx.state().set("token", token).unwrap();
            assert_eq!(text(&call(&header, json!({"text": "x-user"}), &ctx).await), token);
            assert_eq!(text(&call(&header, json!({"text": "x-app"}), &ctx).await), "demo");
        }
    })
    .await;
}

#[tokio::test]
async fn a_child_gets_only_the_variables_that_are_set_for_it() {
    let given = McpToolset::builder(command().env("GIVEN", "yes")).build().unwrap();
    let all = McpToolset::builder(command().inherit_env()).build().unwrap();
    in_node(|ctx| async move {
        let environment = tool_of(&given, "environment").await;
        for (name, is_set) in [("GIVEN", true), ("PATH", true), ("CARGO_MANIFEST_DIR", false)] {
            let response = call(&environment, json!({"text": name}), &ctx).await;
            assert_eq!(text(&response) != "unset", is_set, "{name}");
        }
        if std::env::var_os("CARGO_MANIFEST_DIR").is_some() {
            let environment = tool_of(&all, "environment").await;
            assert_ne!(text(&call(&environment, json!({"text": "CARGO_MANIFEST_DIR"}), &ctx).await), "unset");
        }
    })
    .await;
}

#[tokio::test]
async fn approval_is_asked_for_as_the_condition_says() {
    let toolset = McpToolset::builder(command())
        .confirm_if(|tool, args, _| tool.annotations().read_only != Some(true) || args.contains_key("text"));
    let toolset = toolset.build().unwrap();
    in_node(|ctx| async move {
        let (echo, pid) = (tool_of(&toolset, "echo").await, tool_of(&toolset, "pid").await);
        let asks = |args: Value| args.as_object().unwrap().clone();
        assert!(pid.check_require_confirmation(&asks(json!({})), &ctx).await.unwrap());
        assert!(!echo.check_require_confirmation(&asks(json!({})), &ctx).await.unwrap());
        assert!(echo.check_require_confirmation(&asks(json!({"text": "x"})), &ctx).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_call_is_measured_by_the_clock_of_its_invocation() {
    let toolset = McpToolset::builder(command()).name("s").call_timeout(Duration::from_secs(70)).build().unwrap();
    // The session is open before the call begins.
    toolset.list_tools(None).await.unwrap();
    let clock = TestClock::new();
    let model = ScriptedModel::calling("wait", json!({})).then_text("Too late.");
    let agent = LlmAgent::builder("helper").model(model.clone()).toolset(toolset).build().unwrap();
    let runner = Runner::builder("demo").root(agent).clock(clock.clone()).build().unwrap();
    let mut reply = std::pin::pin!(runner.run("ana", "s1", "go").reply());
    let mut rounds = 0;
    let reply = loop {
        rounds += 1;
        assert!(rounds < 300_000, "the call does not end");
        tokio::select! {
            reply = &mut reply => break reply.unwrap(),
            () = tokio::task::yield_now() => { clock.end_sleeps_of(Duration::from_secs(70)); }
        }
    };
    assert_eq!(reply, "Too late.");
    let response = model.requests()[1].contents.last().unwrap().function_responses().next().unwrap().response.clone();
    assert_eq!(response.unwrap()["error"], "the MCP server `s` did not answer the call within 70 s");
}
