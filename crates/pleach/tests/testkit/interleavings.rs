//! Races in an order that a seed chooses.

use std::collections::BTreeSet;
use std::sync::Arc;

use pleach::prelude::*;
use pleach::testkit::{CountedIds, FaultPlan, FaultySessions, SeededYields, TestClock, Trace, each_seed, interleave};
use pleach::{InMemorySessionService, JoinNode, SessionKey};

use crate::support::alone;

/// A workflow that asks and returns the answer.
fn asks() -> Workflow {
    alone(async |ctx: Context, _: String| {
        let answer: String = ctx.ask("who", "Who?").await?;
        Ok(answer)
    })
}

/// Lets two processes over one store answer one question at the same time with different answers. Returns the log and both ends.
async fn race(seed: u64) -> (String, Vec<String>) {
    let store = Arc::new(InMemorySessionService::new());
    let (clock, ids) = (TestClock::new(), CountedIds::new());
    let process = |number: u64| {
        let plan = FaultPlan::new().seed(seed.wrapping_mul(2).wrapping_add(number)).yields(3);
        let builder = Runner::builder("t").root(asks()).sessions(FaultySessions::new(Arc::clone(&store), plan));
        builder.clock(clock.clone()).ids(ids.clone()).build().unwrap()
    };
    let (one, other) = (process(0), process(1));
    assert!(matches!(one.run("ana", "s1", "go").output::<String>().await, Err(RunError::Waiting(_))));
    let answers = [(&one, "ana"), (&other, "ben")];
    let answers = answers.map(|(runner, who)| runner.answer("s1", "who", who).unwrap().output::<String>());
    let ends = interleave(seed, answers).await;
    let ends = ends.into_iter().map(|end| end.unwrap_or_else(|error| error.code().to_owned())).collect();
    let trace = Trace::of_session(&*store, &SessionKey::new("t", "ana", "s1")).await.unwrap();
    (trace.to_string(), ends)
}

#[tokio::test]
async fn equal_seeds_race_equally_and_others_otherwise() {
    let seen = std::cell::RefCell::new(BTreeSet::new());
    each_seed(64, async |seed| {
        let (trace, ends) = race(seed).await;
        assert_eq!(race(seed).await, (trace.clone(), ends.clone()));
        let gives = trace.matches("gives").count();
        assert_eq!(gives, 1, "seed {seed}: {trace}");
        let won = ends.iter().filter(|end| ["ana", "ben"].contains(&end.as_str())).count();
        assert!(won >= 1, "seed {seed}: {ends:?}");
        seen.borrow_mut().insert(ends);
    })
    .await;
    assert!(seen.borrow().len() > 2, "{seen:?}");
}

#[tokio::test]
async fn everything_that_is_raced_ends_and_keeps_its_place() {
    each_seed(20, async |seed| {
        let (tx, rx) = tokio::sync::oneshot::channel();
        let waits: std::pin::Pin<Box<dyn Future<Output = u32>>> = Box::pin(async { rx.await.unwrap() });
        let sends: std::pin::Pin<Box<dyn Future<Output = u32>>> = Box::pin(async {
            tokio::time::sleep(std::time::Duration::ZERO).await;
            tx.send(1).unwrap();
            2
        });
        assert_eq!(interleave(seed, [waits, sends]).await, [1, 2]);
    })
    .await;
    assert!(interleave(1, std::iter::empty::<std::future::Ready<()>>()).await.is_empty());
}

#[tokio::test]
async fn random_faults_are_determined_by_their_seed() {
    let errors = async |seed| {
        let plan = FaultPlan::new().seed(seed).rates(0.1, 0.1);
        let sessions = FaultySessions::new(InMemorySessionService::new(), plan);
        let runner = Runner::builder("t").root(asks()).sessions(sessions.clone()).ids(CountedIds::new());
        let runner = runner.clock(TestClock::new()).build().unwrap();
        let mut errors = Vec::new();
        for number in 0..20 {
            let run = runner.run("ana", format!("s{number}"), "go").output::<String>().await;
            errors.push(run.unwrap_err().code().to_owned());
        }
        assert!(sessions.faults() > 0);
        errors
    };
    let first = errors(1).await;
    assert_eq!(first, errors(1).await);
    assert_ne!(first, errors(2).await);
    let kinds: BTreeSet<_> = first.into_iter().collect();
    assert_eq!(kinds.len(), 2, "waiting, or the storage was not available: {kinds:?}");
}

#[tokio::test]
async fn lanes_of_one_run_end_in_the_order_of_a_seed() {
    let order = async |seed| {
        let mut wf = Workflow::builder("wf");
        let lanes = ["a", "b", "c"].map(|name| wf.node(name, async || 1));
        let join = wf.add(JoinNode::new("join"));
        wf.edge(START, lanes);
        for lane in lanes {
            wf.edge(lane, join);
        }
        let store = Arc::new(InMemorySessionService::new());
        let builder = Runner::builder("t").root(wf.build().unwrap()).sessions(Arc::clone(&store));
        let runner = builder.plugin(SeededYields::new(seed, 5)).build().unwrap();
        let joined: serde_json::Value = runner.run("ana", "s1", "go").output().await.unwrap();
        assert_eq!(joined, serde_json::json!({"a": 1, "b": 1, "c": 1}));
        let trace = Trace::of_session(&*store, &SessionKey::new("t", "ana", "s1")).await.unwrap();
        trace.entries().iter().map(|entry| entry.path.clone()).collect::<Vec<_>>()
    };
    let seen = std::cell::RefCell::new(BTreeSet::new());
    each_seed(50, async |seed| {
        let first = order(seed).await;
        assert_eq!(first, order(seed).await);
        seen.borrow_mut().insert(first);
    })
    .await;
    assert_eq!(seen.borrow().len(), 6, "every order of three lanes");
}
