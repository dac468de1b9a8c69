//! Signals that arrive while a run works.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures::channel::oneshot;
use pleach::prelude::*;
use pleach::testkit::{FaultPlan, FaultySessions, Operation};
use pleach::{
    Event, GetSessionConfig, Hook, InvocationContext, Plugin, RunConfig, RunError, RunRequest, SignalOptions,
    SignalOutcome,
};
use serde_json::{Value, json};

use crate::support::{key, rerun, trace};
use crate::world::World;

const MINUTE: Duration = Duration::from_secs(60);

fn is_kept(outcome: &SignalOutcome) -> bool {
    matches!(outcome, SignalOutcome::Kept)
}

/// A node whose step takes a minute and that then waits for two parcels.
fn slow() -> Workflow {
    rerun("work", async |ctx: Context| {
        ctx.step("slow", async || {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok(())
        })
        .await?;
        let first: u32 = ctx.wait_for_signal("parcel").await?;
        let second: u32 = ctx.wait_for_signal("parcel").await?;
        Ok(json!([first, second]))
    })
}

#[tokio::test(start_paused = true)]
async fn a_signal_is_stored_while_a_run_works() {
    let world = World::new();
    let runner = world.process(slow());
    let run = runner.run("ana", "s1", "go").detach();
    run.invocation_id().await.unwrap();
    let begun = tokio::time::Instant::now();
    assert!(is_kept(&runner.signal("s1", "parcel", 7).await.unwrap()));
    let once = || SignalOptions::new().idempotency_key("k1");
    assert!(is_kept(&runner.signal_with("s1", "parcel", 8, once()).await.unwrap()));
    let again = runner.signal_with("s1", "parcel", 8, once()).await.unwrap();
    assert!(matches!(again, SignalOutcome::Repeated), "{again:?}");
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(run.output::<Value>().await.unwrap(), json!([7, 8]));
    let stored = world.stored().await;
    assert!(stored.iter().all(|line| !line.contains("asks")), "{stored:?}");
    let late = runner.signal("s1", "parcel", 9).await.unwrap_err();
    assert!(matches!(late, RunError::NoReceiver { .. }), "{late}");
}

/// The process dies after the signals and before the waits.
#[tokio::test(start_paused = true)]
async fn signals_that_came_while_a_run_worked_survive_it() {
    let world = World::new();
    let runner = world.process(slow());
    let run = runner.run("ana", "s1", "go").detach();
    let invocation = run.invocation_id().await.unwrap();
    for parcel in [1, 2] {
        assert!(is_kept(&runner.signal("s1", "parcel", parcel).await.unwrap()));
    }
    run.cut();
    run.await.unwrap();
    let resumed = world.process(slow()).resume("ana", "s1", invocation);
    assert_eq!(resumed.output::<Value>().await.unwrap(), json!([1, 2]));
}

/// A retry reads the history again, including the signals that came before the retry.
#[tokio::test(start_paused = true)]
async fn a_retry_takes_each_signal_once() {
    let world = World::new();
    let mut wf = Workflow::builder("wf");
    let work = FunctionNode::new("work", async |ctx: Context| {
        let first: u32 = ctx
            .step("first", async || {
                tokio::time::sleep(Duration::from_secs(60)).await;
                Ok(0)
            })
            .await?;
        let taken: u32 = ctx.wait_for_signal("parcel").await?;
        if ctx.attempt_count() < 2 {
            return Err(Fail::msg("broken"));
        }
        let other: u32 = ctx.wait_for_signal("parcel").await?;
        Ok(json!([first, taken, other]))
    });
    let work = wf.add(work.rerun_on_resume(true).retry(RetryConfig::attempts(2).initial_delay(0.0)));
    wf.edge(START, work);
    let runner = world.process(wf.build().unwrap());
    let run = runner.run("ana", "s1", "go").detach();
    run.invocation_id().await.unwrap();
    for parcel in 1..=3 {
        assert!(is_kept(&runner.signal("s1", "parcel", parcel).await.unwrap()));
    }
    assert_eq!(
        run.output::<Value>().await.unwrap(),
        json!([0, 1, 2]),
        "a step keeps what the failed attempt has taken"
    );
}

