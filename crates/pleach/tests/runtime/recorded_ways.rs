//! A resume takes the path that history recorded, including caught failures and outputs of delegates.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pleach::prelude::*;
use pleach::{Node, Run, RunOptions, SessionServiceExt};
use serde_json::{Value, json};

use crate::replay::{Sessions, count, invocation, play, process};
use crate::support::{key, line, trace};

/// Reads this many events and drops the run, as if the process had ended.
async fn cut(mut run: Run, events: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for _ in 0..events {
        lines.push(line(&run.next().await.unwrap().unwrap()));
    }
    lines
}

async fn resume(root: impl Node, sessions: &Sessions, resumable: bool) -> Vec<String> {
    let runner = process(root, sessions, resumable);
    trace(runner.resume("ana", "s1", invocation(sessions).await)).await
}

fn options() -> RunOptions {
    RunOptions::default()
}

/// A child that fails in its first call, counted over all processes.
fn fails_once(name: &'static str, calls: &Arc<AtomicU32>) -> FunctionNode<Dynamic, String> {
    let calls = Arc::clone(calls);
    FunctionNode::new(name, move |Input(_): Input<Dynamic>| {
        let first = calls.fetch_add(1, Ordering::Relaxed) == 0;
        async move { if first { Err(NodeError::new("Declined", "no money")) } else { Ok(name.to_owned()) } }
    })
}

/// A caller whose plan A fails. `says` is the message that it sends before plan B.
fn caller(calls: &Arc<AtomicU32>, says: Option<&'static str>) -> impl Node {
    let a = fails_once("a", calls);
    let b = FunctionNode::new("b", async || "b".to_owned());
    let caller = FunctionNode::new("caller", move |ctx: Context| {
        let (a, b) = (a.clone(), b.clone());
        async move {
            let Err(failure) = ctx.run(&a, json!(1)).await else { return Ok("a".to_owned()) };
            assert!(failure.child_failure().is_some_and(|child| child.error.code() == "Declined"));
            if let Some(text) = says {
                ctx.emit(Event::message(text)).await?;
            }
            let given = ctx.run(&b, json!(2)).await?;
            let more: u32 = ctx.ask("q", "?").await?;
            Ok::<_, NodeError>(format!("{given}{more}"))
        }
    });
    let mut wf = Workflow::builder("wf");
    let caller = wf.add(caller.rerun_on_resume(true));
    wf.edge(START, caller);
    wf.build_to(caller).unwrap()
}

#[tokio::test]
async fn a_failure_that_the_caller_handled_is_returned_again_and_the_child_does_not_run_again() {
    for resumable in [false, true] {
        for says in [None, Some("plan B")] {
            // Cut the run off after each event that follows the failure.
            for behind in 1..=2 {
                let (calls, sessions) = (Arc::default(), Sessions::default());
                let run = process(caller(&calls, says), &sessions, resumable).run("ana", "s1", "go");
                let mut run = run;
                let failed = async {
                    while let Some(event) = run.next().await {
                        if event.unwrap().error_code() == Some("Declined") {
                            break;
                        }
                    }
                    cut(run, behind).await
                };
                failed.await;
                let lines = resume(caller(&calls, says), &sessions, resumable).await;
                assert_eq!(count(&calls), 1, "{lines:?}");
                let answered = process(caller(&calls, says), &sessions, resumable).answer("s1", "q", 7).unwrap();
                assert_eq!(answered.output::<String>().await.unwrap(), "b7", "{resumable} {says:?} {behind}");
                assert_eq!(count(&calls), 1);
            }
        }
    }
}

#[tokio::test]
async fn a_failure_that_the_caller_has_not_handled_may_be_tried_again() {
    let (calls, sessions) = (Arc::default(), Sessions::default());
    cut(process(caller(&calls, None), &sessions, false).run("ana", "s1", "go"), 1).await;
    let runner = process(caller(&calls, None), &sessions, false);
    let output = runner.resume("ana", "s1", invocation(&sessions).await).output::<String>().await;
    assert_eq!((output.unwrap(), count(&calls)), ("a".to_owned(), 2));
}

