//! Tests of streams: when events are stored, clients that disconnect and reconnect, messages that are sent twice, and
//! the shutdown of the server.

use std::time::Duration;

use pleach::server::Server;
use pleach::{FollowStatus, InMemorySessionService, RunEnd};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::client::Ask;
use crate::gate::Gate;
use crate::served::{Served, apps, message, serve};

fn gated(gate: &Gate) -> Server {
    apps().app(gate.app())
}

async fn at_the_gate(server: Server) -> Served {
    let served = serve(server).await;
    served.session("gate", "s").await;
    served
}

fn ask_gate() -> Ask {
    Ask::post("/run_sse", &message("gate", "s", "hi"))
}

/// Returns the end of the session's run.
async fn end(served: &Served) -> FollowStatus {
    let runner = served.server.runner("gate").unwrap();
    let mut followed = runner.follow(("u", "s"), None).await.unwrap();
    while followed.next().await.is_some() {}
    followed.status()
}

async fn stored(served: &Served) -> Vec<Value> {
    served.get("/apps/gate/users/u/sessions/s").await.json()["events"].as_array().unwrap().clone()
}

fn texts(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["content"]["parts"][0]["text"].as_str()).collect()
}

#[tokio::test]
async fn h55_an_event_is_stored_before_it_is_sent() {
    let gate = Gate::new();
    let served = at_the_gate(gated(&gate)).await;
    let mut blocks = ask_gate().open(served.address).await;
    let first = blocks.next().await.unwrap().data;
    let events = stored(&served).await;
    assert_eq!(texts(&events), ["hi", "before"]);
    assert_eq!(events[1], first);
    gate.open();
    let rest = blocks.rest().await;
    assert_eq!(rest.iter().map(|block| &block.data["output"]).collect::<Vec<_>>(), ["after"]);
}

#[tokio::test]
async fn h55_a_client_that_leaves_aborts_its_run() {
    for path in ["/run", "/run_sse"] {
        let gate = Gate::new();
        let served = at_the_gate(gated(&gate)).await;
        let client = tokio::spawn({
            let (ask, address) = (Ask::post(path, &message("gate", "s", "hi")), served.address);
            async move { ask.to(address).await }
        });
        gate.reached().await;
        client.abort();
        assert!(matches!(end(&served).await, FollowStatus::Ended(RunEnd::Aborted) | FollowStatus::NotHere), "{path}");
        let events = stored(&served).await;
        assert_eq!(events.last().unwrap()["errorCode"], "INVOCATION_ABORTED", "{path}: {events:?}");
    }
}

#[tokio::test]
async fn r128_a_run_that_a_change_has_overtaken_is_closed_when_its_client_leaves() {
    let gate = Gate::new();
    let served = at_the_gate(gated(&gate)).await;
    let client = tokio::spawn({
        let (ask, address) = (ask_gate(), served.address);
        async move { ask.to(address).await }
    });
    gate.reached().await;
    let change = Ask::new("PATCH", "/apps/gate/users/u/sessions/s").json(&json!({"stateDelta": {"k": 1}}));
    assert_eq!(served.send(change).await.status, 200);
    client.abort();
    end(&served).await;
    let events = stored(&served).await;
    let codes: Vec<_> = events.iter().map(|event| event["errorCode"].as_str()).collect();
    assert_eq!(codes, [None, None, None, Some("INVOCATION_ABORTED")], "{events:?}");
}

#[tokio::test]
async fn a_detached_run_continues_and_its_client_reads_on_after_the_last_event() {
    let gate = Gate::new();
    let served = at_the_gate(gated(&gate).detach_runs(true)).await;
    let mut blocks = ask_gate().open(served.address).await;
    let last = blocks.next().await.unwrap().data["id"].as_str().unwrap().to_owned();
    gate.reached().await;
    drop(blocks);
    let path = "/apps/gate/users/u/sessions/s/events";
    let by_header = Ask::get(path).header("last-event-id", &last).header("accept", "text/event-stream");
    let by_query = Ask::get(&format!("{path}?after={last}"));
    let (first, second) = (by_header.open(served.address).await, by_query.open(served.address).await);
    gate.open();
    for blocks in [first, second] {
        let blocks = blocks.rest().await;
        assert_eq!(blocks.len(), 1);
        assert_eq!(blocks[0].data["output"], "after");
        assert_eq!(blocks[0].id.as_deref(), blocks[0].data["id"].as_str());
    }
    let all = Ask::get(path).open(served.address).await.rest().await;
    assert_eq!(all.len(), stored(&served).await.len());
    let unknown = served.get(&format!("{path}?after=nope")).await;
    assert_eq!((unknown.status, unknown.detail().starts_with("Event not found: nope")), (404, true));
    assert_eq!(served.get("/apps/gate/users/u/sessions/none/events").await.status, 404);
}

