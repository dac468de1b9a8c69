//! Sleeps, selects and signals of a run whose process is killed again and again.

use futures_util::future::join_all;
use pleach::prelude::*;
use pleach::{Event, RunError, SessionKey, SignalOptions, SignalOutcome};
use pleach_tests::dice::Dice;
use serde_json::{Value, json};

use crate::database::{Backend, Database};
use crate::talker::Talker;
use crate::waiting::{pause, process};

const KILLS: usize = 12;
const SEED: u64 = 20_261_123;

/// Starts the process that runs the session.
fn start(database: &Database) -> Talker {
    Talker::start(env!("CARGO_BIN_EXE_run-worker"), [database.url()])
}

async fn events(database: &Database) -> Vec<std::sync::Arc<Event>> {
    let sessions = database.open().await;
    let session = sessions.get_session(&SessionKey::new("t", "ana", "s1"), Default::default()).await.unwrap().unwrap();
    sessions.close().await.unwrap();
    session.events
}

/// Processes are killed at any time. Even so, each step is stored once, each question is answered once, and each signal
/// is taken once.
pub(crate) async fn waits_of_a_run_outlive_kills(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let mut dice = Dice::new(SEED);
    for kill in 0..KILLS {
        let mut worker = start(&database);
        // A sender repeats the signal until it knows that the signal is stored.
        worker.send("scan a 7");
        if kill % 3 == 0 {
            (0..dice.below(40_000)).for_each(|_| std::thread::yield_now());
        } else {
            assert!(["delivered", "kept", "repeated"].contains(&&*worker.hear()));
            (0..dice.below(20_000)).for_each(|_| std::thread::yield_now());
        }
        worker.kill();
        database.settle().await;
    }
    let mut last = start(&database);
    last.send("scan a 7");
    last.send("scan b 8");
    let heard: Vec<String> = (0..3).map(|_| last.hear()).collect();
    assert_eq!(heard[0], "repeated");
    assert_eq!(heard[2], r#"done [1,"late",2,7,8,null]"#, "{heard:?}");
    last.finish();

    let events = events(&database).await;
    let mut answered: Vec<&str> =
        events.iter().flat_map(|event| event.function_responses()).filter_map(|one| one.id.as_deref()).collect();
    let asked = answered.len();
    answered.sort_unstable();
    answered.dedup();
    assert_eq!(answered.len(), asked, "a question is answered once");
    for step in ["charge@step-1", "ship@step-1"] {
        let stored = events.iter().filter(|event| event.path().as_str().ends_with(step) && event.output().is_some());
        assert_eq!(stored.count(), 1, "{step}");
    }
}

/// A handler that selects the first of an answer, a signal and a time.
async fn first_of_three(ctx: Context) -> Result<Value> {
    let select = ctx.select().ask("ok", "Pay?", |yes: bool| json!({ "decided": yes }));
    let select = select.sleep(std::time::Duration::from_millis(50), || json!("late"));
    Ok(select.signal("cancel", |reason: String| json!({ "cancelled": reason })).await?)
}

/// One of an answer, a signal that several processes send, and a deadline is stored.
pub(crate) async fn one_branch_of_a_select_wins(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    pause(process(&database, first_of_three).await).await;
    let later = join_all((0..3).map(|_| process(&database, first_of_three))).await;
    let answer = async {
        let output = later[0].answer(("ana", "s1"), "ok", true).unwrap().output::<Value>().await;
        usize::from(output.is_ok())
    };
    let signals = later[1..].iter().map(async |runner| {
        let options = SignalOptions::new().idempotency_key("once");
        match runner.signal_with(("ana", "s1"), "cancel", "no", options).await {
            Ok(SignalOutcome::Delivered(run)) => usize::from(run.output::<Value>().await.is_ok()),
            Ok(SignalOutcome::Repeated) | Err(RunError::NoReceiver { .. } | RunError::Unfinished { .. }) => 0,
            other => panic!("{other:?}"),
        }
    });
    later[2].start_timers();
    let (answer, signals) = futures_util::join!(answer, join_all(signals));
    assert!(answer + signals.into_iter().sum::<usize>() <= 1);
    let answers = events(&database).await.iter().flat_map(|event| event.function_responses()).count();
    assert_eq!(answers, 1);
    for runner in later {
        runner.close().await.unwrap();
    }
}
