//! Tests that the runs of one session take turns, and that a message that is sent twice runs once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use pleach::server::ServerLimits;
use pleach::{InMemorySessionService, SessionService};
use pleach_contract::TestClock;
use serde_json::{Value, json};

use crate::client::{Ask, Reply};
use crate::gate::Gate;
use crate::served::{Served, apps, demo, message, serve};

async fn stored(served: &Served, app: &str) -> Vec<Value> {
    served.get(&format!("/apps/{app}/users/u/sessions/s")).await.json()["events"].as_array().unwrap().clone()
}

fn sent(served: &Served, ask: Ask) -> tokio::task::JoinHandle<Reply> {
    let address = served.address;
    tokio::spawn(async move { ask.to(address).await })
}

#[tokio::test]
async fn h50_runs_of_a_session_take_turns() {
    let served = demo().await;
    served.session("demo", "s").await;
    let sent = (0..20).map(|i| served.post("/run", message("demo", "s", &format!("artifact {i}"))));
    let replies = join_all(sent).await;
    assert!(replies.iter().all(|reply| reply.status == 200), "{replies:?}");
    // Each invocation is whole before the next one begins.
    let mut ids: Vec<_> = stored(&served, "demo").await.iter().map(|event| event["invocationId"].to_string()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 20);
}

#[tokio::test]
async fn a_request_that_waits_too_long_or_leaves_has_stored_nothing() {
    // Waits for a turn end at once while the test has no patience.
    let is_over = Arc::new(AtomicBool::new(false));
    let ends_at_once = {
        let is_over = Arc::clone(&is_over);
        move |wait| wait == ServerLimits::new().slow_client_timeout && is_over.load(Ordering::SeqCst)
    };
    let (gate, clock) = (Gate::new(), TestClock::skipping_only(ends_at_once));
    let served = serve(apps().app(gate.app()).clock(clock)).await;
    served.session("gate", "s").await;
    let first = sent(&served, Ask::post("/run", &message("gate", "s", "first")));
    gate.reached().await;
    let leaves = sent(&served, Ask::post("/run", &message("gate", "s", "leaves")));
    is_over.store(true, Ordering::SeqCst);
    let late = served.post("/run", message("gate", "s", "late")).await;
    assert_eq!((late.status, late.detail().contains("Nothing was stored")), (409, true), "{late:?}");
    is_over.store(false, Ordering::SeqCst);
    leaves.abort();
    assert!(leaves.await.is_err() || stored(&served, "gate").await.len() == 2);
    gate.open();
    assert_eq!(first.await.unwrap().status, 200);
    let texts = stored(&served, "gate").await;
    assert!(texts.iter().all(|event| event["content"]["parts"][0]["text"] != "late"), "{texts:?}");
}

// H61
#[tokio::test]
async fn h61_a_message_to_an_invocation_that_has_ended_is_refused() {
    let served = demo().await;
    served.session("demo", "s").await;
    let mut again = message("demo", "s", "hi");
    again["invocationId"] = json!("i-1");
    assert_eq!(served.post("/run", again.clone()).await.json().as_array().unwrap().len(), 1);
    let reply = served.post("/run", again.clone()).await;
    assert_eq!((reply.status, reply.detail().contains("i-1")), (409, true), "{reply:?}");
    let blocks = served.post("/run_sse", again).await.events();
    assert_eq!(blocks[0]["error_details"]["error_type"], "InvocationEndedError");
    assert_eq!(stored(&served, "demo").await.len(), 2);
}

#[tokio::test]
async fn a_key_returns_the_stored_events_of_a_run_that_waits() {
    let served = demo().await;
    served.session("demo", "s").await;
    let ask = || Ask::post("/run", &message("demo", "s", "delete a.txt")).header("idempotency-key", "k");
    let first = served.send(ask()).await;
    let count = stored(&served, "demo").await.len();
    let second = served.send(ask()).await;
    assert_eq!((first.status, second.status), (200, 200), "{first:?} {second:?}");
    assert_eq!(second.json(), first.json());
    assert_eq!(stored(&served, "demo").await.len(), count);
}