/// Another lane continued after the failure of a lane. This does not mean that the caller has handled the failure.
#[tokio::test]
async fn a_failure_that_ends_the_caller_is_tried_again_even_if_a_sibling_left_events_after_it() {
    let (calls, sessions) = (Arc::default(), Sessions::default());
    let root = || {
        let a = fails_once("a", &calls);
        let slow = FunctionNode::new("slow", async |ctx: Context| {
            tokio::task::yield_now().await;
            ctx.emit(Event::message("slow")).await?;
            Ok::<_, NodeError>("slow".to_owned())
        });
        let caller = FunctionNode::new("caller", move |ctx: Context| {
            let (a, slow) = (a.clone(), slow.clone());
            async move {
                let (a, slow) = futures::join!(ctx.run(&a, json!(1)), ctx.run(&slow, json!(2)));
                Ok::<_, NodeError>(format!("{}{}", a?, slow?))
            }
        });
        caller.rerun_on_resume(true)
    };
    trace(process(root(), &sessions, false).run("ana", "s1", "go")).await;
    let runner = process(root(), &sessions, false);
    let output = runner.resume("ana", "s1", invocation(&sessions).await).output::<String>().await;
    assert_eq!((output.unwrap(), count(&calls)), ("aslow".to_owned(), 2));
}

/// A caller that cleans up and returns the same failure has not handled it.
#[tokio::test]
async fn a_failure_that_is_returned_after_a_clean_up_is_tried_again() {
    let (calls, sessions) = (Arc::default(), Sessions::default());
    let root = || {
        let (a, clean) = (fails_once("a", &calls), FunctionNode::new("clean", async || 1));
        let caller = FunctionNode::new("caller", move |ctx: Context| {
            let (a, clean) = (a.clone(), clean.clone());
            async move {
                match ctx.run(&a, json!(1)).await {
                    Ok(given) => Ok(given),
                    Err(failure) => {
                        let _: i64 = ctx.run(&clean, json!(2)).await?;
                        Err(failure)
                    }
                }
            }
        });
        caller.rerun_on_resume(true)
    };
    let lines = trace(process(root(), &sessions, false).run("ana", "s1", "go")).await;
    assert_eq!(lines.last().unwrap(), "! Declined: no money");
    let runner = process(root(), &sessions, false);
    let output = runner.resume("ana", "s1", invocation(&sessions).await).output::<String>().await;
    assert_eq!((output.unwrap(), count(&calls)), ("a".to_owned(), 2));
}

/// A caller with a delegate that then sets a route and state, or returns a value of its own.
fn delegating(calls: &Arc<AtomicU32>, own: bool) -> Workflow {
    let seen = Arc::clone(calls);
    let child = FunctionNode::new("child", async || "child".to_owned());
    let caller = FunctionNode::new("caller", move |ctx: Context| {
        let child = child.clone();
        seen.fetch_add(1, Ordering::Relaxed);
        async move {
            ctx.run_node(&child, Value::Null, options().use_as_output(true)).await?;
            ctx.set_route("x");
            if !own {
                ctx.state().set("k", 1)?;
            }
            Ok::<_, NodeError>(Dynamic(if own { json!("mine") } else { Value::Null }))
        }
    });
    let mut wf = Workflow::builder("wf");
    let caller = wf.add(caller.rerun_on_resume(true));
    let ask = wf.node("ask", async || RequestInput::<u32>::ask("q", "?"));
    let (left, right) = (wf.node("left", async || "left"), wf.node("right", async |Input(v): Input<String>| v));
    wf.edge(START, caller).route(caller, DEFAULT, left).route(caller, "x", right);
    let both = wf.node("both", async |Input(v): Input<Dynamic>| v);
    wf.edge(left, ask).edge(right, ask).edge(ask, both);
    wf.build().unwrap()
}

#[tokio::test]
async fn a_caller_cut_off_after_its_delegate_takes_its_route_and_keeps_its_state() {
    for resumable in [false, true] {
        // Cut after the event of the delegate, of the state and of the route. In a resumable app a checkpoint comes first.
        for (events, runs) in [(1, 2), (2, 1), (3, 1)] {
            let (calls, sessions) = (Arc::default(), Sessions::default());
            let run = process(delegating(&calls, false), &sessions, resumable).run("ana", "s1", "go");
            cut(run, events + usize::from(resumable)).await;
            let lines = resume(delegating(&calls, false), &sessions, resumable).await;
            assert!(lines.iter().any(|line| line == "wf@1/right@1: \"child\""), "{lines:?}");
            assert_eq!(count(&calls), runs);
            let session = sessions.stored.get_session(&key(), Default::default()).await.unwrap().unwrap();
            assert_eq!(session.state["k"], 1);
            play(process(delegating(&calls, false), &sessions, resumable).answer("s1", "q", 7).unwrap()).await;
            assert_eq!(count(&calls), runs, "the caller is complete");
        }
    }
}

