//! Tests of `pleach sessions redact`, which removes values from events.

use std::sync::Arc;

use pleach::{
    CreateSession, Event, FileArtifactService, PayloadSessions, SessionService as _, SessionServiceExt as _,
    SystemClock, connect,
};

use crate::program::{Ran, fill, loaded, pleach, url};

fn redact(url: &str, event: &str, more: &[&str]) -> Ran {
    let start = ["--json", "sessions", "redact", "s2", event, "--sessions", url, "--reason", "a request"];
    pleach(&[&start[..], more].concat())
}

#[tokio::test]
async fn values_are_removed_for_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    fill(&url).await;
    let before = loaded(&url, "shop", "ben", "s2").await;
    for (event, more, code, words) in [
        ("e2", &["--path", "/content"][..], 2, "nothing was redacted. Pass `--yes` to confirm"),
        ("e2", &["--yes"], 2, "--path"),
        ("e9", &["--yes", "--path", "/content"], 3, "no such event"),
        ("e2", &["--yes", "--path", "/output"], 3, "no value at `/output`"),
        ("e2", &["--yes", "--path", "/author"], 5, "the engine reads `/author`"),
        ("e2", &["--yes", "--path", "output"], 5, "not a JSON pointer"),
    ] {
        let ran = redact(&url, event, more);
        assert!(ran.code == code && ran.err.contains(words), "{more:?}: {ran:?}");
    }
    assert_eq!(loaded(&url, "shop", "ben", "s2").await, before);
    // The casing is the one of the HTTP API, as in `trace`.
    let ran = redact(&url, "e2", &["--yes", "--path", "/content/parts/0/text", "--path", "/actions/stateDelta/count"]);
    let redacted = &ran.values()[0]["redacted"];
    assert_eq!(redacted["content"]["parts"][0]["text"], "[redacted]", "{ran:?}");
    assert_eq!(redacted["customMetadata"]["pleach_redactions"][0]["reason"], "a request");
    let after = loaded(&url, "shop", "ben", "s2").await;
    assert_eq!(after.events[1].actions().state_delta()["count"], "[redacted]");
    assert_eq!(
        (&after.events[0], &after.events[2], &after.state),
        (&before.events[0], &before.events[2], &before.state)
    );
    // Without `--json`, the output is text for people.
    let ran =
        pleach(&["sessions", "redact", "s2", "e3", "--path", "/content", "--reason", "r", "--yes", "--sessions", &url]);
    assert_eq!(ran.out, "event e3 of session shop/ben/s2 was redacted\n", "{ran:?}");
    assert!(pleach(&["inbox", "--sessions", &url]).out.ends_with("ok (for lead): [redacted]\n"));
}

#[tokio::test]
async fn payloads_are_needed_to_redact_what_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let (url, payloads) = (url(folder.path(), "a.db"), folder.path().join("payloads"));
    let artifacts = FileArtifactService::open(&payloads, Arc::new(SystemClock)).await.unwrap();
    let sessions = PayloadSessions::new(connect(&url).await.unwrap(), Arc::new(artifacts)).with_threshold(10);
    let mut session = sessions.create_session(CreateSession::new("shop", "ben").with_session_id("s2")).await.unwrap();
    let mut event = Event::of("my card is 4111".repeat(10));
    event.set_id("e1");
    sessions.append_event(&mut session, event).await.unwrap();
    sessions.close().await.unwrap();
    let held = || {
        let files = walk(&payloads);
        files.iter().any(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap()).contains("4111"))
    };
    assert!(held());
    let ran = redact(&url, "e1", &["--yes", "--path", "/output"]);
    assert!(ran.code == 5 && ran.err.contains("with `--payloads`"), "{ran:?}");
    let folder = payloads.to_str().unwrap();
    let ran = redact(&url, "e1", &["--yes", "--path", "/output", "--payloads", folder]);
    assert_eq!((ran.code, &ran.values()[0]["redacted"]["output"]), (0, &"[redacted]".into()), "{ran:?}");
    assert!(!held());
}

/// Returns the files below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files
}