/// One lane waits for the name, so the signal is its answer. It is delivered when the other lane has ended.
#[tokio::test(start_paused = true)]
async fn a_signal_for_a_lane_that_waits_is_delivered_when_the_run_pauses() {
    let world = World::new();
    let mut wf = Workflow::builder("wf");
    let waits = FunctionNode::new("waits", async |ctx: Context| ctx.wait_for_signal::<u32>("parcel").await);
    let waits = wf.add(waits.rerun_on_resume(true));
    let works = wf.node("works", async || {
        tokio::time::sleep(Duration::from_secs(60)).await;
    });
    wf.edge(START, waits).edge(START, works);
    let runner = world.process(wf.build().unwrap());
    let run = runner.run("ana", "s1", "go").detach();
    run.invocation_id().await.unwrap();
    while runner.questions(("ana", "s1")).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let other = async {
        // Another signal is not queued after the signal that waits.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(is_kept(&runner.signal("s1", "other", 1).await.unwrap()));
        assert_eq!(runner.load().active, 1);
    };
    let (delivered, ()) = tokio::join!(runner.signal("s1", "parcel", 7), other);
    let SignalOutcome::Delivered(resumed) = delivered.unwrap() else { panic!("not delivered") };
    resumed.await.unwrap();
    let stored = world.stored().await;
    assert!(stored.contains(&"wf@1/waits@1 [waits@1]: 7".to_owned()), "{stored:?}");
}

/// A node may signal its own session under a name for which no lane waits yet.
#[tokio::test]
async fn a_node_signals_a_later_one() {
    let world = World::new();
    let runner: Arc<OnceLock<Runner>> = Arc::default();
    let sender = Arc::clone(&runner);
    let mut wf = Workflow::builder("wf");
    let sends = FunctionNode::new("sends", move |_: Context| {
        let sender = Arc::clone(&sender);
        async move {
            let sent = sender.get().unwrap().signal("s1", "parcel", 5).await.map_err(Fail::from)?;
            Ok::<_, Fail>(is_kept(&sent))
        }
    });
    let sends = wf.add(sends);
    let waits = FunctionNode::new("waits", async |ctx: Context| ctx.wait_for_signal::<u32>("parcel").await);
    let waits = wf.add(waits.rerun_on_resume(true));
    wf.edge(START, sends).edge(sends, waits.dynamic());
    let runner = runner.get_or_init(|| world.process(wf.build().unwrap()));
    assert_eq!(trace(runner.run("ana", "s1", "go")).await.last().unwrap(), "wf@1/waits@1: 5");
}

async fn minute() -> Result<()> {
    tokio::time::sleep(MINUTE).await;
    Ok(())
}

/// A plugin that delays each output.
#[derive(Debug)]
struct SlowSteps;

impl Plugin for SlowSteps {
    fn name(&self) -> &str {
        "slow"
    }

    fn on_event<'a>(&'a self, _: &'a InvocationContext, event: &'a Event) -> Hook<'a, Option<Event>> {
        let is_slow = event.path().name() == "pleach_signal";
        Some(Box::pin(async move {
            if is_slow {
                tokio::time::sleep(MINUTE).await;
            }
            Ok(None)
        }))
    }
}

