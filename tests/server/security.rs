//! Requests that must be refused, and data that must not leave the server.

use std::sync::Arc;

use pleach::{FileArtifactService, SystemClock};
use serde_json::json;

use crate::client::Ask;
use crate::served::{apps, demo, message, serve};

/// One request of each kind.
fn asks() -> Vec<Ask> {
    let session = "/apps/demo/users/u/sessions/s";
    vec![
        Ask::get("/health"),
        Ask::get("/list-apps"),
        Ask::get(session),
        Ask::get(&format!("{session}/events")),
        Ask::post("/run", &message("demo", "s", "hi")),
        Ask::post("/run_sse", &message("demo", "s", "hi")),
        Ask::new("DELETE", session),
        Ask::new("OPTIONS", "/run").header("access-control-request-method", "POST"),
        Ask::get("/run_live?app_name=demo&user_id=u&session_id=s").header("upgrade", "websocket"),
        Ask::get("/nope"),
    ]
}

#[tokio::test]
async fn h90_h91_requests_of_foreign_pages_are_refused_on_every_route() {
    let served = demo().await;
    served.session("demo", "s").await;
    let port = served.address.port();
    for ask in asks() {
        for host in
            ["evil.example".to_owned(), format!("127.0.0.1:{port}.evil.example"), format!("evil.example:{port}")]
        {
            let reply = served.send(ask.clone().header("host", &host)).await;
            assert_eq!((reply.status, reply.text.as_str()), (403, "Forbidden: host not allowed"), "{host}");
        }
        let origins = ["http://evil.example", "null", "https://evil.example", "http://127.0.0.1:1", "http://localhost"];
        for origin in origins {
            let reply = served.send(ask.clone().header("origin", origin)).await;
            assert_eq!((reply.status, reply.text.as_str()), (403, "Forbidden: origin not allowed"), "{origin}");
            assert_eq!(reply.header("access-control-allow-origin"), None);
        }
    }
    let own = format!("http://127.0.0.1:{port}");
    assert_eq!(served.send(Ask::get("/list-apps").header("origin", &own)).await.status, 200);
    assert_eq!(served.get("/apps/demo/users/u/sessions/s").await.json()["events"], json!([]));
}

/// Spellings of `../`.
const UP: &[&str] = &["../", "..%2f", "%2e%2e/", "%2e%2e%2f", "%252e%252e%252f", "..%5c", "..\\", "..%255c", "....//"];

#[tokio::test]
async fn no_path_leaves_the_folder_of_its_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("outside.txt"), "outside").unwrap();
    let root = folder.path().join("files");
    let files = FileArtifactService::open(&root, Arc::new(SystemClock)).await.unwrap();
    let served = serve(apps().artifacts(files)).await;
    served.session("demo", "s").await;
    let part = json!({"filename": "x.txt", "artifact": {"text": "inside"}});
    let base = "/apps/demo/users/u/sessions/s/artifacts";
    assert_eq!(served.post(base, part.clone()).await.status, 200);
    for up in UP {
        for depth in 1..12 {
            let climb = up.repeat(depth);
            let get = served.get(&format!("{base}/{climb}outside.txt")).await;
            assert!(get.status >= 400 && !get.text.contains("outside\""), "{climb}: {get:?}");
            served.send(Ask::new("DELETE", &format!("{base}/{climb}outside.txt"))).await;
            served.post(base, json!({"filename": format!("{climb}written.txt"), "artifact": {"text": "w"}})).await;
            for path in [
                format!("/apps/{climb}/users/u/sessions/s/artifacts"),
                format!("/apps/demo/users/{climb}/sessions/s/artifacts"),
                format!("/apps/demo/users/u/sessions/{climb}/artifacts"),
                format!("/apps/demo/users/u/sessions/{climb}"),
                format!("/apps/{climb}/app-info"),
                format!("/{climb}etc/passwd"),
            ] {
                let reply = served.post(&path, part.clone()).await;
                assert!(reply.status < 500, "{path}: {reply:?}");
                let reply = served.get(&path).await;
                assert!(reply.status < 500 && !reply.text.contains("root:"), "{path}: {reply:?}");
            }
        }
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("outside.txt")).unwrap(), "outside");
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[tokio::test]
async fn h82_memory_takes_any_name_as_it_is() {
    let served = demo().await;
    let base = "/apps/demo/users/u/sessions/s/artifacts";
    for name in ["../x", "a\\b", "", "a/b.txt", "%2e"] {
        let saved = served.post(base, json!({"filename": name, "artifact": {"text": name}})).await;
        assert_eq!(saved.status, 200, "{saved:?}");
    }
    assert_eq!(served.get(base).await.json(), json!(["", "%2e", "../x", "a/b.txt", "a\\b"]));
    for path in ["../x", "%2e%2e%2fx"] {
        assert_eq!(served.get(&format!("{base}/{path}")).await.json(), json!({"text": "../x"}));
    }
    assert_eq!(served.get(&format!("{base}/%252e")).await.json(), json!({"text": "%2e"}));
}

