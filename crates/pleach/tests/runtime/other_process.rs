//! A message for a session on which another process works, as its heartbeats show.

use std::time::Duration;

use pleach::prelude::*;
use pleach::{RunEnd, RunProgress, RunRequest, Runner};

use crate::support::{rerun, trace};
use crate::world::World;

const BEAT: Duration = Duration::from_secs(2);
const S: (&str, &str) = ("ana", "s1");

/// A body that works for a minute and stores nothing in the meantime.
fn slow() -> Workflow {
    rerun("work", async |_: Context| {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok("done")
    })
}

fn fail(message: &'static str) -> Result<(), Fail> {
    Err(NodeError::value(message).into())
}

fn process(world: &World, root: Workflow) -> Runner {
    world.builder().root(root).heartbeat(BEAT).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_message_does_not_cut_off_the_run_of_another_process() {
    let world = World::new();
    let (first, second) = (process(&world, slow()), process(&world, slow()));
    let run = first.run("ana", "s1", "one").detach();
    let invocation = run.invocation_id().await.unwrap();
    tokio::time::sleep(BEAT * 10).await;
    let stored = world.stored_events().await;
    let refused = second.run("ana", "s1", "two").output::<String>().await.unwrap_err();
    assert!(matches!(&refused, RunError::Busy { invocation: Some(other), .. } if *other == invocation), "{refused}");
    assert_eq!(world.stored_events().await, stored, "nothing of the message is stored");
    // The same message under the id of the invocation is not a new one.
    let again = second.start(RunRequest::new(S).message("one").invocation_id(invocation.clone()));
    assert!(matches!(again.output::<String>().await.unwrap_err(), RunError::Unfinished { .. }));
    assert_eq!(run.output::<String>().await.unwrap(), "done");
    assert_eq!(second.run("ana", "s1", "two").output::<String>().await.unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_queued_message_waits_for_the_run_of_another_process() {
    let world = World::new();
    let (first, second) = (process(&world, slow()), process(&world, slow()));
    let run = first.run("ana", "s1", "one").detach();
    run.invocation_id().await.unwrap();
    let queued = second.start(RunRequest::new(S).message("two").queue(true));
    assert_eq!(queued.output::<String>().await.unwrap(), "done");
    assert_eq!(run.end(), Some(RunEnd::Done));
    assert_eq!(run.output::<String>().await.unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_queued_message_for_another_process_can_be_aborted_or_cut() {
    let world = World::new();
    let (first, second) = (process(&world, slow()), process(&world, slow()));
    let run = first.run("ana", "s1", "one").detach();
    run.invocation_id().await.unwrap();
    let queued = second.start(RunRequest::new(S).message("two").queue(true)).detach();
    tokio::time::sleep(BEAT).await;
    queued.abort();
    assert!(matches!(queued.await.unwrap_err(), RunError::Aborted));
    let queued = second.start(RunRequest::new(S).message("two").queue(true)).detach();
    tokio::time::sleep(BEAT).await;
    queued.cut();
    assert!(matches!(queued.await.unwrap_err(), RunError::Cut { .. }));
    assert_eq!(run.output::<String>().await.unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_message_is_accepted_once_the_other_process_is_silent_for_three_heartbeats() {
    let world = World::new();
    let (first, second) = (process(&world, slow()), process(&world, slow()));
    let run = first.run("ana", "s1", "one").detach();
    run.invocation_id().await.unwrap();
    run.cut();
    run.await.unwrap();
    // The log does not show that the run was cut off.
    let refused = second.run("ana", "s1", "two").output::<String>().await.unwrap_err();
    assert!(matches!(refused, RunError::Busy { .. }), "{refused}");
    tokio::time::sleep(BEAT * 3).await;
    assert!(matches!(second.status(S).await.unwrap().progress, RunProgress::Unfinished));
    assert_eq!(second.run("ana", "s1", "two").output::<String>().await.unwrap(), "done");
}

/// The process that cut a run off knows that nobody works on it: a user who stops an answer can ask again at once.
#[tokio::test(start_paused = true)]
async fn the_process_that_cut_a_run_off_accepts_the_next_message_at_once() {
    for drops in [true, false] {
        let world = World::new();
        let runner = process(&world, slow());
        let mut run = runner.run("ana", "s1", "one");
        let mut next = Box::pin(async { run.next().await.is_some() });
        let started = tokio::time::timeout(BEAT * 5, &mut next).await;
        assert!(started.is_err(), "the body is at work");
        drop(next);
        if drops {
            drop(run);
        } else {
            run.close().await.unwrap();
        }
        assert_eq!(runner.run("ana", "s1", "two").output::<String>().await.unwrap(), "done", "{drops}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_waits_or_has_ended_accepts_messages_at_once() {
    let asks = || rerun("asks", async |ctx: Context| Ok(ctx.ask::<String>("q", "Which?").await?));
    let nothing = || rerun("nothing", async |_: Context| Ok(()));
    let fails = || rerun("fails", async |_: Context| fail("no"));
    for root in [asks, nothing, fails] {
        let world = World::new();
        let (first, second) = (process(&world, root()), process(&world, root()));
        trace(first.run("ana", "s1", "one")).await;
        let lines = trace(second.run("ana", "s1", "two")).await;
        assert!(!lines.iter().any(|line| line.contains("Busy")), "{lines:?}");
    }
}

/// A run that has caught a failure and goes on is not over.
#[tokio::test(start_paused = true)]
async fn a_body_that_works_after_a_caught_failure_keeps_its_session() {
    let root = || {
        rerun("work", async |ctx: Context| {
            let failed = ctx.step("charge", async || fail("declined")).await;
            assert!(failed.is_err());
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok("done")
        })
    };
    let world = World::new();
    let (first, second) = (process(&world, root()), process(&world, root()));
    let run = first.run("ana", "s1", "one").detach();
    run.invocation_id().await.unwrap();
    tokio::time::sleep(BEAT * 5).await;
    let refused = second.run("ana", "s1", "two").output::<String>().await.unwrap_err();
    assert!(matches!(refused, RunError::Busy { .. }), "{refused}");
    assert_eq!(run.output::<String>().await.unwrap(), "done");
}

/// Without heartbeats nothing shows that another process works, so the message takes the session, as in google-adk.
#[tokio::test(start_paused = true)]
async fn without_heartbeats_a_message_takes_the_session() {
    let world = World::new();
    let (first, second) = (world.process(slow()), world.process(slow()));
    let run = first.run("ana", "s1", "one").detach();
    run.invocation_id().await.unwrap();
    assert_eq!(second.run("ana", "s1", "two").output::<String>().await.unwrap(), "done");
    let lost = run.await.unwrap_err();
    assert!(matches!(&lost, RunError::Session(error) if error.is_stale()), "{lost}");
}
