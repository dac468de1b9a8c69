//! Which files are opened, and the contents of a new file.
// S60–S66

use pleach_contract::sessions::{created, event, loaded};
use pleach_session::{SessionError, SessionService as _, SessionServiceExt as _};
use pleach_session_sqlite::{SqliteLayout, SqliteOptions, SqliteSessionService, Synchronous};
use serde_json::json;

use super::{Place, key};

const V0: &str = "CREATE TABLE sessions (app_name VARCHAR(128) NOT NULL, user_id VARCHAR(128) NOT NULL, id VARCHAR(128) NOT NULL, state TEXT NOT NULL,
        create_time DATETIME NOT NULL, update_time DATETIME NOT NULL, PRIMARY KEY (app_name, user_id, id));
    CREATE TABLE events (id VARCHAR(128) NOT NULL, app_name VARCHAR(128) NOT NULL, user_id VARCHAR(128) NOT NULL, session_id VARCHAR(128) NOT NULL,
        invocation_id VARCHAR(256) NOT NULL, author VARCHAR(256), actions BLOB NOT NULL, timestamp DATETIME NOT NULL);";

async fn refused(sql: &str) -> String {
    let place = Place::new();
    place.run(sql).await;
    let before = std::fs::read(place.path()).unwrap();
    let error = SqliteSessionService::open(place.path()).await.unwrap_err();
    let SessionError::Unsupported { what, reason } = error else { panic!("{error}") };
    assert!(what.contains("sessions.db"), "{what}");
    assert_eq!(std::fs::read(place.path()).unwrap(), before, "a refused file must not change");
    reason
}

#[tokio::test]
async fn s64a_a_v0_file_is_refused_with_what_to_do() {
    let reason = refused(V0).await;
    assert!(reason.contains("schema version 0") && reason.contains("adk migrate session"), "{reason}");
}

#[tokio::test]
async fn a_file_of_another_program_is_refused() {
    for tables in [
        "CREATE TABLE sessions (id TEXT, cookie TEXT)",
        "CREATE TABLE sessions (sid, data, update_time DATETIME)",
        "CREATE TABLE sessions (sid, data, update_time REAL)",
        "CREATE TABLE app_states (k, v)",
        "CREATE TABLE events (id, event_data)",
    ] {
        let reason = refused(tables).await;
        assert!(reason.contains("another program's"), "{tables}: {reason}");
    }
    let columns = "app_name TEXT, user_id TEXT, id TEXT, state TEXT, create_time REAL, update_time BLOB";
    let reason = refused(&format!("CREATE TABLE sessions ({columns})")).await;
    assert!(reason.contains("BLOB"), "{reason}");
}

#[tokio::test]
async fn names_of_in_memory_databases_are_refused() {
    for name in [":memory:", ""] {
        let error = SqliteSessionService::open(name).await.unwrap_err();
        assert!(matches!(&error, SessionError::Unsupported { reason, .. } if reason.contains("in-memory")), "{error}");
    }
}

#[tokio::test]
async fn s60_a_new_file_has_the_lite_layout_and_indexes() {
    let place = Place::new();
    let service = place.open().await;
    service.close().await.unwrap();
    let objects = "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_master
        WHERE name NOT LIKE 'sqlite_%' ORDER BY name)";
    assert_eq!(
        place.text(objects).await,
        "app_states events idx_events_app_user_session_ts_id pleach_sessions_1_by_id pleach_sessions_1_by_time \
         pleach_sessions_1_odd pleach_sessions_1_of_user sessions user_states"
    );
    let types = "SELECT group_concat(name || ' ' || type, ', ') FROM pragma_table_info('sessions')";
    assert_eq!(
        place.text(types).await,
        "app_name TEXT, user_id TEXT, id TEXT, state TEXT, create_time REAL, update_time REAL"
    );
    assert_eq!(place.text("SELECT CAST(user_version AS TEXT) FROM pragma_user_version").await, "0");
    assert_eq!(place.text("SELECT journal_mode FROM pragma_journal_mode").await, "wal");
}

/// Returns tables, columns with their types, indexes other than ours, and the version, in one text.
async fn shape(place: &Place) -> String {
    let columns = "SELECT group_concat(line, x'0a') FILTER (WHERE line NOT LIKE 'pleach_sessions_%') FROM (
        SELECT m.name || '.' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || c.pk AS line
        FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'
        UNION ALL
        SELECT m.name || ' -> ' || f.\"table\" || '.' || f.\"to\" || ' ' || f.on_delete
        FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'
        UNION ALL
        SELECT i.name || ' ' || coalesce(c.name, '') || ' ' || c.\"desc\"
        FROM sqlite_master m, pragma_index_list(m.name) i, pragma_index_xinfo(i.name) c WHERE m.type = 'table'
        UNION ALL
        SELECT \"key\" || ' = ' || value FROM adk_internal_metadata
        ORDER BY 1)";
    place.text(columns).await
}

#[tokio::test]
async fn s61_a_new_v1_file_is_laid_out_as_google_adk_does_it() {
    let (ours, theirs) = (Place::of(SqliteLayout::V1), Place::new());
    ours.open().await.close().await.unwrap();
    std::fs::write(theirs.path(), include_bytes!("../golden/v1.sqlite")).unwrap();
    let shape_of_ours = shape(&ours).await;
    assert!(shape_of_ours.contains("schema_version = 1"), "{shape_of_ours}");
    assert_eq!(shape_of_ours, shape(&theirs).await);
    assert_eq!(ours.text("SELECT journal_mode FROM pragma_journal_mode").await, "wal");
}

