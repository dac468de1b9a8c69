//! Runs over a session service that keeps large values as artifacts.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::testkit::{Effects, ResumeProperty, ScriptedHuman};
use pleach::{
    ArtifactScope, ArtifactService as _, Clock, FileArtifactService, InMemoryArtifactService, InMemorySessionService,
    PayloadSessions, SessionKey, SessionService, SystemClock, connect,
};
use pleach_contract::own_tests::Schema;
use serde_json::{Value, json};

use crate::support::order;

const LARGE: usize = 2000;

/// A workflow with a loop, two lanes, a join and a question, whose outputs are all large.
fn large() -> Workflow {
    let mut wf = Workflow::builder("wf");
    let count = wf.node("count", async |ctx: Context| {
        let count = ctx.state().try_get::<usize>("count")?.unwrap_or(0) + 1;
        ctx.state().set("count", count)?;
        Ok::<_, Fail>(Output::of("c".repeat(LARGE)).route(if count < 3 { "again" } else { "enough" }))
    });
    let left = wf.node("left", async |Input(text): Input<String>| json!({"left": text}));
    let right = wf.node("right", async |Input(text): Input<String>| json!({"right": "r".repeat(text.len())}));
    let both = wf.add(pleach::JoinNode::new("both"));
    let ask = FunctionNode::new("ask", async |ctx: Context, Input(all): Input<Value>| {
        let made: String = ctx.step("make", async || Ok("m".repeat(LARGE))).await?;
        let fine: bool = ctx.ask("fine", "Is it?").await?;
        Ok::<_, Fail>(json!([made, all, fine]))
    });
    let ask = wf.add(ask.rerun_on_resume(true));
    wf.edge(START, count).route(count, "again", count).route(count, "enough", [left, right]);
    wf.edge(left, both).edge(right, both).edge(both, ask);
    wf.build().unwrap()
}

/// Checks that a run that is cut off anywhere continues from references, with artifacts that outlive its processes.
async fn survives(url: String, threshold: usize) {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().to_owned();
    let human = ScriptedHuman::new().answers("fine", true);
    let shared: Option<Arc<dyn SessionService>> =
        (url == "memory:").then(|| Arc::new(InMemorySessionService::new()) as Arc<dyn SessionService>);
    let property = ResumeProperty::new(large()).input("go").human(&human).sessions(move || {
        let (url, files, shared) = (url.clone(), files.clone(), shared.clone());
        async move {
            let sessions = match shared {
                Some(shared) => shared,
                None => connect(&url).await.map_err(|error| error.to_string())?,
            };
            let artifacts =
                FileArtifactService::open(files, Arc::new(SystemClock)).await.map_err(|error| error.to_string())?;
            Ok::<_, String>(PayloadSessions::new(sessions, Arc::new(artifacts)).with_threshold(threshold))
        }
    });
    let report = property.check().await.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(report.crashes.len() > 30, "{}", report.crashes.len());
    let last = report.trace.entries().last().unwrap().does.join(" ");
    assert!(last.contains(&"m".repeat(LARGE)[..20]), "{last}");
}

#[tokio::test]
async fn memory_a_run_with_references_survives_every_crash() {
    survives("memory:".to_owned(), 0).await;
}

#[tokio::test]
async fn sqlite_a_run_with_references_survives_every_crash() {
    let folder = tempfile::tempdir().unwrap();
    survives(format!("sqlite:{}", folder.path().join("s.db").display()), 1000).await;
}

#[tokio::test]
async fn postgres_a_run_with_references_survives_every_crash() {
    let Some(schema) = Schema::for_test().await else { return };
    survives(schema.url(), 1000).await;
}

/// Steps, idempotency and questions work even if every value is stored elsewhere.
#[tokio::test(start_paused = true)]
async fn steps_and_questions_survive_with_every_value_outside() {
    let effects = Effects::new();
    let human = ScriptedHuman::new().answers("ship", true);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let artifacts = Arc::new(InMemoryArtifactService::with_clock(clock));
    let sessions: Arc<dyn SessionService> = Arc::new(InMemorySessionService::new());
    let property = ResumeProperty::new(order(&effects)).input("1200").human(&human).effects(&effects);
    let property = property.sessions(move || {
        let kept = PayloadSessions::new(sessions.clone(), artifacts.clone()).with_threshold(0);
        async move { Ok::<_, String>(kept) }
    });
    property.check().await.unwrap_or_else(|failure| panic!("{failure}"));
}

