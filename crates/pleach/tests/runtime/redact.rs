//! Redactions of events of runs that have ended, that wait, and that are under way.
// Issue 15, point 4

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{InMemorySessionService, Redaction, RedactionFault, RunProgress, SessionError};
use serde_json::{Value, json};

use crate::support::{key, runner, trace};

/// Reads a card, asks whether it may be charged, and ends with what it has read.
fn asks() -> (Runner, Arc<InMemorySessionService>) {
    let mut wf = Workflow::builder("wf");
    let read = wf.node("read", async || json!({"card": "4111", "sum": 12}));
    let pay = FunctionNode::new("pay", async |ctx: Context, Input(order): Input<Value>| {
        let fine: bool = ctx.ask("fine", format!("Charge {}?", order["card"])).await?;
        Ok::<_, Fail>(json!([order, fine]))
    });
    let pay = wf.add(pay.rerun_on_resume(true));
    wf.edge(START, read).edge(read, pay);
    runner(wf.build().unwrap())
}

fn redaction(path: &str) -> Redaction {
    Redaction::new([path], "request 7")
}

/// The id of the only event that has the card in its output, or asks about it.
async fn event_with(sessions: &InMemorySessionService, is_question: bool) -> String {
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let mut with = session.events.iter().filter(|event| event.is_interrupt() == is_question);
    with.find(|event| is_question || event.output().is_some()).unwrap().id().to_string()
}

/// The record has the runner's time; the run that waits reads what is left, and its question stays open.
#[tokio::test]
async fn a_run_that_waits_reads_the_redacted_output() {
    let (runner, sessions) = asks();
    trace(runner.run("ana", "s1", "go")).await;
    let before = runner.inbox("ana").await.unwrap();
    let (read, asked) = (event_with(&sessions, false).await, event_with(&sessions, true).await);
    let event = runner.redact("s1", read.as_str(), redaction("/output/card")).await.unwrap();
    assert_eq!(event.output(), Some(&json!({"card": "[redacted]", "sum": 12})));
    let note = &event.custom_metadata().unwrap()["pleach_redactions"][0];
    assert_eq!((&note["paths"], &note["reason"]), (&json!(["/output/card"]), &json!("request 7")));
    assert!(
        (note["at"].as_f64().unwrap() - event.timestamp()).abs() < 1.0,
        "of the runner's clock, which stands still"
    );
    runner.redact("s1", asked.as_str(), redaction("/content")).await.unwrap();
    let after = runner.inbox("ana").await.unwrap();
    assert_eq!((before.len(), after.len()), (1, 1));
    assert_eq!((&*before[0].question.message, &*after[0].question.message), ("Charge \"4111\"?", "[redacted]"));
    trace(runner.answer("s1", "fine", true).unwrap()).await;
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let last = session.events.iter().rev().find_map(|event| event.output()).unwrap();
    assert_eq!(*last, json!([{"card": "[redacted]", "sum": 12}, true]));
    assert!(matches!(runner.status("s1").await.unwrap().progress, RunProgress::Done));
    assert!(!serde_json::to_string(&session.events).unwrap().contains("4111"));
}

/// The run's next append fails, nothing of it is lost, and it continues when it is resumed.
#[tokio::test]
async fn a_run_under_way_ends_and_can_be_resumed() {
    let (runner, sessions) = asks();
    let mut run = runner.run("ana", "s1", "go");
    while run.next().await.unwrap().unwrap().output().is_none() {}
    let read = event_with(&sessions, false).await;
    runner.redact("s1", read.as_str(), redaction("/output/card")).await.unwrap();
    let error = loop {
        match run.next().await {
            Some(Ok(_)) => {}
            other => break other.unwrap().unwrap_err(),
        }
    };
    assert!(matches!(&error, RunError::Session(error) if error.is_stale()), "{error}");
    let status = runner.status("s1").await.unwrap();
    trace(runner.resume("ana", "s1", status.invocation.unwrap())).await;
    assert_eq!(runner.inbox("ana").await.unwrap()[0].question.message, "Charge \"[redacted]\"?");
}

#[tokio::test]
async fn what_is_refused_is_named() {
    let (runner, sessions) = asks();
    trace(runner.run("ana", "s1", "go")).await;
    let read = event_with(&sessions, false).await;
    for (event, path, fault) in [
        (read.as_str(), "/timestamp", RedactionFault::Fixed),
        (&read, "/output/name", RedactionFault::Absent),
        ("e", "/output", RedactionFault::UnknownEvent),
    ] {
        let error = runner.redact("s1", event, redaction(path)).await.unwrap_err();
        assert_eq!(error.code(), "RedactionError");
        let RunError::Session(SessionError::Redaction(error)) = error else { panic!("{error}") };
        assert_eq!(error.fault, fault);
    }
    let error = runner.redact("s9", read.as_str(), redaction("/output")).await.unwrap_err();
    assert!(matches!(error, RunError::UnknownSession { .. }), "{error}");
}
