//! The recovery that Runners run themselves, runs that cannot be recovered, and runs that a drain cuts off.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pleach::model::LlmResponse;
use pleach::prelude::*;
use pleach::testkit::{FaultPlan, FaultySessions, Operation};
use pleach::{InMemorySessionService, ListUnfinished, Node, RunProgress, Runner, RunnerBuilder, SequentialAgent};

use crate::graph_transfers::{answering, called};
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

/// Resumes what was cut off, in a process that dies after this number of writes. Returns the number of resumed runs.
async fn recover_and_die(world: &World, root: Workflow, writes: usize, recoveries: u32) -> usize {
    let day = Duration::from_secs(86_400);
    let plan = FaultPlan::new().clock(world.clock.clone()).delay(Operation::Append, writes + 1, day);
    let sessions = FaultySessions::new(Arc::clone(&world.sessions), plan);
    let runner = builder(world, root).sessions(Arc::new(sessions)).max_recoveries(recoveries).build().unwrap();
    let resumed = runner.resume_unfinished(ListUnfinished::new()).await.unwrap();
    for run in &resumed {
        run.invocation_id().await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(60) + BEAT * 4).await;
    resumed.len()
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
        let status = process().status(S).await.unwrap();
        assert!(matches!(status.progress, RunProgress::Unfinished), "{:?}", status.progress);
        assert_eq!(status.recoveries, attempt);
        // The note of the recovery is its only write.
        assert_eq!(recover_and_die(&world, slow(&begun), 1, 3).await, 1);
    }
    assert_eq!(begun.load(Ordering::Relaxed), 4);
    let runner = process();
    assert!(matches!(progress(&runner).await, RunProgress::Dead));
    assert_eq!(recover_and_die(&world, slow(&begun), 1, 3).await, 0);
    let listed = runner.unfinished(ListUnfinished::new()).await.unwrap().items;
    assert!(matches!(listed[0].progress, RunProgress::Dead), "it is listed");
    // A person may try once more.
    let invocation = listed[0].invocation.clone().unwrap();
    assert_eq!(trace(runner.resume("ana", "s1", invocation)).await, [r#"wf@1/work@1: "done""#]);
    let status = runner.status(S).await.unwrap();
    assert!(matches!(status.progress, RunProgress::Done));
    assert_eq!(status.recoveries, 0);
}

/// Without a limit, a body whose output the storage refuses would run again for ever.
#[tokio::test(start_paused = true)]
async fn a_run_whose_output_is_not_stored_is_dead_after_its_recoveries() {
    let world = World::new();
    let process = |refused: usize| {
        let plan = FaultPlan::new().fail(Operation::Append, refused);
        let sessions = Arc::new(FaultySessions::new(Arc::clone(&world.sessions), plan));
        let root = rerun("work", async |_: Context| Ok("done"));
        builder(&world, root).sessions(sessions).max_recoveries(2).build().unwrap()
    };
    process(2).run("ana", "s1", "one").output::<String>().await.unwrap_err();
    for _ in 0..2 {
        tokio::time::sleep(BEAT * 4).await;
        let resumed = process(2).resume_unfinished(ListUnfinished::new()).await.unwrap();
        assert_eq!(resumed.len(), 1);
        for run in resumed {
            run.await.unwrap_err();
        }
    }
    tokio::time::sleep(BEAT * 4).await;
    assert!(matches!(progress(&process(9)).await, RunProgress::Dead));
}

/// A rolling update is not a fault of the run.
#[tokio::test(start_paused = true)]
async fn a_recovery_that_a_drain_cuts_off_is_not_counted() {
    let world = World::new();
    let begun = Arc::new(AtomicU32::new(0));
    let process = || builder(&world, slow(&begun)).max_recoveries(1).build().unwrap();
    let mut run = process().run("ana", "s1", "one");
    assert!(tokio::time::timeout(BEAT, run.next()).await.is_err());
    drop(run);
    tokio::time::sleep(BEAT * 4).await;
    for _ in 0..4 {
        let runner = process();
        let resumed = runner.resume_unfinished(ListUnfinished::new()).await.unwrap();
        resumed[0].invocation_id().await.unwrap();
        tokio::time::sleep(BEAT).await;
        runner.drain(Duration::ZERO).await;
        assert_eq!(process().status(S).await.unwrap().recoveries, 0);
    }
    assert_eq!(begun.load(Ordering::Relaxed), 5);
}

/// A failure is final, wherever it comes from: a recovery would only repeat it.
#[tokio::test(start_paused = true)]
async fn a_run_that_has_failed_is_not_recovered() {
    let steps = || {
        rerun("work", async |ctx: Context| {
            ctx.step("charge", async || Err::<(), Fail>(NodeError::value("declined").into())).await?;
            Ok(1)
        })
    };
    let shell = || {
        let agent = LlmAgent::builder("writer").model(ScriptedModel::new()).build().unwrap();
        SequentialAgent::builder("shell").sub_agent(agent).build().unwrap()
    };
    let roots: [(&str, Arc<dyn Node>); 2] = [("a step", Arc::new(steps())), ("a shell agent", Arc::new(shell()))];
    for (what, root) in roots {
        let world = World::new();
        let process = || world.builder().root(Arc::clone(&root)).heartbeat(BEAT).build().unwrap();
        process().run("ana", "s1", "one").output::<i64>().await.unwrap_err();
        let stored = world.stored_events().await;
        let later = process();
        assert!(matches!(progress(&later).await, RunProgress::Failed { .. }), "{what}: {:?}", progress(&later).await);
        let resumed = later.resume_unfinished(ListUnfinished::new()).await.unwrap();
        assert!(resumed.is_empty(), "{what}");
        tokio::time::sleep(BEAT * 4).await;
        assert!(matches!(progress(&later).await, RunProgress::Failed { .. }), "{what}: {:?}", progress(&later).await);
        assert_eq!(world.stored_events().await, stored, "{what}");
    }
}

/// A note of the engine is no message of the user: a call that had begun is made again.
#[tokio::test(start_paused = true)]
async fn a_call_of_a_tool_that_was_cut_off_is_made_again() {
    let calls = Arc::new(AtomicU32::new(0));
    let agent = || {
        let calls = Arc::clone(&calls);
        let slow = tool("slow", "Works.", move || {
            let is_first = calls.fetch_add(1, Ordering::Relaxed) == 0;
            async move {
                if is_first {
                    tokio::time::sleep(Duration::from_secs(60)).await;
                }
                "result"
            }
        });
        let script = answering(|request| {
            let has_result = request.contents.iter().any(|content| content.function_responses().next().is_some());
            if has_result { LlmResponse::text("said") } else { called("slow", serde_json::json!({})) }
        });
        LlmAgent::builder("agent").model(script).tool(slow.long_running()).build().unwrap()
    };
    let world = World::new();
    let process = || world.builder().root(agent()).heartbeat(BEAT).build().unwrap();
    let first = process();
    let run = first.run("ana", "s1", "one").detach();
    run.invocation_id().await.unwrap();
    tokio::time::sleep(BEAT).await;
    first.drain(Duration::ZERO).await;
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    let second = process();
    let invocation = second.status(S).await.unwrap().invocation.unwrap();
    trace(second.resume("ana", "s1", invocation)).await;
    assert_eq!(calls.load(Ordering::Relaxed), 2);
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
    tokio::time::sleep(BEAT * 4).await;
    for _ in 0..4 {
        // The note of the recovery and one step.
        assert_eq!(recover_and_die(&world, root(), 2, 1).await, 1);
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
