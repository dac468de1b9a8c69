//! Answers that come twice, at the same time or late, and answers to an older call than the newest one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use pleach::prelude::*;
use pleach::{
    AnswerOptions, CreateSession, FunctionCall, Hook, InMemorySessionService, InvocationContext, Node, Plugin, RunEnd,
    RunRequest, SessionServiceExt as _,
};
use pleach_contract::TestClock;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::gated::Gated;
use crate::support::{key, runner, stored, trace};

async fn count(runner: &Runner) -> usize {
    runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap().events.len()
}

fn in_app(root: impl Node, resumable: bool) -> (Runner, Arc<InMemorySessionService>) {
    let sessions = Arc::new(InMemorySessionService::new());
    let builder = Runner::builder("t").root(root).sessions(Arc::clone(&sessions)).clock(TestClock::skipping());
    (builder.resumable(resumable).build().unwrap(), sessions)
}

/// Sends a message, and then hangs while `broken` is set.
async fn works(ctx: &Context, broken: &AtomicBool) -> Result<()> {
    ctx.emit(Event::message("working")).await?;
    if broken.load(Ordering::Relaxed) { std::future::pending().await } else { Ok(()) }
}

/// Answers `q` and drops the run while the node is working.
async fn cut_off_at_work(runner: &Runner) {
    let mut run = runner.answer("s1", "q", 1).unwrap();
    while !run.next().await.unwrap().unwrap().text().contains("working") {}
}

#[tokio::test]
async fn a_message_of_a_run_without_its_output_yet_takes_no_answer() {
    for resumable in [false, true] {
        let broken = Arc::new(AtomicBool::new(true));
        let seen = Arc::clone(&broken);
        let mut wf = Workflow::builder("wf");
        let ask = wf.node("ask", async || RequestInput::<i64>::ask("q", "?"));
        let take = wf.node("take", move |ctx: Context, Input(n): Input<i64>| {
            let broken = Arc::clone(&seen);
            async move {
                works(&ctx, &broken).await?;
                Ok::<_, Fail>(n)
            }
        });
        wf.edge(START, ask).edge(ask, take);
        let (runner, _) = in_app(wf.build_to(take).unwrap(), resumable);
        trace(runner.run("ana", "s1", "go")).await;
        cut_off_at_work(&runner).await;
        broken.store(false, Ordering::Relaxed);
        assert_eq!(runner.answer("s1", "q", 2).unwrap().output::<i64>().await.unwrap(), 2, "{resumable}");
        let late = runner.answer("s1", "q", 3).unwrap().output::<i64>().await.unwrap_err();
        assert!(matches!(late, RunError::AlreadyAnswered { .. }), "{late}");
    }
}

#[tokio::test]
async fn a_message_after_an_answer_in_the_middle_takes_no_answer() {
    for resumable in [false, true] {
        let broken = Arc::new(AtomicBool::new(true));
        let seen = Arc::clone(&broken);
        let node = FunctionNode::new("node", move |ctx: Context| {
            let broken = Arc::clone(&seen);
            async move {
                let n: i64 = ctx.ask("q", "?").await?;
                works(&ctx, &broken).await.map_err(|_| NodeError::value("down"))?;
                Ok::<_, NodeError>(n)
            }
        });
        let (runner, _) = in_app(node.rerun_on_resume(true), resumable);
        trace(runner.run("ana", "s1", "go")).await;
        cut_off_at_work(&runner).await;
        broken.store(false, Ordering::Relaxed);
        assert_eq!(runner.answer("s1", "q", 2).unwrap().output::<i64>().await.unwrap(), 2, "{resumable}");
    }
}

/// A node without an output that has sent a message is complete. A replay does not run it again.
#[tokio::test]
async fn a_message_of_a_run_that_has_no_output_takes_the_answer() {
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<i64>::ask("q", "?"));
    let says = wf.node("says", async |ctx: Context, Input(n): Input<i64>| -> Result<()> {
        ctx.emit(Event::message(n.to_string())).await?;
        Ok(())
    });
    wf.edge(START, ask).edge(ask, says);
    let (runner, _) = runner(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.answer("s1", "q", 1).unwrap()).await;
    let late = runner.answer("s1", "q", 2).unwrap().output::<Value>().await.unwrap_err();
    assert!(matches!(late, RunError::AlreadyAnswered { .. }), "{late}");
}

