//! The results that a resume takes from history, and their order.
// R1010–R1020

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use pleach::prelude::*;
use pleach::{InMemorySessionService, JoinNode, Node, Run, RunOptions, RunRequest};
use pleach_contract::CountedIds;
use serde_json::{Value, json};

use crate::support::{runner, stored, trace};

/// Sessions, and ids that are unique across processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sessions {
    pub(crate) stored: Arc<InMemorySessionService>,
    ids: CountedIds,
}

/// The Runner of a new process over the same sessions.
pub(crate) fn process(root: impl Node, sessions: &Sessions, resumable: bool) -> Runner {
    let runner = Runner::builder("t").root(root).sessions(Arc::clone(&sessions.stored)).ids(sessions.ids.clone());
    runner.resumable(resumable).build().unwrap()
}

/// Reads a run to its end, which must not be an error.
pub(crate) async fn play(run: Run) -> Vec<String> {
    let lines = trace(run).await;
    assert!(lines.iter().all(|line| !line.starts_with('!')), "{lines:?}");
    lines
}

pub(crate) fn count(calls: &Arc<AtomicU32>) -> u32 {
    calls.load(Ordering::Relaxed)
}

/// A node that has no output and counts its calls, followed by a question.
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
        let (calls, sessions) = (Arc::default(), Sessions::default());
        play(process(silent_then_ask(&calls), &sessions, resumable).run("ana", "s1", "go")).await;
        play(process(silent_then_ask(&calls), &sessions, resumable).answer("s1", "q", 1).unwrap()).await;
        assert_eq!(count(&calls), expected, "resumable: {resumable}");
    }
}

#[tokio::test]
async fn r1011_an_app_may_become_resumable_and_cease_to_be_while_a_run_waits() {
    for (before, expected) in [(true, 1), (false, 2)] {
        let (calls, sessions) = (Arc::default(), Sessions::default());
        play(process(silent_then_ask(&calls), &sessions, before).run("ana", "s1", "go")).await;
        play(process(silent_then_ask(&calls), &sessions, !before).answer("s1", "q", 1).unwrap()).await;
        let status = process(silent_then_ask(&calls), &sessions, before).status("s1").await.unwrap();
        assert!(matches!(status.progress, pleach::RunProgress::Done), "{:?}", status.progress);
        assert_eq!(count(&calls), expected, "resumable before: {before}");
    }
}

#[tokio::test]
async fn r1011_each_round_of_a_loop_and_each_dynamic_child_without_output_runs_once_in_a_resumable_app() {
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
    let sessions = Sessions::default();
    play(process(root(), &sessions, true).run("ana", "s1", "go")).await;
    assert_eq!(count(&calls), 7);
    play(process(root(), &sessions, true).answer("s1", "q", true).unwrap()).await;
    play(process(root(), &sessions, true).resume("ana", "s1", invocation(&sessions).await)).await;
    assert_eq!(count(&calls), 7);
}

pub(crate) async fn invocation(sessions: &Sessions) -> pleach::InvocationId {
    let session = sessions.stored.get_session(&crate::support::key(), Default::default()).await.unwrap().unwrap();
    session.events[0].invocation_id().clone()
}

/// In this case ADK passes the value twice, and never the answer.
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
    play(runner.run("ana", "s1", "go")).await;
    play(runner.answer("s1", "q", "answer").unwrap()).await;
    let given = [
        "wf@1/ask@1 [ask@1]: asks q",
        "wf@1/value@1 [value@1]: \"value\"",
        "wf@1/last@1 [value@1]: \"value\"",
        "wf@1/last@2 [ask@1]: \"answer\"",
    ];
    assert_eq!(stored(&sessions).await, given);
}

