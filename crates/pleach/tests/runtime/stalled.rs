//! Tests of a store that stalls: an append never returns, whether its event is stored or not. No event that a caller
//! has seen is lost, no completed node runs again, and work that does not need the store continues.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::poll;
use pleach::prelude::*;
use pleach::{DrainOptions, Node, Overdue, RetryConfig, Run, RunRequest, SessionService};
use pleach_contract::TestClock;

use crate::gated::Gated;
use crate::script::{rest, take};
use crate::support::{key, line, stored, trace};

const SECOND: Duration = Duration::from_secs(1);

fn over(root: impl Node, sessions: impl SessionService, clock: &TestClock) -> Runner {
    Runner::builder("t").root(root).sessions(sessions).clock(clock.clone()).build().unwrap()
}

/// A chain of three nodes that add one. `bodies` counts the runs of each body.
fn chain(bodies: &Arc<[AtomicUsize; 3]>) -> Workflow<Dynamic, i64> {
    let mut wf = Workflow::builder("wf");
    let nodes = ["a", "b", "c"].into_iter().enumerate().map(|(place, name)| {
        let bodies = Arc::clone(bodies);
        wf.node(name, move |Input(n): Input<i64>| {
            bodies[place].fetch_add(1, Ordering::Relaxed);
            async move { n + 1 }
        })
    });
    let nodes: Vec<_> = nodes.collect();
    wf.edge(START, nodes[0]).edge(nodes[0], nodes[1]).edge(nodes[1], nodes[2]);
    wf.build_to(nodes[2]).unwrap()
}

/// The events of a run until no more come.
async fn until_stalled(run: &mut Run) -> Vec<String> {
    let mut lines = Vec::new();
    let mut idle = 0;
    while idle < 9 {
        match poll!(std::pin::pin!(run.next())) {
            std::task::Poll::Ready(Some(event)) => lines.push(line(&event.unwrap())),
            std::task::Poll::Ready(None) => break,
            std::task::Poll::Pending => {
                idle += 1;
                tokio::task::yield_now().await;
            }
        }
    }
    lines
}

#[tokio::test]
async fn a_run_that_is_dropped_at_a_stalled_append_is_resumed_and_loses_nothing() {
    // The message and three outputs.
    for stalls_at in 0..4 {
        for is_stored in [false, true] {
            let case = format!("append {stalls_at}, stored: {is_stored}");
            let (bodies, gated) = (Arc::default(), Gated::stalling(stalls_at, is_stored));
            let runner = over(chain(&bodies), gated.clone(), &TestClock::new());
            let mut run = runner.start(RunRequest::new(key()).message("1").invocation_id("mine"));
            let shown = until_stalled(&mut run).await;
            assert_eq!(shown.len(), stalls_at.saturating_sub(1), "{case}: an event is not shown before it is stored");
            drop(run);
            let there = over(chain(&bodies), Arc::clone(&gated.sessions), &TestClock::new());
            let began = stalls_at > 0 || is_stored;
            let run = if began {
                there.resume("ana", "s1", "mine")
            } else {
                there.start(RunRequest::new(key()).message("1").invocation_id("mine"))
            };
            assert_eq!(run.output::<i64>().await.unwrap(), 4, "{case}");
            let lines = stored(&gated.sessions).await;
            assert_eq!(lines, ["wf@1/a@1: 2", "wf@1/b@1: 3", "wf@1/c@1: 4"], "{case}");
            assert!(lines.starts_with(&shown), "{case}");
            for (place, body) in bodies.iter().enumerate() {
                // The body whose output was being stored may run again.
                let times = body.load(Ordering::Relaxed);
                let expected = if place + 1 == stalls_at && !is_stored { 2 } else { 1 };
                assert_eq!(times, expected, "{case}: node {place}");
            }
        }
    }
}

#[tokio::test]
async fn a_stalled_append_holds_up_its_run_and_no_other_one() {
    let (bodies, gated) = (Arc::default(), Gated::stalling(2, false));
    let (runner, beside) = (
        over(chain(&bodies), gated.clone(), &TestClock::new()),
        over(chain(&Arc::default()), Arc::clone(&gated.sessions), &TestClock::new()),
    );
    let run = runner.run("ana", "s1", "1").detach();
    let mut follow = run.follow(None).await.unwrap();
    assert_eq!(take(&mut follow, 2).await[1], "wf@1/a@1: 2");
    assert_eq!(beside.run("ana", "s2", "5").output::<i64>().await.unwrap(), 8);
    assert!(poll!(std::pin::pin!(follow.next())).is_pending(), "an event that is not stored is not shown");
    // Reading needs no append.
    assert_eq!(runner.questions(key()).await.unwrap(), []);
    gated.answer();
    assert_eq!(rest(&mut follow).await, ["wf@1/b@1: 3", "wf@1/c@1: 4"]);
    assert_eq!(run.output::<i64>().await.unwrap(), 4);
}