#[tokio::test]
async fn values_that_a_caller_yields_besides_its_delegate_are_found_again_without_an_event_of_the_caller() {
    for resumable in [false, true] {
        let (calls, sessions) = (Arc::default(), Sessions::default());
        let lines = play(process(delegating(&calls, true), &sessions, resumable).run("ana", "s1", "go")).await;
        assert!(!lines.iter().any(|line| line.starts_with("wf@1/caller@1: \"")), "{lines:?}");
        assert!(lines.iter().any(|line| line == "wf@1/right@1: \"mine\""), "{lines:?}");
        let lines = play(process(delegating(&calls, true), &sessions, resumable).answer("s1", "q", 7).unwrap()).await;
        assert!(!lines.iter().any(|line| line.starts_with("wf@1/left@1")), "{lines:?}");
        assert_eq!(count(&calls), 1);
    }
}

#[tokio::test]
async fn a_child_with_events_and_no_output_stores_no_further_event_and_runs_once_in_a_resumable_app() {
    let (calls, sessions) = (Arc::new(AtomicU32::new(0)), Sessions::default());
    let root = || {
        let calls = Arc::clone(&calls);
        let child = FunctionNode::new("child", move |ctx: Context| {
            calls.fetch_add(1, Ordering::Relaxed);
            async move { ctx.state().set("k", 1) }
        });
        let ask = FunctionNode::new("asks", async |ctx: Context| ctx.ask::<u32>("q", "?").await);
        let caller = FunctionNode::new("caller", move |ctx: Context| {
            let (child, ask) = (child.clone(), ask.clone().rerun_on_resume(true));
            async move {
                let silent = ctx.run_node(&child, Value::Null, options());
                let (silent, answer) = futures::join!(silent, ctx.run_node(&ask, Value::Null, options()));
                silent?;
                answer.map(|answer| Dynamic(answer.into_value()))
            }
        });
        caller.rerun_on_resume(true)
    };
    play(process(root(), &sessions, true).run("ana", "s1", "go")).await;
    let answered = process(root(), &sessions, true).answer("s1", "q", 7).unwrap();
    assert_eq!(answered.output::<u32>().await.unwrap(), 7);
    assert_eq!(count(&calls), 1);
}

/// The caller's behaviour after it caught the failure of `a`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AfterFailure {
    /// Another child fails the first time, and its failure ends the caller.
    Child,
    /// The caller fails.
    Own,
    /// The caller reports an error of the same text and continues.
    Report,
    /// The caller cleans up and returns the failure.
    Rethrow,
}

fn tried_again() -> RetryConfig {
    RetryConfig::attempts(2).initial_delay(0.0).jitter(0.0)
}

/// A caller that catches the failure of `a`, continues, and is tried again if it fails.
fn fallible(calls: &Arc<AtomicU32>, behind: AfterFailure, retry: Option<RetryConfig>) -> impl Node {
    let (a, b) = (fails_once("a", calls), fails_once("b", &Arc::new(AtomicU32::new(0))));
    let caller = FunctionNode::new("caller", move |ctx: Context| {
        let (a, b) = (a.clone(), b.clone());
        async move {
            let failure = match ctx.run(&a, json!(1)).await {
                Ok(given) => return Ok(given),
                Err(failure) => failure,
            };
            match behind {
                AfterFailure::Child => return ctx.run(&b, json!(2)).await,
                AfterFailure::Report => ctx.emit(Event::new().with_error("Declined", "no money")).await?,
                AfterFailure::Own | AfterFailure::Rethrow => ctx.emit(Event::message("plan B")).await?,
            }
            match behind {
                AfterFailure::Own => Err(NodeError::value("nothing left")),
                AfterFailure::Rethrow => Err(failure),
                _ => Ok("plan B".to_owned()),
            }
        }
    });
    let caller = caller.rerun_on_resume(true);
    match retry {
        Some(retry) => caller.retry(retry),
        None => caller,
    }
}

async fn again(root: impl Node, sessions: &Sessions) -> String {
    let runner = process(root, sessions, false);
    runner.resume("ana", "s1", invocation(sessions).await).output::<String>().await.unwrap()
}

