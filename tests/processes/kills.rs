//! Processes that are killed while they work: an append is stored whole or not at all.
// S34

use pleach_tests::dice::Dice;
use pleach_tests::worker::{Job, OnStale, Report};

use crate::database::Backend;
use crate::process::{Worker, all_at_once};
use crate::stored::{End, check};

const KILLS: usize = 100;
const KEYS: usize = 3;
const SEED: u64 = 20_251_009;

/// Waits for a random time by counting, at most about as long as an append takes.
fn dawdle(dice: &mut Dice) {
    for _ in 0..dice.below(4000) {
        std::thread::yield_now();
    }
}

/// One worker after the other is killed while it appends to one session, or to several sessions in shared transactions.
/// Each worker continues where the previous one was killed.
pub(crate) async fn s34_s66_6_killed_processes_lose_nothing_and_store_nothing_twice(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let mut dice = Dice::new(SEED);
    let mut reports = Vec::new();
    for kill in 0..KILLS {
        let job = Job {
            // Five workers in a row share sessions; then new sessions are created.
            prefix: format!("s{}-", kill / 5),
            sessions: [1, 4, 8][dice.below(3)],
            keys: KEYS,
            // The server may still be working on the last append of the worker before.
            on_stale: OnStale::Retry,
            ..Job::new(database.url(), format!("w{kill}"))
        };
        let mut worker = Worker::start(&job);
        worker.go();
        // One worker in eight is killed while it opens its sessions.
        let answers = if dice.below(8) == 0 { 0 } else { 1 + dice.below(30) };
        worker.hear();
        while answers > 0 && *worker.hear() != Report::Ready {}
        (0..answers).for_each(|_| {
            worker.hear();
        });
        dawdle(&mut dice);
        reports.push(worker.kill());
    }
    let stored = check(&database, KEYS, &reports, End::Killed).await;
    let answered = reports.iter().flatten().filter(|report| matches!(report, Report::Stored(_))).count();
    let events: usize = stored.sessions.iter().map(|session| session.events.len()).sum();
    eprintln!("{KILLS} kills, {answered} events acknowledged, {} more stored", events - answered);
}

/// Workers are killed at any moment after their start, even while they create the tables. The next workers must be able
/// to use the database.
pub(crate) async fn s60_s62_a_database_survives_kills_of_those_who_make_it(backend: Backend) {
    let mut dice = Dice::new(SEED);
    for attempt in 0..10 {
        let Some(database) = backend.database().await else { return };
        let job =
            |writer: &str, appends| Job { prefix: format!("{writer}-"), appends, ..Job::new(database.url(), writer) };
        let (endless, short) = (job("w0", None), job("w1", Some(1)));
        let mut killed = Worker::start(&endless);
        killed.go();
        (0..=attempt).for_each(|_| dawdle(&mut dice));
        let mut reports = vec![killed.kill()];
        reports.extend(all_at_once(&[short]));
        check(&database, 1, &reports, End::Killed).await;
    }
}