/// A node that asks `id` and doubles the answer. The node `a` fails while `broken` is set.
fn doubles(id: &'static str, broken: &Arc<AtomicBool>) -> FunctionNode<Dynamic, i64> {
    let broken = Arc::clone(broken);
    let node = FunctionNode::new(id, move |ctx: Context, Input(_): Input<Dynamic>| {
        let broken = id == "a" && broken.load(Ordering::Relaxed);
        async move {
            let n: i64 = ctx.ask(id, "?").await?;
            if broken { Err(NodeError::value("down")) } else { Ok(2 * n) }
        }
    });
    node.rerun_on_resume(true)
}

#[tokio::test]
async fn a_dynamic_child_in_parallel_does_not_take_an_answer() {
    for resumable in [false, true] {
        let broken = Arc::new(AtomicBool::new(true));
        let (a, b) = (doubles("a", &broken), doubles("b", &broken));
        let root = FunctionNode::new("root", move |ctx: Context| {
            let (a, b) = (a.clone(), b.clone());
            async move {
                let (a, b) = futures::join!(ctx.run(&a, ()), ctx.run(&b, ()));
                Ok::<_, NodeError>(vec![a?, b?])
            }
        });
        let (runner, sessions) = in_app(root.rerun_on_resume(true), resumable);
        trace(runner.run("ana", "s1", "go")).await;
        trace(runner.answer_all("s1", [("a", 1), ("b", 2)]).unwrap()).await;
        let lines = stored(&sessions).await;
        assert!(lines.iter().any(|line| line.starts_with("root@1/b@1: 4")), "{lines:?}");
        broken.store(false, Ordering::Relaxed);
        let output = runner.answer("s1", "a", 3).unwrap().output::<Vec<i64>>().await.unwrap();
        assert_eq!(output, [6, 4], "{resumable}");
        let late = runner.answer("s1", "a", 4).unwrap().output::<Value>().await.unwrap_err();
        assert!(matches!(late, RunError::AlreadyAnswered { .. }), "{late}");
    }
}

#[tokio::test]
async fn a_later_dynamic_child_takes_an_answer() {
    let broken = Arc::new(AtomicBool::new(false));
    let (a, b) = (doubles("a", &broken), FunctionNode::new("b", async |Input(n): Input<i64>| n + 1));
    let root = FunctionNode::new("root", move |ctx: Context| {
        let (a, b) = (a.clone(), b.clone());
        async move {
            let a = ctx.run(&a, ()).await?;
            let b = ctx.run(&b, a).await?;
            ctx.ask::<i64>("last", "?").await.map(|last| b + last)
        }
    });
    let (runner, _) = runner(root.rerun_on_resume(true));
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.answer("s1", "a", 1).unwrap()).await;
    let late = runner.answer("s1", "a", 2).unwrap().output::<Value>().await.unwrap_err();
    assert!(matches!(late, RunError::AlreadyAnswered { .. }), "{late}");
    assert_eq!(runner.answer("s1", "last", 7).unwrap().output::<i64>().await.unwrap(), 10);
}

/// A workflow `ask -> take`, the number of bodies of `take` that have begun, and the gate that each of them waits for.
fn held() -> (Workflow<Dynamic, i64>, Arc<AtomicUsize>, Arc<Notify>) {
    let (bodies, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (begun, opened) = (Arc::clone(&bodies), Arc::clone(&gate));
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<i64>::ask("q", "?"));
    let take = wf.node("take", move |Input(n): Input<i64>| {
        begun.fetch_add(1, Ordering::Relaxed);
        let gate = Arc::clone(&opened);
        async move {
            gate.notified().await;
            n
        }
    });
    wf.edge(START, ask).edge(ask, take);
    (wf.build_to(take).unwrap(), bodies, gate)
}

