//! Processes that append to separate sessions. They compete only for the state of the app and the user, and for the
//! file.
// S37

use pleach_tests::worker::Job;
use serde_json::Value;

use crate::database::Backend;
use crate::process::all_at_once;
use crate::stored::{End, Stored, check};

/// The number of repetitions. There are many, because a lost update shows up only now and then.
pub(crate) const REPETITIONS: usize = 20;

/// Eight processes each append 25 events to a session of their own, each event with a new key in all three scopes.
pub(crate) async fn s37_u4_no_key_of_eight_processes_is_lost(backend: Backend) {
    for _ in 0..REPETITIONS {
        let Some(database) = backend.database().await else { return };
        let jobs = eight_with_25_appends(&database.url());
        let reports = all_at_once(&jobs);
        check_200_keys(&check(&database, 25, &reports, End::Good).await);
    }
}

pub(crate) fn eight_with_25_appends(url: &str) -> Vec<Job> {
    let job =
        |writer: String| Job { prefix: format!("{writer}-"), appends: Some(25), keys: 25, ..Job::new(url, writer) };
    (0..8).map(|writer| job(format!("w{writer}"))).collect()
}

/// Checks that all 200 keys are stored, besides the keys from the creation of the sessions.
pub(crate) fn check_200_keys(stored: &Stored) {
    for prefix in ["app:w", "user:w", "w"] {
        let appended = |(key, value): &(&String, &Value)| {
            key.starts_with(prefix) && value.as_str().is_some_and(|id| id.contains('/'))
        };
        assert_eq!(stored.state.iter().filter(appended).count(), 200);
    }
}

/// Eight processes create five sessions each, each with a new key in all three scopes.
pub(crate) async fn s37_u4_no_key_of_sessions_created_at_once_is_lost(backend: Backend) {
    for _ in 0..REPETITIONS {
        let Some(database) = backend.database().await else { return };
        let job = |writer: String| Job {
            prefix: format!("{writer}-"),
            sessions: 5,
            appends: Some(0),
            ..Job::new(database.url(), writer)
        };
        let jobs: Vec<_> = (0..8).map(|writer| job(format!("w{writer}"))).collect();
        let stored = check(&database, 1, &all_at_once(&jobs), End::Good).await;
        assert_eq!((stored.sessions.len(), stored.state.len()), (40, 120));
    }
}

/// Four processes append 50 events to each of their 16 sessions, all at the same time.
pub(crate) async fn s36_64_sessions_of_four_processes_are_whole_and_in_order(backend: Backend) {
    let Some(database) = backend.database().await else { return };
    let job = |writer: String| Job {
        prefix: format!("{writer}-"),
        sessions: 16,
        appends: Some(50),
        ..Job::new(database.url(), writer)
    };
    let jobs: Vec<_> = (0..4).map(|writer| job(format!("w{writer}"))).collect();
    let stored = check(&database, 1, &all_at_once(&jobs), End::Good).await;
    assert_eq!(stored.sessions.len(), 64);
    assert!(stored.sessions.iter().all(|session| session.events.len() == 50));
}
