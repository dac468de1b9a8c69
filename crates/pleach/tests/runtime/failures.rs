//! Failures: error events, retries, timeouts, panics, cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pleach::prelude::*;
use pleach::{InMemorySessionService, RunOptions};
use serde_json::{Value, json};

use crate::support::{runner, stored, trace};

#[derive(Debug, thiserror::Error)]
#[error("refused")]
struct PayError;

#[tokio::test]
async fn e50_a_failure_is_an_event_and_then_the_runs_error() {
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async || Err::<i64, _>(PayError));
    let after = wf.node("after", async || 1);
    wf.edge(START, a).edge(a, after);
    let (runner, sessions) = runner(wf.build().unwrap());
    assert_eq!(trace(runner.run("ana", "s1", "go")).await, ["wf@1/a@1: PayError: refused", "! PayError: refused"]);
    assert_eq!(stored(&sessions).await, ["wf@1/a@1: PayError: refused"]);
}

#[tokio::test]
async fn e53_retries_record_every_failed_attempt_and_number_them() {
    let node = FunctionNode::new("a", async |ctx: Context| -> Result<u32> {
        ctx.state().set("tried", ctx.attempt_count())?;
        if ctx.attempt_count() < 3 { Err(PayError.into()) } else { Ok(ctx.retry_count()) }
    })
    .retry(RetryConfig::default());
    let (runner, _) = runner(node);
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(
        lines,
        [
            "a@1: state {\"tried\":1}, PayError: refused",
            "a@1: state {\"tried\":2}, PayError: refused",
            "a@1: 2, state {\"tried\":3}"
        ]
    );
}

#[tokio::test]
async fn e62_an_output_of_a_failed_attempt_stays_and_the_last_one_wins() {
    let mut wf = Workflow::builder("wf");
    let flaky = FunctionNode::new("flaky", async |ctx: Context| -> Result<()> {
        ctx.emit(json!(format!("o{}", ctx.attempt_count()))).await?;
        if ctx.attempt_count() == 1 { Err(PayError.into()) } else { Ok(()) }
    });
    let flaky = wf.add(flaky.retry(RetryConfig::attempts(2)));
    let last = wf.node("last", async |Input(text): Input<String>| text);
    wf.edge(START, flaky).edge(flaky.gives::<String>(), last);
    let (runner, _) = runner(wf.build().unwrap());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(
        lines,
        ["wf@1/flaky@1: \"o1\"", "wf@1/flaky@1: PayError: refused", "wf@1/flaky@1: \"o2\"", "wf@1/last@1: \"o2\""]
    );
}

#[tokio::test]
async fn e70_a_retried_parent_replays_the_children_that_completed() {
    let calls = Arc::new(AtomicU32::new(0));
    let (seen, first) = (Arc::clone(&calls), FunctionNode::new("first", async || 1));
    let second = FunctionNode::new("second", move || {
        let seen = Arc::clone(&seen);
        async move { if seen.fetch_add(1, Ordering::Relaxed) == 0 { Err(PayError) } else { Ok(2) } }
    });
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let (first, second) = (first.clone(), second.clone());
        async move { Ok::<_, NodeError>(ctx.run(&first, ()).await? + ctx.run(&second, ()).await?) }
    });
    let (runner, _) = runner(parent.rerun_on_resume(true).retry(RetryConfig::attempts(2)));
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(
        lines,
        ["parent@1/first@1: 1", "parent@1/second@1: PayError: refused", "parent@1/second@1: 2", "parent@1: 3"]
    );
}

#[tokio::test]
async fn r404_a_retry_after_a_failure_of_its_own_runs_new_children() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let child = FunctionNode::new("child", move || {
        let call = counted.fetch_add(1, Ordering::Relaxed) + 1;
        async move { call }
    });
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let child = child.clone();
        async move {
            let call: u32 = ctx.run(&child, ()).await?;
            if ctx.attempt_count() < 2 { Err(Fail::msg("broken")) } else { Ok(call) }
        }
    });
    let (runner, _) = runner(parent.rerun_on_resume(true).retry(RetryConfig::attempts(2).initial_delay(0.0)));
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines, ["parent@1/child@1: 1", "parent@1: Exception: broken", "parent@1/child@2: 2", "parent@1: 2"]);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

