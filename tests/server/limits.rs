//! Tests of the server's limits. Each reply names the limit.

use std::sync::Arc;
use std::time::Duration;

use pleach::server::ServerLimits;
use pleach::{FileArtifactService, SystemClock};
use pleach_contract::TestClock;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::Ask;
use crate::gate::Gate;
use crate::served::{Served, apps, message, serve};

#[tokio::test]
async fn a_body_that_is_too_large_is_answered_with_413() {
    let served = serve(apps().limits(ServerLimits::new().body_bytes(1_000))).await;
    served.session("demo", "s").await;
    let large = message("demo", "s", &"x".repeat(2_000));
    let declared = served.post("/run", large.clone()).await;
    assert_eq!(
        (declared.status, declared.detail()),
        (413, "The body is too large: at most 1000 bytes are accepted.".into())
    );
    let text = large.to_string();
    let chunked = format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len());
    let ask = Ask::new("POST", "/run").raw(chunked, "application/json").header("transfer-encoding", "chunked");
    let reply = served.send(ask.header("content-length", "0")).await;
    assert!([400, 413].contains(&reply.status), "{reply:?}");
    assert_eq!(served.post("/run", message("demo", "s", "hi")).await.status, 200);
}

#[tokio::test]
async fn deep_json_is_refused_before_anything_is_stored() {
    let served = serve(apps()).await;
    served.session("demo", "s").await;
    for levels in [128, 100_000] {
        let deep = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        let body = format!(r#"{{"appName":"demo","userId":"u","sessionId":"s","stateDelta":{{"k":{deep}}}}}"#);
        let reply = served.send(Ask::new("POST", "/run").raw(body, "application/json")).await;
        assert_eq!(reply.status, 400, "{reply:?}");
        assert!(reply.detail().contains("nested too deep"), "{reply:?}");
    }
    // The state can be read but not stored, because the document of its event is deeper than the state.
    let deep = (0..125).fold(json!(1), |inner, _| json!([inner]));
    let mut body = message("demo", "s", "hi");
    body["stateDelta"] = json!({ "k": deep });
    assert_eq!(served.post("/run", body).await.status, 400);
    let update = Ask::new("PATCH", "/apps/demo/users/u/sessions/s").json(&json!({"stateDelta": {"k": deep}}));
    assert_eq!(served.send(update).await.status, 400);
    assert_eq!(served.get("/apps/demo/users/u/sessions/s").await.json()["events"], json!([]));
}

/// Sends a text unchanged. Returns the status and the place and text of the first problem.
async fn refused(served: &Served, path: &str, text: String) -> (u16, String) {
    let reply = served.send(Ask::new("POST", path).raw(text, "application/json")).await;
    let problem = &reply.json()["detail"][0];
    (reply.status, format!("{} {}", problem["loc"], problem["msg"]))
}

#[tokio::test]
async fn counts_of_a_body_are_bounded_before_anything_is_stored() {
    let served = serve(apps()).await;
    served.session("demo", "s").await;
    let many = |item: &str, count: usize| vec![item; count].join(",");
    let events = |count| format!(r#"{{"sessionId":"t","events":[{}]}}"#, many("{}", count));
    let parts = |count| {
        format!(r#"{{"appName":"demo","userId":"u","sessionId":"s","newMessage":{{"parts":[{}]}}}}"#, many("{}", count))
    };
    for (path, text, expected) in [
        (
            "/apps/demo/users/u/sessions",
            events(1_001),
            r#"["body","events"] "The request has too many events: at most 1000"#,
        ),
        ("/apps/demo/users/u/sessions", events(2_000_000), "limit `events`"),
        ("/run", parts(10_001), r#"["body","newMessage","parts"] "The request has too many parts: at most 10000"#),
        ("/run_sse", parts(2_000_000), "limit `parts`"),
        (
            "/apps/demo/users/u/sessions/t",
            format!(r#"{{"events":[{}]}}"#, many("0", 250_000)),
            r#"["body"] "The request has too many values: at most 250000"#,
        ),
    ] {
        let (status, problem) = refused(&served, path, text).await;
        assert!(status == 422 && problem.contains(expected), "{path}: {status} {problem}");
    }
    let listed = served.get("/apps/demo/users/u/sessions").await.json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(served.get("/apps/demo/users/u/sessions/s").await.json()["events"], json!([]));
    // Values at the limit, and lists of user data with the same names, are accepted.
    let (status, problem) =
        refused(&served, "/apps/demo/users/u/sessions/t", format!(r#"{{"events":[{}]}}"#, many("0", 1_001))).await;
    assert_eq!(status, 200, "{problem}");
}

#[tokio::test]
async fn counts_that_a_body_may_have_are_options() {
    let limits = ServerLimits::new().events(1).parts(2).values(40).levels(6);
    let served = serve(apps().limits(limits)).await;
    served.session("demo", "s").await;
    let events = json!({"events": [{"message": "a"}, {"message": "b"}]});
    assert_eq!(served.post("/apps/demo/users/u/sessions", events).await.status, 422);
    let mut body = message("demo", "s", "hi");
    body["newMessage"]["parts"] = json!([{"text": "a"}, {"text": "b"}]);
    assert_eq!(served.post("/run", body.clone()).await.status, 200);
    body["newMessage"]["parts"] = json!([{"text": "a"}, {"text": "b"}, {"text": "c"}]);
    assert_eq!(served.post("/run", body).await.status, 422);
    let state = |value| Ask::new("PATCH", "/apps/demo/users/u/sessions/s").json(&json!({"stateDelta": {"k": value}}));
    assert_eq!(served.send(state(json!(vec![0; 30]))).await.status, 200);
    assert_eq!(served.send(state(json!(vec![0; 40]))).await.status, 422);
    assert_eq!(served.send(state(json!([[[[1]]]]))).await.status, 200);
    let deep = served.send(state(json!([[[[[1]]]]]))).await;
    assert!(deep.status == 400 && deep.detail().contains("at most 6 levels"), "{deep:?}");
}

/// The body is not a valid message, and would be refused. Without a session it is not even read.
#[tokio::test]
async fn a_large_message_is_not_read_without_its_session() {
    let served = serve(apps()).await;
    served.session("demo", "s").await;
    for (length, session, status) in [(300 << 10, "s", 422), (300 << 10, "nope", 404), (10, "nope", 422)] {
        let mut body = message("demo", session, &"x".repeat(length));
        body["newMessage"]["parts"][0]["foo"] = json!(1);
        for path in ["/run", "/run_sse"] {
            assert_eq!(served.post(path, body.clone()).await.status, status, "{path} {length} {session}");
        }
    }
}

#[tokio::test]
async fn a_user_has_so_many_runs_at_once() {
    let gate = Gate::new();
    let served = serve(apps().app(gate.app()).limits(ServerLimits::new().runs_per_user(1))).await;
    served.session("gate", "s").await;
    served.session("demo", "s").await;
    let blocks = Ask::post("/run_sse", &message("gate", "s", "hi")).open(served.address).await;
    gate.reached().await;
    let refused = served.post("/run", message("gate", "s", "hi")).await;
    assert_eq!(refused.status, 429);
    assert!(refused.detail().contains("1 at once"), "{refused:?}");
    // Another app and another user of this app are not limited.
    assert_eq!(served.post("/run", message("demo", "s", "hi")).await.status, 200);
    let other = json!({"appName": "gate", "userId": "v", "sessionId": "s"});
    assert_eq!(served.post("/run", other).await.status, 404);
    gate.open();
    blocks.rest().await;
}

#[tokio::test]
async fn a_run_that_takes_too_long_is_aborted() {
    const TIME: Duration = Duration::from_secs(7);
    let (gate, clock) = (Gate::new(), TestClock::new());
    let limits = ServerLimits::new().run_time(TIME);
    let served = serve(apps().app(gate.app()).clock(clock.clone()).limits(limits)).await;
    served.session("gate", "s").await;
    for (path, status) in [("/run", 504), ("/run_sse", 200)] {
        let reply = tokio::spawn({
            let (ask, address) = (Ask::post(path, &message("gate", "s", "hi")), served.address);
            async move { ask.to(address).await }
        });
        gate.reached().await;
        assert_eq!(clock.end_sleeps_of(TIME), 1);
        let reply = reply.await.unwrap();
        assert_eq!(reply.status, status, "{reply:?}");
        assert!(reply.text.contains("longer than the server allows"), "{reply:?}");
    }
    let events = served.get("/apps/gate/users/u/sessions/s").await.json();
    let codes = events["events"].as_array().unwrap().iter().filter(|event| event["errorCode"] == "INVOCATION_ABORTED");
    assert_eq!(codes.count(), 2);
}

#[tokio::test]
async fn a_server_with_all_connections_in_use_reports_that_it_is_alive() {
    let served = serve(apps().limits(ServerLimits::new().connections(2))).await;
    served.session("demo", "s").await;
    let idle: Vec<TcpStream> = {
        let mut idle = Vec::new();
        for _ in 0..2 {
            let mut connection = TcpStream::connect(served.address).await.unwrap();
            connection.write_all(b"GET /list-apps HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
            assert_ne!(connection.read(&mut [0; 64]).await.unwrap(), 0);
            idle.push(connection);
        }
        idle
    };
    assert_eq!(served.get("/health").await.status, 200);
    for reply in [served.post("/run", message("demo", "s", "hi")).await, served.get("/list-apps").await] {
        assert_eq!(reply.status, 503, "{reply:?}");
        assert!(reply.detail().contains("as many connections open as it allows"), "{reply:?}");
    }
    assert_eq!(served.get("/health").await.status, 200);
    drop(idle);
    // The server notices the end of a connection some time later.
    while served.get("/list-apps").await.status != 200 {}
    assert_eq!(served.post("/run", message("demo", "s", "hi")).await.status, 200);
}

#[tokio::test]
async fn an_artifact_whose_name_no_file_can_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let served =
        serve(apps().artifacts(FileArtifactService::open(folder.path(), Arc::new(SystemClock)).await.unwrap())).await;
    served.session("demo", "s").await;
    let artifacts = "/apps/demo/users/u/sessions/s/artifacts";
    for name in ["x".repeat(256), format!("a/{}", "y".repeat(256)), "a/".repeat(600)] {
        let saved = served.post(artifacts, json!({"filename": name, "artifact": {"text": "hi"}})).await;
        assert_eq!(saved.status, 400, "{saved:?}");
        assert!(saved.detail().contains("bytes: use") && saved.detail().len() < 300, "{saved:?}");
        assert_eq!(served.get(&format!("{artifacts}/{name}")).await.status, 400);
    }
    let long = "x".repeat(255);
    assert_eq!(served.post(artifacts, json!({"filename": long, "artifact": {"text": "hi"}})).await.status, 200);
    assert_eq!(served.get(&format!("{artifacts}/{long}")).await.status, 200);
}
