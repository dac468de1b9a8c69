//! The values of each metric after known runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pleach::model::{LlmResponse, ModelError, ModelErrorKind, ScriptedModel};
use pleach::prelude::*;
use pleach::{FunctionCall, Map};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;

use crate::collector::{Collector, finish};

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

async fn fails() -> Result<i64, NodeError> {
    Err(NodeError::value("s3cret"))
}

#[tokio::test]
async fn runs_are_counted_by_how_they_ended() {
    let collector = Collector::start();
    let good = collector.runner(FunctionNode::new("good", async || 1));
    finish(good.run("ana", "s1", "go")).await;
    finish(good.run("ana", "s2", "go")).await;
    finish(collector.runner(FunctionNode::new("bad", fails)).run("ana", "s3", "go")).await;
    let asks = async || RequestInput::<String>::ask("ok", "?");
    finish(collector.runner(FunctionNode::new("asks", asks)).run("ana", "s4", "go")).await;
    let mut dropped = collector.runner(FunctionNode::new("never", std::future::pending::<i64>)).run("ana", "s5", "go");
    assert!(futures::poll!(std::pin::pin!(dropped.next())).is_pending());
    drop(dropped);
    assert_eq!(
        collector.lines("pleach.runs.started"),
        [
            "gen_ai.workflow.name=asks pleach.resumed=false 1",
            "gen_ai.workflow.name=bad pleach.resumed=false 1",
            "gen_ai.workflow.name=good pleach.resumed=false 2",
            "gen_ai.workflow.name=never pleach.resumed=false 1",
        ]
    );
    assert_eq!(
        collector.lines("gen_ai.invoke_workflow.duration"),
        [
            "error.type=ValueError gen_ai.workflow.name=bad pleach.outcome=failed pleach.resumed=false 1",
            "gen_ai.workflow.name=asks pleach.outcome=interrupted pleach.resumed=false 1",
            "gen_ai.workflow.name=good pleach.outcome=completed pleach.resumed=false 2",
            "gen_ai.workflow.name=never pleach.outcome=cancelled pleach.resumed=false 1",
        ]
    );
}

#[tokio::test]
async fn failures_and_retries_of_nodes_are_counted_by_name() {
    let collector = Collector::start();
    let calls = Arc::new(AtomicU32::new(0));
    let flaky = {
        let calls = Arc::clone(&calls);
        move || {
            let call = calls.fetch_add(1, Ordering::Relaxed);
            async move { if call < 2 { Err(NodeError::value("s3cret")) } else { Ok(call) } }
        }
    };
    let mut inner = Workflow::builder("inner");
    let flaky = inner.add(FunctionNode::new("flaky", flaky).retry(RetryConfig::attempts(5)));
    inner.edge(START, flaky);
    let mut wf = Workflow::builder("outer");
    let inner = wf.add(inner.build().unwrap());
    wf.edge(START, inner);
    finish(collector.runner(wf.build().unwrap()).run("ana", "s1", "go")).await;
    assert_eq!(collector.lines("pleach.node.retries"), ["pleach.node.name=flaky 2"]);
    assert_eq!(
        collector.lines("pleach.node.duration"),
        [
            "error.type=ValueError pleach.node.name=flaky pleach.outcome=failed 2",
            "pleach.node.name=flaky pleach.outcome=completed 1",
            "pleach.node.name=inner pleach.outcome=completed 1",
        ]
    );
    assert_eq!(
        collector.lines("gen_ai.invoke_workflow.duration"),
        [
            "gen_ai.workflow.name=inner gen_ai.workflow.nested=true pleach.outcome=completed 1",
            "gen_ai.workflow.name=outer pleach.outcome=completed pleach.resumed=false 1",
        ]
    );
}

#[tokio::test]
async fn an_agents_calls_of_models_and_tools_are_counted_with_their_tokens() {
    let collector = Collector::start();
    let mut asks = asks_weather("Oslo");
    asks.info.usage_metadata = Some(json!({"prompt_token_count": 100, "candidates_token_count": 7}).into());
    let mut says = LlmResponse::text("Sunny.");
    says.info.usage_metadata = Some(json!({"prompt_token_count": 120, "candidates_token_count": 3}).into());
    let model =
        ScriptedModel::new().then(asks).then(says).then_error(ModelError::new("scripted", ModelErrorKind::Timeout));
    let weather = tool("weather", "Tells the weather.", async |Args(place): Args<City>| place.city);
    let agent = || LlmAgent::builder("helper").model(model.clone()).tool(weather.clone()).build().unwrap();
    let runner = collector.runner(agent());
    finish(runner.run("ana", "s1", "s3cret?")).await;
    finish(runner.run("ana", "s2", "again")).await;
    assert_eq!(
        collector.lines("gen_ai.client.operation.duration"),
        [
            "error.type=ModelError gen_ai.agent.name=helper gen_ai.operation.name=generate_content \
             gen_ai.request.model=scripted pleach.outcome=failed 1",
            "gen_ai.agent.name=helper gen_ai.operation.name=generate_content gen_ai.request.model=scripted \
             pleach.outcome=completed 2",
        ]
    );
    let tokens: Vec<(String, i64, f64)> = collector
        .points("gen_ai.client.token.usage")
        .into_iter()
        .map(|point| (point.attributes["gen_ai.token.type"].clone(), point.count, point.sum))
        .collect();
    assert_eq!(tokens, [("input".to_owned(), 2, 220.0), ("output".to_owned(), 2, 10.0)]);
    assert_eq!(
        collector.lines("gen_ai.execute_tool.duration"),
        ["gen_ai.tool.name=weather pleach.outcome=completed 1"]
    );
    let agents = collector.lines("gen_ai.invoke_agent.duration");
    assert_eq!(agents.len(), 2, "{agents:?}");
    assert!(agents[0].starts_with("error.type=") && agents[1] == "gen_ai.agent.name=helper pleach.outcome=completed 1");
}

