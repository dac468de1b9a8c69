//! What a resume takes from history, and in which order: rules R1010–R1020.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use pleach::prelude::*;
use pleach::{InMemorySessionService, JoinNode, Node, RunOptions, RunRequest};
use pleach_testkit::SeqIds;
use serde_json::{Value, json};

use crate::support::{runner, stored, trace};

/// A new process over the same sessions.
fn process(root: impl Node, sessions: &Arc<InMemorySessionService>, resumable: bool) -> Runner {
    let runner = Runner::builder("t").root(root).sessions(Arc::clone(sessions)).ids(SeqIds::new());
    runner.resumable(resumable).build().unwrap()
}

fn count(calls: &Arc<AtomicU32>) -> u32 {
    calls.load(Ordering::Relaxed)
}

/// A node that gives nothing and counts its calls, then a question.
fn silent_then_ask(calls: &Arc<AtomicU32>) -> Workflow {
    let calls = Arc::clone(calls);
    let mut wf = Workflow::builder("wf");
    let silent = wf.node("silent", move || {
        calls.fetch_add(1, Ordering::Relaxed);
        std::future::ready(())
    });
    let ask = wf.node("ask", async || RequestInput::<u32>::ask("q", "?"));
    wf.edge(START, silent).edge(silent, ask);
    wf.build().unwrap()
}

#[tokio::test]
async fn r1011_a_node_that_gave_nothing_runs_once_in_a_resumable_app_and_again_in_others() {
    for (resumable, expected) in [(true, 1), (false, 2)] {
        let (calls, sessions) = (Arc::default(), Arc::default());
        trace(process(silent_then_ask(&calls), &sessions, resumable).run("ana", "s1", "go")).await;
        trace(process(silent_then_ask(&calls), &sessions, resumable).answer("s1", "q", 1).unwrap()).await;
        assert_eq!(count(&calls), expected, "resumable: {resumable}");
    }
}

#[tokio::test]
async fn r1011_each_round_of_a_loop_and_each_dynamic_child_that_gave_nothing_runs_once_in_a_resumable_app() {
    let calls = Arc::new(AtomicU32::new(0));
    let root = || {
        let calls = Arc::clone(&calls);
        let child = FunctionNode::new("child", move || {
            calls.fetch_add(1, Ordering::Relaxed);
            std::future::ready(())
        });
        let silent = child.clone();
        let parent = FunctionNode::new("parent", move |ctx: Context| {
            let child = child.clone();
            async move {
                for _ in 0..3 {
                    ctx.run_node(&child, Value::Null, RunOptions::default()).await?;
                }
                ctx.ask::<bool>("q", "?").await
            }
        });
        let mut wf = Workflow::builder("wf");
        let silent = wf.add(silent);
        let rounds = wf.node("rounds", async |ctx: Context| Output::of(()).route(ctx.run_id() == "4"));
        let parent = wf.add(parent.rerun_on_resume(true));
        wf.edge(START, silent).edge(silent, rounds);
        wf.route(rounds, false, silent).route(rounds, true, parent);
        wf.build().unwrap()
    };
    let sessions = Arc::default();
    trace(process(root(), &sessions, true).run("ana", "s1", "go")).await;
    assert_eq!(count(&calls), 7);
    trace(process(root(), &sessions, true).answer("s1", "q", true).unwrap()).await;
    trace(process(root(), &sessions, true).resume("ana", "s1", invocation(&sessions).await)).await;
    assert_eq!(count(&calls), 7);
}

async fn invocation(sessions: &Arc<InMemorySessionService>) -> pleach::InvocationId {
    let session = sessions.get_session(&crate::support::key(), Default::default()).await.unwrap().unwrap();
    session.events[0].invocation_id().clone()
}

/// ADK gives the value twice here, and never the answer.
#[tokio::test]
async fn r1020_an_answer_is_not_lost_where_another_node_led_to_the_same_successor() {
    let root = || {
        let mut wf = Workflow::builder("wf");
        let ask = wf.node("ask", async || RequestInput::<String>::ask("q", "?"));
        let value = wf.node("value", async || "value".to_owned());
        let last = wf.node("last", async |Input(given): Input<String>| given);
        wf.edge(START, (ask, value)).edge(ask, last).edge(value, last);
        wf.build().unwrap()
    };
    let (runner, sessions) = runner(root());
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.answer("s1", "q", "answer").unwrap()).await;
    let given = [
        "wf@1/ask@1 [ask@1]: asks q",
        "wf@1/value@1 [value@1]: \"value\"",
        "wf@1/last@1 [value@1]: \"value\"",
        "wf@1/last@2 [ask@1]: \"answer\"",
    ];
    assert_eq!(stored(&sessions).await, given);
}

