//! Heartbeats: the store shows on which sessions other processes work.

use std::sync::Arc;
use std::time::Duration;

use pleach::prelude::*;
use pleach::testkit::TestClock;
use pleach::{ListUnfinished, Run, RunError, RunProgress};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::database::{Backend, Database};

const PERIOD: Duration = Duration::from_secs(20);

/// A time that is a little longer than a period, because events of the same moment are microseconds apart.
const LONGER: Duration = Duration::from_secs(21);

/// A process whose node `wait` waits until the test lets it continue.
async fn process(database: &Database, clock: &TestClock, go: &Arc<Notify>) -> Runner {
    let go = Arc::clone(go);
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", async || "first");
    let wait = wf.node("wait", move || {
        let go = Arc::clone(&go);
        async move {
            go.notified().await;
            "done"
        }
    });
    wf.edge(START, first).edge(first, wait);
    let runner = Runner::builder("t").root(wf.build().unwrap()).sessions(database.open().await);
    runner.clock(clock.clone()).heartbeat(PERIOD).build().unwrap()
}

async fn progress(runner: &Runner) -> RunProgress {
    runner.status(("ana", "s1")).await.unwrap().progress
}

async fn unfinished(runner: &Runner) -> usize {
    runner.unfinished(ListUnfinished::new()).await.unwrap().items.len()
}

async fn updated(runner: &Runner) -> f64 {
    runner.status(("ana", "s1")).await.map_or(0.0, |status| status.last_update_time)
}

/// Waits until the session has changed since `before`.
async fn changed(runner: &Runner, before: f64) {
    while updated(runner).await == before {
        tokio::task::yield_now().await;
    }
}

/// Reads a run in a task. Ending the task ends the process.
fn work(mut run: Run) -> JoinHandle<Option<RunError>> {
    tokio::spawn(async move {
        while let Some(event) = run.next().await {
            if let Err(error) = event {
                return Some(error);
            }
        }
        None
    })
}

/// A process at work makes heartbeats, a killed process is noticed, and a process that has lost its session ends its
/// run.
pub(crate) async fn heartbeats_show_who_works(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let (clock, go) = (TestClock::new(), Arc::new(Notify::new()));
    let here = process(&database, &clock, &go).await;
    let there = process(&database, &clock, &go).await;
    let mut run = here.run("ana", "s1", "go");
    let invocation = loop {
        let event = run.next().await.unwrap().unwrap();
        if event.output().is_some() {
            break event.invocation_id().clone();
        }
    };
    let task = work(run);

    // The node stores nothing for ten periods.
    for _ in 0..10 {
        let before = there.status(("ana", "s1")).await.unwrap();
        assert!(matches!(before.progress, RunProgress::RunsElsewhere), "{:?}", before.progress);
        assert_eq!(unfinished(&there).await, 0);
        clock.advance(LONGER).await;
        changed(&there, before.last_update_time).await;
    }
    assert!(matches!(progress(&here).await, RunProgress::RunsHere));

    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    clock.advance(3 * LONGER).await;
    assert!(matches!(progress(&there).await, RunProgress::Unfinished));
    assert_eq!(unfinished(&there).await, 1);

    // An operator takes the session away from a process that works.
    let before = updated(&there).await;
    let task = work(here.resume("ana", "s1", invocation.clone()));
    changed(&there, before).await;
    let before = updated(&there).await;
    let taker = work(there.resume("ana", "s1", invocation));
    changed(&here, before).await;
    clock.advance(LONGER).await;
    let lost = task.await.unwrap().unwrap();
    assert!(matches!(&lost, RunError::Session(error) if error.is_stale()), "{lost}");
    go.notify_waiters();
    assert!(taker.await.unwrap().is_none());
    assert!(matches!(progress(&here).await, RunProgress::Done));
    for runner in [here, there] {
        runner.close().await.unwrap();
    }
}