#[tokio::test]
async fn r623_replayed_nodes_take_no_place_of_running_nodes() {
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
    play(runner.run("ana", "s1", "go")).await;
    play(runner.answer("s1", "q", 3).unwrap()).await;
    let session = sessions.get_session(&crate::support::key(), Default::default()).await.unwrap().unwrap();
    let given = session.events.iter().filter(|event| event.path().name() == "last");
    assert_eq!(given.filter_map(|event| event.output().cloned()).collect::<Vec<_>>(), [1, 2, 3]);
}

/// A node that records the order of its children's results and then asks.
fn race(children: [Arc<dyn Node>; 2]) -> FunctionNode<Dynamic, Vec<Value>> {
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let children = children.clone();
        async move {
            let calls = children.iter().map(|node| ctx.run_node(&**node, Value::Null, RunOptions::default()));
            let mut calls: FuturesUnordered<_> = calls.collect();
            let mut given = Vec::new();
            while let Some(output) = calls.next().await {
                given.push(output?.into_value());
            }
            ctx.ask::<bool>("q", "?").await?;
            Ok::<_, NodeError>(given)
        }
    });
    parent.rerun_on_resume(true)
}

async fn slow() -> &'static str {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    "slow"
}

async fn fast() -> &'static str {
    "fast"
}

#[tokio::test]
async fn r1020_the_first_of_several_children_is_the_first_again() {
    let mut inner = Workflow::builder("inner");
    let node = inner.node("slow", slow);
    inner.edge(START, node);
    let nested: Arc<dyn Node> = Arc::new(inner.build().unwrap());
    for first in [Arc::new(FunctionNode::new("slow", slow)), nested] {
        let (runner, _) = runner(race([first, Arc::new(FunctionNode::new("fast", fast))]));
        play(runner.run("ana", "s1", "go")).await;
        let given = runner.answer("s1", "q", true).unwrap().output::<Value>().await.unwrap();
        assert_eq!(given, json!(["fast", "slow"]));
    }
}

/// The process ends between the event of the output and the event of the route.
#[tokio::test]
async fn r412_a_route_that_comes_after_the_output_survives_a_crash() {
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
    let sessions = Sessions::default();
    let mut run = process(root(), &sessions, false).run("ana", "s1", "go");
    assert_eq!(run.next().await.unwrap().unwrap().output(), Some(&json!(1)));
    drop(run);
    let resumed = process(root(), &sessions, false).resume("ana", "s1", invocation(&sessions).await);
    assert_eq!(resumed.output::<String>().await.unwrap(), "right");
}

/// The failure of a sibling cancels a lane while the lane's output is being stored.
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

#[tokio::test]
async fn r628_a_join_whose_predecessors_run_twice_fires_again_as_it_did() {
    for limit in [0, 1] {
        let mut wf = Workflow::builder("wf");
        let (p1, s1) = (wf.node("p1", async || 1), wf.node("s1", async || 2));
        let (p2, s2) = (wf.node("p2", async || 3), wf.node("s2", async || 4));
        let both = wf.add(JoinNode::new("both"));
        let ask = wf.node("ask", async || RequestInput::<u32>::ask("q", "?"));
        wf.edge(START, (p1, s1, p2, s2)).edge(s1, p1.dynamic()).edge(s2, p2.dynamic());
        wf.edge(p1, both).edge(p2, both).edge(both, ask.dynamic());
        wf.max_concurrency(limit);
        let (runner, sessions) = runner(wf.build().unwrap());
        play(runner.run("ana", "s1", "go")).await;
        play(runner.answer("s1", "q", 1).unwrap()).await;
        assert_eq!(stored(&sessions).await.iter().filter(|line| line.starts_with("wf@1/both@")).count(), 2);
    }
}

#[tokio::test]
async fn r1020_a_child_of_a_task_of_its_own_is_answered_from_history() {
    let child = FunctionNode::new("child", async || 1);
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let (child, own) = (child.clone(), ctx.clone());
        async move {
            let task = async move { own.run_node(&child, Value::Null, RunOptions::default()).await.map(drop) };
            tokio::spawn(task).await.unwrap()?;
            ctx.ask::<bool>("q", "?").await
        }
    });
    let (runner, _) = runner(parent.rerun_on_resume(true));
    play(runner.run("ana", "s1", "go")).await;
    assert!(runner.answer("s1", "q", true).unwrap().output::<bool>().await.unwrap());
}

