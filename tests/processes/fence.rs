//! Two invocations on one session in two processes. One continues, and the other one gets an error. Of the other
//! invocation only whole events are stored, and it can be resumed. Each process is a Runner with its own connections.
// R1115

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use pleach::prelude::*;
use pleach::{Hook, InvocationContext, Plugin, RunRequest, Session, SessionError, SessionKey, SessionService};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::database::{Backend, Database};

const STEPS: i64 = 5;

/// A workflow whose nodes count themselves in `n` and store the last invocation in the user's state.
fn steps() -> Workflow<Dynamic, i64> {
    let mut wf = Workflow::builder("wf");
    let step = |number: i64| {
        FunctionNode::new(format!("step{number}"), move |ctx: Context, Input(_): Input<Dynamic>| async move {
            let n = ctx.state().value("n").and_then(|n| n.as_i64()).unwrap_or_default() + 1;
            let id = ctx.invocation().invocation_id().to_string();
            Output::of(number).state("n", n).state("user:last", id)
        })
    };
    let mut last = wf.add(step(1));
    wf.edge(START, last);
    for number in 2..=STEPS {
        let next = wf.add(step(number));
        wf.edge(last, next.dynamic());
        last = next;
    }
    wf.build_to(last).unwrap()
}

/// Gates at which a test can stop messages, between the load of the session and the append.
#[derive(Debug)]
struct MessageGates {
    arrived: Semaphore,
    gate: Semaphore,
}

impl MessageGates {
    fn with(permits: usize) -> Arc<Self> {
        Arc::new(Self { arrived: Semaphore::new(0), gate: Semaphore::new(permits) })
    }
}

/// The plugin that holds messages at the gates.
#[derive(Debug)]
struct GatePlugin(Arc<MessageGates>);

impl Plugin for GatePlugin {
    fn name(&self) -> &str {
        "hold"
    }

    fn on_user_message<'a>(&'a self, _: &'a InvocationContext, _: &'a Content) -> Hook<'a, Option<Content>> {
        Some(Box::pin(async {
            self.0.arrived.add_permits(1);
            drop(self.0.gate.acquire().await?);
            Ok(None)
        }))
    }
}

async fn process(database: &Database, hold: &Arc<MessageGates>) -> (Runner, Arc<dyn SessionService>) {
    let sessions = database.open().await;
    let runner =
        Runner::builder("t").root(steps()).sessions(Arc::clone(&sessions)).plugin(GatePlugin(Arc::clone(hold)));
    (runner.build().unwrap(), sessions)
}

fn open() -> Arc<MessageGates> {
    MessageGates::with(1)
}

fn key() -> SessionKey {
    SessionKey::new("t", "ana", "s1")
}

async fn load(sessions: &dyn SessionService) -> Session {
    sessions.get_session(&key(), Default::default()).await.unwrap().unwrap()
}

fn check_stale(error: &RunError) {
    assert!(matches!(error, RunError::Session(SessionError::Stale { key: stale, .. }) if *stale == key()), "{error:?}");
    assert_eq!(
        error.to_string(),
        "another writer changed session t/ana/s1 at the same time. Resume the invocation, or send the message again"
    );
}

/// Both processes have loaded the session. The second message is refused together with its state.
pub(crate) async fn r1115_a_message_that_comes_second_is_not_stored(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let hold = MessageGates::with(0);
    let (winner, sessions) = process(&database, &open()).await;
    let (loser, _) = process(&database, &hold).await;
    winner.run("ana", "s1", "first").output::<i64>().await.unwrap();
    let delta = json!({"x": 1, "user:x": 1, "app:x": 1}).as_object().unwrap().clone();
    let request = RunRequest::new(("ana", "s1")).message("two").state_delta(delta).invocation_id("lost");
    let mut run = loser.start(request);
    let lost = tokio::spawn(async move { run.next().await.unwrap().unwrap_err() });
    drop(hold.arrived.acquire().await);
    winner.run("ana", "s1", "one").output::<i64>().await.unwrap();
    let before = load(&*sessions).await;
    hold.gate.add_permits(1);
    check_stale(&lost.await.unwrap());
    let after = load(&*sessions).await;
    assert_eq!((after.events.len(), &after.state), (before.events.len(), &before.state));
    // If the message is sent again, it is stored like any other.
    assert_eq!(loser.run("ana", "s1", "two").output::<i64>().await.unwrap(), STEPS);
}

/// The second message takes the session away from a run that is in progress. The events of that run stay, and the run
/// can be resumed.
pub(crate) async fn r1115_r1025_a_run_that_loses_in_the_middle_can_be_resumed(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let (loser, sessions) = process(&database, &open()).await;
    let (winner, _) = process(&database, &open()).await;
    let mut run = loser.start(RunRequest::new(("ana", "s1")).message("one").invocation_id("lost"));
    run.next().await.unwrap().unwrap();
    assert_eq!(winner.run("ana", "s1", "two").output::<i64>().await.unwrap(), STEPS);
    check_stale(&run.next().await.unwrap().unwrap_err());
    assert!(run.next().await.is_none());
    assert_eq!(load(&*sessions).await.state["n"], json!(1 + STEPS));
    assert_eq!(winner.resume("ana", "s1", "lost").output::<i64>().await.unwrap(), STEPS);
    let stored = load(&*sessions).await;
    assert_eq!((stored.events.len(), &stored.state["n"]), (12, &json!(2 * STEPS)));
    assert_eq!(stored.state["user:last"], json!("lost"));
}

/// Many invocations run at once, again and again. If an invocation succeeded, all its events are stored. Otherwise its
/// first events are stored, without gaps.
pub(crate) async fn r1115_each_of_many_simultaneous_runs_is_whole_or_gets_an_error(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let processes = join_all((0..4).map(|_| async { process(&database, &open()).await })).await;
    let tasks = processes.iter().enumerate().map(|(number, (runner, _))| {
        let runner = runner.clone();
        tokio::spawn(async move {
            let mut ended = Vec::new();
            for turn in 0..8 {
                let id = format!("p{number}-{turn}");
                let request = RunRequest::new(("ana", "s1")).message(id.as_str()).invocation_id(id.as_str());
                ended.push((id, runner.start(request).detach().output::<i64>().await));
            }
            ended
        })
    });
    let ended: BTreeMap<String, Result<i64, RunError>> =
        join_all(tasks).await.into_iter().flat_map(Result::unwrap).collect();
    let session = load(&*processes[0].1).await;
    let mut log: BTreeMap<String, Vec<Option<i64>>> = BTreeMap::new();
    for event in &session.events {
        let output = event.output().and_then(|output| output.as_i64());
        log.entry(event.invocation_id().to_string()).or_default().push(output);
    }
    let whole: Vec<Option<i64>> = std::iter::once(None).chain((1..=STEPS).map(Some)).collect();
    for (id, end) in &ended {
        let stored = log.remove(id).unwrap_or_default();
        assert!(whole.starts_with(&stored), "{id}: {stored:?}");
        match end {
            Ok(output) => assert_eq!((*output, &stored), (STEPS, &whole), "{id}"),
            Err(error) => {
                check_stale(error);
                assert!(stored.len() < whole.len(), "{id}");
            }
        }
    }
    assert!(log.is_empty(), "{log:?}");
    let counted = session.events.iter().filter(|event| event.output().is_some()).count();
    assert_eq!(session.state["n"], json!(counted));
}
