//! Tests of the commands that only read.

use pleach::prelude::*;
use pleach::{CreateSession, SessionServiceExt as _};
use serde_json::json;

use crate::program::{fill, pleach, url};

#[tokio::test]
async fn sessions_are_listed_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    fill(&url).await;
    let listed = pleach(&["sessions", "list", "--sessions", &url]);
    let line = |rest: &str| format!("2023-11-14 22:13:2{rest}");
    let expected = [line("2.500  desk  ana  s1"), line("2.500  shop  ana  s1"), line("3.000  shop  ben  s2")];
    assert_eq!(listed.out.lines().collect::<Vec<_>>(), expected, "{listed:?}");
    let of_ben = pleach(&["--json", "sessions", "list", "--sessions", &url, "--user", "ben"]);
    assert_eq!(of_ben.values()[0]["id"], "s2");
    let shown = pleach(&["sessions", "show", "s2", "--sessions", &url]);
    assert!(
        shown.out.contains("state    count = 2\n") && shown.out.contains("state    app:open = true\n"),
        "{shown:?}"
    );
    // Characters that would move the cursor of a terminal are replaced.
    assert!(shown.out.contains("asks     ok: Refund?\u{fffd}[2J\n"), "{shown:?}");
    let shown = pleach(&["--json", "sessions", "show", "s2", "--sessions", &url]).values().remove(0);
    assert_eq!((&shown["eventCount"], &shown["openQuestions"][0]["id"]), (&3.into(), &"ok".into()));
    assert_eq!(shown["state"]["user:language"], "ben");
}

#[tokio::test]
async fn each_event_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    fill(&url).await;
    let traced = pleach(&["sessions", "trace", "s1", "--app", "desk", "--sessions", &url]);
    let expected = [
        "2023-11-14 22:13:21.250  user  says \"I am e1\"",
        "2023-11-14 22:13:22.500  clerk  says \"I am e2\"; sets app:last = \"s1\"; sets count = 2",
    ];
    assert_eq!(traced.out.lines().collect::<Vec<_>>(), expected, "{traced:?}");
    let traced = pleach(&["--json", "sessions", "trace", "s1", "--app", "desk", "--sessions", &url]);
    assert_eq!(traced.values()[1]["actions"]["stateDelta"]["count"], 2);
}

#[tokio::test]
async fn open_questions_are_listed_for_all_and_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    fill(&url).await;
    let asked = pleach(&["inbox", "--sessions", &url]);
    assert_eq!(asked.out, "2023-11-14 22:13:23.000  shop/ben/s2  ok (for lead): Refund?\u{fffd}[2J\n", "{asked:?}");
    let asked = pleach(&["--json", "inbox", "--sessions", &url, "--assignee", "lead"]);
    assert_eq!(asked.values()[0]["session"]["sessionId"], "s2", "{asked:?}");
    assert_eq!(pleach(&["inbox", "--sessions", &url, "--assignee", "clerk"]).out, "no open questions\n");
}

#[tokio::test]
async fn what_cannot_be_found_is_named_and_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let (there, missing) = (url(folder.path(), "a.db"), url(folder.path(), "b.db"));
    fill(&there).await;
    for (args, code, words) in [
        (&["sessions", "show", "s9", "--sessions", &there][..], 3, "there is no session \"s9\""),
        (
            &["sessions", "show", "s1", "--sessions", &there],
            3,
            "several sessions have the id \"s1\": desk/ana/s1, shop/ana/s1",
        ),
        (&["sessions", "list", "--sessions", &missing], 1, "b.db"),
        (&["sessions", "list", "--sessions", "redis:there"], 1, "redis"),
        (&["sessions", "list"], 2, "--sessions"),
        (&["sessions", "delete", "s2", "--sessions", &there], 2, "--yes"),
    ] {
        let ran = pleach(args);
        assert!(ran.code == code && ran.err.contains(words), "{args:?}: {ran:?}");
    }
    assert!(!folder.path().join("b.db").exists());
}

#[test]
fn shells_complete_the_command() {
    assert!(pleach(&["completions", "bash"]).out.contains("sessions"));
}