/// The retry runs `a` again, so a resume from the pause before the retry also runs `a` again.
#[tokio::test]
async fn a_failed_attempt_of_the_caller_reopens_the_failures_that_it_had_handled() {
    for (behind, events) in [(AfterFailure::Own, 3), (AfterFailure::Child, 3), (AfterFailure::Rethrow, 3)] {
        let calls = Arc::default();
        let run = process(fallible(&calls, behind, Some(tried_again())), &Sessions::default(), false);
        assert_eq!(run.run("ana", "s1", "go").output::<String>().await.unwrap(), "a", "live, {behind:?}");
        let (calls, sessions) = (Arc::default(), Sessions::default());
        let run = process(fallible(&calls, behind, Some(tried_again())), &sessions, false).run("ana", "s1", "go");
        let lines = cut(run, events).await;
        assert!(lines[2].starts_with("caller@1: "), "{lines:?}");
        let output = again(fallible(&calls, behind, Some(tried_again())), &sessions).await;
        assert_eq!((output.as_str(), count(&calls)), ("a", 2), "{behind:?}");
    }
}

#[tokio::test]
async fn after_a_failure_of_plan_b_only_the_failure_of_plan_a_is_returned() {
    for retry in [None, Some(tried_again())] {
        let (calls, sessions) = (Arc::default(), Sessions::default());
        let root = || fallible(&calls, AfterFailure::Child, retry.clone());
        cut(process(root(), &sessions, false).run("ana", "s1", "go"), 2).await;
        let lines = resume(root(), &sessions, false).await;
        assert_eq!(lines[0], "caller@1/b@1: Declined: no money", "plan B runs, not plan A: {lines:?}");
    }
}

/// As in google-adk, the failure of a child has only one error event. The caller adds another one if it is tried again,
/// or had handled the failure.
#[tokio::test]
async fn a_failure_of_plan_b_leaves_no_error_event_of_a_caller_that_is_not_tried_again() {
    let root = fallible(&Arc::default(), AfterFailure::Child, None);
    let lines = trace(process(root, &Sessions::default(), false).run("ana", "s1", "go")).await;
    let wanted = ["caller@1/a@1: Declined: no money", "caller@1/b@1: Declined: no money", "! Declined: no money"];
    assert_eq!(lines, wanted);
}

#[tokio::test]
async fn an_error_that_the_caller_only_reports_ends_nothing() {
    let (calls, sessions) = (Arc::default(), Sessions::default());
    let root = || fallible(&calls, AfterFailure::Report, Some(tried_again()));
    cut(process(root(), &sessions, false).run("ana", "s1", "go"), 2).await;
    assert_eq!((again(root(), &sessions).await.as_str(), count(&calls)), ("plan B", 1));
}

/// A policy that names the type of the failure tries the caller again, even after a resume.
#[tokio::test]
async fn a_replayed_failure_is_classified_like_the_live_failure() {
    for policy in [tried_again().on::<std::io::Error>(), tried_again().only(["GatewayError"])] {
        let (calls, sessions) = (Arc::<AtomicU32>::default(), Sessions::default());
        let typed = policy.exceptions.as_ref().is_some_and(|names| names[0] != "GatewayError");
        let root = || {
            let calls = Arc::clone(&calls);
            let a = FunctionNode::new("a", move || {
                let first = calls.fetch_add(1, Ordering::Relaxed) == 0;
                async move {
                    match (first, typed) {
                        (false, _) => Ok("a".to_owned()),
                        (true, true) => Err(NodeError::from_handler(std::io::Error::other("broken"))),
                        (true, false) => Err(NodeError::new("GatewayError", "gone").with_status("UNAVAILABLE")),
                    }
                }
            });
            let caller = FunctionNode::new("caller", move |ctx: Context| {
                let a = a.clone();
                async move {
                    let given = ctx.run(&a, ()).await;
                    if given.is_err() {
                        ctx.emit(Event::message("clean-up")).await?;
                    }
                    given
                }
            });
            caller.rerun_on_resume(true).retry(policy.clone())
        };
        cut(process(root(), &sessions, false).run("ana", "s1", "go"), 2).await;
        assert_eq!((again(root(), &sessions).await.as_str(), count(&calls)), ("a", 2));
    }
}

