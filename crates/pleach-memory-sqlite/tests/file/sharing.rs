//! Several services on one file, and futures that are dropped.

use std::time::Duration;

use pleach_memory::{AddEvents, MemoryService as _};
use pleach_memory_sqlite::{SqliteMemoryOptions, SqliteMemoryService};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Executor as _, SqliteConnection};

use super::{Place, add, event, found};

async fn connect(place: &Place) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(place.path()).create_if_missing(true);
    options.connect().await.expect("connected")
}

#[tokio::test(flavor = "multi_thread")]
async fn s82_many_services_open_and_fill_a_new_file_at_once() {
    let place = Place::new();
    let tasks: Vec<_> = (0..6)
        .map(|writer| {
            let path = place.path();
            tokio::spawn(async move {
                let service = SqliteMemoryService::open(path).await.expect("a memory");
                for n in 0..10 {
                    add(&service, "s", vec![event(&format!("e{writer}-{n}"), 1.0, "tea")]).await;
                    assert!(!found(&service, "tea").await.is_empty());
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("done");
    }
    let options = SqliteMemoryOptions::new().with_max_results(100);
    let service = SqliteMemoryService::open_with(place.path(), options).await.expect("a memory");
    assert_eq!(found(&service, "tea").await.len(), 60);
}

#[tokio::test]
async fn s82_a_dropped_addition_is_stored_whole_or_not_at_all() {
    let place = Place::new();
    let service = place.open().await;
    let options = SqliteMemoryOptions::new().with_max_results(1000);
    let reader = SqliteMemoryService::open_with(place.path(), options).await.expect("a memory");
    for (round, micros) in (0..40).map(|round| (round, round * 120)) {
        let events = (0..20).map(|n| event(&format!("e{n}"), 1.0, &format!("word{round}"))).collect();
        let req = AddEvents::new("app", "u1", events).with_session(format!("s{round}"));
        let adding = tokio::time::timeout(Duration::from_micros(micros), service.add_events_to_memory(req));
        let ended = adding.await.is_ok();
        // The next addition waits until the dropped one has ended.
        add(&service, "other", vec![event("e", 1.0, "other")]).await;
        let stored = found(&reader, &format!("word{round}")).await.len();
        assert!(stored == 20 || (stored == 0 && !ended), "{stored} of 20 in round {round}");
    }
}

#[tokio::test]
async fn s82_a_locked_file_fails_after_the_busy_timeout_and_works_again() {
    let place = Place::new();
    let options = SqliteMemoryOptions::new().with_busy_timeout(Duration::from_millis(50));
    let service = SqliteMemoryService::open_with(place.path(), options).await.expect("a memory");
    let mut other = connect(&place).await;
    other.execute("BEGIN IMMEDIATE").await.expect("locked");
    let req = AddEvents::new("app", "u1", vec![event("e1", 1.0, "tea")]);
    let error = service.add_events_to_memory(req.clone()).await.expect_err("locked");
    assert_eq!(error.code(), "StorageLockedError");
    assert!(error.to_string().contains("memory.sqlite stayed locked"), "{error}");
    assert_eq!(found(&service, "tea").await, [""; 0]);
    other.execute("ROLLBACK").await.expect("free");
    service.add_events_to_memory(req).await.expect("remembered");
    assert_eq!(found(&service, "tea").await, ["e1"]);
}

#[tokio::test]
async fn s82_other_tables_in_the_file_are_left_alone() {
    let place = Place::new();
    let mut other = connect(&place).await;
    other.execute("CREATE TABLE sessions (id TEXT); INSERT INTO sessions VALUES ('s')").await.expect("made");
    let service = place.open().await;
    add(&service, "s", vec![event("e1", 1.0, "tea")]).await;
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM sessions").fetch_one(&mut other).await.expect("a count");
    assert_eq!(count, 1);
}

/// As `docs/deleting-data.md` says, the rows of a user can be deleted with SQL, and are then no longer found.
#[tokio::test]
async fn rows_that_sql_deletes_are_not_found_any_more() {
    let place = Place::new();
    let service = place.open().await;
    add(&service, "s", vec![event("e1", 1.0, "green tea"), event("e2", 2.0, "black tea")]).await;
    let other_user = AddEvents::new("app", "u2", vec![event("e3", 3.0, "white tea")]);
    service.add_events_to_memory(other_user).await.expect("remembered");
    assert_eq!(found(&service, "tea").await.len(), 2);
    let mut sql = connect(&place).await;
    sql.execute("DELETE FROM memory_events WHERE app_name = 'app' AND user_id = 'u1'").await.expect("deleted");
    assert_eq!(found(&service, "tea").await, [""; 0]);
    for left in ["green", "black", "white"] {
        let text = "SELECT count(*) FROM memory_events_fts WHERE memory_events_fts MATCH ?1";
        let count: i64 = sqlx::query_scalar(text).bind(left).fetch_one(&mut sql).await.expect("a count");
        assert_eq!(count, i64::from(left == "white"), "{left}");
    }
    sql.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").await.expect("cleaned");
    add(&service, "s", vec![event("e4", 4.0, "new tea")]).await;
    assert_eq!(found(&service, "tea").await, ["e4"]);
}
