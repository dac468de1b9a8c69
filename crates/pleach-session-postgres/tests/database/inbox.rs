//! The tables of the inbox: when they are created, what is read, and how they change.

use std::time::Duration;

use futures_util::future::join;
use pleach_contract::sessions::{answers, asks, created, event, loaded};
use pleach_core::SessionKey;
use pleach_session::{GetSessionConfig, ListQuestions, SessionError, SessionService, SessionServiceExt as _};
use pleach_session_postgres::{PostgresOptions, PostgresSessionService};
use serde_json::json;
use sqlx::AssertSqlSafe;

use super::{Database, key};

async fn ours(database: &Database) -> Vec<String> {
    let schema = database.schema();
    database
        .texts(&format!(
            "SELECT relname::text FROM pg_class WHERE relnamespace = '{schema}'::regnamespace AND relname LIKE 'pleach%'
             AND relname NOT LIKE '%pkey' ORDER BY 1"
        ))
        .await
}

const ALL: [&str; 5] = [
    "pleach_events_5",
    "pleach_inbox_5",
    "pleach_questions_5",
    "pleach_questions_5_by_assignee",
    "pleach_questions_5_by_time",
];

async fn open(service: &dyn SessionService) -> Vec<String> {
    let found = service.list_questions(ListQuestions::new("app")).await.unwrap();
    found.items.into_iter().map(|item| item.question.id).collect()
}

async fn append(service: &dyn SessionService, key: &SessionKey, event: pleach_core::Event) {
    let mut session = loaded(service, key).await;
    service.append_event(&mut session, event).await.unwrap();
}

/// A session with a message and a question, and another one with an answered question.
async fn filled(database: &Database) -> PostgresSessionService {
    let service = database.open().await;
    for id in ["s", "t"] {
        created(&service, &key(id), json!({})).await;
        append(&service, &key(id), event("e1", 1.0)).await;
        append(&service, &key(id), asks("e2", 2.0, id, Some("lead"))).await;
    }
    append(&service, &key("t"), answers("e3", 3.0, "t")).await;
    service
}

#[tokio::test]
async fn a_database_has_google_adks_layout_until_questions_are_listed() {
    let Some(database) = Database::new().await else { return };
    let service = filled(&database).await;
    assert_eq!(ours(&database).await, [""; 0]);
    assert_eq!(open(&service).await, ["s"]);
    assert_eq!(ours(&database).await, ALL);
    assert_eq!(open(&database.open().await).await, ["s"]);
}

