//! Workflows and nodes named `user`: their events are not the user's events.

use pleach::prelude::*;
use pleach::{AbortSignal, RunRequest};
use serde_json::Value;

use crate::replay::{Sessions, play, process};
use crate::support::key;

fn ask_in(workflow: &str, node: &str) -> Workflow {
    let mut wf = Workflow::builder(workflow);
    let first = wf.node("first", async || 1);
    let ask = wf.node(node, async || RequestInput::<u32>::ask("q", "?"));
    let last = wf.node("last", async |Input(n): Input<u32>| n);
    wf.edge(START, first).edge(first, ask).edge(ask, last);
    wf.build().unwrap()
}

#[tokio::test]
async fn a_workflow_or_a_node_named_user_asks_once_and_continues_with_the_answer() {
    for resumable in [false, true] {
        for (workflow, node) in [("user", "ask"), ("wf", "user"), ("user", "user")] {
            let sessions = Sessions::default();
            play(process(ask_in(workflow, node), &sessions, resumable).run("ana", "s1", "go")).await;
            let again = process(ask_in(workflow, node), &sessions, resumable);
            assert_eq!(again.answer("s1", "q", 7).unwrap().output::<u32>().await.unwrap(), 7, "{workflow}, {node}");
            let session = sessions.stored.get_session(&key(), Default::default()).await.unwrap().unwrap();
            assert!(pleach::open_questions(&session.events).is_empty());
            let users = session.events.iter().filter(|event| event.is_from_user()).count();
            assert_eq!(users, 2, "the message and the answer: {workflow}, {node}");
        }
    }
}

/// Metadata with the engine's prefix does not hide the user's messages and records nothing in the engine's name.
#[tokio::test]
async fn metadata_of_a_request_is_not_read_as_the_engines() {
    let metadata = || {
        let runs = serde_json::json!(["wf@1/last@1"]);
        pleach::Map::from_iter([("_adk_trace".to_owned(), 1.into()), ("pleach_completed_runs".to_owned(), runs)])
    };
    let sessions = Sessions::default();
    let runner = process(ask_in("wf", "ask"), &sessions, true);
    let config = || pleach::RunConfig::default().custom_metadata(metadata());
    play(runner.start(RunRequest::new(("ana", "s1")).message("go").config(config()))).await;
    assert_eq!(runner.answer("s1", "q", 7).unwrap().output::<u32>().await.unwrap(), 7);
    let session = sessions.stored.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let users: Vec<_> = session.events.iter().filter(|event| event.is_from_user()).collect();
    assert_eq!(users.len(), 2, "the message and the answer");
    assert_eq!(users[0].custom_metadata(), None, "keys with the prefix are reserved");
}

#[tokio::test]
async fn an_aborted_workflow_named_user_waits_for_nothing() {
    let sessions = Sessions::default();
    let runner = process(ask_in("user", "ask"), &sessions, true);
    let signal = AbortSignal::new();
    signal.abort();
    let request = RunRequest::new(("ana", "s1")).message("go").abort_signal(signal);
    let _ = runner.start(request).output::<Value>().await;
    let session = sessions.stored.get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert!(pleach::open_questions(&session.events).is_empty());
    assert_eq!(session.events.iter().filter(|event| event.is_from_user()).count(), 1, "the seal is not the user's");
}
