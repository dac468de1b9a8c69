//! Tests of `pleach answer`: the program that asked continues with the stored answer.

use pleach::prelude::*;
use pleach::{RequestInput, Workflow};

use crate::program::{fill, loaded, pleach, url};

async fn asks() -> RequestInput<u32> {
    RequestInput::ask("count", "How many chairs?")
}

async fn orders(Input(count): Input<u32>) -> String {
    format!("{count} chairs")
}

async fn runner(url: &str) -> Runner {
    let mut wf = Workflow::builder("shop");
    let (asks, orders) = (wf.node("asks", asks), wf.node("orders", orders));
    wf.edge(START, asks).edge(asks, orders);
    let sessions = connect(url).await.unwrap();
    Runner::builder("shop").root(wf.build().unwrap()).sessions(sessions).auto_create_session(true).build().unwrap()
}

/// Runs until the workflow asks, and then drops the program.
async fn asked(url: &str) -> String {
    let runner = runner(url).await;
    let mut run = runner.run("ana", "s1", "order");
    while run.next().await.is_some() {}
    let question = runner.questions(("ana", "s1")).await.unwrap().pop().unwrap();
    runner.close().await.unwrap();
    question.invocation_id.to_string()
}

#[tokio::test]
async fn a_program_continues_with_a_stored_answer() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    let invocation = asked(&url).await;
    let stored = pleach(&["answer", "s1", "count", "12", "--sessions", &url]);
    let expected = format!(
        "the answer is stored in session shop/ana/s1; its program continues when it resumes invocation {invocation}\n"
    );
    assert_eq!((stored.code, stored.out.as_str()), (0, expected.as_str()), "{stored:?}");
    assert_eq!(pleach(&["inbox", "--sessions", &url]).out, "no open questions\n");
    let runner = runner(&url).await;
    let output: String = runner.resume("ana", "s1", invocation.as_str()).output().await.unwrap();
    assert_eq!(output, "12 chairs");
    runner.close().await.unwrap();
    let traced = pleach(&["sessions", "trace", "s1", "--tree", "--sessions", &url, "--invocation", &invocation]);
    let asks = traced.out.lines().find(|line| line.contains("asks@1")).unwrap();
    assert!(asks.contains("done") && asks.ends_with("(1 ran, 2 answered)"), "{traced:?}");
    let tree =
        pleach(&["--json", "sessions", "trace", "s1", "--tree", "--sessions", &url, "--invocation", &invocation]);
    assert_eq!(tree.values()[0]["runs"][2]["output"], "12 chairs", "{tree:?}");
}

#[tokio::test]
async fn what_cannot_be_answered_is_refused_and_nothing_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (url, other) = (url(folder.path(), "a.db"), url(folder.path(), "b.db"));
    let invocation = asked(&url).await;
    fill(&other).await;
    let before = loaded(&url, "shop", "ana", "s1").await.events.len();
    for (args, code, words) in [
        (&["answer", "s1", "count", "many", "--sessions", &url][..], 5, "count"),
        (&["answer", "s1", "nope", "1", "--sessions", &url], 3, "open question \"nope\""),
        (&["answer", "s9", "count", "1", "--sessions", &url], 3, "there is no session \"s9\""),
        (&["answer", "s1", "count", "1", "--invocation", "nope", "--sessions", &url], 3, "open question \"count\""),
    ] {
        let ran = pleach(args);
        assert!(ran.code == code && ran.err.contains(words), "{args:?}: {ran:?}");
    }
    assert_eq!(loaded(&url, "shop", "ana", "s1").await.events.len(), before);
    // The same fault as JSON, on standard error.
    let ran = pleach(&["--json", "answer", "s1", "nope", "1", "--sessions", &url]);
    let fault: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!((&fault["exitCode"], ran.out.as_str()), (&3.into(), ""));
    let answered = pleach(&["--json", "answer", "s1", "count", "3", "--sessions", &url]).values().remove(0);
    assert_eq!(answered["answered"]["invocationId"], invocation.as_str());
}

// An invocation whose last event is not a question may be running in another process.
#[tokio::test]
async fn an_answer_to_an_invocation_that_may_run_needs_force() {
    use pleach::{Event, SessionServiceExt as _};
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    fill(&url).await;
    let mut session = loaded(&url, "shop", "ben", "s2").await;
    let store = connect(&url).await.unwrap();
    let mut event = Event::from_author("clerk").with_message("still here").with_node_path("shop@1/clerk@1");
    event.set_id("e4");
    event.set_invocation_id("e-1");
    store.append_event(&mut session, event).await.unwrap();
    store.close().await.unwrap();
    let ran = pleach(&["answer", "s2", "ok", "true", "--sessions", &url]);
    assert!(ran.code == 5 && ran.err.contains("--force"), "{ran:?}");
    assert_eq!(pleach(&["answer", "s2", "ok", "true", "--force", "--sessions", &url]).code, 0);
}

// An append compares the revision of the whole session, so an answer would also make another running invocation stale.
#[tokio::test]
async fn the_error_names_another_invocation_of_the_session_that_may_run() {
    use pleach::{Event, SessionServiceExt as _};
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    fill(&url).await;
    let mut session = loaded(&url, "shop", "ben", "s2").await;
    let store = connect(&url).await.unwrap();
    let mut event = Event::from_author("user").with_message("what now?");
    event.set_id("e4");
    event.set_invocation_id("e-other");
    store.append_event(&mut session, event).await.unwrap();
    store.close().await.unwrap();
    let ran = pleach(&["answer", "s2", "ok", "true", "--sessions", &url]);
    assert!(ran.code == 5 && ran.err.contains("e-other"), "{ran:?}");
}