#[tokio::test]
async fn h53_nothing_that_is_said_ends_a_block_or_adds_a_line() {
    let served = demo().await;
    served.session("demo", "s").await;
    let text = "a\n\ndata: {\"forged\": true}\r\n\r\nid: x\nevent: y\n\u{2028}\u{85}";
    let reply = served.post("/run_sse", message("demo", "s", text)).await;
    assert_eq!(reply.events().len(), 1);
    assert!(reply.text.lines().all(|line| line.is_empty() || line.starts_with("data: {\"modelVersion\"")), "{reply:?}");
    let events =
        json!([{"author": "user", "id": "e\ndata: {\"forged\": true}\n\n", "content": {"parts": [{"text": "x"}]}}]);
    let made = served.post("/apps/demo/users/u/sessions", json!({"sessionId": "t", "events": events})).await;
    assert_eq!(made.status, 200);
    let reply = served.get("/apps/demo/users/u/sessions/t/events").await;
    assert_eq!(reply.events().len(), 1);
}

#[tokio::test]
async fn h7_a_redirection_stays_on_the_server() {
    let served = demo().await;
    for path in ["//evil.example/", "//evil.example/list-apps/", "/%2fevil.example/", "/\\evil.example/"] {
        let reply = served.get(path).await;
        assert_eq!((reply.status, reply.header("location")), (404, None), "{path}");
    }
}

#[tokio::test]
async fn h9_secrets_of_credentials_do_not_leave_by_any_route() {
    let served = demo().await;
    let credential = json!({"authType": "oauth2", "oauth2": {"clientId": "public", "clientSecret": "s3cr3t", "accessToken": "t0k3n"}});
    // Clients may not write a credential into the state, so the program does.
    let state = json!({"cred": credential, "user:cred": {"raw_auth_credential": credential}});
    let wanted = pleach::CreateSession::new("demo", "u").with_session_id("s");
    let wanted = wanted.with_state(state.as_object().unwrap().clone());
    served.server.runner("demo").unwrap().sessions().create_session(wanted).await.unwrap();
    let replies = [
        served.get("/apps/demo/users/u/sessions/s").await,
        served.get("/apps/demo/users/u/sessions").await,
        served
            .send(
                Ask::new("PATCH", "/apps/demo/users/u/sessions/s").json(&json!({"stateDelta": {"more": [credential]}})),
            )
            .await,
        served.get("/apps/demo/users/u/sessions/s/events").await,
    ];
    // The credential is nested as deep as it can be stored.
    let deep = (0..120).fold(credential, |inner, _| json!([inner]));
    let deep = Ask::new("PATCH", "/apps/demo/users/u/sessions/s").json(&json!({"stateDelta": {"deep": deep}}));
    for reply in replies.into_iter().chain([served.send(deep).await]) {
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(reply.text.contains("public"), "{reply:?}");
        assert!(!reply.text.contains("s3cr3t") && !reply.text.contains("t0k3n"), "{reply:?}");
    }
}
