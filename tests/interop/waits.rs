//! Steps, sleeps, selects, signals and rewinds of pleach in a database that google-adk uses as well: for google-adk they are ordinary
//! events.

use std::time::Duration;

use pleach::prelude::*;
use pleach::{Redaction, Run, RunProgress, SessionKey, SignalOutcome, connect};
use serde_json::{Value, json};

use crate::adk::Adk;
use crate::database::{Database, Layout};

fn request(operation: &str) -> Value {
    json!({"do": operation, "app": "waits", "user": "ana", "id": "s1"})
}

/// A handler that charges, and waits for the first of three: an answer, a day or a signal. Then it waits for a signal
/// that has come early.
async fn order(ctx: Context) -> Result<Value> {
    let charged: u32 = ctx.step("charge", async || Ok(7)).await?;
    let day = Duration::from_secs(86_400);
    let select = ctx.select().ask("ok", "Pay?", |yes: bool| json!(yes)).sleep(day, || json!("late"));
    let decided = select.signal("cancelled", |reason: String| json!(reason)).await?;
    let early: u32 = ctx.wait_for_signal("early").await?;
    Ok(json!([charged, decided, early]))
}

async fn play(mut run: Run) {
    while let Some(event) = run.next().await {
        event.unwrap();
    }
}

/// google-adk reads, appends to and deletes sessions that contain waits of every kind.
pub(crate) async fn google_adk_reads_waits_appends_and_deletes(layout: Layout) {
    let Some(database) = Database::loaded(layout).await else { return };
    let Some(mut adk) = Adk::open(&database) else { return };
    let mut wf = Workflow::builder("wf");
    let node = wf.add(FunctionNode::new("order", order).rerun_on_resume(true));
    wf.edge(START, node);
    let sessions = connect(&database.url()).await.unwrap();
    let runner = Runner::builder("waits").root(wf.build().unwrap()).sessions(sessions).build().unwrap();
    let key = SessionKey::new("waits", "ana", "s1");

    play(runner.run("ana", "s1", "go")).await;
    assert!(matches!(runner.signal(&key, "early", 5).await.unwrap(), SignalOutcome::Kept));
    let stored = runner.sessions().get_session(&key, Default::default()).await.unwrap().unwrap();
    let read = adk.ask(&request("get"));
    let events = read["events"].as_array().unwrap();
    assert_eq!(events.len(), stored.events.len());
    for (event, ours) in events.iter().zip(&stored.events) {
        assert_eq!(event["id"], ours.id().to_string());
    }
    let asks = events.iter().find(|event| event["longRunningToolIds"].is_array()).unwrap();
    assert_eq!(asks["content"]["parts"].as_array().unwrap().len(), 3, "{asks}");

    // google-adk appends between the waits, and the run continues after its event.
    let mut append = request("append");
    append["event"] = json!({"id": "adk1", "invocation_id": "other", "author": "user", "timestamp": 4_000_000_000.0,
        "actions": {"state_delta": {"seen": true}}});
    adk.ask(&append);
    play(runner.answer("s1", "ok", true).unwrap()).await;
    let session = runner.sessions().get_session(&key, Default::default()).await.unwrap().unwrap();
    assert_eq!(session.events.iter().rev().find_map(|event| event.output()), Some(&json!([7, true, 5])));
    let status = runner.status(&key).await.unwrap();
    assert!(matches!(status.progress, RunProgress::Done), "{:?}", status.progress);

    let done = session.events.iter().rev().find(|event| event.output().is_some()).unwrap();
    runner.redact(&key, done.id(), Redaction::new(["/output"], "a request")).await.unwrap();
    let read = adk.ask(&request("get"));
    let redacted =
        read["events"].as_array().unwrap().iter().find(|event| event["id"] == done.id().to_string()).unwrap();
    assert_eq!(redacted["output"], "[redacted]", "{redacted}");

    runner.rewind_before(&key, "wf@1/order@1").await.unwrap();
    let read = adk.ask(&request("get"));
    assert_eq!(read["events"].as_array().unwrap().last().unwrap()["author"], "user");
    assert_eq!(read["state"]["seen"], Value::Null, "{}", read["state"]);
    let listed = adk.ask(&json!({"do": "list", "app": "waits", "user": "ana"}));
    assert!(listed.to_string().contains("s1"), "{listed}");

    adk.ask(&request("delete"));
    assert_eq!(runner.sessions().get_session(&key, Default::default()).await.unwrap(), None);
    assert!(runner.inbox("ana").await.unwrap().is_empty());
    runner.close().await.unwrap();
}