/// A copy has its own payloads, so the source can be deleted.
#[tokio::test]
async fn a_fork_does_not_need_the_payloads_of_its_source() {
    let artifacts = Arc::new(InMemoryArtifactService::with_clock(Arc::new(SystemClock)));
    let inner: Arc<dyn SessionService> = Arc::new(InMemorySessionService::new());
    let sessions: Arc<dyn SessionService> =
        Arc::new(PayloadSessions::new(inner.clone(), artifacts.clone()).with_threshold(100));
    let runner = Runner::builder("app").root(large()).sessions(sessions.clone()).build().unwrap();
    let source = SessionKey::new("app", "ana", "s1");
    let mut run = runner.run("ana", "s1", "go");
    let mut shown = Vec::new();
    while let Some(event) = run.next().await {
        shown.push(event.unwrap());
    }
    let stored = sessions.get_session(&source, Default::default()).await.unwrap().unwrap();
    let last = stored.events.last().unwrap().id().clone();
    let fork = runner.fork("ana", "s1", last, Some("s2".into())).await.unwrap();
    runner.sessions().delete_session(&source).await.unwrap();
    let scope = |id: &str| ArtifactScope::session(&SessionKey::new("app.payloads", "ana", id));
    assert_eq!(artifacts.list_artifact_keys(&scope("s1")).await.unwrap(), [""; 0]);
    assert!(artifacts.list_artifact_keys(&scope("s2")).await.unwrap().len() >= 6);

    let copy = sessions.get_session(fork.key(), Default::default()).await.unwrap().unwrap();
    let said = |events: &[Arc<Event>]| -> Vec<_> {
        events.iter().map(|event| (event.id().clone(), event.content().cloned(), event.output().cloned())).collect()
    };
    assert_eq!(said(&copy.events), said(&stored.events));
    let end = runner.answer(fork.key(), "fine", true).unwrap().output::<Value>().await.unwrap();
    assert_eq!(
        (&end[0], &end[1]["left"]["left"], &end[2]),
        (&json!("m".repeat(LARGE)), &json!("c".repeat(LARGE)), &json!(true))
    );
    let rows = inner.get_session(fork.key(), Default::default()).await.unwrap().unwrap();
    let longest = rows.events.iter().map(|event| serde_json::to_string(event).unwrap().len()).max().unwrap();
    assert!(longest < 1500, "{longest}");
    assert!(rows.events.iter().filter(|event| PayloadSessions::has_references(event)).count() >= 6);
}

/// A session that has lost a payload does not hide other sessions that were cut off.
#[tokio::test]
async fn a_lost_payload_does_not_stop_recovery() {
    let artifacts = Arc::new(InMemoryArtifactService::with_clock(Arc::new(SystemClock)));
    let sessions = PayloadSessions::new(Arc::new(InMemorySessionService::new()), artifacts.clone()).with_threshold(100);
    let runner = Runner::builder("app").root(large()).sessions(sessions).build().unwrap();
    for session in ["s1", "s2"] {
        let mut run = runner.run("ana", session, "go");
        run.next().await.unwrap().unwrap();
    }
    let scope = ArtifactScope::session(&SessionKey::new("app.payloads", "ana", "s1"));
    for name in artifacts.list_artifact_keys(&scope).await.unwrap() {
        artifacts.delete_artifact(&scope.artifact(&name)).await.unwrap();
    }
    assert_eq!(runner.status("s1").await.unwrap_err().code(), "PayloadLostError");
    let found = runner.unfinished(pleach::ListUnfinished::new()).await.unwrap().items;
    let found: Vec<_> = found.iter().map(|status| status.session.session_id.as_str()).collect();
    assert_eq!(found, ["s2"]);
}