async fn until_begun(bodies: &AtomicUsize) {
    while bodies.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn repeating_an_answer_joins_the_run_in_progress() {
    for detached in [false, true] {
        let (wf, bodies, gate) = held();
        let (runner, _) = runner(wf);
        trace(runner.run("ana", "s1", "go")).await;
        let first = runner.answer("s1", "q", 1).unwrap();
        let first =
            if detached { tokio::spawn(first.detach().output::<i64>()) } else { tokio::spawn(first.output::<i64>()) };
        until_begun(&bodies).await;
        let again = tokio::spawn(runner.answer("s1", "q", 1).unwrap().output::<i64>());
        for _ in 0..9 {
            tokio::task::yield_now().await;
        }
        let other = runner.answer("s1", "q", 1).unwrap().detach();
        assert!(other.invocation_id().await.is_ok());
        gate.notify_one();
        assert_eq!(first.await.unwrap().unwrap(), 1, "{detached}");
        assert_eq!(again.await.unwrap().unwrap(), 1, "{detached}");
        assert_eq!(other.output::<i64>().await.unwrap(), 1);
        assert_eq!((bodies.load(Ordering::Relaxed), count(&runner).await), (1, 4), "{detached}");
    }
}

/// All callers have loaded the session before one of them has stored its answer.
#[tokio::test]
async fn if_equal_answers_arrive_at_once_one_is_stored_and_all_succeed() {
    let (wf, bodies, gate) = held();
    let sessions = Gated::new();
    let runner = Runner::builder("t").root(wf).sessions(sessions.clone()).build().unwrap();
    trace(runner.run("ana", "s1", "go")).await;
    let loaded = sessions.after.acquire().await.unwrap();
    let answer = |n| tokio::spawn(runner.answer("s1", "q", n).unwrap().output::<i64>());
    let same = [answer(1), answer(1), answer(1)];
    for _ in 0..9 {
        tokio::task::yield_now().await;
    }
    drop(loaded);
    until_begun(&bodies).await;
    for _ in 0..9 {
        tokio::task::yield_now().await;
    }
    gate.notify_one();
    for answer in same {
        assert_eq!(answer.await.unwrap().unwrap(), 1);
    }
    assert_eq!((bodies.load(Ordering::Relaxed), count(&runner).await), (1, 4));
    let late = runner.answer("s1", "q", 2).unwrap().output::<i64>().await.unwrap_err();
    assert!(matches!(late, RunError::AlreadyAnswered { .. }), "{late}");
}

/// The two Runners act like two processes: the second one has loaded the session before the first one stores its
/// answer. The second Runner does not fail, and does not take the session away from the first Runner's run.
#[tokio::test]
async fn if_two_runners_get_equal_answers_one_runs_and_both_succeed() {
    for is_done in [false, true] {
        let (gated, (wf, bodies, gate)) = (Gated::new(), held());
        let root: Arc<dyn Node> = Arc::new(wf);
        let over = |sessions: Arc<dyn SessionService>| {
            Runner::builder("t").root(Arc::clone(&root)).sessions(sessions).auto_create_session(true).build().unwrap()
        };
        let (here, there) = (over(Arc::clone(&gated.sessions) as _), over(Arc::new(gated.clone())));
        trace(here.run("ana", "s1", "go")).await;
        let loaded = gated.after.acquire().await.unwrap();
        let mut second = there.answer("s1", "q", 1).unwrap();
        assert!(futures::poll!(std::pin::pin!(second.next())).is_pending());
        let first = tokio::spawn(here.answer("s1", "q", 1).unwrap().output::<i64>());
        until_begun(&bodies).await;
        if is_done {
            gate.notify_one();
            while !first.is_finished() {
                tokio::task::yield_now().await;
            }
        }
        drop(loaded);
        assert!(second.next().await.is_none(), "{is_done}");
        let end = second.end();
        if is_done {
            assert_eq!((end, second.output::<i64>().await.unwrap()), (Some(RunEnd::Done), 1))
        } else {
            assert_eq!(end, Some(RunEnd::Elsewhere));
            let unknown = second.output::<i64>().await.unwrap_err();
            assert!(matches!(unknown, RunError::Unfinished { .. }), "{unknown}");
            gate.notify_one();
        }
        assert_eq!(first.await.unwrap().unwrap(), 1, "{is_done}");
        assert_eq!((bodies.load(Ordering::Relaxed), count(&here).await), (1, 4), "{is_done}");
    }
}

/// As above, but the answers differ. The second caller learns that the question is answered.
#[tokio::test]
async fn if_two_runners_get_different_answers_the_second_one_is_told_that_the_question_is_answered() {
    for heartbeat in [None, Some(Duration::from_secs(2))] {
        let (gated, (wf, bodies, gate)) = (Gated::new(), held());
        let root: Arc<dyn Node> = Arc::new(wf);
        let over = |sessions: Arc<dyn SessionService>| {
            let builder = Runner::builder("t").root(Arc::clone(&root)).sessions(sessions).auto_create_session(true);
            heartbeat.into_iter().fold(builder, |builder, period| builder.heartbeat(period)).build().unwrap()
        };
        let (here, there) = (over(Arc::clone(&gated.sessions) as _), over(Arc::new(gated.clone())));
        trace(here.run("ana", "s1", "go")).await;
        let loaded = gated.after.acquire().await.unwrap();
        let mut second = there.answer("s1", "q", 2).unwrap();
        assert!(futures::poll!(std::pin::pin!(second.next())).is_pending());
        let first = tokio::spawn(here.answer("s1", "q", 1).unwrap().output::<i64>());
        until_begun(&bodies).await;
        drop(loaded);
        let late = second.output::<i64>().await.unwrap_err();
        assert!(matches!(&late, RunError::AlreadyAnswered { id, .. } if id == "q"), "{late}");
        gate.notify_one();
        assert_eq!(first.await.unwrap().unwrap(), 1);
    }
}

/// A plugin that appends to the session, as another process would, when it sees an answer for the first time.
#[derive(Debug)]
struct Rival {
    sessions: Arc<InMemorySessionService>,
    seen: Arc<AtomicUsize>,
}

impl Plugin for Rival {
    fn name(&self) -> &str {
        "rival"
    }

    fn on_user_message<'a>(&'a self, _: &'a InvocationContext, message: &'a Content) -> Hook<'a, Option<Content>> {
        if message.function_responses().next().is_none() || self.seen.fetch_add(1, Ordering::Relaxed) > 0 {
            return None;
        }
        Some(Box::pin(async {
            let mut session = self.sessions.get_session(&key(), Default::default()).await?.ok_or("no session")?;
            let mut event = Event::message("I was here").with_author("rival");
            event.set_id("rival");
            event.set_timestamp(session.last_update_time() + 1.0);
            self.sessions.append_event(&mut session, event).await?;
            Ok(Some(Content::new("user", message.parts().to_vec())))
        }))
    }
}

