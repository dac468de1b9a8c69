//! Two processes that append to the same session.
// S35, S36

use pleach_tests::worker::{Job, OnStale, Report};

use crate::database::Backend;
use crate::process::{Worker, all_at_once};
use crate::stored::{End, check};

const APPENDS: usize = 100;
const KEYS: usize = 5;

fn two(url: &str, job: &Job) -> [Job; 2] {
    ["w0", "w1"].map(|writer| Job { url: url.to_owned(), writer: writer.to_owned(), ..job.clone() })
}

/// If the append of a worker is refused, the worker loads the session and tries again, until all events of both workers
/// are stored.
pub(crate) async fn s36_two_processes_write_one_session_by_loading_it_again(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let job = Job { appends: Some(APPENDS), keys: KEYS, on_stale: OnStale::Retry, ..Job::new("", "") };
    let reports = all_at_once(&two(&database.url(), &job));
    let stored = check(&database, KEYS, &reports, End::Good).await;
    assert_eq!(stored.sessions[0].events.len(), 2 * APPENDS);
}

/// If the append of a worker is refused, the worker drops the event. The id and the keys of that event must not be
/// found.
pub(crate) async fn s36_nothing_of_a_stale_append_is_stored(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let job = Job { appends: Some(APPENDS), keys: KEYS, on_stale: OnStale::Skip, ..Job::new("", "") };
    let reports = all_at_once(&two(&database.url(), &job));
    let stored = check(&database, KEYS, &reports, End::Good).await;
    let stale = reports.iter().flatten().filter(|report| matches!(report, Report::Stale(_))).count();
    assert_eq!(stored.sessions[0].events.len() + stale, 2 * APPENDS);
}

/// The processes append step by step, so the test knows which append is stale.
pub(crate) async fn s35_the_second_of_two_processes_that_loaded_the_same_revision_is_stale(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let job = Job { appends: Some(2), on_stale: OnStale::Retry, paced: true, ..Job::new("", "") };
    let mut workers = two(&database.url(), &job).map(|job| Worker::start(&job));
    for worker in &mut workers {
        worker.go();
        while *worker.hear() != Report::Ready {}
    }
    let mut append = |who: usize| {
        workers[who].go();
        matches!(workers[who].hear(), Report::Stored(_))
    };
    // Both have seen an empty session. Afterwards the refused process has seen the event of the other one.
    let answers = [0, 1, 1, 0, 0, 1, 1].map(&mut append);
    assert_eq!(answers, [true, false, true, false, true, false, true]);
    let reports = workers.map(Worker::finish);
    let stored = check(&database, 1, &reports, End::Good).await;
    let order: Vec<_> = stored.sessions[0].events.iter().map(|event| event.id().to_string()).collect();
    assert_eq!(order, ["w0/s0/0", "w1/s0/0", "w0/s0/1", "w1/s0/1"]);
}