#[tokio::test]
async fn r414_a_question_asked_in_a_task_of_its_own_pauses_the_run() {
    let parent = FunctionNode::new("parent", async |ctx: Context| {
        let own = ctx.clone();
        tokio::spawn(async move { own.ask::<u32>("q", "?").await }).await.unwrap()
    });
    let (runner, _) = runner(parent.rerun_on_resume(true));
    assert_eq!(play(runner.run("ana", "s1", "go")).await, ["parent@1: asks q"]);
    assert_eq!(runner.answer("s1", "q", 3).unwrap().output::<u32>().await.unwrap(), 3);
}

#[tokio::test]
async fn r1011_a_node_that_failed_and_then_gave_nothing_has_completed() {
    let (calls, sessions) = (Arc::new(AtomicU32::new(0)), Sessions::default());
    let root = || {
        let calls = Arc::clone(&calls);
        let silent = FunctionNode::new("silent", move || {
            let first = calls.fetch_add(1, Ordering::Relaxed) == 0;
            async move { if first { Err(NodeError::new("Trouble", "once")) } else { Ok(()) } }
        });
        let mut wf = Workflow::builder("wf");
        let silent = wf.add(silent.retry(RetryConfig::attempts(2).initial_delay(0.0).jitter(0.0)));
        let ask = wf.node("ask", async || RequestInput::<u32>::ask("q", "?"));
        wf.edge(START, silent).edge(silent, ask);
        wf.build().unwrap()
    };
    play(process(root(), &sessions, true).run("ana", "s1", "go")).await;
    play(process(root(), &sessions, true).answer("s1", "q", 1).unwrap()).await;
    assert_eq!(count(&calls), 2);
}

#[tokio::test]
async fn r910_an_answer_that_comes_twice_runs_nothing_again() {
    for resumable in [false, true] {
        let (calls, sessions) = (Arc::new(AtomicU32::new(0)), Sessions::default());
        let root = || {
            let calls = Arc::clone(&calls);
            let node = FunctionNode::new("n", move |ctx: Context| {
                let calls = Arc::clone(&calls);
                async move {
                    ctx.ask::<bool>("q", "?").await?;
                    Ok::<_, NodeError>(calls.fetch_add(1, Ordering::Relaxed))
                }
            });
            let mut wf = Workflow::builder("wf");
            let node = wf.add(node.rerun_on_resume(true));
            wf.edge(START, node);
            wf.build().unwrap()
        };
        play(process(root(), &sessions, resumable).run("ana", "s1", "go")).await;
        for _ in 0..2 {
            play(process(root(), &sessions, resumable).answer("s1", "q", true).unwrap()).await;
        }
        assert_eq!(count(&calls), 1, "resumable: {resumable}");
    }
}

/// In ADK all answers go to the last node, and the others wait forever.
#[tokio::test]
async fn r903_nodes_that_wait_under_one_id_are_answered_one_by_one_the_last_one_first() {
    let mut wf = Workflow::builder("wf");
    let ask = || async { RequestInput::<u32>::ask("q", "?") };
    let (a, b) = (wf.node("a", ask), wf.node("b", ask));
    let both = wf.join("both", (a, b));
    wf.edge(START, (a, b));
    let (runner, _) = runner(wf.build_to(both).unwrap());
    play(runner.run("ana", "s1", "go")).await;
    play(runner.answer("s1", "q", 3).unwrap()).await;
    assert_eq!(runner.answer("s1", "q", 4).unwrap().output::<Value>().await.unwrap(), json!({"a": 4, "b": 3}));
}

