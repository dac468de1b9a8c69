//! Several services on one database, as in several processes.

use futures_util::future::{join, join_all};
use pleach_contract::sessions::{created, event, ids, loaded};
use pleach_session::{SessionError, SessionService as _, SessionServiceExt as _};
use serde_json::json;

use super::{Database, is_pending, key};

/// Both statements pass the fence in their own snapshot and wait for the row. Their events have the session's own time,
/// so the second append cannot detect the first one by the time alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s35_of_two_that_wait_for_the_row_one_is_stale_also_at_the_same_time() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    for (round, time) in [0.0, 1.0].into_iter().enumerate() {
        let key = key(&format!("s{round}"));
        let session = created(&service, &key, json!({})).await;
        let mut other = database.raw().await;
        sqlx::raw_sql("BEGIN; SELECT 1 FROM sessions FOR UPDATE").execute(&mut other).await.unwrap();
        let appends = join_all((0..2).map(|writer| {
            let (mut head, service) = (session.head.clone(), &service);
            async move { service.append(&mut head, event(&format!("e{writer}"), time).into()).await }
        }));
        let release = async {
            database.until_waiting(2).await;
            sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
        };
        let (outcomes, ()) = join(appends, release).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
        assert!(outcomes.into_iter().filter_map(Result::err).all(|error| error.is_stale()));
        assert_eq!(loaded(&service, &key).await.events.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_that_waits_for_a_delete_finds_nothing() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    let mut other = database.raw().await;
    sqlx::raw_sql("BEGIN; DELETE FROM sessions").execute(&mut other).await.unwrap();
    let append = service.append_event(&mut session, event("e1", 1.0).with_state("app:k", 1));
    let release = async {
        database.until_waiting(1).await;
        sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    };
    let (outcome, ()) = join(append, release).await;
    assert!(matches!(outcome.unwrap_err(), SessionError::NotFound(_)));
    assert_eq!(database.texts("SELECT state::text FROM app_states").await, ["{}"]);
}

/// A load waits for the writes of callers that have gone away. So a client that disconnects and comes back at once
/// finds the writes that were in progress.
#[tokio::test]
async fn a_load_does_not_overtake_the_append_of_a_caller_that_went_away() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    for round in 1..=20_u32 {
        let mut append = service.append(&mut session.head, event(&format!("e{round}"), f64::from(round)).into());
        let started = is_pending(&mut append).await;
        drop(append);
        assert!(started, "the server is another process");
        session = loaded(&service, &key("s")).await;
        assert_eq!(ids(&session).len(), round as usize);
    }
}
