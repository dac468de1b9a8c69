//! Tests of processes that are killed in the middle of a fork, a rewind, work on the thread pool, queued messages or a
//! retry pause, and of the deadlines that killed processes leave.

use std::sync::Arc;
use std::time::Duration;

use pleach::prelude::*;
use pleach::testkit::{FaultPlan, FaultySessions, Operation};
use pleach::{
    Clock as _, Event, FollowOptions, ListUnfinished, RunProgress, Session, SessionError, SessionKey, SystemClock,
    effective_events,
};
use pleach_tests::dice::Dice;
use pleach_tests::runs::{
    MESSAGES, chain, charge, compute, computed, continue_run, patient, process, say, session, talk,
};
use serde_json::{Value, json};

use crate::database::{Backend, Database};
use crate::talker::Talker;

const KILLS: usize = 12;
const SEED: u64 = 20_261_125;

/// Starts the program that works on the session.
fn worker(database: &Database, job: &[&str]) -> Talker {
    let url = database.url();
    Talker::start(env!("CARGO_BIN_EXE_cut-worker"), [url.as_str()].into_iter().chain(job.iter().copied()))
}

/// Waits for a random time by counting.
fn dawdle(dice: &mut Dice, most: usize) {
    (0..dice.below(most)).for_each(|_| std::thread::yield_now());
}

async fn load(runner: &Runner, id: &str) -> Option<Session> {
    let key = SessionKey::new("t", "ana", id);
    runner.sessions().get_session(&key, Default::default()).await.unwrap()
}

fn ids(session: &Session) -> Vec<String> {
    session.events.iter().map(|event| event.id().to_string()).collect()
}

/// The outputs of a node in the effective events, in their order.
fn outputs(events: &[Arc<Event>], path: &str) -> Vec<Value> {
    let counts = effective_events(events);
    let own = counts.iter().filter(|event| event.path().as_str() == path);
    own.filter_map(|event| event.output().cloned()).collect()
}

/// A process is killed in the middle of a fork. The source is unchanged, the partial copy rests, and a fork with a new
/// id is whole.
pub(crate) async fn a_fork_that_is_killed_leaves_the_source_and_rests(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let runner = process(&database.url(), talk().unwrap()).await.unwrap();
    let mut run = runner.run("ana", "s1", "go");
    while let Some(event) = run.next().await {
        event.unwrap();
    }
    let source = load(&runner, "s1").await.unwrap();
    assert!(source.events.len() > MESSAGES);
    runner.close().await.unwrap();
    let (mut dice, mut partial) = (Dice::new(SEED), 0);
    for kill in 0..KILLS {
        let copy = format!("copy{kill}");
        // The observer is opened before the fork begins, because opening takes longer than the fork.
        let observer = process(&database.url(), talk().unwrap()).await.unwrap();
        let mut forking = worker(&database, &["fork", &copy]);
        assert_eq!(forking.hear(), "begun");
        let events = dice.below(MESSAGES * 2 / 3);
        while load(&observer, &copy).await.is_none_or(|copy| copy.events.len() < events) {
            assert!(forking.is_alive(), "a fork ended early");
        }
        observer.close().await.unwrap();
        forking.kill();
        database.settle().await;

        let runner = process(&database.url(), talk().unwrap()).await.unwrap();
        assert_eq!(load(&runner, "s1").await.unwrap(), source, "the source is unchanged");
        let left = load(&runner, &copy).await.unwrap();
        partial += usize::from(!left.events.is_empty() && left.events.len() < source.events.len());
        assert_eq!(ids(&left), ids(&source)[..left.events.len()]);
        let status = runner.status(("ana", copy.as_str())).await.unwrap();
        let rests = status.forked_from == Some("s1".into()) || matches!(status.progress, RunProgress::New);
        assert!(rests, "kill {kill}: {} events: {status:?}", left.events.len());
        let last = source.events.last().unwrap().id().clone();
        let again = runner.fork("ana", "s1", last, Some(copy.as_str().into())).await.unwrap_err();
        assert!(matches!(again, RunError::Session(SessionError::AlreadyExists(_))), "{again}");
        runner.close().await.unwrap();
    }
    let runner = process(&database.url(), talk().unwrap()).await.unwrap();
    assert!(partial > 0, "no fork was killed in the middle");
    // A recovery loop ignores all partial copies.
    let unfinished = runner.unfinished(ListUnfinished::new()).await.unwrap();
    assert!(unfinished.items.is_empty(), "{:?}", unfinished.items);

    let forked = worker(&database, &["fork", "whole"]).finish();
    assert_eq!(forked, ["begun", "done"]);
    let whole = load(&runner, "whole").await.unwrap();
    assert_eq!((ids(&whole), &whole.state), (ids(&source), &source.state));
    let answered = runner.answer(("ana", "whole"), "q", "new").unwrap().output::<String>().await.unwrap();
    assert_eq!(answered, "new");
    assert_eq!(load(&runner, "s1").await.unwrap(), source);
    runner.close().await.unwrap();
}