/// ADK mistakes the route for the result and loses the answer.
#[tokio::test]
async fn r909_a_route_set_before_a_question_does_not_swallow_the_answer() {
    let node = FunctionNode::new("n", async |ctx: Context| {
        ctx.set_route("x");
        ctx.ask::<u32>("q", "?").await
    });
    let mut wf = Workflow::builder("wf");
    let (n, last) = (wf.add(node.rerun_on_resume(true)), wf.node("last", async |Input(n): Input<u32>| n));
    wf.edge(START, n).route(n, "x", last);
    let (runner, _) = runner(wf.build_to(last).unwrap());
    play(runner.run("ana", "s1", "go")).await;
    assert_eq!(runner.answer("s1", "q", 7).unwrap().output::<u32>().await.unwrap(), 7);
}

#[tokio::test]
async fn r706_a_delegate_does_not_choose_the_route_of_its_caller() {
    let child = FunctionNode::new("child", async |ctx: Context| {
        ctx.set_route("x");
        1
    });
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let child = child.clone();
        async move { ctx.run_node(&child, Value::Null, RunOptions::default().use_as_output(true)).await.map(drop) }
    });
    let mut wf = Workflow::builder("wf");
    let parent = wf.add(parent.rerun_on_resume(true));
    let (left, right) = (wf.node("left", async || RequestInput::<u32>::ask("q", "?")), wf.node("right", async || 2));
    wf.edge(START, parent).route(parent, DEFAULT, left).route(parent, "x", right);
    let (runner, _) = runner(wf.build().unwrap());
    assert_eq!(play(runner.run("ana", "s1", "go")).await.last().unwrap(), "wf@1/left@1: asks q");
    assert_eq!(runner.answer("s1", "q", 7).unwrap().output::<u32>().await.unwrap(), 7);
}

#[tokio::test]
async fn r907_an_answer_is_checked_against_the_question_that_is_open_not_an_older_one() {
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", async || RequestInput::<u32>::ask("q", "A number?"));
    let second = FunctionNode::new("second", async |ctx: Context| ctx.ask::<Value>("q", "Anything?").await);
    let second = wf.add(second.rerun_on_resume(true));
    wf.edge(START, first).edge(first, second.dynamic());
    let (runner, _) = runner(wf.build().unwrap());
    play(runner.run("ana", "s1", "go")).await;
    play(runner.answer("s1", "q", 1).unwrap()).await;
    assert_eq!(runner.answer("s1", "q", "hello").unwrap().output::<Value>().await.unwrap(), json!("hello"));
}

#[tokio::test]
async fn r1011_a_completed_node_does_not_run_again_for_a_question_that_it_did_without() {
    let (calls, sessions) = (Arc::new(AtomicU32::new(0)), Sessions::default());
    let root = || {
        let calls = Arc::clone(&calls);
        let either = FunctionNode::new("either", move |ctx: Context| {
            let calls = Arc::clone(&calls);
            async move {
                if let Some(answer) = ctx.resume_inputs().values().next() {
                    calls.fetch_add(1, Ordering::Relaxed);
                    return Ok(Dynamic(answer.clone()));
                }
                let (first, second) = (ctx.ask::<u32>("q1", "?"), ctx.ask::<u32>("q2", "?"));
                futures::future::try_join(first, second).await.map(|both| Dynamic(json!(both)))
            }
        });
        let mut wf = Workflow::builder("wf");
        let either = wf.add(either.rerun_on_resume(true));
        let ask = wf.node("ask", async || RequestInput::<u32>::ask("q3", "?"));
        wf.edge(START, either).edge(either, ask);
        wf.build().unwrap()
    };
    play(process(root(), &sessions, true).run("ana", "s1", "go")).await;
    play(process(root(), &sessions, true).answer("s1", "q1", 1).unwrap()).await;
    let last = process(root(), &sessions, true).answer("s1", "q3", 3).unwrap();
    assert_eq!(last.output::<u32>().await.unwrap(), 3);
    assert_eq!(count(&calls), 1);
}

