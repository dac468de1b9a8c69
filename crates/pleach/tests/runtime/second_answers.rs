//! Second answers, answers to several invocations and to aborted ones, and resumes of waiting invocations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pleach::prelude::*;
use pleach::{AnswerOptions, App, InMemorySessionService, InvocationId, Node, QuestionRef, RunRequest, SessionKey};
use serde_json::{Value, json};

use crate::backends::{Backend, on_backends};
use crate::support::{key, runner, trace};

async fn count(runner: &Runner) -> usize {
    runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap().events.len()
}

async fn invocation(runner: &Runner) -> InvocationId {
    let session = runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap();
    session.events.last().unwrap().invocation_id().clone()
}

/// A workflow that asks for a number. The next node returns the number, and fails while the test wants it to.
fn flaky() -> (Workflow<Dynamic, i64>, Arc<AtomicBool>) {
    let broken = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&broken);
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<i64>::ask("q", "?"));
    let take = wf.node("take", move |Input(n): Input<i64>| {
        let broken = seen.load(Ordering::Relaxed);
        async move { if broken { Err(Fail::msg("down")) } else { Ok(n) } }
    });
    wf.edge(START, ask).edge(ask, take);
    (wf.build_to(take).unwrap(), broken)
}

fn in_app(root: impl Node, resumable: bool) -> Runner {
    let sessions = Arc::new(InMemorySessionService::new());
    Runner::app(App::new("t", root).unwrap().resumable(resumable)).sessions(sessions).build().unwrap()
}

#[tokio::test]
async fn a_newer_answer_wins_until_a_run_that_took_the_first_has_completed() {
    for resumable in [false, true] {
        let (wf, broken) = flaky();
        let runner = in_app(wf, resumable);
        trace(runner.run("ana", "s1", "go")).await;
        assert!(runner.answer("s1", "q", 1).unwrap().output::<i64>().await.is_err());
        assert!(runner.answer("s1", "q", 2).unwrap().output::<i64>().await.is_err());
        broken.store(false, Ordering::Relaxed);
        assert_eq!(runner.answer("s1", "q", 3).unwrap().output::<i64>().await.unwrap(), 3, "{resumable}");
        let before = count(&runner).await;
        let error = runner.answer("s1", "q", 4).unwrap().output::<i64>().await.unwrap_err();
        assert!(matches!(&error, RunError::AlreadyAnswered { id, .. } if id == "q"), "{error}");
        // Repeating the answer succeeds and stores nothing.
        assert_eq!(runner.answer("s1", "q", 3).unwrap().output::<i64>().await.unwrap(), 3);
        let only_open = AnswerOptions::new().only_if_open(true);
        let error = runner.answer_with("s1", [("q", 3)], only_open).unwrap().output::<i64>().await.unwrap_err();
        assert!(matches!(error, RunError::AlreadyAnswered { .. }), "{error}");
        assert_eq!(count(&runner).await, before, "{resumable}");
    }
}

#[tokio::test]
async fn repeating_an_answer_after_a_failure_continues_the_run_and_stores_nothing() {
    let (wf, broken) = flaky();
    let runner = in_app(wf, false);
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.answer("s1", "q", 1).unwrap()).await;
    let before = count(&runner).await;
    broken.store(false, Ordering::Relaxed);
    assert_eq!(runner.answer("s1", "q", 1).unwrap().output::<i64>().await.unwrap(), 1);
    assert_eq!(count(&runner).await, before + 1);
}

#[tokio::test]
async fn a_node_that_asks_in_the_middle_takes_the_newer_answer_until_it_has_completed() {
    let broken = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&broken);
    let node = FunctionNode::new("node", move |ctx: Context| {
        let broken = seen.load(Ordering::Relaxed);
        async move {
            let first: i64 = ctx.ask("q", "?").await?;
            if broken { Err(NodeError::value("down")) } else { Ok(first) }
        }
    });
    let (runner, _) = runner(node.rerun_on_resume(true));
    trace(runner.run("ana", "s1", "go")).await;
    assert!(runner.answer("s1", "q", 1).unwrap().output::<i64>().await.is_err());
    broken.store(false, Ordering::Relaxed);
    assert_eq!(runner.answer("s1", "q", 2).unwrap().output::<i64>().await.unwrap(), 2);
    let error = runner.answer("s1", "q", 3).unwrap().output::<i64>().await.unwrap_err();
    assert!(matches!(error, RunError::AlreadyAnswered { .. }), "{error}");
}

