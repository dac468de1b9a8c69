//! Draining a Runner: new runs are refused, and running ones end, are cut off or are aborted.

use std::sync::Arc;
use std::time::Duration;

use pleach::prelude::*;
use pleach::{DrainOptions, Drained, InMemorySessionService, Overdue, RunEnd, SessionKey};
use pleach_contract::TestClock;
use tokio::task::JoinHandle;

use crate::script::{Script, scripted};
use crate::support::{stored, trace};

const SECOND: Duration = Duration::from_secs(1);

struct Stage {
    script: Script,
    runner: Runner,
    sessions: Arc<InMemorySessionService>,
    clock: TestClock,
}

/// A workflow of `first`, which returns 1, and a scripted node.
fn stage() -> Stage {
    let (sessions, clock) = (Arc::new(InMemorySessionService::new()), TestClock::new());
    let (script, runner) = process(&sessions, &clock);
    Stage { script, runner, sessions, clock }
}

fn process(sessions: &Arc<InMemorySessionService>, clock: &TestClock) -> (Script, Runner) {
    let (script, node) = scripted();
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", async || 1);
    let second = wf.add(node);
    wf.edge(START, first).edge(first, second);
    let builder = Runner::builder("t").root(wf.build_to(second).unwrap()).sessions(Arc::clone(sessions));
    (script, builder.clock(clock.clone()).build().unwrap())
}

impl Stage {
    /// Begins to drain and returns once the drain waits.
    async fn drain(&self, options: impl Into<DrainOptions>) -> JoinHandle<Drained> {
        let (runner, options) = (self.runner.clone(), options.into());
        let drained = tokio::spawn(async move { runner.drain(options).await });
        tokio::task::yield_now().await;
        drained
    }
}

fn ends(drained: &Drained) -> Vec<(&str, Option<RunEnd>)> {
    let session = |run: &Option<SessionKey>| run.clone().unwrap().session_id;
    assert!(drained.runs.iter().all(|run| session(&run.session).as_str().len() == 2));
    drained.runs.iter().map(|run| (run.session.as_ref().unwrap().session_id.as_str(), run.end.clone())).collect()
}

#[tokio::test]
async fn new_runs_are_refused_and_running_ones_may_end() {
    let stage = stage();
    let run = stage.runner.run("ana", "s1", "go").detach();
    stage.script.fragment("there").await;
    let drained = stage.drain(9 * SECOND).await;
    let refused = "! RunnerDrainingError: this Runner is shutting down (`drain`) and accepts no new runs. Send the request to \
                   another process";
    assert_eq!(trace(stage.runner.run("ana", "s2", "go")).await, [refused]);
    assert_eq!(trace(stage.runner.clone().resume("ana", "s1", "e-1")).await, [refused]);
    assert_eq!(trace(stage.runner.answer("s1", "q1", "yes").unwrap()).await, [refused]);
    let error = stage.runner.run("ana", "s2", "go").detach().await.unwrap_err();
    assert!(matches!(error, RunError::Draining), "{error:?}");
    let created = stage.sessions.get_session(&SessionKey::new("t", "ana", "s2"), Default::default()).await.unwrap();
    assert!(created.is_none() && !drained.is_finished());
    stage.script.end("done");
    let drained = drained.await.unwrap();
    assert_eq!(ends(&drained), [("s1", Some(RunEnd::Done))]);
    assert!(drained.is_complete());
    assert_eq!(run.output::<String>().await.unwrap(), "done");
    assert_eq!(stage.clock.sleeps(), [9 * SECOND]);
    assert_eq!(stage.runner.drain(SECOND).await, Drained::default(), "a drained Runner stays drained");
}

#[tokio::test]
async fn r1025_a_run_cut_off_at_the_deadline_is_resumed_in_the_next_process() {
    let stage = stage();
    let run = stage.runner.run("ana", "s1", "go").detach();
    stage.script.fragment("there").await;
    let drained = stage.drain(SECOND).await;
    assert_eq!(stage.clock.end_sleeps_of(SECOND), 1);
    let drained = drained.await.unwrap();
    assert_eq!((ends(&drained), drained.is_complete()), (vec![("s1", Some(RunEnd::Cut))], false));
    run.await.unwrap();
    assert_eq!(stored(&stage.sessions).await, ["wf@1/first@1: 1"], "the session has no event for the cut");
    let (script, next) = process(&stage.sessions, &stage.clock);
    script.end("done");
    let invocation = drained.runs[0].invocation.clone().unwrap();
    assert_eq!(trace(next.resume("ana", "s1", invocation)).await, ["wf@1/n@1: \"done\""]);
}