/// Both workflows ran in the first turn. One message answers both, and then they continue one after the other.
#[tokio::test]
async fn r623_nested_workflows_that_were_answered_keep_to_the_limit() {
    let running = Arc::new(AtomicU32::new(0));
    let inner = |name: &str| {
        let running = Arc::clone(&running);
        let id = format!("q_{name}");
        let mut wf = Workflow::builder(name);
        let ask = wf.node("ask", move || std::future::ready(RequestInput::<u32>::ask(id.as_str(), "?")));
        let work = wf.node("work", move || {
            let running = Arc::clone(&running);
            async move {
                let before = running.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                running.fetch_sub(1, Ordering::Relaxed);
                before
            }
        });
        wf.edge(START, ask).edge(ask, work.dynamic());
        wf.build_to(work).unwrap()
    };
    let mut wf = Workflow::builder("wf");
    let (a, b) = (wf.add(inner("a")), wf.add(inner("b")));
    let both = wf.join("both", (a, b));
    wf.edge(START, (a, b)).max_concurrency(1);
    let (runner, _) = runner(wf.build_to(both).unwrap());
    play(runner.run("ana", "s1", "go")).await;
    let parts: Vec<Part> = ["q_a", "q_b"]
        .map(|id| Part::function_response(pleach::FunctionResponse::new(id, "adk_request_input", answer(1))))
        .into();
    let run = runner.start(RunRequest::new(("ana", "s1")).message(parts));
    assert_eq!(run.output::<Value>().await.unwrap(), json!({"a": 0, "b": 0}));
}

fn answer(value: u32) -> pleach::Map {
    pleach::Map::from_iter([("result".to_owned(), value.into())])
}

#[tokio::test]
async fn r623_r1020_nested_workflows_that_end_with_their_answers_complete_in_the_order_of_the_answers() {
    let inner = |name: &str| {
        let id = format!("q_{name}");
        let mut wf = Workflow::builder(name);
        let ask = wf.node("ask", move || std::future::ready(RequestInput::<u32>::ask(id.as_str(), "?")));
        wf.edge(START, ask);
        wf.build_to(ask).unwrap()
    };
    for limit in [0, 1] {
        let mut wf = Workflow::builder("wf");
        let (a, b) = (wf.add(inner("a")), wf.add(inner("b")));
        let last = wf.node("last", async |Input(given): Input<u32>| given);
        wf.edge(START, (a, b)).edge(a, last).edge(b, last).max_concurrency(limit);
        let (runner, sessions) = runner(wf.build().unwrap());
        play(runner.run("ana", "s1", "go")).await;
        play(runner.answer("s1", "q_b", 2).unwrap()).await;
        play(runner.answer("s1", "q_a", 1).unwrap()).await;
        let session = sessions.get_session(&crate::support::key(), Default::default()).await.unwrap().unwrap();
        let given = session.events.iter().filter(|event| event.path().name() == "last");
        assert_eq!(given.filter_map(|event| event.output().cloned()).collect::<Vec<_>>(), [2, 1], "limit {limit}");
    }
}

#[tokio::test]
async fn r1020_two_children_of_tasks_of_their_own_are_answered_from_history() {
    let child = FunctionNode::new("child", async || 1);
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let start = |ctx: &Context| {
            let (child, own) = (child.clone(), ctx.clone());
            tokio::spawn(async move { own.run_node(&child, Value::Null, RunOptions::default()).await.map(drop) })
        };
        let (first, second) = (start(&ctx), start(&ctx));
        async move {
            first.await.unwrap()?;
            second.await.unwrap()?;
            ctx.ask::<bool>("q", "?").await
        }
    });
    let (runner, _) = runner(parent.rerun_on_resume(true));
    play(runner.run("ana", "s1", "go")).await;
    assert!(runner.answer("s1", "q", true).unwrap().output::<bool>().await.unwrap());
}