/// A Runner with a session in which two invocations ask `q`, and the id of the first invocation.
async fn asked_twice() -> (Runner, InvocationId) {
    let (wf, broken) = flaky();
    broken.store(false, Ordering::Relaxed);
    let runner = in_app(wf, false);
    trace(runner.run("ana", "s1", "go")).await;
    let first = invocation(&runner).await;
    trace(runner.run("ana", "s1", "go")).await;
    (runner, first)
}

#[tokio::test]
async fn an_answer_to_an_id_that_two_invocations_use_must_name_the_invocation() {
    let (runner, first) = asked_twice().await;
    let open = runner.questions(("ana", "s1")).await.unwrap();
    assert_eq!(open.len(), 2);
    let before = count(&runner).await;
    let error = runner.answer("s1", "q", 1).unwrap().output::<i64>().await.unwrap_err();
    let RunError::AmbiguousQuestion { id, invocations } = &error else { panic!("{error}") };
    assert_eq!((id.as_str(), invocations.len()), ("q", 2));
    assert!(invocations.iter().all(|id| error.to_string().contains(id.as_str())), "{error}");
    assert_eq!(count(&runner).await, before);
    assert_eq!(runner.answer(key(), (first.clone(), "q"), 1).unwrap().output::<i64>().await.unwrap(), 1);
    // Only one question is left, so its id is enough.
    assert_eq!(runner.answer(key(), &open[1], 2).unwrap().output::<i64>().await.unwrap(), 2);
    assert!(runner.questions(key()).await.unwrap().is_empty());
    let unknown = runner.answer(key(), QuestionRef::from((first, "z")), 2).unwrap().output::<i64>().await.unwrap_err();
    assert!(unknown.to_string().contains("'z'") && unknown.to_string().contains("none is open"), "{unknown}");
    let other = runner.answer(SessionKey::new("x", "ana", "s1"), "q", 1).unwrap().output::<i64>().await.unwrap_err();
    assert!(matches!(other, RunError::OtherApp { .. }), "{other}");
}

/// A client's message names the invocation that it answers, even though another invocation asked later under the same id.
#[tokio::test]
async fn a_message_answers_the_invocation_that_it_names() {
    let (runner, first) = asked_twice().await;
    let answer = [("result".to_owned(), json!(1))].into_iter().collect();
    let message =
        vec![pleach::Part::function_response(pleach::FunctionResponse::new("q", "adk_request_input", answer))];
    let request = RunRequest::new(("ana", "s1")).message(message).invocation_id(first.clone());
    assert_eq!(runner.start(request).output::<i64>().await.unwrap(), 1);
    let open = runner.questions(("ana", "s1")).await.unwrap();
    assert!(open.len() == 1 && open[0].invocation_id != first, "{open:?}");
}

#[tokio::test]
async fn questions_carry_an_assignee_and_a_json_form() {
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<i64>::ask("q", "?").assign_to("team-lead"));
    wf.edge(START, ask);
    let (runner, _) = runner(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.run("bob", "s2", "go")).await;
    let inbox = runner.inbox_for("team-lead").await.unwrap();
    assert_eq!((inbox.len(), runner.inbox_for("nobody").await.unwrap().len()), (2, 0));
    let json = serde_json::to_value(&inbox[0]).unwrap();
    assert_eq!(json["session"], json!({"app_name": "t", "user_id": "ana", "session_id": "s1"}));
    assert_eq!((&json["question"]["kind"], &json["question"]["assignee"]), (&json!("user_input"), &json!("team-lead")));
    let question: pleach::Question = serde_json::from_value(json["question"].clone()).unwrap();
    assert_eq!(question, inbox[0].question);
}

