//! Which databases are opened, and the contents of a new one.
// S62, S64

use futures_util::future::join_all;
use pleach_contract::sessions::{created, event, loaded};
use pleach_session::{CreateSession, ListQuestions, SessionError, SessionService as _, SessionServiceExt as _};
use pleach_session_postgres::{PostgresOptions, PostgresSessionService};
use serde_json::json;
use sqlx::Row as _;

use super::{Database, key};

/// Returns columns, constraints and indexes, without the name of the schema.
async fn shape(database: &Database) -> Vec<String> {
    let schema = database.schema();
    let sql = format!(
        "SELECT replace(line, '{schema}.', '') FROM (
            SELECT format('%s.%s %s %s %s', table_name, column_name, data_type, character_maximum_length, is_nullable) AS line
            FROM information_schema.columns WHERE table_schema = '{schema}'
            UNION ALL
            SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
            WHERE connamespace = '{schema}'::regnamespace
            UNION ALL
            SELECT indexdef FROM pg_indexes WHERE schemaname = '{schema}'
            UNION ALL
            SELECT format('%s = %s', key, value) FROM {schema}.adk_internal_metadata
        ) lines ORDER BY 1"
    );
    database.texts(&sql).await
}

#[tokio::test]
async fn s62_a_new_database_is_laid_out_as_google_adk_does_it() {
    let (Some(ours), Some(theirs)) = (Database::new().await, Database::new().await) else { return };
    ours.open().await;
    theirs.restore_golden().await;
    assert_eq!(shape(&ours).await, shape(&theirs).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s62_a_new_database_can_be_opened_by_many_at_once() {
    let Some(database) = Database::new().await else { return };
    let url = database.url();
    let opened = join_all((0..8).map(|_| PostgresSessionService::open(&url))).await;
    for (number, service) in opened.into_iter().enumerate() {
        let service = service.unwrap();
        created(&service, &key(&format!("s{number}")), json!({})).await;
        service.close().await.unwrap();
    }
}

/// Another opener commits while the layout is read. The read sees the moment before, not tables without columns.
#[tokio::test]
async fn s62_the_layout_is_seen_as_it_was_at_one_moment() {
    let Some(database) = Database::new().await else { return };
    let mut looking = database.raw().await;
    sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").execute(&mut looking).await.unwrap();
    database.open().await;
    let seen = sqlx::query(include_str!("../../schema/detect.sql")).fetch_one(&mut looking).await.unwrap();
    assert_eq!(seen.get::<i64, _>("present"), 0);
    for name in ["has_metadata", "has_actions", "has_event_data"] {
        assert!(!seen.get::<bool, _>(name), "{name}");
    }
    assert_eq!(seen.get::<Option<String>, _>("time_type"), None);
}

#[tokio::test]
async fn case_93_94_missing_objects_are_created_again() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({"a": 1})).await;
    let before = shape(&database).await;
    database.run("DROP TABLE adk_internal_metadata; DROP INDEX idx_events_app_user_session_ts_id").await;
    let again = database.open().await;
    assert_eq!(shape(&database).await, before);
    again.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    assert_eq!(loaded(&service, &key("s")).await, session);
}

#[tokio::test]
async fn case_95_extra_columns_and_tables_do_not_disturb() {
    let Some(database) = Database::new().await else { return };
    database.open().await;
    database.run("ALTER TABLE events ADD COLUMN extra text; ALTER TABLE sessions ADD COLUMN extra int; CREATE TABLE x (y int)").await;
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({"a": 1})).await;
    service.append_event(&mut session, event("e1", 1.0).with_state("a", 2)).await.unwrap();
    assert_eq!(loaded(&service, &key("s")).await, session);
}

