//! Two invocations on one session: one continues, the other one gets an error, and none of its events is stored in part.
//!
//! Several processes are `tests/processes/fence.rs`.
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
        "session t/ana/s1 is busy with a detached run of invocation {invocation}: wait for its end, or abort it; nothing was stored"
    );
    for newcomer in [runner.start(second), runner.run("ana", " s1 ", "two"), runner.resume("ana", "s1", "e-9")] {
        assert_eq!(trace(newcomer).await, [format!("! SessionBusyError: {text}")]);
    }
    let error = runner.run("ana", "s1", "two").detach().await.unwrap_err();
    let RunError::Busy { session, invocation: busy } = &error else { panic!("{error:?}") };
    assert_eq!((session, busy.as_ref()), (&key(), Some(&invocation)));
    // Other sessions are not.
    let other = runner.run("bob", "s1", "hello").detach();
    other.invocation_id().await.unwrap();
    other.cut();
    other.await.unwrap();
    script.end("done");
    assert_eq!(run.output::<String>().await.unwrap(), "done");
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert_eq!((session.events.len(), session.state.len()), (3, 0), "nothing of the refused ones is stored");
    script.end("next");
    assert_eq!(runner.run("ana", "s1", "two").output::<String>().await.unwrap(), "next");
}

#[tokio::test]
async fn r1115_of_two_that_are_detached_at_once_one_goes_on() {
    let (script, runner) = scripted_runner(InMemorySessionService::new());
    let runs = [runner.run("ana", "s1", "one").detach(), runner.run("ana", "s1", "two").detach()];
    let [first, second] = runs;
    assert!(matches!(second.await.unwrap_err(), RunError::Busy { .. }));
    script.end("done");
    assert_eq!(first.output::<String>().await.unwrap(), "done");
}

/// A reader that was given up without being dropped does not close its session to others.
#[tokio::test]
async fn r1115_a_run_that_nobody_reads_any_more_keeps_nobody_out_and_loses_the_fence() {
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
        "another invocation has appended to session t/ana/s1 meanwhile: resume this one, or run it again"
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
    assert!(asking.next().await.is_none(), "it had nothing more to store");
}

#[tokio::test]
async fn r1115_a_detached_run_that_loses_the_fence_tells_its_followers() {
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
    let message = "another invocation has appended to session t/ana/s1 meanwhile: resume this one, or run it again";
    assert_eq!(lines, [": says one".to_owned(), format!("! StaleSessionError: {message}")]);
    let failed = RunEnd::Failed { code: "StaleSessionError".into(), message: message.into() };
    assert_eq!(run.end(), Some(failed));
    assert_eq!(stored(&sessions).await, ["n@1: \"won\""]);
}