#[tokio::test]
async fn r623_what_is_replayed_takes_no_room_from_what_runs() {
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", async || RequestInput::<u32>::ask("q", "?"));
    let lanes = [1, 2].map(|n| wf.node(format!("lane{n}"), move || std::future::ready(n)));
    let last = wf.node("last", async |Input(given): Input<u32>| given);
    wf.edge(START, (first, lanes)).edge(first, last);
    for lane in lanes {
        wf.edge(lane, last);
    }
    wf.max_concurrency(1);
    let (runner, sessions) = runner(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.answer("s1", "q", 3).unwrap()).await;
    let session = sessions.get_session(&crate::support::key(), Default::default()).await.unwrap().unwrap();
    let given = session.events.iter().filter(|event| event.path().name() == "last");
    assert_eq!(given.filter_map(|event| event.output().cloned()).collect::<Vec<_>>(), [1, 2, 3]);
}

#[tokio::test]
async fn r1020_the_first_of_several_children_is_the_first_again() {
    let slow = FunctionNode::new("slow", async || {
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        "slow"
    });
    let fast = FunctionNode::new("fast", async || "fast");
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let nodes: [Arc<dyn Node>; 2] = [Arc::new(slow.clone()), Arc::new(fast.clone())];
        async move {
            let calls = nodes.iter().map(|node| ctx.run_node(&**node, Value::Null, RunOptions::default()));
            let mut calls: FuturesUnordered<_> = calls.collect();
            let mut given = Vec::new();
            while let Some(output) = calls.next().await {
                given.push(output?.into_value());
            }
            ctx.ask::<bool>("q", "?").await?;
            Ok::<_, NodeError>(given)
        }
    });
    let (runner, _) = runner(parent.rerun_on_resume(true));
    trace(runner.run("ana", "s1", "go")).await;
    let given = runner.answer("s1", "q", true).unwrap().output::<Value>().await.unwrap();
    assert_eq!(given, json!(["fast", "slow"]));
}

/// The process ends between the event of the output and that of the route.
#[tokio::test]
async fn r412_a_route_that_comes_behind_the_output_survives_a_crash() {
    let root = || {
        let mut wf = Workflow::builder("wf");
        let choose = wf.node("choose", async |ctx: Context| {
            ctx.set_route("right");
            1
        });
        let (left, right) = (wf.node("left", async || "left"), wf.node("right", async || "right"));
        wf.edge(START, choose).route(choose, DEFAULT, left).route(choose, "right", right);
        wf.build().unwrap()
    };
    let sessions = Arc::default();
    let mut run = process(root(), &sessions, false).run("ana", "s1", "go");
    assert_eq!(run.next().await.unwrap().unwrap().output(), Some(&json!(1)));
    drop(run);
    let resumed = process(root(), &sessions, false).resume("ana", "s1", invocation(&sessions).await);
    assert_eq!(resumed.output::<String>().await.unwrap(), "right");
}

/// A lane is cancelled by its sibling's failure while its output is on its way to the store.
#[tokio::test]
async fn r404_a_retry_finds_what_cancelled_children_have_sent() {
    let calls = Arc::new(AtomicU32::new(0));
    let failed = Arc::clone(&calls);
    let mut inner = Workflow::builder("inner");
    let fails = inner.node("fails", move || {
        let first = failed.fetch_add(1, Ordering::Relaxed) == 0;
        async move { if first { Err(NodeError::new("Trouble", "once")) } else { Ok(1) } }
    });
    let gives = inner.node("gives", async || 2);
    let join = inner.add(JoinNode::new("both"));
    inner.edge(START, (fails, gives)).edge(fails, join).edge(gives, join);
    inner.retry(RetryConfig::attempts(2).initial_delay(0.0).jitter(0.0));
    let mut wf = Workflow::builder("wf");
    let inner = wf.add(inner.build().unwrap());
    wf.edge(START, inner);
    let (runner, sessions) = runner(wf.build().unwrap());
    runner.start(RunRequest::new(("ana", "s1")).message("go")).output::<Value>().await.unwrap();
    let gave = stored(&sessions).await.iter().filter(|line| line.contains("gives@1")).count();
    assert_eq!(gave, 1);
}