/// Plain events are not even parsed, and states are not read.
#[tokio::test]
async fn histories_and_states_are_not_read() {
    let Some(database) = Database::new().await else { return };
    let service = filled(&database).await;
    database
        .run(r#"UPDATE events SET event_data = '{"author": 5}' WHERE id = 'e1'; UPDATE sessions SET state = '5'"#)
        .await;
    for _ in 0..2 {
        assert_eq!(open(&service).await, ["s"]);
    }
    assert!(service.get_session(&key("s"), GetSessionConfig::all()).await.is_err());
}

#[tokio::test]
async fn a_damaged_projection_is_created_again() {
    for damage in [
        "DROP TABLE pleach_questions_5",
        "DROP TABLE pleach_questions_5, pleach_inbox_5",
        "DELETE FROM pleach_questions_5",
        "DELETE FROM pleach_inbox_5",
        "UPDATE pleach_inbox_5 SET events = 7",
        "DROP TABLE pleach_questions_5; CREATE TABLE pleach_questions_5 (app_name text)",
        "DROP TABLE pleach_questions_5, pleach_inbox_5; CREATE TABLE pleach_inbox_5 (x text)",
    ] {
        let Some(database) = Database::new().await else { return };
        let service = filled(&database).await;
        assert_eq!(open(&service).await, ["s"]);
        database.run(damage).await;
        assert_eq!(open(&service).await, ["s"], "{damage}");
        assert_eq!(ours(&database).await, ALL, "{damage}");
        append(&service, &key("t"), asks("e4", 4.0, "again", None)).await;
        assert_eq!(open(&service).await, ["s", "again"], "{damage}");
    }
}

/// Without the index the result is the same, and the next service creates it again.
#[tokio::test]
async fn a_dropped_index_is_created_again_by_the_next_service() {
    let Some(database) = Database::new().await else { return };
    let service = filled(&database).await;
    assert_eq!(open(&service).await, ["s"]);
    database.run("DROP INDEX pleach_events_5").await;
    append(&service, &key("t"), asks("e4", 4.0, "again", None)).await;
    assert_eq!(open(&service).await, ["s", "again"]);
    assert_eq!(open(&database.open().await).await, ["s", "again"]);
    assert_eq!(ours(&database).await, ALL);
}

/// Rows that are deleted by hand are not listed, and our rows for them are deleted too.
#[tokio::test]
async fn rows_that_are_deleted_by_hand_are_not_listed() {
    let Some(database) = Database::new().await else { return };
    let service = filled(&database).await;
    assert_eq!(open(&service).await, ["s"]);
    database.run("DELETE FROM events WHERE id = 'e3'").await;
    assert_eq!(open(&service).await, ["s", "t"]);
    database.run("DELETE FROM sessions WHERE id = 't'").await;
    assert_eq!(database.texts("SELECT session_id FROM pleach_inbox_5").await, ["s"]);
    assert_eq!(open(&service).await, ["s"]);
}

/// If nothing can be created or written, every session is loaded.
#[tokio::test]
async fn all_sessions_of_a_read_only_database_are_loaded() {
    let Some(database) = Database::new().await else { return };
    let service = filled(&database).await;
    let url = database.url().replace("options=", "options=-cdefault_transaction_read_only%3Don%20");
    let reader = PostgresSessionService::open(&url).await.unwrap();
    assert_eq!(open(&reader).await, ["s"]);
    assert_eq!(ours(&database).await, [""; 0]);
    // Another role has created the tables, and they are out of date.
    assert_eq!(open(&service).await, ["s"]);
    append(&service, &key("t"), asks("e4", 4.0, "again", None)).await;
    assert_eq!(open(&reader).await, ["s", "again"]);
}

/// Objects of other versions are left alone, so that two versions do not undo each other's work.
#[tokio::test]
async fn versions_side_by_side_leave_each_other_alone() {
    let Some(database) = Database::new().await else { return };
    let service = filled(&database).await;
    database.run("CREATE TABLE pleach_inbox (x text); CREATE INDEX pleach_events_1 ON events (app_name)").await;
    assert_eq!(open(&service).await, ["s"]);
    let all = ours(&database).await;
    assert_eq!(all.iter().filter(|name| !ALL.contains(&name.as_str())).count(), 2, "{all:?}");
    assert_eq!(open(&database.open().await).await, ["s"]);
    assert_eq!(ours(&database).await, all);
}

/// An index with the right name that another program created, or that was not completed, is created again.
#[tokio::test]
async fn an_index_is_recognised_by_its_definition() {
    for damage in [
        "CREATE INDEX pleach_events_5 ON events (app_name)",
        // The statement fails, and leaves an index that is not valid.
        "CREATE UNIQUE INDEX CONCURRENTLY pleach_events_5 ON events (app_name)",
    ] {
        let Some(database) = Database::new().await else { return };
        let service = filled(&database).await;
        let mut other = database.raw().await;
        let _ = sqlx::raw_sql(AssertSqlSafe(damage)).execute(&mut other).await;
        let sql = format!(
            "SELECT indexdef FROM pg_indexes WHERE indexname = 'pleach_events_5' AND schemaname = '{}'",
            database.schema()
        );
        assert!(!database.texts(&sql).await[0].contains("WHERE"), "{damage}");
        assert_eq!(open(&service).await, ["s"]);
        assert!(database.texts(&sql).await[0].contains("INVOCATION_ABORTED"), "{damage}");
        let invalid = "SELECT indexrelid::text FROM pg_index WHERE indrelid = to_regclass('events') AND NOT indisvalid";
        assert_eq!(database.texts(invalid).await, [""; 0]);
    }
}

/// While the index waits for an older transaction, appends do not wait. The listing fails for now, whatever time limit
/// the role has for its statements, and the next listing finds the index that was completed in the meantime.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_listing_does_not_block_writers() {
    let Some(database) = Database::new().await else { return };
    drop(filled(&database).await);
    let options = PostgresOptions::new().with_acquire_timeout(Duration::from_secs(2));
    let url = database.url().replace("options=", "options=-cstatement_timeout%3D1000%20");
    let service = PostgresSessionService::open_with(&url, options).await.unwrap();
    let mut older = database.raw().await;
    let insert = "BEGIN; INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp)
         VALUES ('older', 'app', 'user', 's', '', now())";
    sqlx::raw_sql(insert).execute(&mut older).await.unwrap();
    let listing = service.list_questions(ListQuestions::new("app"));
    let appends = async {
        database.until_waiting(1).await;
        for number in 0..20 {
            append(&service, &key("t"), event(&format!("p{number}"), 10.0 + f64::from(number))).await;
        }
    };
    let (listed, ()) = join(listing, appends).await;
    let error = listed.unwrap_err();
    assert!(matches!(&error, SessionError::Locked { what, .. } if what.contains("index")), "{error}");
    sqlx::raw_sql("ROLLBACK").execute(&mut older).await.unwrap();
    assert_eq!(open(&service).await, ["s"]);
    assert_eq!(ours(&database).await, ALL);
    service.close().await.unwrap();
}

