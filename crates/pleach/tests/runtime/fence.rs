//! Two invocations on one session: one continues. The other one gets an error, and stores no incomplete event.
//!
//! `tests/processes/fence.rs` checks several processes.
// R1115

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{InMemorySessionService, RunEnd, RunRequest, SessionError};
use serde_json::json;

use crate::script::scripted_runner;
use crate::support::{key, runner, stored, trace};

#[tokio::test]
async fn r1115_a_session_is_busy_while_a_detached_run_is_under_way() {
    let sessions = Arc::new(InMemorySessionService::new());
    let (script, runner) = scripted_runner(Arc::clone(&sessions));
    let run = runner.run("ana", "s1", "one").detach();
    let invocation = run.invocation_id().await.unwrap();
    script.say("here").await;
    let delta = json!({"x": 1, "user:x": 1}).as_object().unwrap().clone();
    let second = RunRequest::new("s1").message("two").state_delta(delta);
    let text = format!(
        "a detached run of invocation {invocation} is working on session t/ana/s1; nothing was stored. Wait for it, abort it, or \
         queue the message with `RunRequest::queue(true)`"
    );
    for newcomer in [runner.start(second), runner.run("ana", " s1 ", "two"), runner.resume("ana", "s1", "e-9")] {
        assert_eq!(trace(newcomer).await, [format!("! SessionBusyError: {text}")]);
    }
    let error = runner.run("ana", "s1", "two").detach().await.unwrap_err();
    let RunError::Busy { session, invocation: busy } = &error else { panic!("{error:?}") };
    assert_eq!((session, busy.as_ref()), (&key(), Some(&invocation)));
    // Other sessions are not busy.
    let other = runner.run("bob", "s1", "hello").detach();
    other.invocation_id().await.unwrap();
    other.cut();
    other.await.unwrap();
    script.end("done");
    assert_eq!(run.output::<String>().await.unwrap(), "done");
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert_eq!((session.events.len(), session.state.len()), (3, 0), "no event of the refused runs is stored");
    script.end("next");
    assert_eq!(runner.run("ana", "s1", "two").output::<String>().await.unwrap(), "next");
}

#[tokio::test]
async fn r1115_if_two_runs_are_detached_at_once_one_continues() {
    let (script, runner) = scripted_runner(InMemorySessionService::new());
    let runs = [runner.run("ana", "s1", "one").detach(), runner.run("ana", "s1", "two").detach()];
    let [first, second] = runs;
    assert!(matches!(second.await.unwrap_err(), RunError::Busy { .. }));
    script.end("done");
    assert_eq!(first.output::<String>().await.unwrap(), "done");
}

/// A reader that was abandoned without being dropped does not block its session for others.
#[tokio::test]
async fn r1115_an_abandoned_run_blocks_no_other_run_and_loses_the_fence() {
    let mut wf = Workflow::builder("wf");
    let (a, b) = (wf.node("a", async || 1), wf.node("b", async || 2));
    wf.edge(START, a).edge(a, b.dynamic());
    let (runner, sessions) = runner(wf.build_to(b).unwrap());
    let mut idle = runner.run("ana", "s1", "one");
    idle.next().await.unwrap().unwrap();
    assert_eq!(runner.run("ana", "s1", "two").output::<i64>().await.unwrap(), 2);
    let error = idle.next().await.unwrap().unwrap_err();
    assert!(matches!(&error, RunError::Session(SessionError::Stale { .. })), "{error:?}");
    assert_eq!(
        error.to_string(),
        "another writer changed session t/ana/s1 at the same time. Resume the invocation, or send the message again"
    );
    assert!(idle.next().await.is_none());
    assert_eq!(stored(&sessions).await, ["wf@1/a@1: 1", "wf@1/a@1: 1", "wf@1/b@1: 2"]);
}

#[tokio::test]
async fn r1115_a_question_is_answered_while_the_run_that_asked_is_still_held() {
    let (runner, _) = runner(FunctionNode::new("n", async || RequestInput::<String>::ask("q1", "Fine?")));
    let mut asking = runner.run("ana", "s1", "go");
    assert!(asking.next().await.unwrap().unwrap().request.is_some());
    assert_eq!(runner.answer("s1", "q1", "yes").unwrap().output::<String>().await.unwrap(), "yes");
    assert!(asking.next().await.is_none(), "the run had nothing more to store");
}

#[tokio::test]
async fn r1115_a_detached_run_that_loses_the_fence_notifies_its_followers() {
    let sessions = Arc::new(InMemorySessionService::new());
    let (script, here) = scripted_runner(Arc::clone(&sessions));
    let (other, elsewhere) = scripted_runner(Arc::clone(&sessions));
    let mut run = here.run("ana", "s1", "one").detach();
    let mut follow = run.follow(None).await.unwrap();
    other.end("won");
    assert_eq!(elsewhere.run("ana", "s1", "two").output::<String>().await.unwrap(), "won");
    script.end("lost");
    let error = (&mut run).await.unwrap_err();
    assert!(matches!(&error, RunError::Session(error) if error.is_stale()), "{error:?}");
    let lines = crate::script::rest(&mut follow).await;
    let message =
        "another writer changed session t/ana/s1 at the same time. Resume the invocation, or send the message again";
    assert_eq!(lines, [": says one".to_owned(), format!("! StaleSessionError: {message}")]);
    let failed = RunEnd::Failed { code: "StaleSessionError".into(), message: message.into() };
    assert_eq!(run.end(), Some(failed));
    assert_eq!(stored(&sessions).await, ["n@1: \"won\""]);
}