/// Each retry reads the events that the attempt before it added to the history.
#[tokio::test]
async fn e70_every_retry_knows_what_all_attempts_before_it_completed() {
    let calls: Arc<[AtomicU32; 3]> = Arc::default();
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let calls = Arc::clone(&calls);
        async move {
            let mut sum = 0;
            for place in 0..calls.len() {
                let calls = Arc::clone(&calls);
                let child = FunctionNode::new(format!("child{place}"), move || {
                    let first = calls[place].fetch_add(1, Ordering::Relaxed) == 0;
                    std::future::ready(if first { Err(PayError) } else { Ok(place) })
                });
                sum += ctx.run(&child, ()).await?;
            }
            Ok::<_, NodeError>(sum)
        }
    });
    let (runner, _) = runner(parent.rerun_on_resume(true).retry(RetryConfig::attempts(4)));
    let lines = trace(runner.run("ana", "s1", "go")).await;
    let child =
        |place| [format!("parent@1/child{place}@1: PayError: refused"), format!("parent@1/child{place}@1: {place}")];
    let expected: Vec<String> = (0..3).flat_map(child).chain(["parent@1: 3".to_owned()]).collect();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn e128_a_failed_child_can_be_caught_and_the_parent_continues() {
    let child = FunctionNode::new("child", async || Err::<i64, _>(PayError));
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let child = child.clone();
        async move {
            let error = ctx.run(&child, ()).await.unwrap_err();
            format!("{} of {}", error.class(), error.child_failure().unwrap().error.class())
        }
    });
    let (runner, _) = runner(parent.rerun_on_resume(true));
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines, ["parent@1/child@1: PayError: refused", "parent@1: \"DynamicNodeFailError of PayError\""]);
}

#[tokio::test]
async fn e63_a_timeout_ends_the_attempt() {
    let slow =
        FunctionNode::new("slow", async || std::future::pending::<()>().await).timeout(Duration::from_millis(50));
    let (runner, _) = runner(slow);
    let lines = trace(runner.run("ana", "s1", "go")).await;
    let message = "NodeTimeoutError: Node 'slow' timed out after 0.05 seconds.";
    assert_eq!(lines, [format!("slow@1: {message}"), format!("! {message}")]);
}

#[tokio::test]
async fn a_panic_is_a_failure_of_the_node_and_not_of_the_program() {
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async |Input(n): Input<usize>| [1, 2][n]);
    wf.edge(START, a);
    let (runner, _) = runner(wf.build().unwrap());
    let lines = trace(runner.run("ana", "s1", "7")).await;
    assert!(lines[0].starts_with("wf@1/a@1: PanicError: the node panicked: index out of bounds"), "{lines:?}");
    assert_eq!(runner.run("ana", "s2", "1").output::<i64>().await.unwrap(), 2);
}