async fn queued_answers_wait_for_a_detached_run_and_take_turns(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let gate = Arc::new(tokio::sync::Notify::new());
    let opened = Arc::clone(&gate);
    let mut wf = Workflow::builder("wf");
    let left = wf.node("l", async || RequestInput::<i64>::ask("left", "?"));
    let slow = wf.node("slow", move |Input(n): Input<i64>| {
        let gate = Arc::clone(&opened);
        async move {
            gate.notified().await;
            n
        }
    });
    let right = wf.node("r", async || RequestInput::<i64>::ask("right", "?"));
    let third = wf.node("t", async || RequestInput::<i64>::ask("third", "?"));
    let both = wf.join("both", (slow, right, third));
    wf.edge(START, (left, right, third)).edge(left, slow);
    let runner = place.builder().await.root(wf.build_to(both).unwrap()).build().unwrap();
    trace(runner.run("ana", "s1", "go")).await;
    let detached = runner.answer("s1", "left", 1).unwrap().detach();
    detached.invocation_id().await.unwrap();
    let busy = runner.answer("s1", "right", 2).unwrap().output::<Value>().await.unwrap_err();
    assert!(matches!(busy, RunError::Busy { .. }), "{busy}");
    let queue = || AnswerOptions::new().queue(true);
    let first = runner.answer_with("s1", [("right", 2)], queue()).unwrap().detach();
    let dropped = runner.answer_with("s1", [("third", 0)], queue()).unwrap();
    let second = runner.answer_with("s1", [("third", 3)], queue()).unwrap().detach();
    drop(dropped);
    while runner.load().queued < 2 {
        tokio::task::yield_now().await;
    }
    gate.notify_one();
    assert!(matches!(first.output::<Value>().await, Err(RunError::Waiting(_))));
    assert_eq!(second.output::<Value>().await.unwrap(), json!({"slow": 1, "r": 2, "t": 3}));
}

#[tokio::test]
async fn an_answer_continues_with_its_own_run_config() {
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<i64>::ask("q", "?"));
    let next = wf.node("next", async |Input(n): Input<i64>| n);
    wf.edge(START, ask).edge(ask, next);
    let (runner, _) = runner(wf.build_to(next).unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let metadata = json!({"from": "desk"}).as_object().cloned().unwrap();
    let options = AnswerOptions::new().config(RunConfig::default().custom_metadata(metadata));
    let mut run = runner.answer_with("s1", [("q", 1)], options).unwrap();
    let event = run.next().await.unwrap().unwrap();
    assert_eq!(event.custom_metadata().unwrap()["from"], "desk");
}

#[tokio::test]
async fn an_aborted_invocation_takes_no_answer_and_no_resume() {
    let abort = pleach::AbortSignal::new();
    let stop = abort.clone();
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<i64>::ask("q", "?"));
    let stuck = wf.node("stuck", async || std::future::pending::<i64>().await);
    wf.edge(START, (ask, stuck));
    let (runner, _) = runner(wf.build().unwrap());
    let mut run = runner.start(RunRequest::new(("ana", "s1")).message("go").abort_signal(abort));
    run.next().await.unwrap().unwrap();
    stop.abort();
    trace(run).await;
    let (invocation, before) = (invocation(&runner).await, count(&runner).await);
    for run in [runner.answer("s1", "q", 1).unwrap(), runner.resume("ana", "s1", invocation.clone())] {
        let error = run.output::<Value>().await.unwrap_err();
        assert!(matches!(&error, RunError::InvocationAborted { invocation: id } if *id == invocation), "{error}");
    }
    assert_eq!(count(&runner).await, before);
}