/// A step has taken the signal, and its body is dropped while the step's event is being stored. The body does not take
/// the signal again.
#[tokio::test(start_paused = true)]
async fn a_signal_is_taken_once_by_a_body_that_times_out_after_it() {
    let world = World::new();
    let mut wf = Workflow::builder("wf");
    let work = FunctionNode::new("work", async |ctx: Context| {
        ctx.step("slow", minute).await?;
        let first: u32 = ctx.wait_for_signal("parcel").await?;
        let second: u32 = ctx.wait_for_signal("parcel").await?;
        Ok::<_, Fail>(json!([first, second]))
    });
    let policy = RetryConfig::attempts(2).initial_delay(0.0);
    let work = wf.add(work.rerun_on_resume(true).timeout(MINUTE + MINUTE / 2).retry(policy));
    wf.edge(START, work);
    let runner = world.builder().root(wf.build().unwrap()).plugin(SlowSteps).build().unwrap();
    let run = runner.run("ana", "s1", "go").detach();
    run.invocation_id().await.unwrap();
    assert!(is_kept(&runner.signal("s1", "parcel", 1).await.unwrap()));
    assert!(matches!(run.await, Err(RunError::Waiting(_)) | Ok(())));
    let taken: Vec<String> = world.stored().await.into_iter().filter(|line| line.contains("pleach_signal@")).collect();
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert_eq!(runner.questions(("ana", "s1")).await.unwrap().len(), 1, "it waits for the second signal");
}

/// A dropped wait does not put its signal back, so it cannot replace a signal that came in the meantime.
#[tokio::test]
async fn signals_are_taken_once_by_waits_that_are_dropped() {
    let world = World::new();
    let (break_lane, broken) = oneshot::channel::<()>();
    let broken = Arc::new(Mutex::new(Some(broken)));
    let (begin, begun) = oneshot::channel::<()>();
    let begun = Arc::new(Mutex::new(Some(begun)));
    let runner = world.process(rerun("work", move |ctx: Context| {
        let (broken, begun) = (broken.lock().unwrap().take(), begun.lock().unwrap().take());
        async move {
            match (broken, begun) {
                (Some(broken), Some(begun)) => {
                    begun.await.ok();
                    let fails = async { broken.await.map_or(Ok(()), |()| Err::<(), Fail>(Fail::msg("lane"))) };
                    let waits = async { Ok::<u32, Fail>(ctx.wait_for_signal("x").await?) };
                    futures::try_join!(fails, waits).unwrap_err();
                }
                // The body runs again after an answer.
                _ => assert_eq!(ctx.wait_for_signal::<u32>("x").await?, 1),
            }
            let next: u32 = ctx.wait_for_signal("x").await?;
            Ok(next)
        }
    }));
    let mut run = runner.run("ana", "s1", "go");
    let mut break_lane = Some(break_lane);
    let signal = |number: u32| {
        let runner = runner.clone();
        tokio::spawn(async move { runner.signal(("ana", "s1"), "x", number).await.unwrap() })
    };
    let first = signal(1);
    let mut second = None;
    let until_first = async move {
        assert!(is_kept(&first.await.unwrap()));
        begin.send(()).ok();
        std::future::pending::<()>().await;
    };
    let mut until_first = std::pin::pin!(until_first);
    loop {
        let event = tokio::select! {
            event = run.next() => event,
            () = &mut until_first => None,
        };
        let Some(event) = event else { break };
        let event = event.unwrap();
        if event.path().name() == "pleach_signal" && break_lane.is_some() {
            second = Some(signal(2));
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            break_lane.take().map(|lane| lane.send(()));
        }
    }
    assert!(matches!(second.unwrap().await.unwrap(), SignalOutcome::Kept | SignalOutcome::Delivered(_)));
    while runner.load().active > 0 {
        tokio::task::yield_now().await;
    }
    let stored = world.stored().await;
    assert_eq!(stored.last().unwrap(), "wf@1/work@1: 2", "{stored:?}");
}