#[tokio::test]
async fn e65_a_failure_cancels_running_siblings_and_e67_starts_no_successor() {
    struct Dropped(Arc<AtomicU32>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&dropped);
    let mut wf = Workflow::builder("wf");
    let fails = wf.node("fails", async || Err::<i64, _>(PayError));
    let quick = wf.node("quick", async || 1);
    let next = wf.node("next", async |Input(n): Input<i64>| n);
    let slow = wf.node("slow", move || {
        let guard = Dropped(Arc::clone(&seen));
        async move {
            std::future::pending::<()>().await;
            drop(guard);
        }
    });
    wf.edge(START, (fails, quick, slow)).edge(quick, next);
    let (runner, _) = runner(wf.build().unwrap());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(
        lines,
        ["wf@1/fails@1 [fails@1]: PayError: refused", "wf@1/quick@1 [quick@1]: 1", "! PayError: refused"]
    );
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn e121_e122_e125_wrong_calls_of_run_node_name_the_fault() {
    let child = FunctionNode::new("child", async || 1);
    let other = child.clone();
    let quiet = FunctionNode::new("quiet", move |ctx: Context| {
        let child = child.clone();
        async move { ctx.run(&child, ()).await }
    });
    let lines = trace(runner(quiet).0.run("ana", "s1", "go")).await;
    assert!(lines[0].starts_with("quiet@1: ValueError: A node must have rerun_on_resume=True."), "{lines:?}");

    let node = FunctionNode::new("node", move |ctx: Context| {
        let child = other.clone();
        async move {
            let numeric = ctx.run_node(&child, json!(null), RunOptions::default().run_id("7")).await.unwrap_err();
            let delegate = RunOptions::default().use_as_output(true);
            ctx.run_node(&child, json!(null), delegate.clone()).await?;
            let second = ctx.run_node(&child, json!(null), delegate).await.unwrap_err();
            assert!(numeric.message().contains("Explicit run_id \"7\""), "{numeric}");
            assert!(second.message().contains("already has a use_as_output delegate"), "{second}");
            Ok::<_, NodeError>(())
        }
    });
    let (runner, _) = runner(node.rerun_on_resume(true));
    assert_eq!(trace(runner.run("ana", "s1", "go")).await, ["node@1/child@1: 1"]);
    // R706, improved: the delegate's output is also the caller's output.
    assert_eq!(runner.run("ana", "s2", "go").output::<i64>().await.unwrap(), 1);
}

#[tokio::test]
async fn endless_recursion_is_an_error_of_the_node() {
    fn down() -> FunctionNode<Dynamic, Value> {
        let deeper =
            async |ctx: Context| ctx.run_node(&down(), json!(null), RunOptions::default()).await.map(|_| json!(1));
        FunctionNode::new("down", deeper).rerun_on_resume(true)
    }
    let lines = trace(runner(down()).0.run("ana", "s1", "go")).await;
    assert!(lines.last().unwrap().starts_with("! RecursionError"), "{lines:?}");
}

#[tokio::test]
async fn values_do_not_stand_in_stored_error_texts() {
    let node = FunctionNode::new("node", async |ctx: Context| -> Result<u32, NodeError> {
        ctx.state().set("temp:token", "SECRET-123")?;
        ctx.state().get::<u32>("temp:token")
    });
    let lines = trace(runner(node).0.run("ana", "s1", "go")).await;
    let text = "ValidationError: state key 'temp:token': invalid type: string, expected u32";
    assert_eq!(lines, [format!("node@1: {text}"), format!("! {text}")]);
}

#[tokio::test]
async fn dropping_a_run_cancels_it_and_keeps_what_was_handed_out() {
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async |ctx: Context| -> Result<()> {
        ctx.emit(Event::message("one")).await?;
        ctx.emit(Event::message("two")).await?;
        Ok(())
    });
    wf.edge(START, a);
    let (runner, sessions) = runner(wf.build().unwrap());
    let mut run = runner.run("ana", "s1", "go");
    let first = run.next().await.unwrap().unwrap();
    assert_eq!(first.text(), "one");
    drop(run);
    assert_eq!(stored(&sessions).await, ["wf@1/a@1: says one"]);
}

#[tokio::test]
async fn a_failing_session_service_ends_the_run_and_nothing_is_lost_silently() {
    let sessions = Arc::new(InMemorySessionService::new());
    let deleter = Arc::clone(&sessions);
    let node = FunctionNode::new("node", move || {
        let sessions = Arc::clone(&deleter);
        async move {
            sessions.delete_session(&crate::support::key()).await.unwrap();
            1
        }
    });
    let runner = Runner::builder("t").root(node).sessions(sessions).build().unwrap();
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert!(
        lines[0].starts_with("! SessionNotFoundError: session service failed: session t/ana/s1 not found"),
        "{lines:?}"
    );
}
