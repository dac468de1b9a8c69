//! Tests of `pleach graph`, which draws the runs in a session's log.

use pleach::{CreateSession, Event, OutputFor, SessionService as _, SessionServiceExt as _, connect};

use crate::program::{fill, pleach, url};

/// Stores a run of `w`: `a`, then `b` and `c`, then `d`.
async fn ran(url: &str) {
    let store = connect(url).await.unwrap();
    let mut session = store.create_session(CreateSession::new("shop", "ana").with_session_id("s1")).await.unwrap();
    for (place, path) in ["w@1/a@1", "w@1/b@1", "w@1/c@1", "w@1/b@1", "w@1/d@1"].into_iter().enumerate() {
        let mut event = Event::of(place).with_node_path(path);
        event.set_output_for(OutputFor::Own);
        event.set_author("w");
        event.set_id(format!("e{place}"));
        event.set_invocation_id("i");
        event.set_timestamp(place as f64 + 1.0);
        store.append_event(&mut session, event).await.unwrap();
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_run_is_drawn_in_each_language() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    ran(&url).await;
    let graph = |format: &str| pleach(&["graph", "s1", "--format", format, "--sessions", &url]).out;
    let mermaid = pleach(&["graph", "s1", "--sessions", &url]).out;
    assert!(mermaid.starts_with("flowchart TD\n") && mermaid.contains("  n_0 --> n_1\n  n_0 --> n_2\n"), "{mermaid}");
    assert_eq!(graph("mermaid"), mermaid);
    assert!(graph("dot").starts_with("digraph {\n"));
    let svg = graph("svg");
    assert!(svg.starts_with("<svg ") && svg.matches("<rect ").count() == 4, "{svg}");
    let picture = pleach(&["--json", "graph", "s1", "--sessions", &url]).values().remove(0);
    assert_eq!((picture["boxes"].as_array().unwrap().len(), &picture["boxes"][0]["status"]), (5, &"done".into()));
}

#[tokio::test]
async fn a_session_without_nodes_has_no_graph() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "a.db");
    fill(&url).await;
    let drawn = pleach(&["graph", "s1", "--app", "shop", "--sessions", &url]);
    assert!(drawn.code == 3 && drawn.err.contains("no runs of nodes"), "{drawn:?}");
    let drawn = pleach(&["graph", "s1", "--app", "shop", "--invocation", "x", "--sessions", &url]);
    assert!(drawn.code == 3 && drawn.err.contains("no invocation \"x\""), "{drawn:?}");
}
