//! Tests of `pleach serve`, a read-only inspector of a database.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::program::{fill, pleach, url};

/// The running command, which ends with the test.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn of(url: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pleach"));
        command.args(["--json", "serve", "--listen", "127.0.0.1:0", "--sessions", url]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url: Value = serde_json::from_str(&line).unwrap();
        let address =
            url["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches("/inspect/").to_owned();
        Self { child, address }
    }

    /// Sends a request; returns the status and the body.
    fn send(&self, method: &str, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            self.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let status = reply.split(' ').nth(1).unwrap().parse().unwrap();
        (status, reply.split_once("\r\n\r\n").unwrap().1.to_owned())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[tokio::test]
async fn a_database_is_shown_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    fill(&url).await;
    let file = folder.path().join("a.db");
    let before = std::fs::read(&file).unwrap();
    let serving = Serving::of(&url);
    assert_eq!(serving.send("GET", "/inspect/").0, 200);
    let (_, config) = serving.send("GET", "/inspect/api/config");
    assert!(config.contains("\"readOnly\":true"), "{config}");
    let (status, session) = serving.send("GET", "/inspect/api/apps/shop/users/ben/sessions/s2");
    assert!(status == 200 && session.contains("\"openQuestions\":[{\"id\":\"ok\""), "{session}");
    assert_eq!(serving.send("POST", "/inspect/api/apps/shop/users/ben/sessions/s2/moves").0, 403);
    assert_eq!(serving.send("DELETE", "/apps/shop/users/ben/sessions/s2").0, 404);
    drop(serving);
    assert!(std::fs::read(&file).unwrap() == before, "the file has changed");
}

/// A file in another journal mode keeps that mode, and no file is created next to it.
#[tokio::test]
async fn a_file_without_a_write_ahead_log_gets_none() {
    let folder = tempfile::tempdir().unwrap();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../pleach-session-sqlite/tests/golden");
    let mut served = 0;
    for entry in std::fs::read_dir(golden).unwrap() {
        let path = entry.unwrap().path();
        // Bytes 18 and 19 are 1 if there is no write-ahead log.
        let is_plain = |bytes: &[u8]| bytes.starts_with(b"SQLite format 3") && bytes[18..20] == [1, 1];
        let Some(before) = std::fs::read(&path).ok().filter(|bytes| is_plain(bytes)) else { continue };
        if path.ends_with("v0.sqlite") {
            continue;
        }
        let file = folder.path().join("adk.db");
        std::fs::write(&file, &before).unwrap();
        let url = url(folder.path(), "adk.db");
        let serving = Serving::of(&url);
        let (status, apps) = serving.send("GET", "/inspect/api/apps");
        assert!(status == 200 && apps.contains("\"readOnly\":true"), "{apps}");
        drop(serving);
        for args in [&["sessions", "list"][..], &["--json", "sessions", "export"]] {
            let ran = pleach(&[args, &["--sessions", &url]].concat());
            assert_eq!(ran.code, 0, "{ran:?}");
        }
        assert!(std::fs::read(&file).unwrap() == before, "{} has changed", path.display());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "there is a file next to {}", path.display());
        served += 1;
    }
    assert!(served > 0, "every file has a write-ahead log");
}

#[cfg(unix)]
#[tokio::test]
async fn a_service_manager_ends_it_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    fill(&url).await;
    let mut serving = Serving::of(&url);
    let pid = serving.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
}

#[test]
fn only_this_machine_is_served_without_expose() {
    let folder = tempfile::tempdir().unwrap();
    let ran = pleach(&["serve", "--listen", "0.0.0.0:0", "--sessions", &url(folder.path(), "a.db")]);
    assert!(ran.code == 2 && ran.err.contains("--expose"), "{ran:?}");
    let ran = pleach(&["serve", "--sessions", &url(folder.path(), "a.db")]);
    assert!(ran.code == 1 && ran.err.contains("a.db"), "{ran:?}");
}
