//! The test clock and the counted ids, shared by several Runners.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::future::join;
use pleach::prelude::*;
use pleach::testkit::{CountedIds, FaultPlan, FaultySessions, HeldTime, TestClock, Trace};
use pleach::{Clock, InMemorySessionService, SessionKey};

use crate::support::alone;

const HOUR: Duration = Duration::from_secs(3_600);

/// Sessions, a clock and ids that outlive processes.
#[derive(Clone)]
struct World {
    sessions: Arc<InMemorySessionService>,
    clock: TestClock,
    ids: CountedIds,
}

impl World {
    fn new(clock: TestClock) -> Self {
        Self { sessions: Arc::default(), clock, ids: CountedIds::new() }
    }

    fn process(&self, root: impl pleach::Node) -> Runner {
        let builder = Runner::builder("t").root(root).sessions(Arc::clone(&self.sessions));
        builder.clock(self.clock.clone()).ids(self.ids.clone()).build().unwrap()
    }

    async fn last(&self) -> String {
        let trace = Trace::of_session(&*self.sessions, &SessionKey::new("t", "ana", "s1")).await.unwrap();
        trace.entries().last().unwrap().to_string()
    }
}

/// A workflow whose step hangs the first time and fails the second time.
fn flaky() -> Workflow {
    let tries = Arc::new(AtomicU32::new(0));
    alone(move |ctx, _| {
        let tries = Arc::clone(&tries);
        async move {
            let step = Step::new("call").timeout(Duration::from_secs(30));
            let step = step.retry(RetryConfig::attempts(3).initial_delay(10.0).jitter(0.0));
            let call = async || match tries.fetch_add(1, Ordering::Relaxed) {
                0 => std::future::pending().await,
                1 => Err(Fail::msg("down")),
                _ => Ok("up".to_owned()),
            };
            let text: String = ctx.step(step, call).await?;
            Ok(text)
        }
    })
}

#[tokio::test]
async fn time_outs_and_retries_wait_for_the_test() {
    let world = World::new(TestClock::new());
    let run = world.process(flaky()).run("ana", "s1", "go").output::<String>();
    let advance = async {
        // The time-out of the first attempt, the pause after it, and the pause after the second attempt. Each attempt has a time-out.
        let mut passed = Vec::new();
        for _ in 0..3 {
            passed.push(world.clock.advance_to_next_sleep().await.as_secs());
        }
        passed
    };
    let (output, passed) = join(run, advance).await;
    assert_eq!((output.unwrap().as_str(), passed), ("up", vec![30, 10, 20]));
    assert_eq!(world.clock.sleeping(), 0);
    assert_eq!(world.clock.time(), UNIX_EPOCH + Duration::from_secs(1_800_000_060));
}