/// An answer that meets a newer session is checked again, but plugins do not see it again.
#[tokio::test]
async fn plugins_see_an_answer_once() {
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<i64>::ask("q", "?"));
    let take = wf.node("take", async |Input(n): Input<i64>| n);
    wf.edge(START, ask).edge(ask, take);
    let (sessions, seen) = (Arc::new(InMemorySessionService::new()), Arc::new(AtomicUsize::new(0)));
    let rival = Rival { sessions: Arc::clone(&sessions), seen: Arc::clone(&seen) };
    let builder = Runner::builder("t").root(wf.build_to(take).unwrap()).sessions(sessions).plugin(rival);
    let runner = builder.auto_create_session(true).build().unwrap();
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(runner.answer("s1", "q", 1).unwrap().output::<i64>().await.unwrap(), 1);
    assert_eq!(seen.load(Ordering::Relaxed), 1);
}

/// Two nodes ask under one id, and the newest question is answered first. Then the type and schema of the other question apply.
#[tokio::test]
async fn an_answer_is_checked_against_the_open_question() {
    for by_message in [false, true] {
        let mut wf = Workflow::builder("wf");
        let x = wf.node("x", async || RequestInput::<i64>::ask("q", "?"));
        let y = wf.node("y", async || RequestInput::<String>::ask("q", "?"));
        let both = wf.join("both", (x, y));
        wf.edge(START, (x, y));
        let (runner, _) = runner(wf.build_to(both).unwrap());
        trace(runner.run("ana", "s1", "go")).await;
        let answer = |answer: Value| {
            if by_message {
                let map = [("result".to_owned(), answer)].into_iter().collect();
                let part = Part::function_response(pleach::FunctionResponse::new("q", "adk_request_input", map));
                runner.start(RunRequest::new(("ana", "s1")).message(vec![part]))
            } else {
                runner.answer("s1", "q", answer).unwrap()
            }
        };
        let newest = runner.questions("s1").await.unwrap().remove(0);
        let (first, misfit, second) = match newest.node_path.name() {
            "y" => (json!("abc"), json!("def"), json!(5)),
            _ => (json!(5), json!(6), json!("abc")),
        };
        trace(answer(first)).await;
        let before = count(&runner).await;
        let error = answer(misfit.clone()).output::<Value>().await.unwrap_err();
        assert!(matches!(&error, RunError::Answer { id, .. } if id == "q"), "{misfit}: {error}");
        assert_eq!(count(&runner).await, before);
        assert_eq!(answer(second).output::<Value>().await.unwrap(), json!({"x": 5, "y": "abc"}), "{by_message}");
    }
}

