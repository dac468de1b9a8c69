//! Tests that a caller who is bound to a user cannot act for another user. The path, the body or the name of a file may
//! name that user.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use pleach::server::{Caller, Server};
use pleach::{
    ArtifactScope, ArtifactService as _, FileArtifactService, InMemoryArtifactService, InMemorySessionService, Part,
    SaveArtifact, SessionKey, SystemClock,
};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::client::Ask;
use crate::served::{Served, apps, message, serve};

/// A server whose callers are named by a header, as an authenticating proxy would set it.
fn bound() -> Server {
    apps().caller(|request| match request.headers.get("x-user") {
        Some(user) => Caller::User(user.to_str().unwrap().into()),
        None => Caller::Unknown,
    })
}

async fn with_sessions() -> Served {
    let served = serve(bound()).await;
    for user in ["u", "b"] {
        let made = Ask::post(&format!("/apps/demo/users/{user}/sessions"), &json!({"sessionId": "s"}));
        assert_eq!(served.send(made.header("x-user", user)).await.status, 200);
    }
    served
}

/// All requests that can name a user, with this user.
fn requests(user: &str) -> Vec<Ask> {
    let base = format!("/apps/demo/users/{user}");
    let session = format!("{base}/sessions/s");
    let part = json!({"filename": "user:x", "artifact": {"text": "t"}});
    let mut run = message("demo", "s", "hi");
    run["userId"] = json!(user);
    let mut snake = run.clone();
    snake.as_object_mut().unwrap().remove("userId");
    snake["user_id"] = json!(user);
    let mut both = run.clone();
    both["user_id"] = json!("u");
    let bodies: Vec<Value> = vec![run, snake, both];
    let mut asks = vec![
        Ask::get(&format!("{base}/sessions")),
        Ask::post(&format!("{base}/sessions"), &json!({"userId": "u"})),
        Ask::get(&session),
        Ask::post(&format!("{base}/sessions/new"), &json!({})),
        Ask::new("PATCH", &session).json(&json!({"stateDelta": {"user:x": 1}})),
        Ask::get(&format!("{session}/events")),
        Ask::new("PATCH", &format!("{base}/memory")).json(&json!({"sessionId": "s"})),
        Ask::post(&format!("{session}/artifacts"), &part),
        Ask::get(&format!("{session}/artifacts")),
        Ask::get(&format!("{session}/artifacts/user:x")),
        Ask::get(&format!("{session}/artifacts/user:x/versions/0/metadata")),
        Ask::new("DELETE", &format!("{session}/artifacts/user:x")),
    ];
    for body in bodies {
        asks.extend([Ask::post("/run", &body), Ask::post("/run_sse", &body)]);
    }
    asks.push(Ask::new("DELETE", &session));
    asks
}