#[tokio::test]
async fn a_client_ends_a_detached_run_by_the_route_for_it() {
    let gate = Gate::new();
    let served = at_the_gate(gated(&gate).detach_runs(true)).await;
    let mut blocks = ask_gate().open(served.address).await;
    blocks.next().await.unwrap();
    gate.reached().await;
    drop(blocks);
    let path = "/apps/gate/users/u/sessions/s/abort";
    let abort = || Ask::post(path, &json!({}));
    assert_eq!(served.send(abort()).await.json(), json!({"aborted": true}));
    assert_eq!(stored(&served).await.last().unwrap()["errorCode"], "INVOCATION_ABORTED");
    assert_eq!(served.send(abort()).await.json(), json!({"aborted": false}));
    for (path, status) in
        [("/apps/gate/users/u/sessions/none/abort", 404), ("/apps/none/users/u/sessions/s/abort", 404)]
    {
        assert_eq!(served.send(Ask::post(path, &json!({}))).await.status, status, "{path}");
    }
    assert_eq!(served.get(path).await.status, 405);
}

#[tokio::test]
async fn a_message_with_an_idempotency_key_runs_once() {
    let gate = Gate::new();
    let served = at_the_gate(gated(&gate)).await;
    let ask = |text: &str| Ask::post("/run", &message("gate", "s", text)).header("idempotency-key", "order 7");
    let (first, second) = (ask("hi"), ask("hi"));
    let first = tokio::spawn({
        let address = served.address;
        async move { first.to(address).await }
    });
    gate.reached().await;
    let second = tokio::spawn({
        let address = served.address;
        async move { second.to(address).await }
    });
    let other = served.send(ask("something else")).await;
    assert_eq!(other.status, 409, "{other:?}");
    gate.open();
    let first = first.await.unwrap().json();
    assert_eq!(second.await.unwrap().json(), first);
    // After the run has ended, the key returns its result.
    for text in ["hi", "something else"] {
        assert_eq!(served.send(ask(text)).await.json(), first);
    }
    assert_eq!((gate.runs(), stored(&served).await.len()), (1, 3));
    for key in ["", " "] {
        let refused = Ask::post("/run", &message("gate", "s", "hi")).header("idempotency-key", key);
        assert_eq!(served.send(refused).await.status, 400);
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_does_not_delay_others() {
    let gate = Gate::new();
    let served = at_the_gate(gated(&gate)).await;
    let _unread = ask_gate().open(served.address).await;
    gate.reached().await;
    served.session("demo", "s").await;
    let reply = served.post("/run", message("demo", "s", "hi")).await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn the_end_of_a_server_drains_runs_and_ends_followers() {
    let gate = Gate::new();
    let bound = gated(&gate).sessions(InMemorySessionService::new()).bind("127.0.0.1:0").await.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let served = Served { address: bound.local_addr(), server: bound.server().clone() };
    let stopped = async { stopped.await.unwrap_or_default() };
    let serving = tokio::spawn(bound.serve_until(stopped, Duration::from_secs(60)));
    for app in ["gate", "demo"] {
        served.session(app, "s").await;
    }
    let mut run = ask_gate().open(served.address).await;
    let follower = Ask::get("/apps/demo/users/u/sessions/s/events?wait=true").open(served.address).await;
    run.next().await.unwrap();
    stop.send(()).unwrap();
    assert!(follower.rest().await.is_empty());
    gate.open();
    assert_eq!(run.rest().await.len(), 1);
    serving.await.unwrap();
    served.server.close().await.unwrap();
    assert!(tokio::net::TcpStream::connect(served.address).await.is_err());
}

// H54, H56
#[tokio::test]
async fn h56_a_failure_is_the_last_block() {
    let served = serve(apps()).await;
    served.session("demo", "s").await;
    let reply = served.post("/run_sse", message("demo", "s", "boom")).await;
    let events = reply.events();
    let last = events.last().unwrap();
    assert_eq!((reply.status, events.len()), (200, 2));
    assert_eq!(last["error"], "RuntimeError: model exploded");
    assert!(last["error_details"]["timestamp"].is_f64());
    let mut streamed = message("demo", "s", "hi");
    streamed["streaming"] = json!("yes");
    let events = served.post("/run_sse", streamed).await.events();
    let partial: Vec<_> = events.iter().map(|event| event["partial"] == json!(true)).collect();
    assert_eq!(partial, [true, true, false]);
    assert!(events.iter().all(|event| event["id"] == events[0]["id"]));
}