/// A history of a program without nodes. Its agent has made the long-running call `l`, which is a question, and the call `c`.
async fn foreign() -> Runner {
    let (runner, sessions) = runner(FunctionNode::new("n", async || 1));
    let mut session = sessions.create_session(CreateSession::new("t", "ana").with_session_id("s1")).await.unwrap();
    let call = |id: &str| Part::function_call(FunctionCall::new(id, "work", pleach::Map::new()));
    let mut event = Event::message(vec![call("l"), call("c")]).with_author("agent").with_long_running(["l"]);
    event.set_id("asks");
    event.set_invocation_id("e-1");
    sessions.append_event(&mut session, event).await.unwrap();
    runner
}

#[tokio::test]
async fn a_question_that_no_node_asked_is_answered_once() {
    let runner = foreign().await;
    trace(runner.answer("s1", "l", "yes").unwrap()).await;
    let before = count(&runner).await;
    assert!(runner.questions("s1").await.unwrap().is_empty());
    let late = runner.answer("s1", "l", "no").unwrap().output::<Value>().await.unwrap_err();
    assert!(matches!(late, RunError::AlreadyAnswered { .. }), "{late}");
    let only_open = AnswerOptions::new().only_if_open(true);
    let same = runner.answer_with("s1", [("l", "yes")], only_open).unwrap().output::<Value>().await.unwrap_err();
    assert!(matches!(same, RunError::AlreadyAnswered { .. }), "{same}");
    let same = trace(runner.answer("s1", "l", "yes").unwrap()).await;
    assert!(same.iter().all(|line| !line.starts_with('!')), "{same:?}");
    assert_eq!(count(&runner).await, before);
}

#[tokio::test]
async fn a_call_that_is_not_a_question_takes_no_answer() {
    let runner = foreign().await;
    let before = count(&runner).await;
    let error = runner.answer("s1", "c", "yes").unwrap().output::<Value>().await.unwrap_err();
    assert!(matches!(&error, RunError::UnknownQuestion { open, .. } if *open == ["l"]), "{error}");
    assert_eq!(count(&runner).await, before);
}

/// Only the runtime's own abort events close an invocation.
#[tokio::test]
async fn a_node_that_fails_with_the_code_of_an_abort_closes_nothing() {
    let broken = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&broken);
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<i64>::ask("q", "?"));
    let call = wf.node("call", move || {
        let broken = seen.load(Ordering::Relaxed);
        async move {
            if broken {
                Err(NodeError::new(RunError::Aborted.code().to_owned(), "the other run was aborted"))
            } else {
                Ok(1)
            }
        }
    });
    let both = wf.join("both", (ask, call));
    wf.edge(START, (ask, call));
    let (runner, sessions) = runner(wf.build_to(both).unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(runner.questions("s1").await.unwrap().len(), 1);
    assert_eq!(runner.inbox("ana").await.unwrap().len(), 1);
    broken.store(false, Ordering::Relaxed);
    let output = runner.answer("s1", "q", 2).unwrap().output::<Value>().await.unwrap();
    assert_eq!(output, json!({"ask": 2, "call": 1}), "{:?}", stored(&sessions).await);
}