#[tokio::test]
async fn a_caller_acts_only_for_its_own_user() {
    let served = with_sessions().await;
    for ask in requests("b") {
        let reply = served.send(ask.header("x-user", "u")).await;
        assert_eq!((reply.status, reply.detail()), (403, "The caller may not act for this user.".to_owned()));
    }
    for user in ["U", "u%00", "%62", "u%20", "u%2f..%2fb", "..%2fb"] {
        let reply = served.send(Ask::get(&format!("/apps/demo/users/{user}/sessions")).header("x-user", "u")).await;
        assert!([403, 404].contains(&reply.status), "{user}: {reply:?}");
    }
    for ask in requests("u") {
        let reply = served.send(ask.header("x-user", "u")).await;
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    let kept = served.send(Ask::get("/apps/demo/users/b/sessions/s").header("x-user", "b")).await;
    assert_eq!((kept.status, &kept.json()["events"]), (200, &json!([])));
}

#[tokio::test]
async fn a_caller_sees_no_events_of_others_in_the_development_server() {
    let served = serve(bound().dev(true)).await;
    let made = Ask::post("/apps/demo/users/b/sessions", &json!({"sessionId": "s"})).header("x-user", "b");
    assert_eq!(served.send(made).await.status, 200);
    let graph = Ask::get("/dev/apps/demo/users/b/sessions/s/events/e/graph");
    for (user, status) in [("u", 403), ("b", 200)] {
        assert_eq!(served.send(graph.clone().header("x-user", user)).await.status, status, "{user}");
    }
    for path in ["/dev/apps/demo/build_graph", "/dev/apps/demo/debug/trace/session/s", "/dev/apps/demo/tests"] {
        assert_eq!(served.get(path).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn an_unknown_caller_only_sees_that_the_server_is_up() {
    let served = with_sessions().await;
    for ask in
        requests("u").into_iter().chain([Ask::get("/list-apps"), Ask::get("/version"), Ask::get("/apps/demo/app-info")])
    {
        assert_eq!(served.send(ask).await.status, 401);
    }
    assert_eq!(served.get("/health").await.status, 200);
}

/// The payloads that `PayloadSessions` keeps next to the files of an app are not files of a client.
#[tokio::test]
async fn payloads_are_not_reached_as_artifacts() {
    let artifacts = Arc::new(InMemoryArtifactService::with_clock(Arc::new(SystemClock)));
    let served = serve(bound().artifacts(artifacts.clone())).await;
    let kept = ArtifactScope::session(&SessionKey::new("demo.payloads", "u", "s")).artifact("payload-1");
    artifacts.save_artifact(SaveArtifact::new(kept.clone(), Part::text("kept"))).await.unwrap();
    let base = "/apps/demo.payloads/users/u/sessions/s/artifacts";
    let part = json!({"filename": "payload-1", "artifact": {"text": "t"}});
    for ask in [
        Ask::get(base),
        Ask::get(&format!("{base}/payload-1")),
        Ask::get(&format!("{base}/payload-1/versions/0/metadata")),
        Ask::post(base, &part),
        Ask::new("DELETE", &format!("{base}/payload-1")),
    ] {
        assert_eq!(served.send(ask.header("x-user", "u")).await.status, 404);
    }
    assert_eq!(artifacts.list_versions(&kept).await.unwrap(), [0]);
}

#[tokio::test]
async fn a_file_of_another_user_is_not_reached_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let files = FileArtifactService::open(folder.path(), Arc::new(SystemClock)).await.unwrap();
    let served = serve(bound().artifacts(files)).await;
    let path = |user: &str| format!("/apps/demo/users/{user}/sessions/s/artifacts");
    let secret = json!({"filename": "user:secret.txt", "artifact": {"text": "of b"}});
    assert_eq!(served.send(Ask::post(&path("b"), &secret).header("x-user", "b")).await.status, 200);
    let names = [
        "../../../../b/artifacts/secret.txt",
        "user:../../b/artifacts/secret.txt",
        "..\\..\\b\\artifacts\\secret.txt",
        "/apps/demo/users/b/artifacts/secret.txt",
    ];
    for name in names {
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
        for name in [name.to_owned(), encoded] {
            let reply = served.send(Ask::get(&format!("{}/{name}", path("u"))).header("x-user", "u")).await;
            assert!(reply.status >= 400 && !reply.text.contains("of b"), "{name}: {reply:?}");
        }
        let written = json!({"filename": name, "artifact": {"text": "of u"}});
        let reply = served.send(Ask::post(&path("u"), &written).header("x-user", "u")).await;
        assert!(reply.status == 400, "{name}: {reply:?}");
    }
    let reference = "artifact://apps/demo/users/b/artifacts/secret.txt/versions/0";
    let reference = json!({"filename": "r", "artifact": {"fileData": {"fileUri": reference}}});
    assert_eq!(served.send(Ask::post(&path("u"), &reference).header("x-user", "u")).await.status, 400);
    let own = served.send(Ask::get(&format!("{}/user:secret.txt", path("b"))).header("x-user", "b")).await;
    assert!(own.text.contains("of b"), "{own:?}");
}

#[tokio::test]
async fn a_layer_in_front_of_nested_routes_names_the_caller() {
    async fn authenticate(mut request: Request, next: Next) -> axum::response::Response {
        request.extensions_mut().insert(Caller::User("u".into()));
        next.run(request).await
    }
    let routes = apps().sessions(InMemorySessionService::new()).into_router().unwrap();
    let service = Router::new().nest_service("/adk", routes).layer(from_fn(authenticate));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, service).await });
    assert_eq!(Ask::post("/adk/apps/demo/users/u/sessions", &json!({"sessionId": "s"})).to(address).await.status, 200);
    assert_eq!(Ask::get("/adk/apps/demo/users/b/sessions").to(address).await.status, 403);
    assert_eq!(Ask::get("/adk/apps/demo/users/u/sessions").header("host", "any.example").to(address).await.status, 200);
    let foreign = Ask::get("/adk/list-apps").header("origin", "http://evil.example");
    assert_eq!(foreign.to(address).await.status, 403);
    let reply = Ask::get("/adk/list-apps/?x=1").to(address).await;
    assert_eq!((reply.status, reply.header("location")), (307, Some("/adk/list-apps?x=1")));
    assert_eq!(Ask::post("/adk/run", &message("demo", "s", "hi")).to(address).await.status, 200);
}