/// A process of an app whose node makes two steps: it reserves, and it charges. `gate` stops it between the two.
fn shop(name: &'static str, sessions: &Arc<InMemorySessionService>, charged: &Charged, gate: Option<Gate>) -> Runner {
    let charged = Arc::clone(charged);
    let order = FunctionNode::new("order", move |ctx: Context| {
        let (charged, gate) = (Arc::clone(&charged), gate.clone());
        async move {
            ctx.step("reserve", async || Ok(1)).await?;
            if let Some(gate) = gate {
                gate.0.notify_one();
                gate.1.notified().await;
            }
            let charge = || async {
                charged.lock().unwrap().push(name);
                Ok(2)
            };
            ctx.step::<i64, _>("charge", charge).await
        }
    });
    let mut wf = Workflow::builder("wf");
    let order = wf.add(order.rerun_on_resume(true));
    wf.edge(START, order);
    Runner::builder("t").root(wf.build().unwrap()).sessions(Arc::clone(sessions)).build().unwrap()
}

type Charged = Arc<std::sync::Mutex<Vec<&'static str>>>;
/// Two notifications: a run has reached the gate, and it may pass.
type Gate = Arc<(tokio::sync::Notify, tokio::sync::Notify)>;

/// A sleeping process is treated as dead. When it wakes, another process has done its steps.
#[tokio::test]
async fn r1115_a_run_that_has_lost_its_session_begins_no_step() {
    let (sessions, charged, gate) = (Arc::new(InMemorySessionService::new()), Charged::default(), Gate::default());
    let zombie = shop("zombie", &sessions, &charged, Some(Arc::clone(&gate)));
    let asleep = tokio::spawn(async move { trace(zombie.run("ana", "s1", "go")).await });
    gate.0.notified().await;
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let invocation = session.events[0].invocation_id().clone();
    let heir = shop("heir", &sessions, &charged, None);
    assert_eq!(heir.resume("ana", "s1", invocation).output::<i64>().await.unwrap(), 2);
    let before = stored(&sessions).await;
    gate.1.notify_one();
    let lines = asleep.await.unwrap();
    assert!(lines.last().unwrap().starts_with("! StaleSessionError"), "{lines:?}");
    assert_eq!(stored(&sessions).await, before);
    assert_eq!(*charged.lock().unwrap(), ["heir"]);
}

/// The session, to which the steps belong, has been deleted.
#[tokio::test]
async fn r1115_a_run_whose_session_was_deleted_begins_no_step() {
    let (sessions, charged, gate) = (Arc::new(InMemorySessionService::new()), Charged::default(), Gate::default());
    let runner = shop("late", &sessions, &charged, Some(Arc::clone(&gate)));
    let run = tokio::spawn(async move { trace(runner.run("ana", "s1", "go")).await });
    gate.0.notified().await;
    sessions.delete_session(&key()).await.unwrap();
    gate.1.notify_one();
    let lines = run.await.unwrap();
    assert!(lines.last().unwrap().starts_with("! SessionNotFoundError"), "{lines:?}");
    assert!(charged.lock().unwrap().is_empty());
}

/// A step in a task that outlives its run does nothing.
#[tokio::test]
async fn r1115_a_step_after_the_end_of_its_run_does_not_begin() {
    let (left, taken) = tokio::sync::oneshot::channel::<Context>();
    let left = std::sync::Mutex::new(Some(left));
    let node = FunctionNode::new("leaves", move |ctx: Context| {
        left.lock().unwrap().take().into_iter().for_each(|left| drop(left.send(ctx.clone())));
        async { 1 }
    });
    let (runner, _) = runner(node.rerun_on_resume(true));
    trace(runner.run("ana", "s1", "go")).await;
    let (late, begun) = (taken.await.unwrap(), std::sync::atomic::AtomicBool::new(false));
    let step = late.step("late", async || {
        begun.store(true, std::sync::atomic::Ordering::Relaxed);
        Ok(1)
    });
    let mut step = std::pin::pin!(step);
    for _ in 0..10 {
        drop(futures::poll!(&mut step));
    }
    assert!(!begun.load(std::sync::atomic::Ordering::Relaxed));
}

/// Steps of a tool, and steps of the tool of an agent that is called as a tool.
#[tokio::test]
async fn r1115_steps_of_nested_agents_ask_for_the_session_of_their_caller() {
    let looks =
        || tool("look", "Looks.", async |ctx: pleach::ToolContext| ctx.step::<i64, _>("see", async || Ok(1)).await);
    let model = || ScriptedModel::calling("look", json!({})).then_text("done");
    let expert = LlmAgent::builder("expert").model(model()).tool(looks()).build().unwrap();
    let asks =
        ScriptedModel::calling("look", json!({})).then_call("expert", json!({"request": "?"})).then_text("all done");
    let root = LlmAgent::builder("root").model(asks).tool(looks()).tool(pleach::AgentTool::new(expert));
    let (runner, _) = runner(root.build().unwrap());
    assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "all done");
}