/// The tables refer to `sessions`. Creating them needs a lock that other appends would wait for, so the request does
/// not wait for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn creating_the_tables_does_not_wait_for_a_lock() {
    let Some(database) = Database::new().await else { return };
    drop(filled(&database).await);
    let options = PostgresOptions::new().with_acquire_timeout(Duration::from_secs(1));
    let service = PostgresSessionService::open_with(&database.url(), options).await.unwrap();
    let mut older = database.raw().await;
    sqlx::raw_sql("BEGIN; UPDATE sessions SET state = state WHERE id = 's'").execute(&mut older).await.unwrap();
    let listing = service.list_questions(ListQuestions::new("app"));
    let appends = async {
        for number in 0..20 {
            append(&service, &key("t"), event(&format!("p{number}"), 10.0 + f64::from(number))).await;
        }
    };
    let (listed, ()) = join(listing, appends).await;
    let error = listed.unwrap_err();
    assert!(matches!(&error, SessionError::Locked { .. }), "{error}");
    sqlx::raw_sql("ROLLBACK").execute(&mut older).await.unwrap();
    assert_eq!(open(&service).await, ["s"]);
}

/// Any failure except a missing privilege makes the listing fail: loading all sessions instead would only take
/// longer.
#[tokio::test]
async fn a_failure_is_an_error_and_not_a_walk() {
    let Some(database) = Database::new().await else { return };
    let service = filled(&database).await;
    assert_eq!(open(&service).await, ["s"]);
    append(&service, &key("t"), asks("e4", 4.0, "again", None)).await;
    database.run("ALTER TABLE pleach_questions_5 ADD CHECK (question_id <> 'again')").await;
    let error = service.list_questions(ListQuestions::new("app")).await.unwrap_err();
    assert!(matches!(&error, SessionError::Storage { .. }), "{error}");
}

/// A role that may write the tables but owns none of them lists without the index.
#[tokio::test]
async fn a_role_that_may_not_create_the_index_lists_without_it() {
    let Some(database) = Database::new().await else { return };
    let service = filled(&database).await;
    assert_eq!(open(&service).await, ["s"]);
    let (schema, role) = (database.schema(), format!("{}_role", database.schema()));
    database
        .run(&format!(
            "DROP INDEX pleach_events_5; CREATE ROLE {role}; GRANT USAGE ON SCHEMA {schema} TO {role};
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}; GRANT {role} TO CURRENT_USER"
        ))
        .await;
    append(&service, &key("t"), asks("e4", 4.0, "again", None)).await;
    let url = database.url().replace("options=", &format!("options=-crole%3D{role}%20"));
    let other = PostgresSessionService::open(&url).await.unwrap();
    assert_eq!(open(&other).await, ["s", "again"]);
    assert!(!ours(&database).await.contains(&"pleach_events_5".to_owned()));
    other.close().await.unwrap();
    database.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}

/// A connection keeps plans that were made while the tables were new and small. The listing of many sessions
/// nevertheless finds each row by its key, and does not read the rows of other sessions.
#[tokio::test]
async fn a_listing_of_many_sessions_reads_no_table_for_each_of_them() {
    let Some(database) = Database::new().await else { return };
    drop(filled(&database).await);
    let options = PostgresOptions::new().with_connections(1);
    let service = PostgresSessionService::open_with(&database.url(), options).await.unwrap();
    for number in 0..8 {
        append(&service, &key("s"), asks(&format!("q{number}"), 9.0, "s", None)).await;
        assert_eq!(open(&service).await.len(), 1);
    }
    let more = 3000;
    multiply(&database, more).await;
    assert_eq!(open(&service).await.len(), more + 1);
    service.close().await.unwrap();
    // The search for out-of-date sessions compares every row of every table once.
    let read = rows_read(&database, "seq_tup_read", "pg_stat_user_tables").await;
    assert!(read <= 8 * more, "{read} rows");
}

/// The first listing fills tables of which the server's planner knows nothing yet. A session's questions are replaced
/// without reading the questions of all the sessions before it.
#[tokio::test]
async fn the_first_listing_of_many_sessions_reads_each_question_a_few_times() {
    let Some(database) = Database::new().await else { return };
    drop(filled(&database).await);
    let more = 4000;
    multiply(&database, more).await;
    let service = database.open().await;
    assert_eq!(open(&service).await.len(), more + 1);
    service.close().await.unwrap();
    let read = rows_read(&database, "idx_tup_read", "pg_stat_user_indexes").await;
    assert!(read <= 20 * more, "{read} rows");
}

/// Copies the session `s` and its question.
async fn multiply(database: &Database, times: usize) {
    database
        .run(&format!(
            "INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time)
             SELECT app_name, user_id, 'n' || n, state, create_time, update_time FROM sessions, generate_series(1, {times}) n
             WHERE id = 's';
             INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)
             SELECT id, app_name, user_id, 'n' || n, invocation_id, timestamp, event_data FROM events, generate_series(1, {times}) n
             WHERE session_id = 's' AND id = 'e2'"
        ))
        .await;
}

/// Returns the number of rows of the schema's tables or indexes that its connections have read.
async fn rows_read(database: &Database, column: &str, from: &str) -> usize {
    // A connection reports the number of rows that it read when it ends.
    let connections =
        format!("SELECT pid::text FROM pg_stat_activity WHERE application_name = '{}'", database.schema());
    while database.texts(&connections).await.len() > 1 {}
    let read = format!("SELECT sum({column})::text FROM {from} WHERE schemaname = '{}'", database.schema());
    database.texts(&read).await[0].parse().unwrap()
}