#[tokio::test]
async fn r414_an_event_of_a_task_of_its_own_does_not_hold_up_a_pause() {
    let parent = FunctionNode::new("parent", async |ctx: Context| {
        let own = ctx.clone();
        drop(tokio::spawn(async move { own.emit(Event::message("beside")).await }));
        ctx.ask::<u32>("q", "?").await
    });
    let (runner, _) = runner(parent.rerun_on_resume(true));
    let lines = play(runner.run("ana", "s1", "go")).await;
    assert!(lines.contains(&"parent@1: asks q".to_owned()), "{lines:?}");
}

#[tokio::test]
async fn r909_a_route_from_before_a_question_is_not_followed_after_it() {
    let node = FunctionNode::new("n", async |ctx: Context| {
        if ctx.resume_inputs().is_empty() {
            ctx.set_route("asked");
        }
        ctx.ask::<u32>("q1", "?").await
    });
    let mut wf = Workflow::builder("wf");
    let n = wf.add(node.rerun_on_resume(true));
    let (x, y) = (wf.node("x", async || 0), wf.node("y", async || RequestInput::<u32>::ask("q2", "?")));
    wf.edge(START, n).route(n, "asked", x).route(n, DEFAULT, y);
    let (runner, _) = runner(wf.build().unwrap());
    play(runner.run("ana", "s1", "go")).await;
    assert_eq!(play(runner.answer("s1", "q1", 1).unwrap()).await.last().unwrap(), "wf@1/y@1: asks q2");
    assert_eq!(runner.answer("s1", "q2", 2).unwrap().output::<u32>().await.unwrap(), 2);
}

#[tokio::test]
async fn r903_a_parent_of_two_children_that_wait_under_one_id_waits_for_both() {
    let ask = |name: &str| FunctionNode::new(name, async || RequestInput::<u32>::ask("q", "?"));
    let (a, b) = (ask("a"), ask("b"));
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let (a, b) = (a.clone(), b.clone());
        async move {
            ctx.emit(Event::message("working")).await?;
            let (a, b) = (ctx.run(&a, Value::Null), ctx.run(&b, Value::Null));
            futures::future::try_join(a, b).await.map(|both: (u32, u32)| Dynamic(json!(both)))
        }
    });
    let (runner, _) = runner(parent.rerun_on_resume(true));
    play(runner.run("ana", "s1", "go")).await;
    play(runner.answer("s1", "q", 1).unwrap()).await;
    assert_eq!(runner.answer("s1", "q", 2).unwrap().output::<Value>().await.unwrap(), json!([2, 1]));
}

#[tokio::test]
async fn r629_triggers_queued_at_a_pause_start_in_the_order_in_which_they_arrived() {
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut wf = Workflow::builder("wf");
    let [p, e, g] = ["p", "e", "g"].map(|name| {
        let order = Arc::clone(&order);
        let node = FunctionNode::new(name, move |ctx: Context| {
            order.lock().unwrap().push(ctx.node_path().leaf().to_string());
            async move { ctx.ask::<u32>(&format!("q_{}", ctx.node_name()), "?").await }
        });
        wf.add(node.rerun_on_resume(true))
    });
    let b = wf.node("b", async || 1);
    wf.edge(START, (p, e, g, b)).edge(b, g.dynamic()).edge(b, e.dynamic()).max_concurrency(1);
    let (runner, _) = runner(wf.build().unwrap());
    play(runner.run("ana", "s1", "go")).await;
    order.lock().unwrap().clear();
    let parts: Vec<Part> = ["q_p", "q_e", "q_g"]
        .map(|id| Part::function_response(pleach::FunctionResponse::new(id, "adk_request_input", answer(1))))
        .into();
    play(runner.start(RunRequest::new(("ana", "s1")).message(parts))).await;
    assert_eq!(*order.lock().unwrap(), ["p@1", "e@1", "g@1", "g@2", "e@2"]);
}