#[tokio::test]
async fn a_drain_does_not_wait_for_a_stalled_append_beyond_its_grace() {
    for overdue in [Overdue::Cut, Overdue::Abort] {
        let (bodies, gated, clock) = (Arc::default(), Gated::stalling(2, false), TestClock::new());
        let runner = over(chain(&bodies), gated.clone(), &clock);
        let run = runner.run("ana", "s1", "1").detach();
        let invocation = run.invocation_id().await.unwrap();
        let drain = tokio::spawn({
            let runner = runner.clone();
            async move { runner.drain(DrainOptions::new(SECOND).grace(2 * SECOND).overdue(overdue)).await }
        });
        for _ in 0..9 {
            tokio::task::yield_now().await;
        }
        assert_eq!(clock.end_sleeps_of(SECOND), 1);
        tokio::task::yield_now().await;
        assert_eq!(clock.end_sleeps_of(2 * SECOND), 1);
        let drained = drain.await.unwrap();
        assert_eq!((drained.runs[0].end.clone(), drained.is_complete()), (None, false));
        gated.answer();
        run.await.unwrap();
        let there = over(chain(&bodies), Arc::clone(&gated.sessions), &clock);
        let again = there.resume("ana", "s1", invocation).output::<i64>().await;
        match overdue {
            Overdue::Cut => assert_eq!(again.unwrap(), 4),
            Overdue::Abort => assert!(matches!(again, Err(RunError::InvocationAborted { .. })), "{again:?}"),
        }
    }
}

/// The wait for the store is part of the attempt. An output that is stored after the time limit is ignored, live and in a
/// resume.
#[tokio::test]
async fn r410_a_node_that_times_out_while_its_output_is_stored_fails_or_is_tried_again() {
    for retries in [false, true] {
        let (runs, gated, clock) = (Arc::new(AtomicUsize::new(0)), Gated::stalling(1, false), TestClock::new());
        let root = || {
            let runs = Arc::clone(&runs);
            let node = FunctionNode::new("n", move || {
                let run = runs.fetch_add(1, Ordering::Relaxed);
                async move { run }
            });
            let node = node.timeout(SECOND);
            if retries { node.retry(RetryConfig::attempts(2).initial_delay(0.0)) } else { node }
        };
        let runner = over(root(), gated.clone(), &clock);
        let mut run = runner.start(RunRequest::new(key()).message("1").invocation_id("mine"));
        assert_eq!(until_stalled(&mut run).await, [""; 0]);
        assert_eq!(clock.end_sleeps_of(SECOND), 1);
        assert_eq!(until_stalled(&mut run).await, [""; 0]);
        gated.answer();
        let timed_out = "NodeTimeoutError: Node 'n' timed out after 1.0 seconds.";
        let mut expected = vec!["n@1: 0".to_owned(), format!("n@1: {timed_out}")];
        expected.push(if retries { "n@1: 1".to_owned() } else { format!("! {timed_out}") });
        assert_eq!(trace(run).await, expected);
        let there = over(root(), Arc::clone(&gated.sessions), &clock);
        assert_eq!(there.resume("ana", "s1", "mine").output::<i64>().await.unwrap(), 1, "{retries}");
        assert_eq!(runs.load(Ordering::Relaxed), 2, "{retries}");
    }
}

#[tokio::test]
async fn a_run_whose_message_is_never_stored_can_be_dropped_and_leaves_nothing() {
    let gated = Gated::stalling(0, false);
    let begun = Arc::new(AtomicUsize::new(0));
    let node = FunctionNode::new("n", {
        let begun = Arc::clone(&begun);
        move || {
            begun.fetch_add(1, Ordering::Relaxed);
            pending::<i64>()
        }
    });
    let runner = over(node, gated.clone(), &TestClock::new());
    let mut run = runner.run("ana", "s1", "1");
    assert_eq!(until_stalled(&mut run).await, [""; 0]);
    assert_eq!(run.end(), None);
    drop(run);
    assert_eq!(begun.load(Ordering::Relaxed), 0, "no body runs before the message is stored");
    assert_eq!(stored(&gated.sessions).await, [""; 0]);
    assert!(runner.drain(SECOND).await.runs.is_empty());
}