/// Returns the reason for a refusal. A refused database is not changed.
async fn refused(sql: &str) -> Option<String> {
    let database = Database::new().await?;
    database.run(sql).await;
    let tables = format!(
        "SELECT relname::text FROM pg_class WHERE relnamespace = '{}'::regnamespace ORDER BY 1",
        database.schema()
    );
    let before = database.texts(&tables).await;
    let error = PostgresSessionService::open(&database.url()).await.unwrap_err();
    let SessionError::Unsupported { what, reason } = error else { panic!("{error}") };
    assert!(what.contains("Postgres database"), "{what}");
    assert_eq!(database.texts(&tables).await, before);
    Some(reason)
}

const VERSION: &str = "CREATE TABLE adk_internal_metadata (key varchar(128) PRIMARY KEY, value varchar(256) NOT NULL)";

#[tokio::test]
async fn case_91_other_versions_are_refused_with_what_to_do() {
    for (version, expected) in
        [("0", "adk migrate session"), ("2", "schema version is 2"), ("x", "schema version is x")]
    {
        let sql = format!("{VERSION}; INSERT INTO adk_internal_metadata VALUES ('schema_version', '{version}')");
        let Some(reason) = refused(&sql).await else { return };
        assert!(reason.contains(expected), "{reason}");
    }
}

#[tokio::test]
async fn case_92_a_table_of_versions_without_one_is_refused() {
    let Some(reason) = refused(VERSION).await else { return };
    assert!(reason.contains("no row schema_version"), "{reason}");
}

#[tokio::test]
async fn s64a_the_old_layout_is_refused_with_what_to_do() {
    let old = "CREATE TABLE events (id varchar(128) PRIMARY KEY, author varchar(256), actions bytea NOT NULL)";
    let Some(reason) = refused(old).await else { return };
    assert!(reason.contains("adk migrate session"), "{reason}");
}

#[tokio::test]
async fn another_programs_tables_are_refused() {
    for (table, columns) in [
        ("sessions", "id int"),
        ("sessions", "sid int, update_time timestamp"),
        ("sessions", "app_name text, user_id text, id text, state jsonb, create_time date, update_time timestamptz"),
        ("events", "id int"),
        ("events", "id text, event_data jsonb"),
        ("app_states", "k text, v text"),
        ("user_states", "app_name text, state jsonb"),
        ("adk_internal_metadata", "k text, v text"),
    ] {
        let Some(reason) = refused(&format!("CREATE TABLE {table} ({columns})")).await else { return };
        assert!(reason.contains("another program's") && reason.contains(table), "{reason}");
    }
}

#[tokio::test]
async fn a_database_that_is_only_read_gets_no_table_and_no_row() {
    let Some(database) = Database::new().await else { return };
    let (url, options) = (database.url(), PostgresOptions::new().with_read_only(true));
    let read = || PostgresSessionService::open_with(&url, options.clone());
    let error = read().await.unwrap_err();
    assert!(matches!(&error, SessionError::Unsupported { reason, .. } if reason.contains("missing")), "{error}");
    let tables = format!("SELECT tablename FROM pg_tables WHERE schemaname = '{}'", database.schema());
    assert_eq!(database.texts(&tables).await, [""; 0]);
    let writer = database.open().await;
    let session = created(&writer, &key("s"), json!({})).await;
    // Without the index, as other programs may leave the database.
    database.run("DROP INDEX idx_events_app_user_session_ts_id").await;
    let reader = read().await.unwrap();
    let mut seen = loaded(&reader, &key("s")).await;
    for refused in [
        reader.append_event(&mut seen, event("e1", 1.0)).await.map(drop),
        reader.claim(&mut seen.head, 1.0).await,
        reader.delete_session(&key("s")).await,
        reader.create_session(CreateSession::new("app", "user")).await.map(drop),
    ] {
        assert!(matches!(refused, Err(SessionError::ReadOnly { .. })), "{refused:?}");
    }
    assert!(reader.list_questions(ListQuestions::new("app")).await.unwrap().items.is_empty());
    assert_eq!(loaded(&writer, &key("s")).await.revision(), session.revision());
}