#[tokio::test]
async fn a_key_resumes_an_invocation_that_a_server_has_left() {
    let store: Arc<dyn SessionService> = Arc::new(InMemorySessionService::new());
    let (gate, next) = (Gate::new(), Gate::new());
    let first = serve(apps().app(gate.app()).sessions(Arc::clone(&store))).await;
    first.session("gate", "s").await;
    let ask = || Ask::post("/run", &message("gate", "s", "hi")).header("idempotency-key", "k");
    let cut = sent(&first, ask());
    gate.reached().await;
    first.server.drain(Duration::ZERO).await;
    cut.await.unwrap();
    let second = serve(apps().app(next.app()).sessions(store)).await;
    next.open();
    let reply = second.send(ask()).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.json().as_array().unwrap().last().unwrap()["output"], "after");
    assert_eq!((gate.runs(), next.runs()), (1, 1));
    assert_eq!(second.send(ask()).await.json(), reply.json());
}

#[tokio::test]
async fn a_follower_that_waits_gets_what_is_stored_after_a_run_has_ended() {
    let gate = Gate::new();
    let served = serve(apps().app(gate.app())).await;
    served.session("gate", "s").await;
    let run = sent(&served, Ask::post("/run", &message("gate", "s", "hi")));
    gate.reached().await;
    let mut followed = Ask::get("/apps/gate/users/u/sessions/s/events?wait=true").open(served.address).await;
    gate.open();
    for _ in 0..3 {
        followed.next().await.unwrap();
    }
    run.await.unwrap();
    let update = Ask::new("PATCH", "/apps/gate/users/u/sessions/s").json(&json!({"stateDelta": {"k": 1}}));
    assert_eq!(served.send(update).await.status, 200);
    assert_eq!(followed.next().await.unwrap().data["actions"]["stateDelta"]["k"], 1);
}

#[tokio::test]
async fn h38_many_clients_change_one_session() {
    let served = demo().await;
    served.session("demo", "s").await;
    let path = "/apps/demo/users/u/sessions/s";
    let sent = (0..20).map(|i| served.send(Ask::new("PATCH", path).json(&json!({"stateDelta": {i.to_string(): i}}))));
    assert!(join_all(sent).await.iter().all(|reply| reply.status == 200));
    assert_eq!(served.get(path).await.json()["state"].as_object().unwrap().len(), 20);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_400_with_the_reason() {
    let served = demo().await;
    served.session("demo", "s").await;
    let asked = served.post("/run", message("demo", "s", "delete a.txt")).await.json();
    let call = asked.as_array().unwrap().iter().flat_map(|event| event["content"]["parts"].as_array().unwrap());
    let call = call.filter_map(|part| part.get("functionCall")).find(|call| call["name"] == "adk_request_confirmation");
    let id = call.unwrap()["id"].clone();
    let count = stored(&served, "demo").await.len();
    for (name, response) in [
        ("adk_request_confirmation", json!({"confirmed": [1]})),
        ("adk_request_confirmation", json!({"confirmed": null})),
        ("adk_request_confirmation", json!(null)),
        ("delete", json!({"confirmed": true})),
    ] {
        let mut body = message("demo", "s", "");
        body["newMessage"] = json!({"parts": [{"functionResponse": {"id": id, "name": name, "response": response}}]});
        let reply = served.post("/run", body).await;
        assert_eq!((reply.status, reply.detail().contains("was refused")), (400, true), "{name}: {reply:?}");
    }
    assert_eq!(stored(&served, "demo").await.len(), count);
}

// H33
#[tokio::test]
async fn h33_events_of_a_task_of_another_app_are_refused() {
    let served = demo().await;
    for (scope, path, author, status) in [
        (None, "p@1", "a", 200),
        (Some("s"), "", "a", 400),
        (Some("s"), "p@1", "a", 400),
        (Some("s"), "p@1", "user", 200),
        (Some("s"), "demo_agent@1", "demo_agent", 200),
    ] {
        let mut event = json!({"author": author, "invocationId": "i", "content": {"parts": [{"text": "x"}]}});
        event["isolationScope"] = json!(scope);
        event["nodeInfo"] = json!({"path": path});
        let made = served.post("/apps/demo/users/u/sessions", json!({"events": [event]})).await;
        assert_eq!(made.status, status, "{path}: {made:?}");
        if status == 200 {
            let session = made.json()["id"].as_str().unwrap().to_owned();
            let reply = served.post("/run", message("demo", &session, "hi")).await;
            assert_eq!(reply.status, 200, "{path}: {reply:?}");
        }
    }
}