/// An earlier invocation waits for the signal, but the run has loaded no events. Even so, the signal is not kept for
/// the run's own invocation, which never waits.
#[tokio::test(start_paused = true)]
async fn a_wait_of_an_earlier_invocation_gets_its_signal_despite_a_run_that_loads_few_events() {
    let world = World::new();
    let runner = world.process(rerun("work", async |ctx: Context| {
        let text = ctx.user_content().map(|content| content.text()).unwrap_or_default();
        if text == "wait" {
            let parcel: u32 = ctx.wait_for_signal("parcel").await?;
            return Ok(parcel);
        }
        ctx.step("slow", minute).await?;
        Ok(0)
    }));
    trace(runner.run("ana", "s1", "wait")).await;
    let mut config = RunConfig::default();
    config.get_session_config = GetSessionConfig::recent(0);
    let run = runner.start(RunRequest::new(("ana", "s1")).message("work").config(config)).detach();
    run.invocation_id().await.unwrap();
    let SignalOutcome::Delivered(waited) = runner.signal("s1", "parcel", 7).await.unwrap() else { panic!() };
    assert_eq!(waited.output::<u32>().await.unwrap(), 7);
    run.await.unwrap();
}

/// The task begins to wait while the signal is being stored.
#[tokio::test(start_paused = true)]
async fn a_task_that_begins_to_wait_while_a_signal_is_stored_finds_it() {
    let world = World::new();
    let plan = FaultPlan::new().clock(world.clock.clone()).delay(Operation::Append, 2, MINUTE);
    let sessions = FaultySessions::new(Arc::clone(&world.sessions), plan);
    let runner = world.builder().sessions(sessions).root(rerun("work", async |ctx: Context| {
        let own = ctx.clone();
        let waits = tokio::spawn(async move {
            tokio::time::sleep(MINUTE / 2).await;
            own.wait_for_signal::<u32>("parcel").await
        });
        Ok(waits.await??)
    }));
    let runner = runner.build().unwrap();
    let run = runner.run("ana", "s1", "go").detach();
    run.invocation_id().await.unwrap();
    assert!(is_kept(&runner.signal("s1", "parcel", 7).await.unwrap()));
    assert_eq!(run.output::<u32>().await.unwrap(), 7);
}

/// The healthy run does not fail as stale, and the sender gets no error for a signal that was stored.
#[tokio::test(start_paused = true)]
async fn a_lost_reply_of_a_signal_harms_neither_the_run_nor_its_sender() {
    let world = World::new();
    let plan = FaultPlan::new().lose_reply(Operation::Append, 2);
    let sessions = FaultySessions::new(Arc::clone(&world.sessions), plan);
    let runner = world.builder().sessions(sessions).root(slow()).build().unwrap();
    let run = runner.run("ana", "s1", "go").detach();
    run.invocation_id().await.unwrap();
    assert!(is_kept(&runner.signal("s1", "parcel", 1).await.unwrap()));
    assert!(is_kept(&runner.signal("s1", "parcel", 2).await.unwrap()));
    assert_eq!(run.output::<Value>().await.unwrap(), json!([1, 2]));
}

/// The sender gets no error if the signal was stored.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_while_it_stores_a_signal_has_kept_it() {
    let world = World::new();
    let plan = FaultPlan::new().clock(world.clock.clone()).delay(Operation::Append, 2, MINUTE / 2);
    let sessions = FaultySessions::new(Arc::clone(&world.sessions), plan);
    let runner = world.builder().sessions(sessions).root(slow()).build().unwrap();
    let mut run = runner.run("ana", "s1", "go");
    let sent = {
        let runner = runner.clone();
        tokio::spawn(async move { runner.signal("s1", "parcel", 1).await })
    };
    // Wait until the store has the event but its reply has not arrived.
    let stored = async {
        while world.stored_events().await < 2 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        _ = run.next() => panic!("no event comes"),
        () = stored => {}
    }
    drop(run);
    assert!(is_kept(&sent.await.unwrap().unwrap()));
    assert_eq!(world.stored_events().await, 2);
}