#[tokio::test]
async fn r1130_a_run_aborted_at_the_deadline_is_sealed() {
    let stage = stage();
    let run = stage.runner.run("ana", "s1", "go").detach();
    stage.script.fragment("there").await;
    let drained = stage.drain(DrainOptions::new(SECOND).overdue(Overdue::Abort)).await;
    assert_eq!(stage.clock.end_sleeps_of(SECOND), 1);
    assert_eq!(ends(&drained.await.unwrap()), [("s1", Some(RunEnd::Aborted))]);
    run.await.unwrap();
    let seal = ": INVOCATION_ABORTED: Invocation was aborted by client.";
    assert_eq!(stored(&stage.sessions).await, ["wf@1/first@1: 1", seal]);
}

#[tokio::test]
async fn a_run_with_a_reader_is_cut_when_its_reader_asks_and_not_waited_for_otherwise() {
    let stage = stage();
    let mut read = stage.runner.run("ana", "s1", "go");
    let mut unread = stage.runner.run("ana", "s2", "go");
    read.next().await.unwrap().unwrap();
    unread.next().await.unwrap().unwrap();
    let drained = stage.drain(DrainOptions::new(SECOND).grace(3 * SECOND)).await;
    let reader = tokio::spawn(async move { read.next().await.is_none() });
    tokio::task::yield_now().await;
    assert_eq!(stage.clock.end_sleeps_of(SECOND), 1);
    assert!(reader.await.unwrap(), "it waited for its node and is woken");
    assert_eq!(stage.clock.end_sleeps_of(3 * SECOND), 1);
    assert_eq!(ends(&drained.await.unwrap()), [("s1", Some(RunEnd::Cut)), ("s2", None)]);
    assert!(unread.next().await.is_none());
}

#[tokio::test]
async fn every_kind_of_end_is_recorded() {
    let stage = stage();
    let runs: Vec<_> = ["s1", "s2"].map(|id| stage.runner.run("ana", id, "go").detach()).into();
    for run in &runs {
        run.invocation_id().await.unwrap();
    }
    stage.script.fragment("there").await;
    let mut dropped = stage.runner.run("ana", "s3", "go");
    dropped.next().await.unwrap().unwrap();
    let drained = stage.drain(SECOND).await;
    drop(dropped);
    stage.script.fail();
    stage.script.fail();
    let drained = drained.await.unwrap();
    let failed = Some(RunEnd::Failed { code: "Exception".into(), message: "broken".into() });
    assert_eq!(ends(&drained), [("s1", failed.clone()), ("s2", failed), ("s3", Some(RunEnd::Cut))]);
    assert!(drained.runs.iter().all(|run| run.invocation.is_some()));
}

#[tokio::test]
async fn a_run_that_waits_for_an_answer_holds_nothing_up() {
    let sessions = Arc::new(InMemorySessionService::new());
    let node = FunctionNode::new("n", async || RequestInput::<String>::ask("q1", "Fine?"));
    let runner = Runner::builder("t").root(node).sessions(sessions).build().unwrap();
    runner.run("ana", "s1", "go").detach().await.unwrap();
    assert_eq!(runner.drain(SECOND).await, Drained::default());
    assert_eq!(runner.questions(("ana", "s1")).await.unwrap().len(), 1, "reading still works");
    assert_eq!(runner.follow("s1", None).await.unwrap().invocation_id(), None);
    runner.close().await.unwrap();
}

#[tokio::test]
async fn a_drain_that_is_given_up_refuses_new_runs_and_stops_none() {
    let stage = stage();
    let run = stage.runner.run("ana", "s1", "go").detach();
    stage.script.fragment("there").await;
    let drained = stage.drain(SECOND).await;
    drained.abort();
    assert!(drained.await.unwrap_err().is_cancelled());
    assert_eq!(trace(stage.runner.run("ana", "s2", "go")).await.len(), 1);
    stage.script.end("done");
    assert_eq!(run.output::<String>().await.unwrap(), "done");
}