/// A rewind is stored whole or not at all. After it, the run continues from the effective events.
pub(crate) async fn a_rewind_that_is_killed_is_whole_or_absent(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let runner = process(&database.url(), chain().unwrap()).await.unwrap();
    assert_eq!(runner.run("ana", "s1", "go").output::<u32>().await.unwrap(), 42);
    runner.close().await.unwrap();
    let (mut dice, mut rewinds) = (Dice::new(SEED), 0);
    for kill in 0..KILLS {
        let mut rewinding = worker(&database, &["rewind"]);
        let lines = (0..1 + dice.below(8)).map(|_| rewinding.hear()).collect::<Vec<_>>();
        dawdle(&mut dice, 20_000);
        let heard = lines.into_iter().chain(rewinding.kill());
        rewinds += heard.filter(|line| line == "rewound").count();
        database.settle().await;

        let runner = process(&database.url(), chain().unwrap()).await.unwrap();
        let left = load(&runner, "s1").await.unwrap();
        let before = left.state.get("middle").is_some_and(|middle| *middle == json!(true));
        assert_eq!(before, !outputs(&left.events, "wf@1/middle@1").is_empty(), "kill {kill}: state and events agree");
        continue_run(&runner).await.unwrap();
        let whole = load(&runner, "s1").await.unwrap();
        for (node, output) in [("first", 1), ("middle", 2), ("last", 42)] {
            let counts = outputs(&whole.events, &format!("wf@1/{node}@1"));
            assert_eq!(counts, [json!(output)], "kill {kill}: {node} has one effective output");
            assert_eq!(whole.state[node], json!(true), "kill {kill}");
        }
        let first = whole.events.iter().filter(|event| event.path().as_str() == "wf@1/first@1");
        assert_eq!(first.filter(|event| event.output().is_some()).count(), 1, "earlier nodes do not run again");
        assert!(matches!(runner.status(session()).await.unwrap().progress, RunProgress::Done), "kill {kill}");
        runner.close().await.unwrap();
    }
    let runner = process(&database.url(), chain().unwrap()).await.unwrap();
    let stored = load(&runner, "s1").await.unwrap().events;
    let stored = stored.iter().filter(|event| event.actions().rewind_before_invocation_id().is_some()).count();
    assert!((rewinds..=rewinds + KILLS).contains(&stored), "{rewinds} of {stored} rewinds were acknowledged");
    runner.close().await.unwrap();
}

/// The result of work on the thread pool is stored once, whenever the process is killed.
pub(crate) async fn work_on_the_pool_outlives_kills(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let mut dice = Dice::new(SEED);
    for _ in 0..KILLS {
        let mut computing = worker(&database, &["compute"]);
        assert_eq!(computing.hear(), "begun");
        dawdle(&mut dice, 15_000);
        computing.kill();
        database.settle().await;
    }
    assert_eq!(worker(&database, &["compute"]).finish(), ["begun", "done"]);
    let runner = process(&database.url(), compute().unwrap()).await.unwrap();
    let events = load(&runner, "s1").await.unwrap().events;
    assert_eq!(outputs(&events, "wf@1/sum@1"), [computed(7)]);
    assert_eq!(outputs(&events, "wf@1/parse@1").len(), 1);
    let mut steps: Vec<&str> =
        events.iter().filter(|event| event.output().is_some()).map(|event| event.path().as_str()).collect();
    let stored = steps.len();
    steps.sort_unstable();
    steps.dedup();
    assert_eq!(steps.len(), stored, "each step is stored once");
    runner.close().await.unwrap();
}

