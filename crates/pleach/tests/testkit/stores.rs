//! The testkit on databases.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::testkit::{
    Effects, FaultPlan, FaultySessions, Operation, ResumeFault, ResumeProperty, ScriptedHuman, Trace,
};
use pleach::{CreateSession, InMemorySessionService, SessionError, SessionKey, SessionService, connect};
use pleach_contract::own_tests::Schema;

use crate::support::order;

/// A property that opens the database of a URL for each process.
fn on(url: String, effects: &Effects) -> ResumeProperty {
    let human = ScriptedHuman::new().answers("ship", true);
    let property = ResumeProperty::new(order(effects)).input("1200").human(&human).effects(effects);
    property.sessions(move || {
        let url = url.clone();
        async move { connect(&url).await }
    })
}

async fn survives(url: String) {
    let effects = Effects::new();
    let report = on(url, &effects).check().await.unwrap();
    assert_eq!(
        report.crashes.len(),
        3 * (report.trace.entries().len() + 1),
        "one write is create_session, the others are appends"
    );
    assert_eq!((effects.count("charge 1200"), effects.count("ship")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn sqlite_a_workflow_survives_every_crash() {
    let folder = tempfile::tempdir().unwrap();
    survives(format!("sqlite:{}", folder.path().join("s.db").display())).await;
}

#[tokio::test(start_paused = true)]
async fn postgres_a_workflow_survives_every_crash() {
    let Some(schema) = Schema::for_test().await else { return };
    survives(schema.url()).await;
}

/// The time-out of a node includes the time of its writes. Paused time does not advance during a write.
async fn holds_time(url: String) {
    let node = FunctionNode::new("order", async |ctx: Context| {
        for number in 0..3 {
            let step = Step::new("step").retry(RetryConfig::attempts(2).initial_delay(60.0));
            ctx.step(step, async || if number == ctx.attempt_count() { Err(Fail::msg("down")) } else { Ok(()) })
                .await
                .ok();
            ctx.emit(Event::message("done")).await?;
        }
        Ok::<_, Fail>("done")
    });
    let mut wf = Workflow::builder("shop");
    let node = wf.add(node.rerun_on_resume(true).timeout(std::time::Duration::from_secs(600)));
    wf.edge(START, node);
    let property = ResumeProperty::new(wf.build().unwrap()).input("go").sessions(move || {
        let url = url.clone();
        async move { connect(&url).await }
    });
    let report = property.check().await.unwrap();
    assert_eq!(report.trace.entries().last().unwrap().does, ["gives \"done\""]);
}

#[tokio::test(start_paused = true)]
async fn sqlite_paused_time_is_held_while_the_store_works() {
    let folder = tempfile::tempdir().unwrap();
    holds_time(format!("sqlite:{}", folder.path().join("s.db").display())).await;
}

#[tokio::test(start_paused = true)]
async fn postgres_paused_time_is_held_while_the_store_works() {
    let Some(schema) = Schema::for_test().await else { return };
    holds_time(schema.url()).await;
}

async fn finds_a_lost_append(url: String) {
    let human = ScriptedHuman::new().answers("ship", true);
    let property = ResumeProperty::new(order(&Effects::new())).input("1").human(&human);
    let property = property.sessions(move || {
        let url = url.clone();
        async move {
            let plan = FaultPlan::new().lose_append(4);
            connect(&url).await.map(|sessions| FaultySessions::new(sessions, plan))
        }
    });
    let failure = property.check().await.unwrap_err();
    assert!(matches!(&failure.fault, ResumeFault::Lost(events) if events == &["user: answers ship true"]), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn sqlite_a_store_that_loses_an_append_is_found() {
    let folder = tempfile::tempdir().unwrap();
    finds_a_lost_append(format!("sqlite:{}", folder.path().join("s.db").display())).await;
}

#[tokio::test(start_paused = true)]
async fn postgres_a_store_that_loses_an_append_is_found() {
    let Some(schema) = Schema::for_test().await else { return };
    finds_a_lost_append(schema.url()).await;
}

/// Checks that faults have the same effects with every store.
async fn faults(inner: impl SessionService) {
    let key = SessionKey::new("app", "ana", "s1");
    let taken = || SessionError::Locked { what: "the file".into(), source: "others".into() };
    let plan = FaultPlan::new()
        .fail(Operation::Append, 1)
        .lose_reply(Operation::Append, 2)
        .fail_with(Operation::Claim, 1, taken)
        .lose_reply(Operation::Claim, 2)
        .fail(Operation::GetSession, 1);
    let sessions = FaultySessions::new(inner, plan);
    let create = CreateSession::new("app", "ana").with_session_id("s1");
    let mut head = sessions.create_session(create).await.unwrap().head;
    let mut event = Event::message("first").with_state("n", 1);
    event.set_id("e1");
    event.set_timestamp(1.0);
    let event = Arc::new(event);

    let failed = sessions.append(&mut head, Arc::clone(&event)).await.unwrap_err();
    assert!(failed.to_string().contains("append) is not available: a fault of the test"), "{failed}");
    assert!(matches!(sessions.get_session(&key, Default::default()).await, Err(SessionError::Unavailable { .. })));
    let stored = async || sessions.get_session(&key, Default::default()).await.unwrap().unwrap();
    assert_eq!(stored().await.events.len(), 0);

    let before = head.revision();
    assert!(sessions.append(&mut head, Arc::clone(&event)).await.is_err());
    assert_eq!((head.revision(), stored().await.events.len()), (before, 1));
    // Repeating the append shows that the event was stored.
    sessions.append(&mut head, event).await.unwrap();
    assert_eq!(stored().await.events.len(), 1);

    assert!(matches!(sessions.claim(&mut head, 2.0).await, Err(SessionError::Locked { .. })));
    assert!(matches!(sessions.claim(&mut head, 2.0).await, Err(SessionError::Unavailable { .. })));
    assert!(sessions.claim(&mut head, 3.0).await.unwrap_err().is_stale(), "the lost answer was the answer to a claim");
    assert_eq!((sessions.calls(Operation::Append), sessions.calls(Operation::Claim), sessions.faults()), (3, 3, 5));
    let trace = Trace::of_session(&sessions, &key).await.unwrap();
    assert_eq!(trace.entries()[0].does, ["says \"first\"", "sets n = 1"]);
}

#[tokio::test]
async fn memory_faults_follow_the_plan() {
    faults(InMemorySessionService::new()).await;
}

#[tokio::test]
async fn sqlite_faults_follow_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    faults(connect(&format!("sqlite:{}", folder.path().join("s.db").display())).await.unwrap()).await;
}

#[tokio::test]
async fn postgres_faults_follow_the_plan() {
    let Some(schema) = Schema::for_test().await else { return };
    faults(connect(&schema.url()).await.unwrap()).await;
}