#[tokio::test]
async fn a_tool_that_fails_is_counted_as_failed() {
    let collector = Collector::start();
    let broken = tool("broken", "Fails.", async |Args(place): Args<City>| -> Result<String, NodeError> {
        Err(NodeError::value(place.city))
    });
    let model = ScriptedModel::calling("broken", json!({"city": "s3cret"}));
    let agent = LlmAgent::builder("helper").model(model).tool(broken).build().unwrap();
    finish(collector.runner(agent).run("ana", "s1", "go")).await;
    assert_eq!(
        collector.lines("gen_ai.execute_tool.duration"),
        ["error.type=ValueError gen_ai.tool.name=broken pleach.outcome=failed 1"]
    );
}

#[tokio::test]
async fn the_load_of_runners_is_read_while_they_live() {
    let collector = Collector::start();
    let go = Arc::new(Notify::new());
    let waits = {
        let go = Arc::clone(&go);
        FunctionNode::new("waits", move || {
            let go = Arc::clone(&go);
            async move {
                go.notified().await;
                1
            }
        })
    };
    let runner = collector.runner(waits);
    let working = runner.run("ana", "s1", "go").detach();
    working.invocation_id().await.unwrap();
    let request = RunRequest::new(("ana", "s1")).message("too").queue(true);
    let queued = runner.start(request).detach();
    tokio::task::yield_now().await;
    let load = |name: &str| collector.lines(name);
    assert_eq!(load("pleach.runs.active"), ["pleach.app.name=t 1"]);
    assert_eq!(load("pleach.runs.detached"), ["pleach.app.name=t 1"]);
    assert_eq!(load("pleach.runs.queued"), ["pleach.app.name=t 1"]);
    assert_eq!(load("pleach.deadlines"), ["pleach.app.name=t 0"]);
    go.notify_one();
    working.await.unwrap();
    go.notify_one();
    queued.await.unwrap();
    assert_eq!(load("pleach.runs.active"), ["pleach.app.name=t 0"]);
    drop(runner);
    // A gauge without Runners has no points, so a Runner that was dropped is not reported as idle.
    assert_eq!(load("pleach.runs.active"), [] as [&str; 0]);
}

#[tokio::test]
async fn no_attribute_of_a_metric_is_an_id_or_a_text() {
    let collector = Collector::start();
    let broken = tool("broken", "Fails.", async |Args(place): Args<City>| -> Result<String, NodeError> {
        Err(NodeError::value(place.city))
    });
    let model = ScriptedModel::calling("broken", json!({"city": "s3cret"})).then_text("s3cret");
    let agent = LlmAgent::builder("helper").instruction("s3cret").model(model).tool(broken).build().unwrap();
    let runner = collector.runner(agent);
    let mut run = runner.run("ana-7", "session-7", "s3cret");
    let invocation = run.next().await.unwrap().unwrap().invocation_id().to_string();
    finish(run).await;
    for (name, points) in collector.all() {
        for value in points.iter().flat_map(|point| point.attributes.values()) {
            for secret in ["s3cret", "ana-7", "session-7", &invocation] {
                assert!(!value.contains(secret), "{name}: {points:?}");
            }
        }
    }
}

/// A reply of a model that asks for the weather.
fn asks_weather(city: &str) -> LlmResponse {
    LlmResponse::calls([FunctionCall::new("call-1", "weather", Map::from_iter([("city".to_owned(), json!(city))]))])
}

/// Starts an HTTP server that sends these answers, one for each connection.
async fn serve(answers: Vec<&'static str>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut read = Vec::new();
            // The request ends with the end of its body.
            while !read.ends_with(b"}") {
                let mut buffer = [0; 65_536];
                let count = stream.read(&mut buffer).await.unwrap();
                read.extend_from_slice(&buffer[..count]);
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    url
}

#[cfg(feature = "openai")]
#[tokio::test]
async fn a_request_that_a_client_sends_again_is_counted() {
    let said = r#"{"choices": [{"message": {"content": "Sunny."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}"#;
    let good = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{said}",
        said.len()
    );
    let busy = "HTTP/1.1 429 Too Many\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let url = serve(vec![busy, busy, good.leak()]).await;
    let retry = pleach::model::HttpRetryOptions { initial_delay: Some(0.0), jitter: Some(0.0), ..Default::default() };
    let model = pleach::models::openai("m").base_url(url).key("k").retry(retry).build().unwrap();
    let collector = Collector::start();
    let agent = LlmAgent::builder("helper").model(model).build().unwrap();
    let runner = collector.otel.build(Runner::builder("t").root(agent)).unwrap();
    assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "Sunny.");
    assert_eq!(collector.lines("pleach.model.retries"), ["error.type=429 gen_ai.request.model=m 2"]);
    let calls = collector.points("gen_ai.client.operation.duration");
    assert_eq!((calls.len(), calls[0].count), (1, 1));
    let tokens: Vec<f64> = collector.points("gen_ai.client.token.usage").iter().map(|point| point.sum).collect();
    assert_eq!(tokens, [9.0, 2.0]);
}
