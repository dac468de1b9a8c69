//! The ends of spans: failures, attempts, cancellation.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pleach::prelude::*;
use pleach::{AbortSignal, RunRequest};

use crate::recorder::Recorder;
use crate::support::{finish, runner};

async fn fails() -> Result<i64, NodeError> {
    Err(NodeError::value("no"))
}

async fn never() -> i64 {
    pending().await
}

async fn one() -> i64 {
    1
}

fn workflow(name: &str, node: impl pleach::TypedNode) -> Workflow {
    let mut wf = Workflow::builder(name);
    let node = wf.add(node).dynamic();
    wf.edge(START, node);
    wf.build().unwrap()
}

#[tokio::test]
async fn r404_every_attempt_has_a_span() {
    let (recorder, _guard) = Recorder::start();
    let calls = Arc::new(AtomicU32::new(0));
    let flaky = move || {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        async move { if call == 0 { fails().await } else { Ok(1) } }
    };
    let node = FunctionNode::new("flaky", flaky).retry(RetryConfig::default());
    finish(runner(workflow("wf", node)).run("ana", "s1", "go")).await;
    let expected = "\
invoke_workflow wf completed
  invoke_node flaky failed ValueError ERROR
  invoke_node flaky (attempt 2) completed
";
    assert_eq!(recorder.tree(), expected);
    recorder.assert_over();
}

#[tokio::test]
async fn every_span_that_a_failure_ends_records_it() {
    let (recorder, _guard) = Recorder::start();
    let inner = workflow("inner", FunctionNode::new("bad", fails));
    finish(runner(workflow("outer", inner)).run("ana", "s1", "go")).await;
    let expected = "\
invoke_workflow outer failed ValueError ERROR
  invoke_workflow inner failed ValueError ERROR
    invoke_node bad failed ValueError ERROR
";
    assert_eq!(recorder.tree(), expected);
    recorder.assert_over();
}

#[tokio::test]
async fn a_timeout_and_a_panic_are_failures() {
    let (recorder, _guard) = Recorder::start();
    let slow = FunctionNode::new("slow", never).timeout(Duration::from_secs(1));
    finish(runner(slow).run("ana", "s1", "go")).await;
    let panics = async || -> i64 { panic!("no") };
    finish(runner(FunctionNode::new("panics", panics)).run("ana", "s1", "go")).await;
    let expected = "\
invoke_workflow slow failed NodeTimeoutError ERROR
  invoke_node slow failed NodeTimeoutError ERROR
invoke_workflow panics failed PanicError ERROR
  invoke_node panics failed PanicError ERROR
";
    assert_eq!(recorder.tree(), expected);
    recorder.assert_over();
}

#[tokio::test]
async fn the_failure_of_a_caught_child_fails_only_the_child() {
    let (recorder, _guard) = Recorder::start();
    let parent = async |ctx: Context| {
        let given: Result<i64, NodeError> = ctx.run(&FunctionNode::new("bad", fails), ()).await;
        given.unwrap_or(7)
    };
    finish(runner(FunctionNode::new("parent", parent).rerun_on_resume(true)).run("ana", "s1", "go")).await;
    let expected = "\
invoke_workflow parent completed
  invoke_node parent completed
    invoke_node bad failed ValueError ERROR
";
    assert_eq!(recorder.tree(), expected);
}

#[tokio::test]
async fn r640_siblings_of_a_failure_are_cancelled() {
    let (recorder, _guard) = Recorder::start();
    let mut wf = Workflow::builder("wf");
    let (slow, bad) = (wf.node("slow", never), wf.node("bad", fails));
    wf.edge(START, slow).edge(START, bad);
    finish(runner(wf.build().unwrap()).run("ana", "s1", "go")).await;
    let expected = "\
invoke_workflow wf failed ValueError ERROR
  invoke_node slow cancelled
  invoke_node bad failed ValueError ERROR
";
    assert_eq!(recorder.tree(), expected);
    recorder.assert_over();
}

/// A run that has yielded one event and hangs in its second node.
async fn hanging(abort: AbortSignal) -> pleach::Run {
    let mut wf = Workflow::builder("wf");
    let (one, slow) = (wf.node("one", one), wf.node("slow", never));
    wf.edge(START, one).edge(one.dynamic(), slow.dynamic());
    let request = RunRequest::new(("ana", "s1")).message("go").abort_signal(abort);
    let mut run = runner(wf.build().unwrap()).start(request);
    run.next().await.unwrap().unwrap();
    // The second node starts and yields nothing.
    assert!(futures::poll!(Box::pin(run.next())).is_pending());
    run
}

const CANCELLED: &str = "\
invoke_workflow wf cancelled
  invoke_node one completed
  invoke_node slow cancelled
";

#[tokio::test]
async fn dropping_a_run_closes_its_spans() {
    let (recorder, _guard) = Recorder::start();
    drop(hanging(AbortSignal::new()).await);
    assert_eq!(recorder.tree(), CANCELLED);
    recorder.assert_over();
}

#[tokio::test]
async fn r1114_closing_a_run_closes_its_spans() {
    let (recorder, _guard) = Recorder::start();
    hanging(AbortSignal::new()).await.close().await.unwrap();
    assert_eq!(recorder.tree(), CANCELLED);
    recorder.assert_over();
}

#[tokio::test]
async fn r1130_an_aborted_run_is_cancelled() {
    let (recorder, _guard) = Recorder::start();
    let abort = AbortSignal::new();
    let run = hanging(abort.clone()).await;
    abort.abort();
    finish(run).await;
    assert_eq!(recorder.tree(), CANCELLED);
    recorder.assert_over();
}

/// Reading a session is not a run. A span would be counted as a run in metrics.
#[tokio::test]
async fn the_status_of_a_session_has_no_span() {
    let (recorder, _guard) = Recorder::start();
    let runner = runner(workflow("wf", FunctionNode::new("bad", fails)));
    finish(runner.run("ana", "s1", "go")).await;
    let before = recorder.tree();
    runner.status(("ana", "s1")).await.unwrap();
    assert_eq!(runner.unfinished(pleach::ListUnfinished::new()).await.unwrap().items.len(), 1);
    assert_eq!(recorder.tree(), before);
    recorder.assert_over();
}
