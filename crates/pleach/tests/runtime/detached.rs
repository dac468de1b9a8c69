//! Background children, which their caller does not wait for.
// R643

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pleach::prelude::*;
use pleach::{Dynamic, NodeInput, RunOptions, TypedNode};
use tokio::sync::Notify;

use crate::support::{runner, trace};

#[derive(Debug, thiserror::Error)]
#[error("late")]
struct LateError;

/// START → parent, which starts `child` in the background → after, which lets the child continue.
fn workflow<C>(child: impl Fn(Arc<Notify>) -> C + Clone + Send + Sync + 'static) -> Workflow
where
    C: TypedNode<In = Dynamic>,
{
    let gate = Arc::new(Notify::new());
    let opened = Arc::clone(&gate);
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let child = child(Arc::clone(&gate));
        async move { ctx.run_in_background(child, ()).map(|path| path.to_string()) }
    });
    let mut wf = Workflow::builder("wf");
    let parent = wf.add(parent.rerun_on_resume(true));
    let after = wf.node("after", move || {
        opened.notify_one();
        std::future::ready("after")
    });
    wf.edge(START, parent).edge(parent.dynamic(), after.dynamic());
    wf.build().unwrap()
}

#[tokio::test]
async fn e133_a_child_that_is_left_alone_ends_before_the_workflow() {
    let child = |gate: Arc<Notify>| {
        FunctionNode::new("late", move || {
            let gate = Arc::clone(&gate);
            async move {
                gate.notified().await;
                "late"
            }
        })
    };
    let (runner, _) = runner(workflow(child));
    let lines = trace(runner.run("ana", "s1", "go")).await;
    let expected =
        ["wf@1/parent@1: \"wf@1/parent@1/late@1\"", "wf@1/after@1: \"after\"", "wf@1/parent@1/late@1: \"late\""];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn e134_its_failure_is_the_workflows_when_nothing_else_is_left() {
    let child = |gate: Arc<Notify>| {
        FunctionNode::new("late", move || {
            let gate = Arc::clone(&gate);
            async move {
                gate.notified().await;
                Err::<(), _>(LateError)
            }
        })
    };
    let (runner, _) = runner(workflow(child));
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines[1..], ["wf@1/after@1: \"after\"", "wf@1/parent@1/late@1: LateError: late", "! LateError: late"]);
}

/// The question is not stored, because no run could take its answer.
#[tokio::test]
async fn r643_it_may_ask_nothing() {
    async fn ask() -> RequestInput {
        RequestInput::ask("q1", "Fine?")
    }
    let child = |_| FunctionNode::new("late", ask);
    let (runner, _) = runner(workflow(child));
    let lines = trace(runner.run("ana", "s1", "go")).await;
    let why = "RuntimeError: A dynamic node started with `run_in_background` asked for input, but a background child cannot be resumed. Wait for it with `Context::run`.";
    assert!(lines.contains(&format!("wf@1/parent@1/late@1: {why}")), "{lines:?}");
    assert_eq!((lines.len(), lines[3].as_str()), (4, format!("! {why}").as_str()));
}

/// A workflow of one node.
fn workflow_of(parent: impl TypedNode) -> Workflow {
    let mut wf = Workflow::builder("wf");
    let parent = wf.add(parent);
    wf.edge(START, parent.dynamic());
    wf.build().unwrap()
}

#[tokio::test]
async fn r643_a_caller_that_is_tried_again_continues_with_the_child_that_it_has_started() {
    let (calls, gate) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let seen = Arc::clone(&calls);
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let (seen, gate) = (Arc::clone(&seen), Arc::clone(&gate));
        async move {
            let (first, opened) = (ctx.attempt_count() == 1, Arc::clone(&gate));
            let late = FunctionNode::new("late", move || {
                let gate = Arc::clone(&gate);
                let number = seen.fetch_add(1, Ordering::Relaxed);
                async move {
                    gate.notified().await;
                    number
                }
            });
            ctx.run_in_background(late, ())?;
            let flaky =
                FunctionNode::new("flaky", move || std::future::ready(if first { Err(LateError) } else { Ok(1) }));
            let one = ctx.run(&flaky, ()).await?;
            opened.notify_one();
            Ok::<_, NodeError>(one)
        }
    });
    let (runner, _) = runner(workflow_of(parent.rerun_on_resume(true).retry(RetryConfig::attempts(2))));
    let mut lines = trace(runner.run("ana", "s1", "go")).await;
    lines.sort();
    let expected = [
        "wf@1/parent@1/flaky@1: 1",
        "wf@1/parent@1/flaky@1: LateError: late",
        "wf@1/parent@1/late@1: 0",
        "wf@1/parent@1: 1",
    ];
    assert_eq!((lines, calls.load(Ordering::Relaxed)), (expected.map(String::from).to_vec(), 1));
}