// google-adk itself has written these files.
#[test]
fn databases_of_google_adk_are_read() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../pleach-session-sqlite/tests/golden");
    let mut read = 0;
    for entry in std::fs::read_dir(golden).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "sqlite") {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("adk.db");
        std::fs::copy(&path, &copy).unwrap();
        let url = format!("sqlite:{}", copy.display());
        let listed = pleach(&["--json", "sessions", "list", "--sessions", &url]);
        if path.ends_with("v0.sqlite") {
            assert!(listed.code == 1 && listed.err.contains("schema version 0"), "{listed:?}");
            continue;
        }
        for session in listed.values() {
            let [app, user, id] = ["appName", "userId", "id"].map(|key| session[key].as_str().unwrap());
            let traced = pleach(&["sessions", "trace", id, "--app", app, "--user", user, "--sessions", &url]);
            assert_eq!(traced.code, 0, "{traced:?}");
            let tree = ["sessions", "trace", id, "--tree", "--app", app, "--user", user, "--sessions", &url];
            let tree = pleach(&tree);
            assert_eq!(tree.code, 0, "{tree:?}");
            read += 1;
        }
    }
    assert!(read > 3, "{read} sessions were read");
}

// A program's state may contain a credential, and its texts may change the direction of the text around them.
#[tokio::test]
async fn secrets_and_marks_of_direction_are_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    let store = connect(&url).await.unwrap();
    let mut session = store.create_session(CreateSession::new("shop", "ana").with_session_id("s1")).await.unwrap();
    let key = json!({"auth_type": "apiKey", "api_key": "s3cret"});
    let raw = json!({"oauth2": {"client_id": "id", "client_secret": "s3cret"}});
    let mut event = Event::from_author("a").with_message("\u{202e}abc\u{2066}\u{2028}").with_output(key.clone());
    event.set_id("e1");
    let event = event.with_state("key", key).with_state("rawAuthCredential", raw);
    store.append_event(&mut session, event).await.unwrap();
    store.close().await.unwrap();
    for command in ["trace", "show"] {
        let ran = pleach(&["sessions", command, "s1", "--sessions", &url]);
        assert!(ran.code == 0 && ran.out.contains("client_id") && !ran.out.contains("s3cret"), "{ran:?}");
    }
    let traced = pleach(&["sessions", "trace", "s1", "--sessions", &url]).out;
    assert!(
        traced.contains("\u{fffd}abc\u{fffd}") && !traced.contains(['\u{202e}', '\u{2066}', '\u{2028}']),
        "{traced:?}"
    );
}

#[tokio::test]
async fn a_graph_that_is_too_large_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    let store = connect(&url).await.unwrap();
    let mut session = store.create_session(CreateSession::new("shop", "ana").with_session_id("s1")).await.unwrap();
    for number in 0..1001 {
        let mut event = Event::of(1).with_node_path(format!("w@1/n{number}@1").as_str());
        event.set_id(format!("e{number}"));
        event.set_invocation_id("i");
        store.append_event(&mut session, event).await.unwrap();
    }
    store.close().await.unwrap();
    for format in ["mermaid", "dot", "svg"] {
        let ran = pleach(&["graph", "s1", "--format", format, "--sessions", &url]);
        assert!(ran.code == 3 && ran.err.contains("more than 1000 nodes"), "{ran:?}");
    }
}

/// People do not answer sleeps and waits for signals, so these are not listed by default.
#[tokio::test]
async fn sleeps_and_waits_for_signals_are_listed_when_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    let wait = FunctionNode::new("wait", async |ctx: Context| -> Result<u32> {
        let select = ctx.select().signal("paid", |(): ()| 1).sleep(std::time::Duration::from_secs(60), || 2);
        Ok(select.ask("ok", "Pay?", |_: bool| 3).await?)
    });
    let sessions = pleach::connect(&url).await.unwrap();
    let runner = Runner::builder("shop").root(wait.rerun_on_resume(true)).sessions(sessions).build().unwrap();
    for session in ["s1", "s2"] {
        runner.run("ana", session, "go").output::<u32>().await.unwrap_err();
    }
    runner.close().await.unwrap();
    let lines = |args: &[&str]| pleach(&[&["inbox", "--sessions", &url], args].concat()).out.lines().count();
    assert_eq!(
        (lines(&[]), lines(&["--limit", "1"]), lines(&["--all"]), lines(&["--all", "--limit", "4"])),
        (2, 1, 6, 4)
    );
}