const VERSIONS: &str = "CREATE TABLE adk_internal_metadata (\"key\" VARCHAR(128) NOT NULL, value VARCHAR(256) NOT NULL,
    PRIMARY KEY (\"key\"));";

#[tokio::test]
async fn case_91_other_versions_are_refused_with_what_to_do() {
    for (version, expected) in
        [("0", "adk migrate session"), ("2", "schema version is 2"), ("x", "schema version is x")]
    {
        let row = format!("INSERT INTO adk_internal_metadata VALUES ('schema_version', '{version}')");
        let reason = refused(&format!("{VERSIONS} {row}")).await;
        assert!(reason.contains(expected), "{reason}");
    }
}

#[tokio::test]
async fn case_92_a_table_of_versions_without_one_is_refused() {
    let place = Place::new();
    place.run(VERSIONS).await;
    let impatient = place.options().with_busy_timeout(std::time::Duration::from_millis(10));
    let error = SqliteSessionService::open_with(place.path(), impatient).await.unwrap_err();
    assert!(
        matches!(&error, SessionError::Unsupported { reason, .. } if reason.contains("no row schema_version")),
        "{error}"
    );
}

#[tokio::test]
async fn case_93_a_file_that_google_adk_began_continues_in_its_layout() {
    let place = Place::new();
    place.run(&format!("{VERSIONS} INSERT INTO adk_internal_metadata VALUES ('schema_version', '1')")).await;
    assert_eq!(place.open().await.layout(), SqliteLayout::V1);
    let dropped =
        "DROP TABLE adk_internal_metadata; DROP TABLE user_states; DROP INDEX idx_events_app_user_session_ts_id";
    let before = shape(&place).await;
    place.run(dropped).await;
    created(&place.open().await, &key("s"), json!({"user:a": 1})).await;
    assert_eq!(shape(&place).await, before);
}

#[tokio::test]
async fn s65_case_96_a_lite_file_with_the_metadata_table_is_still_lite() {
    let place = Place::new();
    created(&place.open().await, &key("s"), json!({"a": 1})).await;
    place
        .run(
            "CREATE TABLE adk_internal_metadata (\"key\" TEXT, value TEXT);
        INSERT INTO adk_internal_metadata VALUES ('schema_version', '1'); ALTER TABLE events ADD COLUMN extra TEXT",
        )
        .await;
    let service = place.open().await;
    let mut session = loaded(&service, &key("s")).await;
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    assert_eq!(loaded(&service, &key("s")).await, session);
}

#[tokio::test]
async fn case_94_a_missing_index_or_table_is_made_at_open() {
    let place = Place::new();
    created(&place.open().await, &key("s"), json!({"a": 1})).await;
    place.run("DROP INDEX idx_events_app_user_session_ts_id; DROP TABLE user_states").await;
    let service = place.open().await;
    assert_eq!(loaded(&service, &key("s")).await.state.len(), 1);
    let index = "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'idx%'";
    assert_eq!(place.text(index).await, "idx_events_app_user_session_ts_id");
}

#[tokio::test]
async fn an_empty_file_is_a_new_one_and_an_odd_name_is_accepted() {
    let place = Place::new();
    std::fs::write(place.path(), b"").unwrap();
    created(&place.open().await, &key("s"), json!({})).await;
    for name in ["a b%20?x=1&ü#.db", "file:x.db?mode=memory"] {
        let odd = place.folder.path().join(name);
        let service = SqliteSessionService::open(&odd).await.unwrap();
        created(&service, &key("s"), json!({})).await;
        assert!(odd.exists());
    }
}

#[tokio::test]
async fn reopening_shows_the_same_content() {
    let place = Place::new();
    let service = place.open().await;
    let mut session = created(&service, &key("s"), json!({"a": 1, "app:x": 1.5, "user:y": null})).await;
    for number in 0..20 {
        let event = event(&format!("e{number}"), f64::from(number)).with_state("n", number);
        service.append_event(&mut session, event).await.unwrap();
    }
    drop(service);
    let options = SqliteOptions::new().with_synchronous(Synchronous::Normal).with_read_connections(1);
    let service = SqliteSessionService::open_with(place.path(), options).await.unwrap();
    assert_eq!(loaded(&service, &key("s")).await, session);
    service.append_event(&mut session, event("last", 30.0)).await.unwrap();
    service.close().await.unwrap();
    assert_eq!(loaded(&place.open().await, &key("s")).await, session);
}

/// Only the owner may read a file that is created; an existing file is not changed.
#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_a_new_file() {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let place = Place::new();
    let service = place.open().await;
    created(&service, &key("s"), json!({})).await;
    for end in ["", "-wal", "-shm"] {
        let path = place.folder.path().join(format!("sessions.db{end}"));
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    let other = Place::new();
    std::fs::write(other.path(), "").unwrap();
    std::fs::set_permissions(other.path(), std::fs::Permissions::from_mode(0o640)).unwrap();
    other.open().await;
    assert_eq!(mode(&other.path()), 0o640);
    let root = tempfile::tempdir().unwrap();
    let service = pleach_session_sqlite::PerAgentSessionService::new(root.path().join("agents"));
    created(&service, &key("s"), json!({})).await;
    for (path, expected) in [("agents", 0o700), ("agents/app/.adk", 0o700), ("agents/app/.adk/session.db", 0o600)] {
        assert_eq!(mode(&root.path().join(path)), expected, "{path}");
    }
}