/// The workflow is polled only if the children wake it.
#[tokio::test]
async fn r643_a_child_that_another_one_or_a_task_has_started_is_found() {
    let (never, fed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let (never, fed) = (Arc::clone(&never), Arc::clone(&fed));
        async move {
            let (kept, end) = (Arc::clone(&never), Arc::clone(&never));
            let long = FunctionNode::new("long", move || {
                let kept = Arc::clone(&kept);
                async move { kept.notified().await }
            });
            let nested = FunctionNode::new("nested", move |ctx: Context| {
                let (feeds, fed, end) = (Arc::clone(&fed), Arc::clone(&fed), Arc::clone(&end));
                async move {
                    tokio::task::yield_now().await;
                    let feeder = FunctionNode::new("feeder", move || {
                        feeds.notify_one();
                        std::future::ready(())
                    });
                    let own = ctx.clone();
                    tokio::spawn(async move { own.run_in_background(feeder, ()) }).await??;
                    fed.notified().await;
                    end.notify_one();
                    Ok::<_, pleach::BoxError>("nested")
                }
            });
            ctx.run_in_background(long, ())?;
            ctx.run_in_background(nested.rerun_on_resume(true), ())?;
            Ok::<_, NodeError>("parent")
        }
    });
    let (runner, _) = runner(workflow_of(parent.rerun_on_resume(true)));
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines, ["wf@1/parent@1: \"parent\"", "wf@1/parent@1/nested@1: \"nested\""]);
}

/// The children fail at different times. The failure of the child that was started first wins.
#[tokio::test]
async fn r643_background_children_run_in_parallel_and_the_first_failure_wins() {
    let gates: [Arc<Notify>; 2] = Default::default();
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let gates = gates.clone();
        async move {
            let [first, second] = gates;
            let (own, other) = (Arc::clone(&first), Arc::clone(&second));
            let one = FunctionNode::new("one", move || {
                let own = Arc::clone(&own);
                async move {
                    own.notified().await;
                    Err::<(), _>(LateError)
                }
            });
            let two = FunctionNode::new("two", move || {
                other.notify_one();
                first.notify_one();
                std::future::ready(Err::<(), _>(NodeError::new("KeyError", "x")))
            });
            ctx.run_in_background(one, ())?;
            ctx.run_in_background(two, ())?;
            second.notified().await;
            Ok::<_, NodeError>("parent")
        }
    });
    let mut wf = Workflow::builder("wf");
    let parent = wf.add(parent.rerun_on_resume(true));
    wf.edge(START, parent);
    let (runner, _) = runner(wf.build().unwrap());
    let mut lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines.pop().unwrap(), "! LateError: late");
    lines.sort();
    let expected =
        ["wf@1/parent@1/one@1: LateError: late", "wf@1/parent@1/two@1: KeyError: x", "wf@1/parent@1: \"parent\""];
    assert_eq!(lines, expected);
}

/// A caller that runs again finds the child that has finished, and the numbers of runs follow the calls.
#[tokio::test]
async fn r643_a_resume_does_not_repeat_a_child_that_has_finished() {
    let calls = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&calls);
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let seen = Arc::clone(&seen);
        async move {
            let child = FunctionNode::new("child", move || {
                seen.fetch_add(1, Ordering::Relaxed);
                std::future::ready(7)
            });
            ctx.run_in_background(child.clone(), ())?;
            let second = ctx.run(&child, ()).await?;
            let answer: bool = ctx.ask("q1", "Fine?").await?;
            Ok::<_, NodeError>(format!("{second} {answer}"))
        }
    });
    let mut wf = Workflow::builder("wf");
    let parent = wf.add(parent.rerun_on_resume(true));
    wf.edge(START, parent);
    let (runner, _) = runner(wf.build().unwrap());
    let mut lines = trace(runner.run("ana", "s1", "go")).await;
    lines.sort();
    assert_eq!(lines[..2], ["wf@1/parent@1/child@1: 7", "wf@1/parent@1/child@2: 7"], "{lines:?}");
    let lines = trace(runner.answer("s1", "q1", true).unwrap()).await;
    assert_eq!(lines, ["wf@1/parent@1: \"7 true\""]);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn r643_a_child_that_cannot_run_in_the_background_is_refused() {
    let alone = FunctionNode::new("alone", async |ctx: Context| -> Result<()> {
        ctx.run_in_background(FunctionNode::new("child", async || {}), ())?;
        Ok(())
    });
    let (root, _) = runner(alone.rerun_on_resume(true));
    let lines = trace(root.run("ana", "s1", "go")).await;
    assert!(lines[0].contains("ValueError: node 'alone' is not part of a workflow"), "{lines:?}");

    let mut wf = Workflow::builder("wf");
    let parent = FunctionNode::new("parent", async |ctx: Context| -> Result<String> {
        let child = Arc::new(FunctionNode::new("child", async || {}));
        let claims = ctx
            .run_node_in_background(child.clone(), NodeInput::Null, RunOptions::default().use_as_output(true))
            .unwrap_err();
        let number = ctx.run_node_in_background(child, NodeInput::Null, RunOptions::default().run_id("7")).unwrap_err();
        Ok(format!("{} {}", claims.class(), number.class()))
    });
    let parent = wf.add(parent.rerun_on_resume(true));
    wf.edge(START, parent);
    let (runner, _) = runner(wf.build().unwrap());
    assert_eq!(trace(runner.run("ana", "s1", "go")).await, ["wf@1/parent@1: \"ValueError ValueError\""]);
}
