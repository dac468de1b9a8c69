//! Tests of aborting an invocation from outside, as an operator does.

use std::time::Duration;

use pleach::prelude::*;
use pleach::{ListUnfinished, Node, RunProgress, SessionError};

use crate::backends::{Backend, on_backends};
use crate::support::{rerun, trace};
use crate::world::World;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// A node that waits for one of several things, fails or works forever, depending on the message.
fn root() -> impl Node {
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", async |Input(word): Input<String>| word);
    let second = FunctionNode::new("second", async |ctx: Context, Input(word): Input<String>| {
        match word.as_str() {
            "ask" => {
                let select = ctx.select().ask("q", "?", |_: bool| "answered").signal("paid", |(): ()| "paid");
                return Ok(select.sleep(MINUTE, || "late").await?.to_owned());
            }
            "fail" => return Err(Fail::msg("broken")),
            "hang" => std::future::pending().await,
            _ => {}
        }
        Ok(word)
    });
    let second = wf.add(second.rerun_on_resume(true));
    wf.edge(START, first).edge(first, second);
    wf.build().unwrap()
}

async fn progress(runner: &Runner, session: &str) -> RunProgress {
    runner.status(("ana", session)).await.unwrap().progress
}

/// Covers invocations that wait, have failed, were cut off, run here, or run in another process.
async fn an_invocation_is_aborted_wherever_it_is(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let world = World::at(&place).await;
    let (here, there) = (world.process(root()), world.elsewhere(&place).await.process(root()));
    there.start_timers();
    trace(here.run("ana", "ask", "ask")).await;
    trace(here.run("ana", "fail", "fail")).await;
    let mut cut = here.run("ana", "cut", "hang");
    cut.next().await.unwrap().unwrap();
    drop(cut);
    let running = here.run("ana", "here", "hang").detach();
    running.invocation_id().await.unwrap();
    let elsewhere = there.run("ana", "there", "hang").detach();
    elsewhere.invocation_id().await.unwrap();

    for session in ["ask", "fail", "cut", "here", "there"] {
        assert!(here.abort(("ana", session)).await.unwrap(), "{session}");
        assert!(!here.abort(("ana", session)).await.unwrap(), "{session}: once");
        for runner in [&here, &there] {
            // A run that hangs in the other process has not noticed the abort yet.
            if session != "there" || std::ptr::eq(runner, &here) {
                assert!(matches!(progress(runner, session).await, RunProgress::Aborted), "{session}");
            }
        }
        let invocation = here.status(("ana", session)).await.unwrap().invocation.unwrap();
        let resumed = here.resume("ana", session, invocation).output::<String>().await.unwrap_err();
        assert!(matches!(resumed, RunError::InvocationAborted { .. }), "{session}: {resumed}");
    }
    running.await.unwrap();
    elsewhere.cut();
    assert!(here.unfinished(ListUnfinished::new()).await.unwrap().items.is_empty());
    assert!(here.inbox("ana").await.unwrap().is_empty());

    // No answer, signal or deadline wakes the aborted invocation.
    here.answer(("ana", "ask"), "q", true).unwrap().output::<String>().await.unwrap_err();
    let late = here.signal(("ana", "ask"), "paid", ()).await.unwrap_err();
    assert!(matches!(late, RunError::NoReceiver { .. }), "{late}");
    tokio::time::sleep(MINUTE * 2).await;
    assert!(matches!(progress(&here, "ask").await, RunProgress::Aborted));

    // A queued message runs after the abort.
    let busy = here.run("ana", "queue", "hang").detach();
    busy.invocation_id().await.unwrap();
    let queued = here.start(pleach::RunRequest::new(("ana", "queue")).message("go").queue(true)).detach();
    assert!(here.abort(("ana", "queue")).await.unwrap());
    assert_eq!(queued.output::<String>().await.unwrap(), "go");

    // The next message starts a new invocation.
    assert_eq!(here.run("ana", "ask", "go").output::<String>().await.unwrap(), "go");
    assert!(!here.abort(("ana", "ask")).await.unwrap());
    let missing = here.abort(("ana", "missing")).await.unwrap_err();
    assert!(matches!(missing, RunError::SessionNotFound(_)), "{missing}");
}

/// A run of another process ends at its next event.
async fn a_run_that_was_aborted_elsewhere_stores_nothing_more(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let world = World::at(&place).await;
    let slow = || {
        rerun("slow", async |ctx: Context| {
            ctx.emit(Event::message("begun")).await?;
            tokio::time::sleep(HOUR).await;
            Ok(1)
        })
    };
    let (here, there) = (world.process(slow()), world.elsewhere(&place).await.process(slow()));
    let working = there.run("ana", "s1", "go").detach();
    working.invocation_id().await.unwrap();
    tokio::time::sleep(HOUR / 2).await;
    assert!(here.abort("s1").await.unwrap());
    let stored = world.stored_events().await;
    let stale = working.await.unwrap_err();
    assert!(matches!(&stale, RunError::Session(SessionError::Stale { .. })), "{stale}");
    assert_eq!(world.stored_events().await, stored);
}

on_backends! {
    #[tokio::test(start_paused = true)]
    an_invocation_is_aborted_wherever_it_is,
    a_run_that_was_aborted_elsewhere_stores_nothing_more,
}
