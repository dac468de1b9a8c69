//! Tests of the development server's routes that would change or execute something. They serve only clients on the same
//! machine, and their replies have no data.

use serde_json::{Value, json};

use crate::client::{Ask, Reply};
use crate::served::{apps, serve};

/// The routes that would change or execute something, and those of the builder's documents. Each has its status for
/// clients on the same machine.
const GUARDED: &[(&str, &str, u16)] = &[
    ("PUT", "tests/t", 501),
    ("PUT", "tests/run", 501),
    ("DELETE", "tests/rebuild", 404),
    ("DELETE", "tests/t", 404),
    ("POST", "tests/rebuild", 501),
    ("POST", "tests/run?test_name=t", 501),
    ("POST", "eval-sets", 501),
    ("POST", "eval_sets/e", 501),
    ("POST", "eval-sets/e/add-session", 404),
    ("POST", "eval_sets/e/add_session", 404),
    ("PUT", "eval-sets/e/eval-cases/c", 404),
    ("DELETE", "eval_sets/e/evals/c", 404),
    ("POST", "eval-sets/e/run", 400),
    ("POST", "eval_sets/e/run_eval", 400),
    ("GET", "builder?file_path=x", 200),
    ("POST", "builder/save", 200),
    ("POST", "builder/cancel", 200),
    ("POST", "deploy/cloud_run", 501),
];

/// A body with all members that the routes read.
fn whole() -> Value {
    json!({"sessionData": {}, "evalSet": {"eval_set_id": "e", "eval_cases": []}, "evalId": "c", "sessionId": "s",
        "userId": "u", "evalMetrics": []})
}

/// A file of the builder.
fn upload(name: &str, text: &str) -> Ask {
    let head = format!("content-disposition: form-data; name=\"files\"; filename=\"{name}\"");
    let body = format!("--b0undary\r\n{head}\r\ncontent-type: application/yaml\r\n\r\n{text}\r\n--b0undary--\r\n");
    Ask::new("POST", "/dev/apps/demo/builder/save").raw(body, "multipart/form-data; boundary=b0undary")
}

#[tokio::test]
async fn h95_the_builder_takes_documents_of_the_app_only() {
    let served = serve(apps().dev(true)).await;
    for name in ["demo/root_agent.yaml", "sub.YML", "demo/sub/a.yaml"] {
        let reply = served.send(upload(name, "name: a\ninstruction: no args")).await;
        assert_eq!((reply.status, reply.text.as_str()), (200, "false"), "{name}: {reply:?}");
    }
    for name in ["evil.py", "../x.yaml", "demo/../../x.yaml", "..\\x.yaml", "/etc/x.yaml", "x.yaml/..", "C:x.yaml", ""]
    {
        let reply = served.send(upload(name, "name: a")).await;
        assert_eq!(reply.status, 400, "{name}: {reply:?}");
        assert!(reply.detail().starts_with("Invalid upload filename: "), "{reply:?}");
    }
    let calls = served.send(upload("a.yaml", "tools:\n- name: x\n  args:\n    a: 1")).await;
    assert_eq!((calls.status, calls.detail().contains("'args'")), (400, true), "{calls:?}");
    for empty in [json!({}), json!("x")] {
        let reply = served.post("/dev/apps/demo/builder/save", empty).await;
        let problem = &reply.json()["detail"][0];
        assert_eq!((reply.status, &problem["type"]), (422, &json!("missing")));
        assert_eq!(problem["loc"], json!(["body", "files"]));
    }
}

#[tokio::test]
async fn h115_h116_bodies_that_do_not_fit_are_named_although_none_is_kept() {
    let served = serve(apps().dev(true)).await;
    for (method, path, member) in [
        ("PUT", "tests/t", "sessionData"),
        ("PUT", "tests/run", "sessionData"),
        ("POST", "eval-sets", "evalSet"),
        ("POST", "eval-sets/e/add-session", "evalId"),
        ("POST", "eval_sets/e/add_session", "evalId"),
        ("PUT", "eval-sets/e/eval-cases/c", "evalId"),
        ("POST", "eval-sets/e/run", "evalMetrics"),
    ] {
        let ask = Ask::new(method, &format!("/dev/apps/demo/{path}"));
        assert_eq!(served.send(ask.clone()).await.status, 422, "{path}");
        let reply = served.send(ask.json(&json!({}))).await;
        let found = reply.json();
        let mut problems = found["detail"].as_array().unwrap().iter();
        assert_eq!(reply.status, 422, "{path}");
        assert!(problems.any(|problem| problem["loc"] == json!(["body", member])), "{path}: {reply:?}");
    }
}

