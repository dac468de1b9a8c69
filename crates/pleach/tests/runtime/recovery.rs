//! The recovery that Runners run themselves, runs that cannot be recovered, and runs that a drain cuts off.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pleach::prelude::*;
use pleach::{InMemorySessionService, ListUnfinished, RunProgress, Runner, RunnerBuilder};

use crate::support::{rerun, trace};
use crate::world::World;

const BEAT: Duration = Duration::from_secs(2);
const SECOND: Duration = Duration::from_secs(1);
const S: (&str, &str) = ("ana", "s1");

/// A body that works for a minute, and counts how often it began.
fn slow(begun: &Arc<AtomicU32>) -> Workflow {
    let begun = Arc::clone(begun);
    rerun("work", move |_: Context| {
        begun.fetch_add(1, Ordering::Relaxed);
        async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok("done")
        }
    })
}

fn builder(world: &World, root: Workflow) -> RunnerBuilder {
    world.builder().root(root).heartbeat(BEAT)
}

async fn progress(runner: &Runner) -> RunProgress {
    runner.status(S).await.unwrap().progress
}

#[tokio::test(start_paused = true)]
async fn the_runs_of_a_dead_process_continue_within_three_heartbeats_and_a_pause() {
    let world = World::new();
    let begun = Arc::new(AtomicU32::new(0));
    let first = builder(&world, slow(&begun)).build().unwrap();
    let second = builder(&world, slow(&begun)).recover(SECOND).build().unwrap();
    second.start_timers();
    let mut run = first.run("ana", "s1", "one");
    assert!(tokio::time::timeout(BEAT * 5, run.next()).await.is_err());
    assert_eq!(begun.load(Ordering::Relaxed), 1, "a run with heartbeats is not taken over");
    // A dropped run leaves no trace, like the run of a process that is killed.
    drop(run);
    tokio::time::sleep(BEAT * 3 + SECOND * 2).await;
    assert_eq!(begun.load(Ordering::Relaxed), 2);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(matches!(progress(&first).await, RunProgress::Done));
}

#[tokio::test(start_paused = true)]
async fn what_a_drain_cuts_off_continues_at_once_elsewhere() {
    let world = World::new();
    let begun = Arc::new(AtomicU32::new(0));
    let first = builder(&world, slow(&begun)).build().unwrap();
    let second = builder(&world, slow(&begun)).recover(SECOND).build().unwrap();
    second.start_timers();
    let run = first.run("ana", "s1", "one").detach();
    run.invocation_id().await.unwrap();
    tokio::time::sleep(BEAT * 2).await;
    first.drain(Duration::ZERO).await;
    tokio::time::sleep(SECOND + SECOND / 2).await;
    assert_eq!(begun.load(Ordering::Relaxed), 2);
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(matches!(progress(&second).await, RunProgress::Done));
}

/// Resumes what was cut off, as a new process that dies after a moment.
async fn die_again(runner: &Runner, alive: Duration) -> usize {
    let resumed = runner.resume_unfinished(ListUnfinished::new()).await.unwrap();
    for run in &resumed {
        run.invocation_id().await.unwrap();
    }
    tokio::time::sleep(alive).await;
    let count = resumed.len();
    for run in resumed {
        run.cut();
        run.await.unwrap();
    }
    count
}

#[tokio::test(start_paused = true)]
async fn a_run_that_makes_no_progress_is_dead_after_its_recoveries() {
    let world = World::new();
    let begun = Arc::new(AtomicU32::new(0));
    let process = || builder(&world, slow(&begun)).max_recoveries(3).build().unwrap();
    let mut run = process().run("ana", "s1", "one");
    assert!(tokio::time::timeout(BEAT, run.next()).await.is_err());
    drop(run);
    tokio::time::sleep(BEAT * 4).await;
    for attempt in 0..3_u32 {
        let runner = process();
        let status = runner.status(S).await.unwrap();
        assert!(matches!(status.progress, RunProgress::Unfinished), "{:?}", status.progress);
        assert_eq!(status.recoveries, attempt);
        assert_eq!(die_again(&runner, BEAT).await, 1);
    }
    assert_eq!(begun.load(Ordering::Relaxed), 4);
    let runner = process();
    assert!(matches!(progress(&runner).await, RunProgress::Dead));
    assert_eq!(die_again(&runner, BEAT).await, 0);
    let listed = runner.unfinished(ListUnfinished::new()).await.unwrap().items;
    assert!(matches!(listed[0].progress, RunProgress::Dead), "it is listed");
    // A person may try once more.
    let invocation = listed[0].invocation.clone().unwrap();
    assert_eq!(trace(runner.resume("ana", "s1", invocation)).await, [r#"wf@1/work@1: "done""#]);
    let status = runner.status(S).await.unwrap();
    assert!(matches!(status.progress, RunProgress::Done));
    assert_eq!(status.recoveries, 0);
}

#[tokio::test(start_paused = true)]
async fn a_recovery_that_makes_progress_is_not_counted() {
    let world = World::new();
    let root = || {
        rerun("work", async |ctx: Context| {
            for _ in 0..10 {
                ctx.step("step", async || Ok(())).await?;
                tokio::time::sleep(BEAT * 2).await;
            }
            Ok("done")
        })
    };
    let process = || builder(&world, root()).max_recoveries(1).build().unwrap();
    let run = process().run("ana", "s1", "one").detach();
    run.invocation_id().await.unwrap();
    tokio::time::sleep(BEAT).await;
    run.cut();
    run.await.unwrap();
    for round in 0..4 {
        // The body sleeps after each step, also after those whose results are stored.
        assert_eq!(die_again(&process(), BEAT * 2 * (round + 1) + BEAT).await, 1, "{round}");
    }
    assert!(matches!(progress(&process()).await, RunProgress::Unfinished));
}

#[test]
fn a_recovery_that_cannot_work_is_refused() {
    let fault = |configure: fn(RunnerBuilder) -> RunnerBuilder| {
        let runner = Runner::builder("t").root(rerun("x", async |_: Context| Ok(())));
        configure(runner.sessions(InMemorySessionService::new())).build().unwrap_err().to_string()
    };
    assert!(fault(|runner| runner.recover(SECOND)).contains("heartbeats"));
    assert!(fault(|runner| runner.heartbeat(BEAT).recover(Duration::ZERO)).contains("zero"));
    assert!(fault(|runner| runner.heartbeat(BEAT).recover(SECOND).external_timers()).contains("external timers"));
}