#[tokio::test(start_paused = true)]
async fn a_running_clock_follows_paused_time() {
    let world = World::new(TestClock::running());
    let output: String = world.process(flaky()).run("ana", "s1", "go").output().await.unwrap();
    assert_eq!(output, "up");
    let passed = world.clock.time().duration_since(UNIX_EPOCH).unwrap() - Duration::from_secs(1_800_000_000);
    assert_eq!(passed.as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn paused_time_does_not_advance_while_a_database_works() {
    let folder = tempfile::tempdir().unwrap();
    let held = HeldTime::new();
    let file = pleach::connect(&format!("sqlite:{}", folder.path().join("s.db").display())).await.unwrap();
    drop(held);
    let clock = TestClock::running();
    let sessions = FaultySessions::new(file, FaultPlan::new().holds_time());
    let runner = Runner::builder("t").root(alone(async |_: Context, text: String| Ok(text)));
    let runner = runner.sessions(sessions).clock(clock.clone()).build().unwrap();
    // A time-out that must not fire.
    let timeout = tokio::time::sleep(Duration::from_millis(1));
    let output = tokio::select! {
        biased;
        output = runner.run("ana", "s1", "go").output::<String>() => output.unwrap(),
        () = timeout => "too late".to_owned(),
    };
    assert_eq!((output.as_str(), clock.now()), ("go", 1_800_000_000.0));
}

fn sleeper() -> Workflow {
    alone(async |ctx: Context, _: String| {
        for _ in 0..3 {
            ctx.sleep(HOUR).await?;
        }
        Ok("awake")
    })
}

#[tokio::test]
async fn a_sleep_of_one_process_ends_in_another_that_shares_the_clock() {
    let world = World::new(TestClock::new());
    let first = world.process(sleeper());
    assert!(matches!(first.run("ana", "s1", "go").output::<String>().await, Err(RunError::Waiting(_))));
    drop(first);
    world.clock.advance(HOUR).await;
    let second = world.process(sleeper());
    second.start_timers();
    for _ in 0..5 {
        world.clock.advance(HOUR).await;
    }
    assert_eq!(world.last().await, "shop@1/order@1 (shop): gives \"awake\"");
}

#[tokio::test(start_paused = true)]
async fn sleeps_end_by_themselves_by_a_running_clock() {
    let world = World::new(TestClock::running());
    let runner = world.process(sleeper());
    assert!(matches!(runner.run("ana", "s1", "go").output::<String>().await, Err(RunError::Waiting(_))));
    tokio::time::sleep(4 * HOUR).await;
    assert_eq!(world.last().await, "shop@1/order@1 (shop): gives \"awake\"");
}

#[tokio::test]
async fn two_runners_share_ids() {
    let world = World::new(TestClock::new());
    let echo = || alone(async |_: Context, text: String| Ok(text));
    let (one, other) = (world.process(echo()), world.process(echo()));
    one.run("ana", "s1", "a").output::<String>().await.unwrap();
    other.run("ana", "s1", "b").output::<String>().await.unwrap();
    let key = SessionKey::new("t", "ana", "s1");
    let session = world.sessions.get_session(&key, Default::default()).await.unwrap().unwrap();
    let ids: Vec<String> = session.events.iter().map(|event| event.id().to_string()).collect();
    assert!(ids.iter().all(|id| id.starts_with("00000000-0000-4000-8000-0000000000")), "{ids:?}");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
}

#[tokio::test]
async fn sleeps_wake_in_the_order_of_their_times_each_at_its_own() {
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
    let clock = TestClock::starting_at(start);
    let woken = Arc::new(std::sync::Mutex::new(Vec::new()));
    for seconds in [5_u64, 1, 3, 9] {
        let (clock, woken) = (clock.clone(), Arc::clone(&woken));
        tokio::spawn(async move {
            clock.sleep(Duration::from_secs(seconds)).await;
            woken.lock().unwrap().push(clock.now());
        });
    }
    tokio::task::yield_now().await;
    assert_eq!(clock.sleeping(), 4);
    clock.advance(Duration::from_secs(5)).await;
    assert_eq!((*woken.lock().unwrap()).as_slice(), [101.0, 103.0, 105.0]);
    assert_eq!((clock.sleeping(), clock.now()), (1, 105.0));
    // A dropped sleep is removed, and zero time needs no sleep.
    drop(clock.sleep(HOUR));
    clock.sleep(Duration::ZERO).await;
    assert_eq!(clock.sleeping(), 1);
    clock.advance(Duration::MAX / 4).await;
    assert_eq!((woken.lock().unwrap().len(), clock.sleeping()), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn endless_sleeps_and_durations_are_no_mistake() {
    for clock in [TestClock::new(), TestClock::running()] {
        let endless = tokio::spawn(clock.sleep(Duration::MAX));
        let sleep = tokio::spawn(clock.sleep(Duration::from_secs(60)));
        tokio::task::yield_now().await;
        assert_eq!(clock.advance_to_next_sleep().await, Duration::from_secs(60));
        clock.advance(Duration::MAX).await;
        clock.advance(Duration::MAX).await;
        assert!(sleep.is_finished() && !endless.is_finished());
        assert!(clock.time() > UNIX_EPOCH);
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_runs_while_a_future_runs() {
    let clock = TestClock::new();
    let sleep = clock.sleep(Duration::from_secs(90));
    clock.run(sleep).await;
    assert_eq!(clock.now(), 1_800_000_090.0);
    // A future that ends at once takes no time.
    assert_eq!(clock.run(async { 7 }).await, 7);
    assert_eq!(clock.now(), 1_800_000_090.0);
}

#[tokio::test(start_paused = true)]
async fn a_drain_ends_while_the_clock_runs() {
    let world = World::new(TestClock::new());
    let runner = world.process(alone(async |_: Context, _: String| {
        std::future::pending::<()>().await;
        Ok(())
    }));
    let mut run = runner.run("ana", "s1", "go");
    let reads = tokio::spawn(async move { while run.next().await.is_some() {} });
    tokio::task::yield_now().await;
    let drained = world.clock.run(runner.drain(Duration::from_secs(30))).await;
    assert_eq!(drained.runs.len(), 1);
    reads.await.unwrap();
}
