//! Signals: messages that programs send to a run.

use std::time::Duration;

use pleach::prelude::*;
use pleach::{RunConfig, RunError, RunProgress, RunRequest, SignalOptions, SignalOutcome};
use pleach_contract::TestClock;
use serde_json::{Value, json};

use crate::backends::{Backend, on_backends};
use crate::support::{rerun, trace};
use crate::world::World;

/// A workflow that waits for a person and then for three signals with one name.
fn parcels() -> Workflow {
    rerun("wait", async |ctx: Context| {
        let begin: bool = ctx.ask("begin", "Begin?").await?;
        let mut parcels = Vec::new();
        for _ in 0..3 {
            parcels.push(ctx.wait_for_signal::<u32>("parcel").await?);
        }
        Ok(json!([begin, parcels]))
    })
}

fn is_kept(outcome: &SignalOutcome) -> bool {
    matches!(outcome, SignalOutcome::Kept)
}

async fn deliver(runner: &Runner, parcel: u32) -> Result<Value, RunError> {
    match runner.signal("s1", "parcel", parcel).await.unwrap() {
        SignalOutcome::Delivered(run) => run.output().await,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn signals_are_taken_in_order_including_signals_before_the_wait() {
    let world = World::new();
    let runner = world.process(parcels());
    trace(runner.run("ana", "s1", "go")).await;
    assert!(is_kept(&runner.signal("s1", "parcel", 1).await.unwrap()));
    assert!(is_kept(&runner.signal("s1", "other", 9).await.unwrap()));
    assert!(is_kept(&runner.signal("s1", "parcel", 2).await.unwrap()));
    assert!(matches!(runner.status("s1").await.unwrap().progress, RunProgress::Waiting));
    let lines = trace(runner.answer("s1", "begin", true).unwrap()).await;
    assert_eq!(lines.len(), 3, "two steps that take a signal, and a question: {lines:?}");
    // Another process reads the signals from the log.
    let other = world.process(parcels());
    assert_eq!(deliver(&other, 3).await.unwrap(), json!([true, [1, 2, 3]]));
    assert!(runner.questions("s1").await.unwrap().is_empty());
}

#[tokio::test]
async fn a_kept_signal_is_taken_once_when_the_run_is_resumed() {
    let root = || {
        rerun("wait", async |ctx: Context| {
            let first: u32 = ctx.wait_for_signal("parcel").await?;
            let begin: bool = ctx.ask("begin", "Begin?").await?;
            let second: u32 = ctx.wait_for_signal("parcel").await?;
            let third: u32 = ctx.wait_for_signal("parcel").await?;
            Ok(json!([first, begin, second, third]))
        })
    };
    let world = World::new();
    let runner = world.process(root());
    trace(runner.run("ana", "s1", "go")).await;
    assert!(matches!(deliver(&runner, 1).await, Err(RunError::Waiting(_))));
    assert!(is_kept(&runner.signal("s1", "parcel", 2).await.unwrap()));
    trace(world.process(root()).answer("s1", "begin", false).unwrap()).await;
    assert_eq!(deliver(&world.process(root()), 3).await.unwrap(), json!([1, false, 2, 3]));
}

#[tokio::test]
async fn a_kept_signal_that_does_not_fit_is_left_out() {
    let world = World::new();
    let runner = world.process(parcels());
    trace(runner.run("ana", "s1", "go")).await;
    // The schema of the type refuses -1, as it does when a run waits.
    for payload in [json!("one"), json!(1), json!({"parcel": 2}), json!(-1), json!(2), json!(3)] {
        assert!(is_kept(&runner.signal("s1", "parcel", payload).await.unwrap()));
    }
    let output: Value = runner.answer("s1", "begin", true).unwrap().output().await.unwrap();
    assert_eq!(output, json!([true, [1, 2, 3]]));
}

#[tokio::test]
async fn a_signal_with_a_key_is_stored_once() {
    let world = World::new();
    let runner = world.process(parcels());
    trace(runner.run("ana", "s1", "go")).await;
    let send = |key: &'static str, parcel: u32| {
        runner.signal_with("s1", "parcel", parcel, SignalOptions::new().idempotency_key(key))
    };
    assert!(is_kept(&send("a", 1).await.unwrap()));
    assert!(matches!(send("a", 1).await.unwrap(), SignalOutcome::Repeated));
    trace(runner.answer("s1", "begin", true).unwrap()).await;
    assert!(matches!(send("b", 2).await.unwrap(), SignalOutcome::Delivered(_)));
    assert!(matches!(send("b", 2).await.unwrap(), SignalOutcome::Repeated));
    let SignalOutcome::Delivered(run) = send("c", 3).await.unwrap() else { panic!("not delivered") };
    assert_eq!(run.output::<Value>().await.unwrap(), json!([true, [1, 2, 3]]));
    assert!(matches!(send("c", 3).await.unwrap(), SignalOutcome::Repeated), "even after the end");
}

#[tokio::test]
async fn a_signal_that_no_run_can_take_is_refused_and_not_stored() {
    let world = World::new();
    let runner = world.process(rerun("say", async |_: Context| Ok("done")));
    let unknown = runner.signal("s1", "parcel", 1).await.unwrap_err();
    assert!(matches!(unknown, RunError::UnknownSession { .. }), "{unknown}");
    trace(runner.run("ana", "s1", "go")).await;
    let before = world.stored().await;
    for (name, key, code) in
        [("parcel", "k", "SignalNotExpectedError"), (" ", "k", "ValueError"), ("parcel", "", "ValueError")]
    {
        let options = SignalOptions::new().idempotency_key(key);
        let refused = runner.signal_with("s1", name, 1, options).await.unwrap_err();
        assert_eq!(refused.code(), code, "{refused}");
    }
    let deep = (0..300).fold(json!(1), |deep, _| json!([deep]));
    let waiting = world.process(parcels());
    trace(waiting.run("ana", "s2", "go")).await;
    let refused = waiting.signal("s2", "parcel", deep).await.unwrap_err();
    assert!(refused.to_string().contains("signal 'parcel'"), "{refused}");
    assert_eq!(world.stored().await, before);
}

/// Another process may be running a session whose run was cut off here. Storing the signal would take the session away from it.
#[tokio::test]
async fn a_signal_for_a_run_elsewhere_is_refused() {
    let root = || {
        rerun("work", async |ctx: Context| {
            ctx.step("first", async || Ok(1)).await?;
            std::future::pending::<()>().await;
            Ok(1)
        })
    };
    let world = World::new();
    let runner = world.process(root());
    let mut run = runner.run("ana", "s1", "go");
    run.next().await.unwrap().unwrap();
    drop(run);
    let refused = world.process(root()).signal("s1", "parcel", 1).await.unwrap_err();
    assert!(matches!(refused, RunError::Unfinished { .. }), "{refused}");
}

/// A failed invocation keeps a signal for its resume, unless another process is about to try the invocation again.
#[tokio::test(start_paused = true)]
async fn a_failed_invocation_keeps_signals() {
    let is_broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let root = |attempts: u32| {
        let is_broken = std::sync::Arc::clone(&is_broken);
        let mut wf = Workflow::builder("wf");
        let work = FunctionNode::new("work", move |ctx: Context| {
            let is_broken = is_broken.load(std::sync::atomic::Ordering::Relaxed);
            async move { if is_broken { Err(Fail::msg("broken")) } else { Ok(ctx.wait_for_signal::<u32>("parcel").await?) } }
        });
        let policy = RetryConfig::attempts(attempts).initial_delay(60.0).jitter(0.0);
        let work = wf.add(work.rerun_on_resume(true).retry(policy));
        wf.edge(START, work);
        let mut outer = Workflow::builder("outer");
        let inner = outer.add(wf.build().unwrap());
        outer.edge(START, inner);
        outer.build().unwrap()
    };
    let world = World::new();
    let first = world.process(root(2));
    let waits = first.run("ana", "s1", "go").detach();
    waits.invocation_id().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let refused = world.process(root(2)).signal("s1", "parcel", 1).await.unwrap_err();
    assert!(matches!(refused, RunError::Unfinished { .. }), "{refused}");
    waits.await.unwrap_err();

    let runner = world.process(root(2));
    assert!(is_kept(&runner.signal("s1", "parcel", 2).await.unwrap()));
    let status = runner.status("s1").await.unwrap();
    assert!(matches!(status.progress, RunProgress::Failed { .. }), "{status:?}");
    is_broken.store(false, std::sync::atomic::Ordering::Relaxed);
    let resumed = runner.resume("ana", "s1", status.invocation.unwrap());
    assert_eq!(resumed.output::<u32>().await.unwrap(), 2);
}

/// A signal does not take a failed invocation away from the process that has resumed it. A redaction does not make a
/// failed invocation refuse signals.
#[tokio::test(start_paused = true)]
async fn a_failed_invocation_that_is_resumed_elsewhere_keeps_no_signal() {
    let world = World::new();
    let is_broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let process = || {
        let is_broken = std::sync::Arc::clone(&is_broken);
        let root = rerun("work", move |ctx: Context| {
            let is_broken = is_broken.load(std::sync::atomic::Ordering::Relaxed);
            async move {
                if is_broken {
                    return Err(Fail::msg("broken"));
                }
                ctx.step("slow", async || {
                    tokio::time::sleep(Duration::from_secs(30)).await;
                    Ok(())
                })
                .await?;
                Ok(ctx.wait_for_signal::<u32>("parcel").await?)
            }
        });
        world.builder().root(root).heartbeat(Duration::from_secs(20)).build().unwrap()
    };
    let (here, there) = (process(), process());
    trace(here.run("ana", "s1", "go")).await;
    let message = here.sessions().get_session(&crate::support::key(), Default::default()).await.unwrap().unwrap();
    let removed = pleach::Redaction::new(["/content"], "a request");
    here.redact("s1", message.events[0].id().clone(), removed).await.unwrap();
    assert!(is_kept(&here.signal("s1", "other", 1).await.unwrap()), "a redaction is not a run");

    is_broken.store(false, std::sync::atomic::Ordering::Relaxed);
    let invocation = here.status("s1").await.unwrap().invocation.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let resumed = there.resume("ana", "s1", invocation).detach();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let status = here.status("s1").await.unwrap();
    assert!(matches!(status.progress, RunProgress::RunsElsewhere), "{status:?}");
    let refused = here.signal("s1", "parcel", 1).await.unwrap_err();
    assert!(matches!(refused, RunError::Unfinished { .. }), "{refused}");
    assert!(is_kept(&there.signal("s1", "parcel", 2).await.unwrap()));
    let refused = here.signal("s1", "parcel", 1).await.unwrap_err();
    assert!(matches!(refused, RunError::Unfinished { .. }), "{refused}");
    assert_eq!(resumed.output::<u32>().await.unwrap(), 2);
}

/// Messages wait in order for the run that keeps the session busy. More messages than the limit are refused.
async fn messages_queue_in_order(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let world = World::at(&place).await;
    let mut root = Workflow::builder("wf");
    let say = root.node("say", async |Input(text): Input<String>| {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok::<_, Fail>(text)
    });
    root.edge(START, say);
    let root = root.build().unwrap();
    let runner = world.builder().root(root).max_queued_runs(2).build().unwrap();
    let request = |text: &str| runner.start(RunRequest::new(("ana", "s1")).message(text).queue(true)).detach();
    let first = runner.run("ana", "s1", "one").detach();
    first.invocation_id().await.unwrap();
    let (second, third) = (request("two"), request("three"));
    while runner.load().queued < 2 {
        tokio::task::yield_now().await;
    }
    let load = runner.load();
    assert_eq!((load.active, load.detached, load.queued), (1, 1, 2));
    let refused = request("four").await.unwrap_err();
    assert!(matches!(refused, RunError::Busy { .. }), "{refused}");
    for (run, text) in [(first, "one"), (second, "two"), (third, "three")] {
        assert_eq!(run.output::<String>().await.unwrap(), text);
    }
    assert_eq!(runner.load(), Default::default());
    let said: Vec<String> = world.stored().await.into_iter().filter(|line| line.starts_with("wf@1/say@")).collect();
    assert_eq!(said, [r#"wf@1/say@1: "one""#, r#"wf@1/say@1: "two""#, r#"wf@1/say@1: "three""#]);
}

// None of many simultaneous signals fails.
#[tokio::test]
async fn many_signals_at_once_are_all_taken() {
    const SIGNALS: u32 = 40;
    let root = || {
        rerun("wait", async |ctx: Context| {
            let begin: bool = ctx.ask("begin", "Begin?").await?;
            let mut parcels = Vec::new();
            for _ in 0..2 * SIGNALS {
                parcels.push(ctx.wait_for_signal::<u32>("parcel").await?);
            }
            Ok(json!([begin, parcels]))
        })
    };
    let world = World::new();
    let runner = world.process(root());
    trace(runner.run("ana", "s1", "go")).await;
    let send = async |parcels: std::ops::Range<u32>| {
        futures::future::join_all(parcels.map(|parcel| runner.signal("s1", "parcel", parcel))).await
    };
    assert!(send(0..SIGNALS).await.iter().all(|sent| is_kept(sent.as_ref().unwrap())));
    trace(runner.answer("s1", "begin", true).unwrap()).await;
    for sent in send(SIGNALS..2 * SIGNALS).await {
        assert!(matches!(sent.unwrap(), SignalOutcome::Delivered(_)));
    }
    let stored = world.stored().await;
    let all: Vec<u32> = (0..2 * SIGNALS).collect();
    let expected = format!("wf@1/wait@1: {}", json!([true, all]));
    while runner.load().active > 0 {
        tokio::task::yield_now().await;
    }
    assert!(world.stored().await.contains(&expected), "{stored:?}");
}

// Keeping the signal would take the session away from the process that works on a parallel lane of the question.
#[tokio::test]
async fn a_signal_is_not_kept_while_another_process_works_on_a_lane() {
    let root = || {
        let mut wf = Workflow::builder("wf");
        let asks = wf.add(
            FunctionNode::new("asks", async |ctx: Context| ctx.ask::<bool>("ok", "?").await).rerun_on_resume(true),
        );
        let works = wf.node("works", async || {
            std::future::pending::<()>().await;
            1
        });
        wf.edge(START, asks).edge(START, works);
        wf.build().unwrap()
    };
    let world = World::new();
    let (here, there) = (world.process(root()), world.process(root()));
    let mut run = here.run("ana", "s1", "go");
    run.next().await.unwrap().unwrap();
    let refused = there.signal("s1", "parcel", 1).await.unwrap_err();
    assert!(matches!(refused, RunError::Unfinished { .. }), "{refused}");
}

// A client cannot forge signals.
#[tokio::test]
async fn the_metadata_of_a_client_is_not_a_signal() {
    let world = World::new();
    let runner = world.process(parcels());
    trace(runner.run("ana", "s1", "go")).await;
    let invocation = runner.status("s1").await.unwrap().invocation.unwrap();
    let metadata = json!({"pleach_signal": {"name": "parcel", "payload": 6}, "kept": true});
    let config = RunConfig::default().custom_metadata(metadata.as_object().unwrap().clone());
    let state = json!({"k": 1}).as_object().unwrap().clone();
    let request = RunRequest::new(("ana", "s1")).invocation_id(invocation).state_delta(state).config(config);
    trace(runner.start(request)).await;
    let lines = trace(runner.answer("s1", "begin", true).unwrap()).await;
    assert_eq!(lines, ["wf@1/wait@1: asks pleach_signal:wf@1/wait@1:1-0"]);
}

// A queued run must not begin during the drain, which would cut it off.
async fn a_queued_message_ends_with_a_drain_and_stores_nothing(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let world = World::at(&place).await;
    let runner = world.process(rerun("work", async |_: Context| {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok("done")
    }));
    let first = runner.run("ana", "s1", "one").detach();
    first.invocation_id().await.unwrap();
    let queued = runner.start(RunRequest::new(("ana", "s1")).message("two").queue(true)).detach();
    while runner.load().queued == 0 {
        tokio::task::yield_now().await;
    }
    assert!(runner.drain(Duration::from_secs(600)).await.is_complete());
    assert_eq!(first.output::<String>().await.unwrap(), "done");
    assert!(matches!(queued.await, Err(RunError::Draining)));
    assert!(world.stored().await.iter().all(|line| !line.contains("two")));
}

/// If a signal meets another writer, it is tried again without waiting for the Runner's clock, which may not advance.
async fn signals_that_meet_each_other_do_not_wait_for_the_clock(backend: Backend) {
    const SIGNALS: u32 = 12;
    let Some(place) = backend.place().await else { return };
    let clock = TestClock::new();
    let root = || {
        rerun("wait", async |ctx: Context| {
            let begin: bool = ctx.ask("begin", "Begin?").await?;
            let mut parcels = Vec::new();
            for _ in 0..SIGNALS {
                parcels.push(ctx.wait_for_signal::<u32>("parcel").await?);
            }
            Ok(json!([begin, parcels.len()]))
        })
    };
    let here = place.builder().await.root(root()).clock(clock.clone()).build().unwrap();
    let there = place.builder().await.root(root()).clock(clock).build().unwrap();
    trace(here.run("ana", "s1", "go")).await;
    let sent = (0..SIGNALS).map(|number| {
        let runner = if number % 2 == 0 { &here } else { &there };
        // Signals with different names do not wait for each other in one Runner.
        async move { runner.signal("s1", format!("parcel{}", number % 3), number).await.unwrap() }
    });
    let sent = tokio::time::timeout(Duration::from_secs(30), futures::future::join_all(sent)).await;
    assert!(sent.expect("no signal waits for the clock").iter().all(is_kept));
}

on_backends! {
    #[tokio::test]
    signals_that_meet_each_other_do_not_wait_for_the_clock,
}

mod queues {
    use super::*;

    on_backends! {
        #[tokio::test(start_paused = true)]
            messages_queue_in_order,
        a_queued_message_ends_with_a_drain_and_stores_nothing,
    }
}