/// If a queued message has begun, it is stored whole and in order. All other queued messages are lost with their
/// process.
pub(crate) async fn queued_messages_are_stored_in_order_or_lost_with_their_process(backend: Backend) {
    const LAST: usize = 60;
    let Some(database) = backend.database().await else { return };
    let (mut dice, mut next) = (Dice::new(SEED), 1);
    let said = async || -> Vec<String> {
        let runner = process(&database.url(), say().unwrap()).await.unwrap();
        let session = load(&runner, "s1").await;
        runner.close().await.unwrap();
        let Some(session) = session else { return Vec::new() };
        session.events.iter().filter(|event| event.is_from_user()).map(|event| event.text().to_string()).collect()
    };
    for kill in 0..KILLS {
        let mut queueing = worker(&database, &["queue", &next.to_string(), &(next + 9).to_string()]);
        assert_eq!(queueing.hear(), "begun");
        let heard = (0..dice.below(5)).map(|_| queueing.hear()).collect::<Vec<_>>();
        dawdle(&mut dice, 4_000);
        let heard: Vec<String> = heard.into_iter().chain(queueing.kill()).filter(|line| line != "done").collect();
        database.settle().await;
        let stored = said().await;
        let expected: Vec<String> = (1..=stored.len()).map(|number| number.to_string()).collect();
        assert_eq!(stored, expected, "kill {kill}: in order, without a gap");
        assert!(stored.len() + 1 >= next + heard.len(), "kill {kill}: {heard:?} had begun, {stored:?} are stored");
        // Messages that waited when the process was killed are lost and sent again.
        next = stored.len() + 1;
    }
    let last = next.max(LAST);
    worker(&database, &["queue", &next.to_string(), &last.to_string()]).finish();
    let runner = process(&database.url(), say().unwrap()).await.unwrap();
    let events = load(&runner, "s1").await.unwrap().events;
    let all: Vec<String> = (1..=last).map(|number| number.to_string()).collect();
    assert_eq!(said().await, all);
    let answered: Vec<String> =
        outputs(&events, "wf@1/say@1").iter().map(|output| output.as_str().unwrap().to_owned()).collect();
    assert_eq!(answered, all, "each message has run to its end, once and in order");
    runner.close().await.unwrap();
}

/// A process that is killed between two attempts leaves an unfinished run, which recovery continues with the same idempotency key.
pub(crate) async fn a_run_that_is_killed_between_two_attempts_is_resumed(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let mut charging = worker(&database, &["charge"]);
    let key = charging.hear();
    assert_eq!(charging.hear(), "Exception");
    charging.kill();
    database.settle().await;
    let runner = process(&database.url(), charge(true).unwrap()).await.unwrap();
    let resumed = runner.resume_unfinished(ListUnfinished::new()).await.unwrap();
    assert_eq!(resumed.len(), 1);
    for run in resumed {
        assert_eq!(run.output::<String>().await.unwrap(), key);
    }
    let events = load(&runner, "s1").await.unwrap().events;
    assert_eq!(outputs(&events, "wf@1/charge@1/pay@step-1"), [json!(key)]);
    assert!(runner.resume_unfinished(ListUnfinished::new()).await.unwrap().is_empty());
    runner.close().await.unwrap();
}

/// A process is killed after it has asked a question. The search that runs every second finds the question, not the
/// listing of all questions.
pub(crate) async fn a_deadline_of_a_killed_process_is_found_without_a_listing(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    // Only the listing at the start succeeds.
    let plan = FaultPlan::new().fail_from(Operation::ListQuestions, 2);
    let sessions = FaultySessions::new(database.open().await, plan);
    let alive = Runner::builder("t").root(patient().unwrap()).sessions(sessions).build().unwrap();
    alive.start_timers();
    let mut late = Vec::new();
    for id in ["s1", "s2", "s3"] {
        let mut asking = worker(&database, &["ask", id]);
        assert_eq!(asking.hear(), "asked");
        asking.kill();
        let deadline = alive.questions(("ana", id)).await.unwrap()[0].deadline.unwrap();
        let options = FollowOptions::new().across_pauses(true).poll_interval(Duration::from_millis(20));
        let mut events = alive.follow_with(("ana", id), options).await.unwrap();
        let output = loop {
            let event = events.next().await.unwrap().unwrap();
            if let (Some(output), "wf@1/wait@1") = (event.output(), event.path().as_str()) {
                break output.clone();
            }
        };
        assert_eq!(output, json!([null]));
        late.push(SystemClock.now() - deadline);
        let answers = load(&alive, id).await.unwrap().events;
        assert_eq!(answers.iter().flat_map(|event| event.function_responses()).count(), 1);
    }
    eprintln!("{backend:?}: {late:.3?} seconds late");
    alive.close().await.unwrap();
}