#[tokio::test]
async fn a_resume_of_a_waiting_invocation_stores_nothing() {
    for resumable in [false, true] {
        let node = FunctionNode::new("node", async |ctx: Context| -> Result<i64, NodeError> {
            let first: i64 = ctx.ask("first", "?").await?;
            let second: i64 = ctx.ask("second", "?").await?;
            Ok(first + second)
        });
        let mut inner = Workflow::builder("inner");
        let asks = inner.node("asks", async || RequestInput::<i64>::ask("inner", "?"));
        inner.edge(START, asks);
        let mut wf = Workflow::builder("wf");
        let before = wf.node("before", async || 1);
        let (node, inner) = (wf.add(node.rerun_on_resume(true)), wf.add(inner.build_to(asks).unwrap()));
        let both = wf.join("both", (node, inner));
        wf.edge(START, before).edge(before, node.dynamic()).edge(before, inner.dynamic());
        let runner = in_app(wf.build_to(both).unwrap(), resumable);
        trace(runner.run("ana", "s1", "go")).await;
        let id = invocation(&runner).await;
        for answer in [None, Some("first")] {
            if let Some(question) = answer {
                trace(runner.answer("s1", question, 1).unwrap()).await;
            }
            let stored = count(&runner).await;
            for _ in 0..2 {
                let open = runner.resume("ana", "s1", id.clone()).output::<Value>().await.unwrap_err();
                assert!(matches!(&open, RunError::Waiting(open) if open.len() == 2), "{open}");
                assert_eq!(count(&runner).await, stored, "{resumable} {answer:?}");
            }
        }
        trace(runner.answer("s1", "second", 2).unwrap()).await;
        let output = runner.answer("s1", "inner", 3).unwrap().output::<Value>().await.unwrap();
        assert_eq!(output, json!({"node": 3, "inner": 3}));
    }
}

/// Two lanes that ask, each followed by a node that gets the answer. The left node fails while the flag is set.
fn lanes() -> (Workflow, Arc<AtomicBool>) {
    let broken = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&broken);
    let mut wf = Workflow::builder("wf");
    let left = wf.node("l", async || RequestInput::<i64>::ask("left", "?"));
    let take = wf.node("take", move |Input(n): Input<i64>| {
        let broken = seen.load(Ordering::Relaxed);
        async move {
            for _ in 0..9 {
                tokio::task::yield_now().await;
            }
            if broken { Err(Fail::msg("down")) } else { Ok(n) }
        }
    });
    let right = wf.node("r", async || RequestInput::<i64>::ask("right", "?"));
    let beside = wf.node("beside", async |Input(n): Input<i64>| n);
    let both = wf.join("both", (take, beside));
    wf.edge(START, (left, right)).edge(left, take).edge(right, beside);
    (wf.build_to(both).unwrap(), broken)
}

/// A node that has completed does not run again. Its answer is taken, although the invocation still waits in another lane.
#[tokio::test]
async fn an_answer_is_taken_once_the_nodes_of_its_lane_have_completed() {
    for resumable in [false, true] {
        let (wf, broken) = lanes();
        broken.store(false, Ordering::Relaxed);
        let runner = in_app(wf, resumable);
        trace(runner.run("ana", "s1", "go")).await;
        trace(runner.answer("s1", "left", 1).unwrap()).await;
        let error = runner.answer("s1", "left", 2).unwrap().output::<Value>().await.unwrap_err();
        assert!(matches!(error, RunError::AlreadyAnswered { .. }), "{error}");
        let output = runner.answer("s1", "right", 3).unwrap().output::<Value>().await.unwrap();
        assert_eq!(output, json!({"take": 1, "beside": 3}));
    }
}

#[tokio::test]
async fn a_completion_in_a_parallel_lane_does_not_take_an_answer() {
    for resumable in [false, true] {
        let (wf, broken) = lanes();
        let runner = in_app(wf, resumable);
        trace(runner.run("ana", "s1", "go")).await;
        let lines = trace(runner.answer_all("s1", [("left", 1), ("right", 2)]).unwrap()).await;
        assert!(lines.iter().any(|line| line.starts_with("wf@1/beside@1")), "{lines:?}");
        assert!(lines.last().unwrap().starts_with('!'), "{lines:?}");
        broken.store(false, Ordering::Relaxed);
        let output = runner.answer("s1", "left", 3).unwrap().output::<Value>().await.unwrap();
        assert_eq!(output, json!({"take": 3, "beside": 2}), "{resumable}");
    }
}

on_backends! {
    #[tokio::test]
    queued_answers_wait_for_a_detached_run_and_take_turns,
}