#[tokio::test]
async fn h94_clients_elsewhere_change_nothing() {
    let served = serve(apps().dev(true)).await;
    let ask = |method: &str, path: &str| match path {
        "builder/save" => upload("demo/root_agent.yaml", "name: demo"),
        _ => Ask::new(method, &format!("/dev/apps/demo/{path}")).json(&whole()),
    };
    for (method, path, status) in GUARDED {
        assert_eq!(served.send(ask(method, path)).await.status, *status, "{method} {path}");
        for forwarded in ["forwarded", "x-forwarded-for", "x-forwarded-host"] {
            let reply = served.send(ask(method, path).header(forwarded, &served.address.to_string())).await;
            assert_eq!(reply.status, 403, "{method} {path} {forwarded}");
        }
    }
    // Without the development server these routes do not exist.
    let plain = serve(apps()).await;
    for (method, path, _) in GUARDED {
        assert_eq!(plain.send(ask(method, path)).await.status, 404, "{method} {path}");
    }
}

#[tokio::test]
async fn h94_no_client_behind_a_proxy_is_local() {
    let routes = apps().dev(true).into_router().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let reply: Reply = Ask::new("PUT", "/dev/apps/demo/tests/t").json(&json!({})).to(address).await;
    assert_eq!(reply.status, 403, "{reply:?}");
    assert_eq!(Ask::get("/dev/apps/demo/tests").to(address).await.json(), json!([]));
}

#[tokio::test]
async fn h95_names_are_no_paths() {
    let served = serve(apps().dev(true)).await;
    for name in ["..", "a%5cb", "%2e%2e", "c:x"] {
        for method in ["GET", "PUT", "DELETE"] {
            let path = format!("/dev/apps/demo/tests/{name}");
            let reply = served.send(Ask::new(method, &path).json(&whole())).await;
            assert_eq!(reply.status, 400, "{method} {name}: {reply:?}");
            assert!(reply.detail().starts_with("Invalid test name: "), "{reply:?}");
        }
    }
    assert_eq!(
        served.send(Ask::new("POST", "/dev/apps/demo/tests/run?test_name=../x").json(&json!({}))).await.status,
        400
    );
    for app in ["a%20b", "1a", "a..b", "..%5cx"] {
        let reply = served.get(&format!("/dev/apps/{app}/tests")).await;
        assert_eq!(reply.status, 400, "{app}: {reply:?}");
        assert!(reply.detail().starts_with("Invalid app name: "), "{reply:?}");
    }
    for path in ["/dev/apps/demo/tests/..%2fx", "/dev/apps/..%2fdemo/tests", "/dev/apps/demo/tests/a/b"] {
        assert_eq!(served.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn h115_h117_documents_that_are_not_kept_are_not_found() {
    let served = serve(apps().dev(true)).await;
    for (path, status, answer) in [
        ("tests/t", 404, Some("Test file not found")),
        ("tests/run", 404, Some("Test file not found")),
        ("eval_sets/e/evals", 400, Some("Eval set `e` not found.")),
        ("eval-sets/e/eval-cases/c", 404, None),
        ("eval_sets/e/evals/c", 404, None),
        ("eval-results/r", 404, None),
        ("eval_results/r", 404, None),
        ("deploy/defaults", 404, None),
    ] {
        let reply = served.get(&format!("/dev/apps/demo/{path}")).await;
        assert_eq!(reply.status, status, "{path}");
        assert!(answer.is_none_or(|answer| reply.detail() == answer), "{reply:?}");
    }
    for (path, status) in [("deploy/defaults", 405), ("deploy/elsewhere", 404), ("deploy/gke", 501)] {
        assert_eq!(served.post(&format!("/dev/apps/demo/{path}"), json!({})).await.status, status, "{path}");
    }
    let partial = served.post("/dev/apps/demo/eval-sets", json!({"evalSet": {"evalSetId": "e"}})).await.json();
    assert_eq!(partial["detail"][0]["loc"], json!(["body", "evalSet", "eval_set_id"]));
    assert_eq!(served.post("/dev/apps/demo/builder/cancel", json!({})).await.json(), Value::from(true));
}

#[tokio::test]
async fn h5_h7_routes_of_the_development_server_answer_like_the_others() {
    let served = serve(apps().dev(true)).await;
    for path in ["/dev/apps/demo/graph", "/dev/apps/demo/tests", "/config/telemetry", "/inspect/api/config"] {
        let reply = served.send(Ask::new("PATCH", path)).await;
        assert_eq!((reply.status, reply.detail()), (405, "Method Not Allowed".into()), "{path}");
    }
    let reply = served.get("/dev/apps/demo/tests/?a=b").await;
    let location = reply.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"));
    let location = location.map(|(_, value)| value.as_str());
    assert_eq!((reply.status, location), (307, Some("/dev/apps/demo/tests?a=b")));
}
