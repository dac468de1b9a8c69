//! The description of the API: the document fits the routes, and the page loads no other files.

use std::ffi::OsString;
use std::sync::Arc;

use pleach::{FileArtifactService, SystemClock, connect};
use serde_json::{Value, json};

use crate::client::Ask;
use crate::served::{apps, demo, serve};

async fn document() -> Value {
    let reply = demo().await.get("/openapi.json").await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")), "{reply:?}");
    reply.json()
}

/// Fills in the parameters of a path.
fn filled(path: &str) -> String {
    let path = path.replace("{app_name}", "demo").replace("{user_id}", "u").replace("{session_id}", "s");
    path.replace("{artifact_name}", "a.txt").replace("{version_id}", "0")
}

#[tokio::test]
async fn every_described_operation_has_a_route_and_no_other_method_has_one() {
    let document = document().await;
    let served = demo().await;
    served.session("demo", "s").await;
    for (path, described) in document["paths"].as_object().unwrap() {
        for method in ["get", "post", "patch", "put"] {
            let reply = served.send(Ask::new(&method.to_uppercase(), &filled(path)).json(&json!(0))).await;
            let has_route = reply.status != 405 && reply.text != r#"{"detail":"Not Found"}"#;
            assert_eq!(has_route, described.get(method).is_some(), "{method} {path}: {reply:?}");
        }
    }
}

#[tokio::test]
async fn the_document_names_the_path_under_which_clients_see_the_server() {
    let served = serve(apps().url_prefix("https://shop.example/adk")).await;
    assert_eq!(served.get("/openapi.json").await.json()["servers"], json!([{"url": "/adk"}]));
    let page = served.get("/docs").await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(page.text.contains("href=\"/adk/openapi.json\"") && page.text.contains("/run_sse"), "{page:?}");
    assert!(!page.text.contains("<script") && !page.text.contains("http://"), "{page:?}");
}

/// The environment variable with the program that checks a server against its description.
const PROGRAM: &str = "PLEACH_TEST_SCHEMATHESIS";

fn schemathesis() -> Option<OsString> {
    let program = std::env::var_os(PROGRAM).filter(|program| !program.is_empty());
    if program.is_none() {
        pleach_contract::own_tests::skip(format_args!("{PROGRAM} names no program"));
    }
    program
}

/// Sends thousands of requests, some of which do not fit the document. None causes an internal error, and each gets a
/// described reply.
#[tokio::test(flavor = "multi_thread")]
async fn requests_made_from_the_document_are_answered_as_it_says() {
    let Some(program) = schemathesis() else { return };
    let folder = tempfile::tempdir().unwrap();
    let sessions = connect(&format!("sqlite:///{}/sessions.sqlite", folder.path().display())).await.unwrap();
    let artifacts = FileArtifactService::open(folder.path().join("artifacts"), Arc::new(SystemClock)).await.unwrap();
    let served = serve(apps().sessions(sessions).artifacts(artifacts)).await;
    served.session("demo", "s").await;
    let checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
    let run = tokio::process::Command::new(program)
        .current_dir(folder.path())
        .args(["run", &format!("http://{}/openapi.json", served.address), "--checks", checks])
        // This operation always fails, as google-adk's does without Google Cloud.
        .args(["--exclude-operation-id", "finalize_agent_identity"])
        .args(["--seed", "1", "--max-examples", "25", "--phases", "examples,coverage,fuzzing"])
        .args(["--generation-database", "none", "--no-color", "--warnings", "off", "--request-timeout", "60"])
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}\n{}", String::from_utf8_lossy(&run.stderr));
    assert!(said.contains("generated"), "{said}");
}
