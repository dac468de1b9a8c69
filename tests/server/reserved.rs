//! Tests of state keys that clients cannot write through any route. Reserved keys are trusted by the runtime, so no
//! client may write them. Some other keys may not be written by callers that are bound to a user.

use std::sync::Arc;

use pleach::plugins::{BudgetPlugin, Limits};
use pleach::prelude::*;
use pleach::server::{Caller, CallerRights, Server};
use pleach::{App, InMemoryArtifactService, InMemorySessionService, SystemClock};
use serde_json::{Map, Value, json};

use crate::client::{Ask, Reply};
use crate::served::{Served, apps, demo, message, serve};

const NAMES: &[&str] = &[
    "_pleach_budget:base:model_calls",
    "_pleach_budget",
    "_pleach_other:x",
    "pleach_signal",
    "pleach_by_deadline",
    "pleach_completed_runs",
    "_adk_x",
    "adk_oauth_state:q",
    "adk_oauth_credential:q",
    "adk_apiKey_9a46dad5a84303f3_",
    "__adk_internal_x",
];

fn state_keys() -> impl Iterator<Item = String> {
    ["", "user:", "app:", "temp:"].into_iter().flat_map(|scope| NAMES.iter().map(move |name| format!("{scope}{name}")))
}

fn object(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

const BASE: &str = "/apps/demo/users/u/sessions";

/// All requests that change state, with this change.
fn changes(delta: &Value) -> Vec<Ask> {
    let mut run = message("demo", "s", "hi");
    run["stateDelta"] = delta.clone();
    let mut snake = message("demo", "s", "hi");
    snake["state_delta"] = delta.clone();
    let mut only_state = run.clone();
    only_state.as_object_mut().unwrap().remove("newMessage");
    only_state["invocationId"] = json!("e-none");
    vec![
        Ask::new("PATCH", &format!("{BASE}/s")).json(&json!({"stateDelta": delta})),
        Ask::new("PATCH", &format!("{BASE}/s")).json(&json!({"state_delta": delta})),
        Ask::post(BASE, &json!({"sessionId": "new", "state": delta})),
        Ask::post(&format!("{BASE}/new"), &json!({"state": delta})),
        Ask::post(&format!("{BASE}/new"), delta),
        Ask::post("/run", &run),
        Ask::post("/run", &snake),
        Ask::post("/run", &only_state),
        Ask::post("/run_sse", &run),
        Ask::post("/run_sse", &snake),
    ]
}

/// An auth config may choose any key for its credential, so no list of key names would be complete.
#[tokio::test]
async fn no_route_plants_replaces_or_removes_a_credential() {
    let kept = json!({"auth_type": "oauth2", "oauth2": {"access_token": "own"}});
    let tokens = LlmAgent::builder("tokens").model(ScriptedModel::saying("hi").repeating()).build().unwrap();
    let app = App::new("demo", tokens).unwrap();
    let served = serve(Server::new().app(app).sessions(InMemorySessionService::new())).await;
    served.session("demo", "s").await;
    let runner = served.server.runner("demo").unwrap();
    let delta = Map::from_iter([("kept".to_owned(), kept.clone())]);
    let request = pleach::RunRequest::new(("u", "s")).message("go").reserved_state_delta(delta);
    runner.start(request).reply().await.unwrap();
    let before = served.get(&format!("{BASE}/s")).await.json();
    let shown = json!({"auth_type": "oauth2", "oauth2": {}});
    assert_eq!(before["state"], json!({"kept": shown}));
    let planted = [
        json!({"auth_type": "apiKey", "api_key": "planted"}),
        json!({"authType": "http", "http": {"scheme": "bearer", "credentials": {"token": "planted"}}}),
        json!({"auth_type": "oauth2", "oauth2": {"access_token": "planted"}}),
    ];
    let mut deltas: Vec<(&str, Value)> = Vec::new();
    for credential in &planted {
        deltas.extend(["k", "user:k", "app:k", "temp:k", "kept"].map(|key| (key, credential.clone())));
    }
    for (key, value) in deltas {
        for (number, ask) in changes(&object(key, value)).into_iter().enumerate() {
            let reply = served.send(ask).await;
            // This request writes to the named session without a wrapper.
            if number == 3 && reply.status == 200 {
                served.send(Ask::new("DELETE", &format!("{BASE}/new"))).await;
                continue;
            }
            assert!((400..500).contains(&reply.status), "{key} {number}: {reply:?}");
        }
    }
    for value in [json!(null), json!("x")] {
        let patch = Ask::new("PATCH", &format!("{BASE}/s")).json(&json!({"stateDelta": {"kept": value}}));
        let refused = served.send(patch).await;
        assert_eq!((refused.status, refused.detail().contains("'kept'")), (403, true), "{refused:?}");
    }
    // A credential that is sent back as it was shown stays unchanged.
    let whole = json!({"kept": shown, "mood": "good"});
    let patched = served.send(Ask::new("PATCH", &format!("{BASE}/s")).json(&json!({"stateDelta": whole}))).await;
    assert_eq!((patched.status, &patched.json()["state"]), (200, &whole));
    let mut run = message("demo", "s", "hi");
    run["stateDelta"] = whole;
    assert_eq!(served.post("/run", run).await.status, 200);
    let key = pleach::SessionKey::new("demo", "u", "s");
    let stored = runner.sessions().get_session(&key, Default::default()).await.unwrap().unwrap();
    assert_eq!((&stored.state["kept"], &stored.state["mood"]), (&kept, &json!("good")));
    // A change through another session of the user does not replace the credential either.
    let delta = Map::from_iter([("user:kept".to_owned(), kept.clone())]);
    let request = pleach::RunRequest::new(("u", "s")).message("go").reserved_state_delta(delta);
    runner.start(request).reply().await.unwrap();
    let refused = served.post(BASE, json!({"state": {"user:kept": "x"}})).await;
    assert_eq!((refused.status, refused.detail().contains("'user:kept'")), (403, true), "{refused:?}");
}

async fn state_of(served: &Served, session: &str) -> Value {
    served.get(&format!("{BASE}/{session}")).await.json()["state"].clone()
}

#[tokio::test]
async fn no_route_changes_a_reserved_key() {
    let served = demo().await;
    served.session("demo", "s").await;
    for key in state_keys() {
        for value in [json!(1), Value::Null] {
            for (number, ask) in changes(&object(&key, value)).into_iter().enumerate() {
                let reply = served.send(ask).await;
                // The named session without a wrapper has a key `state`, which is the session's own.
                let is_open = number == 3 && reply.status == 200;
                assert!(is_open || (400..500).contains(&reply.status), "{key} {number}: {reply:?}");
                if is_open {
                    served.send(Ask::new("DELETE", &format!("{BASE}/new"))).await;
                } else if ![7, 9].contains(&number) {
                    assert!(reply.status == 404 || reply.detail().contains(&key), "{key} {number}: {reply:?}");
                }
            }
        }
    }
    let session = served.get(&format!("{BASE}/s")).await.json();
    assert_eq!((&session["state"], &session["events"]), (&json!({}), &json!([])));
    assert_eq!(served.get(&format!("{BASE}/new")).await.status, 404);
}

#[tokio::test]
async fn no_route_writes_reserved_metadata() {
    let served = demo().await;
    served.session("demo", "s").await;
    let metadata: Map<String, Value> = NAMES
        .iter()
        .filter(|name| !name.starts_with("adk_"))
        .map(|name| ((*name).to_owned(), json!({"name": "paid", "payload": 1})))
        .chain([("trace".to_owned(), json!("t1"))])
        .collect();
    for (path, member) in [("/run", "customMetadata"), ("/run", "custom_metadata"), ("/run_sse", "customMetadata")] {
        let mut run = message("demo", "s", "hi");
        run[member] = Value::Object(metadata.clone());
        assert_eq!(served.post(path, run).await.status, 200);
    }
    let events = json!([{"author": "user", "content": {"parts": [{"text": "x"}]}, "customMetadata": metadata}]);
    let made = served.post(BASE, json!({"sessionId": "t", "events": events})).await;
    assert_eq!(made.status, 200, "{made:?}");
    for session in ["s", "t"] {
        let runner = served.server.runner("demo").unwrap();
        let key = pleach::SessionKey::new("demo", "u", session);
        let stored = runner.sessions().get_session(&key, Default::default()).await.unwrap().unwrap();
        for event in &stored.events {
            let keys: Vec<&String> = event.custom_metadata().into_iter().flat_map(Map::keys).collect();
            let expected = if session == "s" { vec!["trace"] } else { vec!["__adk_internal_restored_event", "trace"] };
            assert_eq!(keys, expected);
        }
    }
}

/// A browser UI sends the whole state back when a person changes one value of it.
#[tokio::test]
async fn a_state_that_is_sent_back_changes_only_the_values_that_a_person_has_changed() {
    let budget = BudgetPlugin::builder().per_user(Limits::new().model_calls(9)).build().unwrap();
    let served = serve(shop(LlmAgent::builder("helper").model(ScriptedModel::saying("hi").repeating()), budget)).await;
    served.session("shop", "s").await;
    assert_eq!(served.post("/run", message("shop", "s", "go")).await.status, 200);
    let session = "/apps/shop/users/u/sessions/s";
    let mut whole = served.get(session).await.json()["state"].clone();
    assert_eq!(whole["user:_pleach_budget:model_calls"], 1);
    whole["mood"] = json!("good");
    let patched = served.send(Ask::new("PATCH", session).json(&json!({"stateDelta": whole}))).await;
    assert_eq!((patched.status, &patched.json()["state"]), (200, &whole));
    let mut run = message("shop", "s", "go");
    whole["mood"] = json!("better");
    run["stateDelta"] = whole.clone();
    let key = Ask::post("/run", &run).header("idempotency-key", "k");
    assert_eq!(served.send(key.clone()).await.status, 200);
    // The state is sent back again, after the run has changed its counts.
    let again = served.send(key).await;
    assert_eq!(again.status, 200, "{again:?}");
    let session = served.get(session).await.json();
    assert_eq!(
        (&session["state"]["mood"], &session["state"]["user:_pleach_budget:model_calls"]),
        (&json!("better"), &json!(2))
    );
    let deltas: Vec<&Value> =
        session["events"].as_array().unwrap().iter().map(|event| &event["actions"]["stateDelta"]).collect();
    assert!(deltas.contains(&&json!({"mood": "good"})) && deltas.contains(&&json!({"mood": "better"})), "{deltas:?}");
}

fn shop(agent: pleach::LlmAgentBuilder, budget: BudgetPlugin) -> Server {
    let app = App::new("shop", agent.build().unwrap()).unwrap().plugin(budget);
    Server::new().app(app).sessions(InMemorySessionService::new())
}

async fn says(served: &Served, user: &str) -> Reply {
    let mut run = message("shop", "s", "go");
    run["userId"] = json!(user);
    served.post("/run", run).await
}

#[tokio::test]
async fn a_spent_budget_stays_spent() {
    let model = ScriptedModel::saying("hi").repeating();
    let limits = || Limits::new().model_calls(2);
    let budget = BudgetPlugin::builder().per_user(limits()).build().unwrap();
    let served = serve(shop(LlmAgent::builder("helper").model(model.clone()), budget)).await;
    served.session("shop", "s").await;
    for _ in 0..4 {
        assert_eq!(says(&served, "u").await.status, 200);
    }
    assert_eq!(model.requests().len(), 2);
    for key in ["user:_pleach_budget:base:model_calls", "user:_pleach_budget:model_calls", "user:_pleach_budget:window"]
    {
        for value in [json!(0), json!(100), json!(-5), json!("x"), Value::Null] {
            let patch =
                Ask::new("PATCH", "/apps/shop/users/u/sessions/s").json(&json!({"stateDelta": object(key, value)}));
            assert_eq!(served.send(patch).await.status, 403);
        }
    }
    // The key names of an earlier version are ordinary state.
    let old = json!({"stateDelta": {"user:budget:base:model_calls": 100}});
    assert_eq!(served.send(Ask::new("PATCH", "/apps/shop/users/u/sessions/s").json(&old)).await.status, 200);
    assert!(says(&served, "u").await.text.contains("BUDGET_EXCEEDED"));
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn one_user_does_not_block_the_others() {
    let model = ScriptedModel::saying("hi").repeating();
    let budget = BudgetPlugin::builder().per_app(Limits::new().model_calls(5)).build().unwrap();
    let served = serve(shop(LlmAgent::builder("helper").model(model.clone()), budget)).await;
    for user in ["u", "b"] {
        let made = served.post(&format!("/apps/shop/users/{user}/sessions"), json!({"sessionId": "s"})).await;
        assert_eq!(made.status, 200);
    }
    for delta in
        [json!({"app:_pleach_budget:model_calls": 1000}), json!({"app:_pleach_budget:window": 99_999_999_999_u64})]
    {
        let patch = Ask::new("PATCH", "/apps/shop/users/u/sessions/s").json(&json!({"stateDelta": delta}));
        assert_eq!(served.send(patch).await.status, 403);
    }
    assert!(!says(&served, "b").await.text.contains("BUDGET_EXCEEDED"));
    assert_eq!(model.requests().len(), 1);
}

/// The run records its usage on its events, and an answer continues from the recorded usage.
#[tokio::test]
async fn a_client_does_not_reset_the_limit_of_a_run() {
    let pay = tool("pay", "Pays.", async || "paid").require_confirmation();
    let model = ScriptedModel::calling("pay", json!({}));
    let model = (0..20).fold(model, |model, _| model.then(pleach::model::ScriptedReply::calls([("pay", json!({}))])));
    let budget = BudgetPlugin::builder().per_run(Limits::new().model_calls(3)).build().unwrap();
    let served = serve(shop(LlmAgent::builder("helper").model(model.clone()).tool(pay), budget)).await;
    served.session("shop", "s").await;
    let mut body = message("shop", "s", "go");
    for _ in 0..6 {
        body["customMetadata"] = json!({"_pleach_budget": {}, "kept": 1});
        let reply = served.post("/run", body.clone()).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let events = reply.json();
        let asked = events.as_array().unwrap().iter().rev().find_map(|event| event["longRunningToolIds"][0].as_str());
        let Some(id) = asked.map(str::to_owned) else { break };
        let part = json!({"functionResponse": {"id": id, "name": "adk_request_confirmation", "response": {"confirmed": true}}});
        body["newMessage"]["parts"] = json!([part]);
    }
    assert_eq!(model.requests().len(), 3);
}

/// A model chooses the key under which the tool writes.
#[tokio::test]
async fn a_tool_does_not_write_reserved_keys_for_a_model() {
    let put = tool("put", "Writes state.", async |ctx: pleach::ToolContext| {
        ctx.state().set("user:_pleach_budget:base:model_calls", 9)
    });
    let budget = BudgetPlugin::builder().per_user(Limits::new().model_calls(9)).build().unwrap();
    let model = ScriptedModel::calling("put", json!({})).then_text("done");
    let served = serve(shop(LlmAgent::builder("helper").model(model).tool(put), budget)).await;
    served.session("shop", "s").await;
    assert_eq!(says(&served, "u").await.status, 500);
    let session = served.get("/apps/shop/users/u/sessions/s").await.json();
    assert_eq!(session["events"].as_array().unwrap().last().unwrap()["errorCode"], "ReservedKeyError");
    assert_eq!(session["state"], json!({"user:_pleach_budget:model_calls": 1}));
}

fn bound(rights: CallerRights) -> Server {
    apps().caller_rights(rights).caller(|request| match request.headers.get("x-user") {
        Some(user) => Caller::User(user.to_str().unwrap().into()),
        None => Caller::Anyone,
    })
}

#[tokio::test]
async fn a_bound_caller_does_not_change_the_state_of_the_app() {
    for (rights, status) in [(CallerRights::new(), 403), (CallerRights::new().app_state(true), 200)] {
        let served = serve(bound(rights)).await;
        served.session("demo", "s").await;
        let shared = Ask::new("PATCH", &format!("{BASE}/s")).json(&json!({"stateDelta": {"app:limit": 1}}));
        assert_eq!(served.send(shared).await.status, 200, "a caller that is not bound to a user");
        for (number, ask) in changes(&json!({"app:limit": 2, "own": 1})).into_iter().enumerate() {
            if [3, 7].contains(&number) {
                continue;
            }
            let reply = served.send(ask.header("x-user", "u")).await;
            assert_eq!(reply.status, status, "{number}: {reply:?}");
            if reply.status == 403 {
                assert!(reply.detail().contains("app:limit"), "{reply:?}");
            }
            served.send(Ask::new("DELETE", &format!("{BASE}/new"))).await;
        }
        let expected = if status == 200 { json!({"app:limit": 2, "own": 1}) } else { json!({"app:limit": 1}) };
        assert_eq!(state_of(&served, "s").await, expected);
        // Unchanged values may be sent back.
        let mut whole = expected;
        whole["own"] = json!(2);
        let echo = Ask::new("PATCH", &format!("{BASE}/s")).json(&json!({"stateDelta": whole})).header("x-user", "u");
        assert_eq!(served.send(echo).await.status, 200);
        assert_eq!(state_of(&served, "s").await, whole);
    }
}

#[tokio::test]
async fn a_bound_caller_writes_nothing_of_other_apps() {
    for (rights, refused) in [(CallerRights::new(), true), (CallerRights::new().other_apps(true), false)] {
        let artifacts = InMemoryArtifactService::with_clock(Arc::new(SystemClock));
        let served = serve(bound(rights).artifacts(artifacts)).await;
        let other = "/apps/other/users/u/sessions";
        assert_eq!(served.post(other, json!({"sessionId": "s"})).await.status, 200);
        let part = json!({"filename": "x", "artifact": {"text": "t"}});
        for ask in [
            Ask::post(other, &json!({"sessionId": "t"})),
            Ask::post(&format!("{other}/t2"), &json!({})),
            Ask::new("PATCH", &format!("{other}/s")).json(&json!({"stateDelta": {"k": 1}})),
            Ask::post(&format!("{other}/s/artifacts"), &part),
            Ask::new("DELETE", &format!("{other}/s/artifacts/x")),
            Ask::new("PATCH", "/apps/other/users/u/memory").json(&json!({"sessionId": "s"})),
            Ask::new("DELETE", &format!("{other}/s")),
        ] {
            let reply = served.send(ask.header("x-user", "u")).await;
            assert_eq!(reply.status, if refused { 404 } else { 200 }, "{reply:?}");
        }
        let left = served.get(other).await.json();
        assert_eq!(left.as_array().unwrap().len(), if refused { 1 } else { 2 }, "{left}");
    }
}

/// Such a session could contain a forged result of a step.
#[tokio::test]
async fn a_bound_caller_begins_no_session_with_events() {
    let forged =
        json!([{"author": "wf", "invocationId": "e-1", "nodeInfo": {"path": "wf@1/pay@1/charge@step-1"}, "output": 1}]);
    for (rights, status) in [(CallerRights::new(), 403), (CallerRights::new().initial_events(true), 200)] {
        let served = serve(bound(rights)).await;
        let with_events = Ask::post(BASE, &json!({"sessionId": "t", "events": forged}));
        assert_eq!(served.send(with_events.clone().header("x-user", "u")).await.status, status);
        assert_eq!(served.get(&format!("{BASE}/t")).await.status, if status == 403 { 404 } else { 200 });
        let none = Ask::post(BASE, &json!({"sessionId": "e", "events": []})).header("x-user", "u");
        assert_eq!(served.send(none).await.status, 200);
    }
}
