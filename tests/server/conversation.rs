//! One conversation in one session, alternately with pleach's server and with google-adk's, which share a database.
//!
//! `tests/python/converse.py` is the client. Without the Python that `PLEACH_TEST_ADK_PYTHON` names, the tests print SKIPPED and pass.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use pleach::connect;
use pleach_contract::own_tests::Schema;
use tempfile::TempDir;

use crate::served::{apps, serve};

const PYTHON: &str = "PLEACH_TEST_ADK_PYTHON";
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python");

/// A process that is killed at the end of its test.
struct ChildGuard(Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s131_two_servers_hold_one_conversation_in_a_file_of_the_sqlite_service() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:///{}", file(&folder));
    converse(&url, &url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s131_two_servers_hold_one_conversation_in_a_file_of_the_database_service() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite+aiosqlite:///{}", file(&folder));
    converse(&url, &url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s131_two_servers_hold_one_conversation_in_a_postgres_database() {
    let Some(schema) = Schema::for_test().await else { return };
    // `talk/services.py` reads the scheme.
    converse(&schema.url(), &format!("schema+{}", schema.url())).await;
}

fn file(folder: &TempDir) -> String {
    folder.path().join("sessions.sqlite").display().to_string()
}

/// Holds the conversation on one database, for which each server has its own URL.
async fn converse(ours: &str, theirs: &str) {
    let Some(python) = std::env::var_os(PYTHON).filter(|python| !python.is_empty()) else {
        pleach_contract::own_tests::skip(format_args!("{PYTHON} names no Python with google-adk"));
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    // `apps` has already set a session service. The last call wins.
    let served = serve(apps().sessions(connect(ours).await.unwrap())).await;
    let port = free_port();
    let _theirs = ChildGuard(api_server(&python, theirs, port, folder.path()));
    let output = tokio::process::Command::new(&python)
        .arg(format!("{FOLDER}/converse.py"))
        .args([format!("http://{}", served.address), format!("http://127.0.0.1:{port}")])
        .output()
        .await
        .unwrap();
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{said}\ngoogle-adk: {}",
        log.lines().rev().take(30).collect::<Vec<_>>().join("\n")
    );
}

/// Starts `adk api_server` on the same database.
fn api_server(python: &OsString, url: &str, port: u16, folder: &Path) -> Child {
    let log = File::create(folder.join("log")).unwrap();
    Command::new(python)
        .args(["-m", "google.adk.cli", "api_server", "--host", "127.0.0.1", "--port", &port.to_string()])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .args(["--session_service_uri", url, "--artifact_service_uri", "memory://"])
        .arg(format!("{FOLDER}/talk"))
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}

/// Returns a port that is free now, because the program cannot choose one itself.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