/// A signal is not kept after the last output.
#[tokio::test(start_paused = true)]
async fn a_signal_after_the_end_of_the_root_is_refused() {
    let world = World::new();
    let plan = FaultPlan::new().clock(world.clock.clone()).delay(Operation::Append, 2, MINUTE);
    let sessions = FaultySessions::new(Arc::clone(&world.sessions), plan);
    let runner = world.builder().sessions(sessions).root(FunctionNode::new("one", async || 1)).build().unwrap();
    let run = runner.run("ana", "s1", "go").detach();
    run.invocation_id().await.unwrap();
    tokio::time::sleep(MINUTE / 2).await;
    let late = runner.signal("s1", "parcel", 1).await.unwrap_err();
    assert!(matches!(late, RunError::NoReceiver { .. }), "{late}");
    assert_eq!(world.stored_events().await, 2);
}

/// The last event of the root was sent before the second signal is stored. Even so, the signal is not refused.
#[tokio::test(start_paused = true)]
async fn signals_that_wait_are_stored_before_an_event_that_was_sent_meanwhile() {
    let world = World::new();
    let plan = FaultPlan::new().clock(world.clock.clone()).delay(Operation::Append, 2, 3 * MINUTE);
    let sessions = FaultySessions::new(Arc::clone(&world.sessions), plan);
    let root = FunctionNode::new("one", async || {
        tokio::time::sleep(2 * MINUTE).await;
        1
    });
    let runner = world.builder().sessions(sessions).root(root).build().unwrap();
    let run = runner.run("ana", "s1", "go").detach();
    run.invocation_id().await.unwrap();
    let second = async {
        tokio::time::sleep(MINUTE).await;
        runner.signal("s1", "b", 2).await
    };
    let (first, second) = futures::join!(runner.signal("s1", "a", 1), second);
    assert!(is_kept(&first.unwrap()) && is_kept(&second.unwrap()));
    assert_eq!(run.output::<u32>().await.unwrap(), 1);
    let session = world.sessions.get_session(&key(), GetSessionConfig::all()).await.unwrap().unwrap();
    let of_user: Vec<bool> = session.events.iter().map(|event| event.is_from_user()).collect();
    assert_eq!(of_user, [true, true, true, false], "message, signals, output");
}

/// The answer of a waiting run is stored, and its run continues although the store did not reply.
#[tokio::test(start_paused = true)]
async fn a_lost_reply_of_a_delivered_signal_does_not_stop_the_run() {
    let world = World::new();
    let plan = FaultPlan::new().lose_reply(Operation::Append, 3);
    let sessions = FaultySessions::new(Arc::clone(&world.sessions), plan);
    let root = rerun("work", async |ctx: Context| Ok(ctx.wait_for_signal::<u32>("parcel").await?));
    let runner = world.builder().sessions(sessions.clone()).root(root).build().unwrap();
    trace(runner.run("ana", "s1", "go")).await;
    let options = || pleach::SignalOptions::new().idempotency_key("k");
    match runner.signal_with("s1", "parcel", 7, options()).await.unwrap() {
        SignalOutcome::Delivered(run) => assert_eq!(run.output::<u32>().await.unwrap(), 7),
        other => panic!("{other:?}"),
    }
    assert_eq!(sessions.faults(), 1);

    // If a sender repeats a signal, it does not take the session away from the process that has the signal.
    let plan = FaultPlan::new().fail(Operation::GetSession, 1);
    let sessions = FaultySessions::new(Arc::clone(&world.sessions), plan);
    let there =
        world.builder().sessions(sessions.clone()).root(rerun("work", async |_: Context| Ok(()))).build().unwrap();
    let again = there.signal_with("s1", "parcel", 7, options()).await.unwrap();
    assert!(matches!(again, SignalOutcome::Repeated), "{again:?}");
    assert_eq!(sessions.faults(), 1);
    let again = runner.signal_with("s1", "parcel", 7, options()).await.unwrap();
    assert!(matches!(again, SignalOutcome::Repeated), "{again:?}");
}