/// A combinator may keep a failure while other calls of the body continue, so the engine cannot know whether the body
/// has caught the failure. It treats the failure as caught until the body returns it. The caller's error event records
/// that.
#[tokio::test]
async fn a_failure_that_join_returns_later_has_an_error_event_of_the_caller_and_is_tried_again() {
    let (calls, sessions) = (Arc::default(), Sessions::default());
    let root = || {
        let a = fails_once("a", &calls);
        let (b, c) = (FunctionNode::new("b", async || 1), FunctionNode::new("c", async || 2));
        let caller = FunctionNode::new("caller", move |ctx: Context| {
            let (a, b, c) = (a.clone(), b.clone(), c.clone());
            async move {
                let lane = async {
                    let _: i64 = ctx.run(&b, ()).await?;
                    ctx.run(&c, ()).await
                };
                let (a, lane) = futures::join!(ctx.run(&a, json!(1)), lane);
                let _: i64 = lane?;
                a
            }
        });
        caller.rerun_on_resume(true)
    };
    let lines = trace(process(root(), &sessions, false).run("ana", "s1", "go")).await;
    assert_eq!(lines.iter().filter(|line| line.contains("Declined")).count(), 3, "{lines:?}");
    assert_eq!((again(root(), &sessions).await.as_str(), count(&calls)), ("a", 2));
}

/// A caller with a delegate and no work after it, followed by a question. With `nested` the caller is in a workflow of its own.
fn delegates_only(calls: &Arc<AtomicU32>, nested: bool) -> Workflow {
    let seen = Arc::clone(calls);
    let child = FunctionNode::new("child", async || "child".to_owned());
    let caller = FunctionNode::new("caller", move |ctx: Context| {
        let child = child.clone();
        seen.fetch_add(1, Ordering::Relaxed);
        async move { ctx.run_node(&child, Value::Null, options().use_as_output(true)).await.map(|_| Dynamic(Value::Null)) }
    });
    let caller = caller.rerun_on_resume(true);
    let mut wf = Workflow::builder("wf");
    let caller = if nested {
        let mut inner = Workflow::builder("inner");
        let caller = inner.add(caller);
        inner.edge(START, caller);
        wf.add(inner.build().unwrap())
    } else {
        wf.add(caller)
    };
    let ask = wf.node("ask", async || RequestInput::<u32>::ask("q", "?"));
    wf.edge(START, caller).edge(caller, ask);
    wf.build().unwrap()
}

/// The same events without pleach's metadata, as another program would have stored them.
async fn without_notes(sessions: &Sessions) -> Sessions {
    let (stored, other) = (sessions.stored.get_session(&key(), Default::default()).await, Sessions::default());
    let request = pleach::CreateSession::new("t", "ana").with_session_id("s1");
    let mut session = other.stored.create_session(request).await.unwrap();
    for event in &stored.unwrap().unwrap().events {
        let mut event = Event::clone(event);
        event.set_custom_metadata(None);
        other.stored.append_event(&mut session, event).await.unwrap();
    }
    other
}

/// google-adk does not record that a caller has completed after its delegate. The later events prove it.
#[tokio::test]
async fn a_caller_whose_successor_has_begun_is_complete_without_a_note() {
    for nested in [false, true] {
        let (calls, sessions) = (Arc::default(), Sessions::default());
        play(process(delegates_only(&calls, nested), &sessions, false).run("ana", "s1", "go")).await;
        let sessions = without_notes(&sessions).await;
        play(process(delegates_only(&calls, nested), &sessions, false).answer("s1", "q", 7).unwrap()).await;
        assert_eq!(count(&calls), 1, "nested: {nested}");
    }
}

#[tokio::test]
async fn a_caller_in_a_workflow_that_has_ended_is_complete_without_a_note() {
    let (calls, sessions) = (Arc::<AtomicU32>::default(), Sessions::default());
    let root = || {
        let seen = Arc::clone(&calls);
        let child = FunctionNode::new("child", async || "child".to_owned());
        let caller = FunctionNode::new("caller", move |ctx: Context| {
            let child = child.clone();
            seen.fetch_add(1, Ordering::Relaxed);
            async move {
                ctx.run_node(&child, Value::Null, options().use_as_output(true)).await.map(|_| Dynamic(Value::Null))
            }
        });
        let mut wf = Workflow::builder("wf");
        let caller = wf.add(caller.rerun_on_resume(true));
        wf.edge(START, caller);
        wf.build().unwrap()
    };
    play(process(root(), &sessions, true).run("ana", "s1", "go")).await;
    let sessions = without_notes(&sessions).await;
    assert_eq!(again(root(), &sessions).await, "child");
    assert_eq!(count(&calls), 1);
}
